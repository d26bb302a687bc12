// Completion while a query is typed: columns, functions, names of questions, and values of a column.

import { fill, h } from "./dom.js";
import { columnOf, FUNCTIONS, literalOf, nameOf } from "./language.js";

const MOST = 8;

/** Suggest below a text area. `sources` gives the columns and the names of questions. */
export function complete(input, sources) {
  const list = h("ul", { id: `${input.id}-words`, class: "suggestions", role: "listbox", "aria-label": "Suggestions", hidden: true });
  let found = [];
  let at = -1;
  for (const [name, value] of Object.entries({ "aria-autocomplete": "list", "aria-controls": list.id })) input.setAttribute(name, value);

  const close = () => show([]);
  const show = (options) => {
    found = options;
    at = -1;
    list.hidden = options.length === 0;
    fill(list, options.map((option, i) => h("li", { id: `${list.id}-${i}`, role: "option", "aria-selected": "false", onpointerdown: (event) => { event.preventDefault(); take(i); } }, h("code", {}, option.text), " ", h("small", {}, option.about))));
    mark();
  };
  const mark = () => {
    [...list.children].forEach((item, i) => item.setAttribute("aria-selected", String(i === at)));
    if (at < 0) input.removeAttribute("aria-activedescendant");
    else input.setAttribute("aria-activedescendant", list.children[at].id);
  };
  const take = (i) => {
    const { start } = wordBefore(input);
    input.setRangeText(found[i].text, start, input.selectionStart, "end");
    close();
    input.dispatchEvent(new Event("input", { bubbles: true }));
    close(); // what was put in needs no completion
  };
  input.addEventListener("input", () => show(suggestions(wordBefore(input), sources())));
  input.addEventListener("blur", close);
  input.addEventListener("keydown", (event) => {
    if (list.hidden || event.ctrlKey || event.metaKey) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) at = (at + step + found.length + (at < 0 && step < 0 ? 1 : 0)) % found.length;
    else if (event.key === "Escape") close();
    else if ((event.key === "Enter" || event.key === "Tab") && at >= 0) take(at);
    else return;
    event.preventDefault();
    event.stopPropagation();
    mark();
  });
  return list;
}

/** The word that the caret is at the end of, and the column that is compared with a text begun there. */
function wordBefore(input) {
  const before = input.value.slice(0, input.selectionStart);
  const compared = before.match(/("(?:[^"]|"")+"|[A-Za-z_]\w*)\s*(?:=|<>|!=|in\s*\([^()]*?)\s*('[^']*)$/);
  if (compared) return { start: before.length - compared[2].length, word: compared[2].slice(1), column: compared[1].replace(/^"|"$/g, "").replaceAll('""', '"') };
  const isText = (before.match(/'/g)?.length ?? 0) % 2 === 1;
  const word = isText ? "" : before.match(/[A-Za-z_]\w*$/)?.[0] ?? "";
  return { start: before.length - word.length, word, column: null };
}

function suggestions({ word, column }, { columns, questions }) {
  const wanted = word.toLowerCase();
  const fits = (text) => text.toLowerCase().startsWith(wanted) && text.toLowerCase() !== wanted;
  if (column !== null) {
    const described = columns[column] && columnOf(columns[column]);
    return (described?.values ?? []).filter(fits).slice(0, MOST).map((value) => ({ text: literalOf(value, described), about: column }));
  }
  if (!word) return [];
  return [
    ...Object.entries(columns).filter(([name]) => fits(name)).map(([name, kind]) => ({ text: nameOf(name), about: kind })),
    ...Object.entries(FUNCTIONS).filter(([name]) => fits(name)).map(([name, takes]) => ({ text: `${name}(`, about: `${name}(${takes})` })),
    ...questions.filter(fits).map((name) => ({ text: name, about: "saved question" })),
  ].slice(0, MOST);
}
