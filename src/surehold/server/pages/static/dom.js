// Elements from names and text. Text is only ever text: nothing here parses HTML.

/** Where this dataset's addresses begin: "" or such as "/d/clinic". Paths elsewhere are without it. */
export const ROOT = (document.body.dataset.root ?? "/").replace(/\/$/, "");

/** An element: attributes, listeners as on…, then children (elements, text, lists; null is nothing). */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (!isThere(value)) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "value") element.value = value;
    else if (key === "href" && value.startsWith("/")) element.setAttribute(key, ROOT + value);
    else element.setAttribute(key, value === true ? "" : value);
  }
  return fill(element, children);
}

/** Replace all children. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter(isThere));
  return element;
}

const isThere = (value) => value !== null && value !== undefined && value !== false;

/** A description list; pairs without a value are left out. */
export function terms(pairs, attributes = {}) {
  return h(
    "dl",
    attributes,
    pairs.map(([name, value]) => isThere(value) && h("div", {}, h("dt", {}, name), h("dd", {}, value))),
  );
}

/** A table; a column whose name ends in # is aligned right. */
export function table(caption, columns, rows) {
  const numeric = columns.map((column) => column.endsWith("#"));
  const cell = (kind, value, i) =>
    h(kind, { class: numeric[i] ? "number" : null, scope: kind === "th" ? "col" : null }, value);
  return h(
    "table",
    {},
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, columns.map((name, i) => cell("th", name.replace(/#$/, ""), i)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((value, i) => cell("td", value, i))))),
  );
}

/** A list to choose from: values and their texts. */
export function choice(options, attributes = {}) {
  return h("select", attributes, Object.entries(options).map(([value, text]) => h("option", { value }, text)));
}

/** A scrolling region that the keyboard can reach. */
export function scroller(label, ...children) {
  return h("div", { class: "scroller", role: "region", "aria-label": label, tabindex: "0" }, children);
}

/** Call once no further call has come for `wait` ms. */
export function debounce(wait, call) {
  let timer;
  const later = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...given), wait);
  };
  later.cancel = () => clearTimeout(timer);
  return later;
}

/** Keep a choice in this browser, if it allows that. */
export function remember(name, value) {
  try {
    localStorage.setItem(name, value);
  } catch {
    // Chosen, but not remembered.
  }
}

export function remembered(name) {
  try {
    return localStorage.getItem(name);
  } catch {
    return null;
  }
}
