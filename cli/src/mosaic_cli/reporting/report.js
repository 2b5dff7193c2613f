"use strict";
(() => {
  const root = document.documentElement, SVG = "http://www.w3.org/2000/svg";
  const LEFT = 64, TOP = 10, MOST = 8, FACTORS = [1, 2, 2.5, 5, 10];
  root.classList.add("js");
  document.getElementById("theme").addEventListener("click", () => {
    const now = root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    root.dataset.theme = now === "dark" ? "light" : "dark";
  });

  // A row of the results stands for the curves of its run.
  const rows = [...document.querySelectorAll("tr[data-run]")];
  const curvesOf = (row) => document.querySelectorAll(".plot g.r" + row.dataset.run);
  const hide = (row, on) => {
    row.classList.toggle("hidden", on);
    curvesOf(row).forEach((curve) => curve.classList.toggle("hidden", on));
  };
  const point = (row, on) => {
    if (rows.length < 2 || row.classList.contains("hidden")) return;
    document.querySelectorAll(".plot").forEach((plot) => plot.classList.toggle("pointed", on));
    curvesOf(row).forEach((curve) => curve.classList.toggle("pointed", on));
  };
  for (const row of rows) {
    row.addEventListener("click", (event) => {
      if (String(getSelection())) return;
      if (!event.altKey) return hide(row, !row.classList.contains("hidden"));
      const alone = rows.every((other) => other.classList.contains("hidden") === (other !== row));
      rows.forEach((other) => hide(other, !alone && other !== row));
    });
    row.addEventListener("mouseenter", () => point(row, true));
    row.addEventListener("mouseleave", () => point(row, false));
  }

  const round = (value) => {
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (Math.abs(value) >= size) return Number((value / size).toPrecision(4)) + unit;
    }
    return String(Number(value.toPrecision(4)));
  };
  const ticks = (low, high, most) => {
    const rough = (high - low) / most, size = 10 ** Math.floor(Math.log10(rough));
    const step = size * FACTORS.find((factor) => size * factor >= rough * (1 - 1e-9));
    const made = [];
    for (let n = Math.ceil(low / step - 1e-9); n <= Math.floor(high / step + 1e-9); n++) made.push(n * step);
    return made;
  };
  const add = (parent, name, values) => {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(values)) made.setAttribute(key, value);
    return parent.appendChild(made);
  };

  for (const chart of document.querySelectorAll("svg.chart")) {
    const plot = chart.querySelector(".plot"), axes = chart.querySelector(".axes");
    const readout = chart.parentElement.querySelector(".readout");
    const [, , WIDTH, HEIGHT] = plot.getAttribute("viewBox").split(" ").map(Number);
    const whole = { x: chart.dataset.x.split(" ").map(Number), y: chart.dataset.y.split(" ").map(Number) };
    let seen = { x: 0, y: 0, width: WIDTH, height: HEIGHT };
    const points = new Map();
    // The points of a line, in units of the plot; read once, when they are first asked for.
    const pointsOf = (line) => {
      if (!points.has(line)) {
        points.set(line, line.getAttribute("d").slice(1).split("L").map((pair) => pair.split(/[ h]/).map(Number)));
      }
      return points.get(line);
    };
    const xAt = (x) => whole.x[0] + (x / WIDTH) * (whole.x[1] - whole.x[0]);
    const yAt = (y) => whole.y[0] + (1 - y / HEIGHT) * (whole.y[1] - whole.y[0]);
    const shownLines = () => [...plot.querySelectorAll("g:not(.hidden) .line")];

    const draw = () => {
      plot.setAttribute("viewBox", `${seen.x} ${seen.y} ${seen.width} ${seen.height}`);
      axes.replaceChildren();
      const [low, high] = [yAt(seen.y + seen.height), yAt(seen.y)];
      for (const value of ticks(low, high, 5)) {
        const y = TOP + HEIGHT * (1 - (value - low) / (high - low));
        add(axes, "path", { d: `M${LEFT} ${y}h${WIDTH}` });
        add(axes, "text", { x: LEFT - 6, y, class: "y" }).textContent = round(value);
      }
      const [first, last] = [xAt(seen.x), xAt(seen.x + seen.width)];
      for (const value of ticks(first, last, 7)) {
        const x = LEFT + (WIDTH * (value - first)) / (last - first);
        add(axes, "path", { d: `M${x} ${TOP}v${HEIGHT}` });
        add(axes, "text", { x, y: TOP + HEIGHT + 15, class: "x" }).textContent = round(value);
      }
    };
    // Zooms to a stretch of x; y fits what is seen in it.
    const zoom = (from, to) => {
      let top = HEIGHT, bottom = 0;
      for (const line of shownLines()) {
        for (const [x, y] of pointsOf(line)) {
          if (x >= from && x <= to) [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
        }
      }
      if (bottom <= top) [top, bottom] = [Math.max(0, top - 20), Math.min(HEIGHT, bottom + 20)];
      if (bottom <= top) [top, bottom] = [0, HEIGHT];
      const room = (bottom - top) * 0.06;
      seen = { x: from, y: top - room, width: to - from, height: bottom - top + 2 * room };
      draw();
    };
    const placeOf = (event) => {
      const box = chart.getBoundingClientRect(), scale = chart.viewBox.baseVal.width / box.width;
      const share = ((event.clientX - box.left) * scale - LEFT) / WIDTH;
      return seen.x + Math.min(1, Math.max(0, share)) * seen.width;
    };
    let from = null, mark = null, cursor = null;
    chart.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      from = placeOf(event);
      mark = add(plot, "rect", { class: "zoom", x: from, y: seen.y, width: 0, height: seen.height });
      chart.setPointerCapture(event.pointerId);
    });
    chart.addEventListener("pointermove", (event) => {
      const at = placeOf(event);
      if (mark) {
        mark.setAttribute("x", Math.min(from, at));
        mark.setAttribute("width", Math.abs(at - from));
      }
      cursor = cursor || add(plot, "path", { class: "cursor" });
      cursor.setAttribute("d", `M${at} ${seen.y}v${seen.height}`);
      showAt(at);
    });
    chart.addEventListener("pointerup", (event) => {
      const at = placeOf(event), start = from;
      if (mark) mark.remove();
      from = mark = null;
      if (start !== null && Math.abs(at - start) > seen.width / 100) zoom(Math.min(start, at), Math.max(start, at));
    });
    chart.addEventListener("dblclick", () => {
      seen = { x: 0, y: 0, width: WIDTH, height: HEIGHT };
      draw();
    });
    chart.addEventListener("pointerleave", () => {
      if (cursor) cursor.remove();
      cursor = null;
      readout.textContent = "";
    });
    const showAt = (at) => {
      const found = new Map();
      for (const line of shownLines()) {
        const name = line.parentElement.querySelector("title").textContent;
        const values = found.get(name) || {};
        const kind = line.classList.contains("mean") ? "mean" : "value";
        for (const [x, y] of pointsOf(line)) {
          const far = Math.abs(x - at);
          if (far <= seen.width / 20 && !(values[kind]?.far <= far)) values[kind] = { far, y };
        }
        if (values.value) found.set(name, values);
      }
      const words = [...found].slice(0, MOST).map(([name, { value, mean }]) => {
        return `${name}: ${round(yAt(value.y))}` + (mean ? ` (mean ${round(yAt(mean.y))})` : "");
      });
      const more = found.size > MOST ? ` · and ${found.size - MOST} more` : "";
      readout.textContent = `step ${round(xAt(at))} · ${words.join(" · ")}${more}`;
    };
  }
})();
