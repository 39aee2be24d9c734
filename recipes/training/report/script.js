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

  const hide = () => { tip.hidden = true; };

  for (const chart of document.querySelectorAll("svg[data-points]")) {
    const points = JSON.parse(chart.dataset.points);
    const cursor = chart.querySelector(".cursor");
    const move = (event) => {
      const box = chart.getBoundingClientRect();
      const scale = chart.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * scale;
      let best = 0;
      points.places.forEach((place, i) => {
        if (Math.abs(place - x) < Math.abs(points.places[best] - x)) best = i;
      });
      cursor.setAttribute("x1", points.places[best]);
      cursor.setAttribute("x2", points.places[best]);
      cursor.removeAttribute("hidden");
      const lines = points.series.map(([name, values]) =>
        `${name}: ${values[best]}`);
      show([points.names[best], ...lines].join("\n"), event);
    };
    chart.addEventListener("pointermove", move);
    chart.addEventListener("pointerdown", move);
    chart.addEventListener("pointerleave", () => {
      cursor.setAttribute("hidden", "");
      hide();
    });
  }

  for (const drawn of document.querySelectorAll("svg.matrix, svg.tradeoff")) {
    const move = (event) => {
      const text = event.target.dataset.tip;
      if (text) show(text, event);
      else hide();
    };
    drawn.addEventListener("pointermove", move);
    drawn.addEventListener("pointerdown", move);
    drawn.addEventListener("pointerleave", hide);
  }

  // A legend whose entries are switches for the curves of its section.
  for (const button of document.querySelectorAll("button[data-curve]")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", on);
      const curves = button.closest("section").querySelectorAll("g[data-curve]");
      for (const curve of curves) {
        if (curve.dataset.curve === button.dataset.curve) {
          curve.toggleAttribute("hidden", !on);
        }
      }
    });
  }
})();
