"use strict";
// Light and dark: as the system says, until the reader says otherwise.
(() => {
  const root = document.documentElement;
  const button = document.querySelector("#theme");
  const dark = matchMedia("(prefers-color-scheme: dark)");

  const theme = () => root.dataset.theme || (dark.matches ? "dark" : "light");
  const name = () => { button.textContent = theme() === "dark" ? "Light mode" : "Dark mode"; };
  const kept = (value) => {
    // A page that is opened as a file may have no storage.
    try {
      if (value) localStorage.setItem("memproto-theme", value);
      return localStorage.getItem("memproto-theme");
    } catch { return value || null; }
  };
  const was = kept();
  if (was === "light" || was === "dark") root.dataset.theme = was;
  button.hidden = false;
  button.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    kept(root.dataset.theme);
    name();
  });
  dark.addEventListener("change", name);
  name();
})();
