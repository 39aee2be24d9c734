// Shows the values under the pointer. Without it the page is complete: the
// numbers are in the tables, too.
(() => {
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  document.body.append(tip);

  const show = (text, event) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    const left = event.clientX + 14;
    const fits = left + box.width < document.documentElement.clientWidth;
    const other = Math.max(4, event.clientX - box.width - 14);
    tip.style.left = `${fits ? left : other}px`;
    tip.style.top = `${Math.max(4, event.clientY - box.height - 10)}px`;
  };

  // Legends whose entries are switches for the curves of their section.
  const switched = (button) => {
    const on = button.getAttribute("aria-pressed") === "true";
    const part = button.closest("section");
    for (const curve of part.querySelectorAll("g[data-curve]")) {
      if (curve.dataset.curve === button.dataset.curve) {
        curve.toggleAttribute("hidden", !on);
      }
    }
  };
  for (const button of document.querySelectorAll("button[data-curve]")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", on);
      switched(button);
    });
    switched(button);
  }

  // A point without a height is found by its place on the horizontal axis,
  // where a line marks it; any other one only if the pointer is near.
  for (const chart of document.querySelectorAll("svg[data-points]")) {
    const points = JSON.parse(chart.dataset.points);
    const { width, height } = chart.viewBox.baseVal;
    const cursor = document.createElementNS(chart.namespaceURI, "line");
    cursor.setAttribute("class", "cursor");
    cursor.setAttribute("y2", height);
    cursor.toggleAttribute("hidden", true);
    chart.append(cursor);
    const shown = ({ curve }) => curve === undefined ||
      !chart.querySelector(`g[data-curve="${curve}"][hidden]`);
    const leave = () => {
      tip.hidden = true;
      cursor.toggleAttribute("hidden", true);
    };
    const move = (event) => {
      const box = chart.getBoundingClientRect();
      const x = (event.clientX - box.left) * width / box.width;
      const y = (event.clientY - box.top) * height / box.height;
      const far = (p) => Math.hypot(p.x - x, p.y === null ? 0 : p.y - y);
      const best = points.filter(shown).reduce(
        (a, b) => (a && far(a) <= far(b) ? a : b), null);
      if (!best || (best.y !== null && far(best) > 14)) {
        leave();
        return;
      }
      if (best.y === null) {
        cursor.setAttribute("x1", best.x);
        cursor.setAttribute("x2", best.x);
        cursor.removeAttribute("hidden");
      }
      show(best.tip, event);
    };
    chart.addEventListener("pointermove", move);
    chart.addEventListener("pointerdown", move);
    chart.addEventListener("pointerleave", leave);
  }
})();
