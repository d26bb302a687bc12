// Sets the theme before anything is drawn: a plain script, because modules run too late.
(() => {
  const KEY = "surehold-theme";
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let chosen = null;
  try {
    chosen = localStorage.getItem(KEY);
  } catch {
    // Storage may be blocked; then the system's preference applies.
  }

  function current() {
    return chosen ?? (dark.matches ? "dark" : "light");
  }

  function apply() {
    document.documentElement.dataset.theme = current();
    const button = document.getElementById("theme");
    if (button) {
      const other = current() === "dark" ? "light" : "dark";
      button.textContent = other === "dark" ? "Dark" : "Light";
      button.setAttribute("aria-label", `Switch to ${other} colours`);
    }
  }

  apply();
  dark.addEventListener("change", apply);
  addEventListener("DOMContentLoaded", () => {
    apply();
    document.getElementById("theme").addEventListener("click", () => {
      chosen = current() === "dark" ? "light" : "dark";
      try {
        localStorage.setItem(KEY, chosen);
      } catch {
        // Switched, but not remembered.
      }
      apply();
    });
  });
})();
