/* Formulas, drawn by the KaTeX of this folder: nothing is fetched from elsewhere. */
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".arithmatex")) {
    const tex = element.textContent.trim();
    const isBlock = tex.startsWith("\\[");
    katex.render(tex.slice(2, -2), element, { displayMode: isBlock, throwOnError: false });
  }
  // A heading's formula is plain text where the heading is listed.
  for (const element of document.querySelectorAll(".md-nav__link .md-ellipsis")) {
    const parts = element.textContent.split(/\\\((.+?)\\\)/);
    if (parts.length > 1) {
      element.replaceChildren(
        ...parts.map((part, i) => {
          const shown = document.createElement("span");
          if (i % 2) katex.render(part, shown, { throwOnError: false });
          else shown.textContent = part;
          return shown;
        }),
      );
    }
  }
});
