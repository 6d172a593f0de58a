// Tooltips with exact values, lines to switch on and off, a zoom of lanes, a condition to choose. The page is
// complete without it.
"use strict";
(() => {
  const tip = document.getElementById("tip");
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // --- tooltips -------------------------------------------------------------------------------------

  let shown = null;

  function show(element, x, y) {
    if (shown !== element) {
      hide();
      shown = element;
      element.classList.add("on");
      tip.textContent = element.dataset.tip;
      tip.hidden = false;
    }
    const box = tip.getBoundingClientRect();
    const left = Math.min(Math.max(8, x + 14), innerWidth - box.width - 8);
    const above = y - box.height - 12;
    tip.style.left = left + "px";
    tip.style.top = (above > 8 ? above : y + 18) + "px";
  }

  function hide() {
    if (shown) shown.classList.remove("on");
    shown = null;
    tip.hidden = true;
  }

  function showAt(element) {
    const box = element.getBoundingClientRect();
    show(element, box.left + box.width / 2, box.top);
  }

  for (const track of all(".track")) {
    track.addEventListener("pointermove", (event) => show(track, event.clientX, event.clientY));
    track.addEventListener("pointerleave", hide);
    track.addEventListener("focus", () => showAt(track));
    track.addEventListener("blur", hide);
  }

  addEventListener("keydown", (event) => event.key === "Escape" && hide());
  addEventListener("scroll", hide, { passive: true });

  // --- lines ----------------------------------------------------------------------------------------

  for (const figure of all("figure.lines")) {
    const svg = figure.querySelector("svg");
    const groups = all("g[data-s]", svg);
    const visible = () => groups.filter((group) => !group.classList.contains("off"));

    // The point nearest to the pointer, if one is near.
    function nearest(x, y) {
      let best = null;
      let distance = 45 * 45;
      for (const group of visible()) {
        for (const point of group.querySelectorAll("circle")) {
          const box = point.getBoundingClientRect();
          const dx = box.left + box.width / 2 - x;
          const dy = box.top + box.height / 2 - y;
          if (dx * dx + dy * dy < distance) {
            distance = dx * dx + dy * dy;
            best = point;
          }
        }
      }
      return best;
    }

    function follow(event) {
      const point = nearest(event.clientX, event.clientY);
      if (point) showAt(point);
      else hide();
    }

    svg.addEventListener("pointermove", follow);
    svg.addEventListener("pointerdown", follow);
    svg.addEventListener("pointerleave", hide);
    svg.addEventListener("blur", hide);

    // Left and right along a line, up and down to the next one.
    let line = 0;
    let index = 0;
    svg.addEventListener("keydown", (event) => {
      const step = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0] }[event.key];
      const lines = visible();
      if (!step || lines.length === 0) return;
      event.preventDefault();
      line = (line + step[0] + lines.length) % lines.length;
      const points = all("circle", lines[line]);
      if (points.length === 0) return;
      index = Math.min(Math.max(index + step[1], 0), points.length - 1);
      showAt(points[index]);
    });

    for (const button of all(".legend button", figure)) {
      const group = groups.find((g) => g.dataset.s === button.dataset.s);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(on));
        group.classList.toggle("off", !on);
      });
      const dim = (yes) => groups.forEach((g) => g.classList.toggle("dim", yes && g !== group));
      button.addEventListener("pointerenter", () => dim(!group.classList.contains("off")));
      button.addEventListener("pointerleave", () => dim(false));
    }
  }

  // --- zoom of lanes ----------------------------------------------------------------------------------

  // A time in nanoseconds, exact enough to tell ticks apart that are `step` from each other.
  function timeOf(ns, step) {
    const [unit, size] = [["s", 1e9], ["ms", 1e6], ["us", 1e3]].find(([, size]) => step >= size / 10) || ["ns", 1];
    const digits = Math.min(3, Math.max(0, Math.ceil(-Math.log10(step / size)) + 1));
    return `${(ns / size).toFixed(digits)} ${unit}`;
  }

  // The same of a moment of the watch.
  const momentOf = (ns, step) => `${(ns / 1e9).toFixed(Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / 1e9)) + 1)))} s`;

  for (const figure of all("figure.lanes")) {
    const bar = figure.querySelector(".zoom");
    const [width, low, high] = ["width", "low", "high"].map((key) => Number(figure.dataset[key]));
    const spans = all("rect", figure).map((rect) => ({ rect, x: Number(rect.getAttribute("x")), w: Number(rect.getAttribute("width")) }));
    const labels = all(".ticks span", figure).map((label) => ({ label, whole: label.textContent }));
    let [from, to] = [0, 1];

    function draw() {
      const place = (x) => ((x / width - from) / (to - from)) * width;
      for (const { rect, x, w } of spans) {
        const [begin, end] = [Math.max(place(x), 0), Math.min(place(x + w), width)];
        rect.style.display = end < 0 || begin > width ? "none" : "";
        rect.setAttribute("x", begin.toFixed(3));
        rect.setAttribute("width", Math.max(end - begin, 0.01).toFixed(3));
      }
      const isWhole = to - from > 0.999;
      const step = ((high - low) * (to - from)) / Math.max(1, labels.length - 1);
      const begin = low + (high - low) * from;
      labels.forEach(({ label, whole }, nth) => {
        label.textContent = isWhole ? whole : nth === 0 ? momentOf(begin, step) : `+${timeOf(nth * step, step)}`;
      });
      const [out, back, , forth, reset] = all("button", bar);
      // A button that is disabled would lose the focus.
      const idle = [[out, isWhole], [reset, isWhole], [back, from <= 0], [forth, to >= 1]];
      for (const [button, is] of idle) button.setAttribute("aria-disabled", String(is));
      const shown = () => [from, to].map((part) => momentOf(low + (high - low) * part, step)).join(" to ");
      bar.querySelector("output").textContent = isWhole ? "" : shown();
    }

    // `by` 2 shows twice the time; `middle` is the part of the chart that stays in its place.
    function zoom(by, middle = 0.5) {
      const wide = Math.min(1, Math.max(1e-6, (to - from) * by));
      const begin = from + (to - from - wide) * middle;
      from = Math.min(Math.max(begin, 0), 1 - wide);
      to = from + wide;
      draw();
    }

    function move(parts) {
      const wide = to - from;
      from = Math.min(Math.max(from + parts * wide, 0), 1 - wide);
      to = from + wide;
      draw();
    }

    const steps = [
      ["\u2212", "Show more time", () => zoom(2)],
      ["\u2190", "Earlier", () => move(-0.5)],
      ["+", "Show less time", () => zoom(0.5)],
      ["\u2192", "Later", () => move(0.5)],
      ["All", "Show all of the time", () => zoom(Infinity)],
    ];
    for (const [text, name, act] of steps) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = text;
      button.setAttribute("aria-label", name);
      button.addEventListener("click", act);
      bar.append(button);
    }
    bar.append(document.createElement("output"));
    bar.hidden = false;
    bar.addEventListener("keydown", (event) => {
      const act = { "+": 2, "-": 0, ArrowLeft: 1, ArrowRight: 3, 0: 4 }[event.key];
      if (act === undefined) return;
      event.preventDefault();
      steps[act][2]();
    });
    figure.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const box = figure.querySelector(".ticks").getBoundingClientRect();
      const at = (event.clientX - box.left) / box.width;
      zoom(event.deltaY > 0 ? 1.25 : 0.8, Math.min(Math.max(at, 0), 1));
    }, { passive: false });
    draw();
  }

  // --- data of a chart --------------------------------------------------------------------------------

  // The values are those of the tooltips: a line of the table for each point.
  function tableOf(figure) {
    const table = document.createElement("table");
    for (const point of all("[data-tip]", figure)) {
      const lines = point.dataset.tip.split("\n");
      // A line without a name has its value after the colon.
      const [first, ...values] = lines.length > 1 ? lines : lines[0].split(/: (.*)/, 2);
      const row = table.insertRow();
      const head = row.appendChild(document.createElement("th"));
      head.scope = "row";
      head.textContent = first;
      for (const value of values) row.insertCell().textContent = value;
    }
    const scroll = document.createElement("div");
    scroll.className = "scroll";
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "region");
    scroll.setAttribute("aria-label", "Data: " + figure.querySelector("figcaption").textContent);
    scroll.append(table);
    return scroll;
  }

  for (const data of all("details.data")) {
    data.addEventListener("toggle", () => data.open && data.append(tableOf(data.parentElement)), { once: true });
  }

  // --- labels of charts: as large as the text around them, however wide the chart is -------------------

  function fit(svg) {
    if (svg.clientWidth > 0) svg.style.setProperty("--unit", Number(svg.dataset.width) / svg.clientWidth);
  }

  const charts = all(".lines svg");
  const sized = new ResizeObserver((entries) => entries.forEach((entry) => fit(entry.target)));
  charts.forEach((svg) => (fit(svg), sized.observe(svg)));

  // --- conditions -----------------------------------------------------------------------------------

  for (const chooser of all(".chooser")) {
    // In a study with parts each part has its own.
    const scope = chooser.closest("[data-scope]") ?? document;
    const select = chooser.querySelector("select");
    chooser.hidden = false;
    const choose = () => {
      for (const element of all("[data-condition]", scope)) {
        element.hidden = select.value !== "" && element.dataset.condition !== select.value;
      }
    };
    select.addEventListener("change", choose);
    choose();
  }

  // For the check of a page: the script came to its end.
  document.documentElement.dataset.ready = "true";
})();
