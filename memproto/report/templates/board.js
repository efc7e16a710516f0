"use strict";
// Shows the chosen targets and requirements. Without it everything is shown.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const form = document.querySelector(".filters");
  if (!form) return;
  const find = form.querySelector(".find");
  const open = form.querySelector("#open");
  const rows = all("[data-target]").map((element) => ({ element, name: element.dataset.target.toLowerCase() }));
  const matrices = all(".matrix").map((table) => ({
    table,
    chapter: table.closest(".chapter"),
    columns: all("[data-rule]", table.tHead).map((head) => ({
      head,
      cells: [...table.tHead.querySelectorAll(".tally"), ...table.tBodies[0].rows].map((row) => row.cells[head.cellIndex]),
    })),
    areas: all("[data-area]", table.tHead),
  }));

  const number = (n, word) => `${n} ${word}${n === 1 ? "" : "s"}`;

  function apply() {
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const shown = new Set();
    for (const { element, name } of rows) {
      element.hidden = !words.every((word) => name.includes(word));
      if (!element.hidden) shown.add(element.dataset.target);
    }
    let rules = 0;
    for (const { chapter, columns, areas } of matrices) {
      const left = new Map();
      let here = 0;
      for (const { head, cells } of columns) {
        const isOpen = cells.some((cell) => !cell.parentElement.hidden && cell.dataset.open);
        const fits = !open.checked || isOpen;
        const isFirst = fits && !left.get(head.dataset.of);
        for (const cell of [head, ...cells]) {
          cell.hidden = !fits;
          cell.classList.toggle("first", isFirst);
        }
        left.set(head.dataset.of, (left.get(head.dataset.of) || 0) + fits);
        here += fits;
      }
      for (const area of areas) {
        const n = left.get(area.dataset.area) || 0;
        area.hidden = !n;
        if (n) area.colSpan = n;
      }
      chapter.hidden = !here || !shown.size;
      rules += here;
    }
    for (const side of all(".side")) side.hidden = !side.querySelector(".chapter:not([hidden])");
    form.querySelector(".shown").textContent = `${number(shown.size, "target")}, ${number(rules, "requirement")}`;
    document.querySelector(".nothing").hidden = Boolean(shown.size && rules);
  }
  // A tip for the pointer, made when it is needed: a board has thousands of cells.
  document.addEventListener("mouseover", (event) => {
    const cell = event.target.closest?.(".matrix td a:not([title])");
    if (cell) cell.title = cell.getAttribute("aria-label");
  });
  form.hidden = false;
  form.addEventListener("input", apply);
  form.addEventListener("submit", (event) => event.preventDefault());
  find.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    find.value = "";
    open.checked = false;
    apply();
  });
  addEventListener("keydown", (event) => {
    const isTyped = event.target.matches?.("input:not([type=checkbox]), textarea, select");
    if (event.key !== "/" || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    find.focus();
  });
  apply();
})();
