"use strict";
// Filters, search, and which target is shown. Without it everything is shown at once.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];

  // -- filters -----------------------------------------------------------------------------------

  const filters = new Map();
  for (const target of all(".target")) filters.set(target, filtered(target));

  function filtered(target) {
    const form = target.querySelector(".filters");
    const find = form.querySelector(".find");
    const chips = all("input[type=checkbox]", form);
    const rows = all(".row", target).map((element) => ({
      element,
      outcome: element.dataset.outcome,
      level: element.dataset.level,
      text: element.textContent.toLowerCase(),
    }));
    const chapters = all(".chapter", target);
    const apply = () => {
      const asked = (kind) => new Set(chips.filter((c) => c.checked && c.name === kind).map((c) => c.value));
      const outcomes = asked("outcome"), levels = asked("level");
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const row of rows) {
        const fits = (!outcomes.size || outcomes.has(row.outcome)) && (!levels.size || levels.has(row.level))
          && words.every((word) => row.text.includes(word));
        row.element.hidden = !fits;
        shown += fits;
      }
      for (const chapter of chapters) chapter.hidden = !chapter.querySelector(".row:not([hidden])");
      const whole = shown === rows.length;
      form.querySelector(".shown").textContent = whole ? `${rows.length} requirements` : `${shown} of ${rows.length}`;
      form.querySelector(".clear").hidden = !outcomes.size && !levels.size && !words.length;
      target.querySelector(".nothing").hidden = shown > 0;
    };
    const clear = () => {
      find.value = "";
      for (const chip of chips) chip.checked = false;
      apply();
    };
    form.hidden = false;
    form.addEventListener("input", apply);
    form.addEventListener("submit", (event) => event.preventDefault());
    form.querySelector(".clear").addEventListener("click", () => { clear(); find.focus(); });
    find.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      clear();
    });
    apply();
    return { find, clear };
  }

  // -- one target at a time, and places by name --------------------------------------------------

  const targets = all(".target");
  const links = all(".targets a");
  function show(target) {
    for (const item of targets) item.hidden = item !== target;
    for (const link of links) link.setAttribute("aria-current", String(link.hash === `#${target.id}`));
  }
  function follow() {
    const place = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const target = place ? place.closest(".target") : null;
    if (!target) return;
    show(target);
    if (place.hidden || place.closest("[hidden]")) filters.get(target).clear();
    const details = place.querySelector(":scope > details");
    if (details) details.open = true;
    place.scrollIntoView();
  }
  if (targets.length) show(targets[0]);
  addEventListener("hashchange", follow);
  follow();

  // -- keys and copying --------------------------------------------------------------------------

  addEventListener("keydown", (event) => {
    const isTyped = event.target.matches?.("input:not([type=checkbox]), textarea, select");
    if (event.key !== "/" || isTyped || event.ctrlKey || event.metaKey || event.altKey) return;
    const open = targets.find((item) => !item.hidden);
    if (!open) return;
    event.preventDefault();
    filters.get(open).find.focus();
  });
  for (const item of all(".copy")) {
    item.hidden = !navigator.clipboard;
    item.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(item.previousElementSibling.textContent);
        item.textContent = "Copied";
      } catch { item.textContent = "Not allowed"; }
      setTimeout(() => { item.textContent = "Copy"; }, 1500);
    });
  }
})();
