// Makes the plots of a report answer: zoom, reading of values, switching of series and scales; and
// shows what stands for one thing in all plots and tables of the page.
//
// The page is complete without this script. It takes the data of each chart, which stand in the
// page as JSON, and draws the same drawing again whenever the reader asks for another view. Text
// reaches the page as text nodes and attributes only, never as markup, because names in it come
// from outside. It needs nothing else, keeps nothing, and sends nothing.
"use strict";
(() => {
  const source = document.getElementById("charts");
  if (!source) return;
  const { charts, marks } = JSON.parse(source.textContent);
  const space = document.querySelector("figure.chart svg")?.namespaceURI;
  const MARGIN = 6;
  // As in the static drawing: letters, lines, rows, room below and beside.
  const [LETTER, LINE, BELOW, APART] = [6.5, 13, 48, 13];
  // Height of a row, of few and of many.
  const row = (rows) => (rows > 8 ? 26 : 34);
  const PRINTED = 700;
  // Farthest that a point may lie from the crosshair to be read with it.
  const REACH = 14;
  const ZOOM = 0.6;
  const KEYS = "Arrow keys read values, plus and minus zoom, 0 shows all.";

  // Numbers, as the rest of the page writes them.
  const significant = (v) => {
    const m = Math.abs(v);
    return v.toFixed(m >= 99.95 || m === 0 ? 0 : m >= 9.995 ? 1 : m >= 0.9995 ? 2 : 3);
  };
  const digits = (v) => {
    const m = Math.abs(v);
    if (m < 1e-9) return "0";
    return m >= 1e7 ? v.toExponential(1) : m < 0.0005 ? v.toExponential(0) : significant(v);
  };
  const scaled = (v, steps) => {
    for (const [factor, name] of steps) {
      if (Math.abs(v) >= factor * 0.9995) return significant(v / factor) + " " + name;
    }
    const [factor, name] = steps[steps.length - 1];
    return significant(v / factor) + (name ? " " + name : "");
  };
  const TIMES = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const SIZES = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
  const RATES = [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"]];
  const COUNTS = [[1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];
  const count = (v) => scaled(v, COUNTS).replace(" ", "");
  const FORMATS = {
    "": digits,
    ns: (v) => scaled(v, TIMES),
    us: (v) => scaled(v * 1e3, TIMES),
    ms: (v) => scaled(v * 1e6, TIMES),
    B: (v) => scaled(v, SIZES),
    "B/s": (v) => scaled(v, RATES),
    "/s": (v) => count(v) + " IOPS",
    n: count,
    "%": (v) => digits(v * 100) + " %",
  };
  const written = (axis, v) =>
    axis.n.length ? axis.n[Math.max(0, Math.round(v))] ?? "" : FORMATS[axis.u](v);
  const label = (axis, v) => {
    if (axis.n.length) return written(axis, v);
    if (v === 0) return "0";
    return written(axis, v).replace(/^(-?\d+\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
  };

  // Scales.
  const up = (log, v) => (log ? Math.log2(Math.max(v, 1e-300)) : v);
  const down = (log, v) => (log ? 2 ** v : v);
  const roundStep = (axis, least) => {
    if (axis.u === "B") return 2 ** Math.ceil(Math.log2(Math.max(1, least)));
    const power = 10 ** Math.floor(Math.log10(least));
    return [1, 2, 5, 10].map((s) => s * power).find((s) => s >= least * (1 - 1e-9)) ?? power;
  };
  const roundDown = (v) => {
    const power = 10 ** Math.floor(Math.log10(v));
    return [5, 2, 1].map((s) => s * power).find((s) => s <= v * (1 + 1e-9)) ?? power;
  };
  const ticks = (axis, log, [low, high]) => {
    const [from, to] = low < high ? [low, high] : [high, low];
    const given = axis.k.filter((v) => v >= from && v <= to);
    if (axis.n.length || (log === axis.l && given.length > 2)) return given;
    const out = [];
    const binary = axis.u === "B" || axis.k.every((v) => Number.isInteger(Math.log2(v)));
    if (log && binary) {
      for (let p = Math.ceil(Math.log2(from)); 2 ** p <= to; p++) out.push(2 ** p);
    } else if (log) {
      const decades = Math.log10(to / from);
      for (let p = Math.floor(Math.log10(from)); 10 ** p <= to * 1.001; p++) {
        for (const s of decades < 2.5 ? [1, 2, 5] : [1]) {
          const v = s * 10 ** p;
          if (v >= from * 0.999 && v <= to * 1.001) out.push(v);
        }
      }
    }
    // So near that no power lies within: as on a linear scale.
    if (out.length < 2) {
      out.length = 0;
      const step = roundStep(axis, Math.max((to - from) / 5, Number.EPSILON * Math.abs(to)));
      for (let at = Math.ceil(from / step - 1e-9); at * step <= to * (1 + 1e-9); at++) {
        out.push(at * step);
      }
    }
    return out;
  };
  // The labels that have room, each with its place.
  const fitting = (all, half) => {
    for (let every = 1; every < all.length; every++) {
      const shown = all.filter((_, place) => place % every === 0);
      const free = shown.every(([at, text], place) =>
        place === 0 || Math.abs(at - shown[place - 1][0]) >= half(text) + half(shown[place - 1][1]));
      if (free) return shown;
    }
    return all.slice(0, 1);
  };
  const lines = (text, letters) => {
    const out = [""];
    for (const word of text.split(" ")) {
      const last = out.length - 1;
      if (out[last] && out[last].length + 1 + word.length > letters) out.push(word);
      else out[last] += (out[last] ? " " : "") + word;
    }
    return out.map((line) => (line.length > letters ? line.slice(0, letters - 1) + "…" : line));
  };

  const svg = (name, attributes, ...children) => {
    const element = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };
  const html = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.append(...children);
    return element;
  };

  // Words by which a point and a row of a table are one: levels without the names of their axes.
  const word = (text) => text.toLowerCase().replace(/\s+/g, " ").trim()
    .replace(/^(queue depth|iodepth|depth|qd|cache|bs|rw) /, "")
    .replace(/^([\d.]+) (ki|mi|gi)b$/, (_, number, unit) => number + unit[0]);
  const words = (text) => text.split(", ").map(word).filter(Boolean);
  const rows = [];
  for (const table of document.querySelectorAll("table")) {
    let above = [];
    for (const row of table.rows) {
      if (!row.querySelector("td")) continue;
      const cells = [...row.cells].slice(0, 6).map((cell) => cell.textContent.trim());
      // Levels that are as in the row above are left empty.
      for (let at = 0; at < cells.length && !cells[at]; at++) cells[at] = above[at] ?? "";
      above = cells;
      rows.push({ row, words: new Set(cells.flatMap((cell) => [word(cell), ...words(cell)])) });
    }
  }
  const plots = [];
  const clear = () => {
    rows.forEach(({ row }) => row.classList.remove("linked"));
    plots.forEach((plot) => plot.ringed([]));
  };
  // Shows what stands for a point elsewhere.
  const link = (own, key) => {
    const all = key.split("|");
    rows.forEach(({ row, words: has }) =>
      row.classList.toggle("linked", all.length > 1 && all.every((one) => has.has(one))));
    plots.forEach((plot) => plot.ringed(plot === own ? [] : plot.keys.get(key) ?? []));
  };
  const linkRow = (row) => {
    const found = rows.find((one) => one.row === row);
    clear();
    if (!found) return;
    for (const plot of plots) {
      const points = [];
      for (const [key, all] of plot.keys) {
        const keys = key.split("|");
        if (keys.length > 1 && keys.every((one) => found.words.has(one))) points.push(...all);
      }
      plot.ringed(points);
      if (points.length) row.classList.add("linked");
    }
  };
  const emphasise = (name) => plots.forEach((plot) => plot.emphasise(name));

  class Plot {
    constructor(figure, chart) {
      this.chart = chart;
      this.root = figure.querySelector("svg");
      this.rows = chart.y.n.length > 0;
      this.log = { x: chart.x.l, y: chart.y.l };
      this.home = { x: chart.x.r, y: chart.y.r };
      this.view = { x: chart.x.r, y: chart.y.r };
      this.shown = chart.s.map(() => true);
      this.at = null;
      this.drag = null;
      this.rings = [];
      this.keys = this.named();
      figure.classList.add("live");
      this.size();
      this.controls(figure);
      this.legend(figure);
      this.root.setAttribute("tabindex", "0");
      this.root.setAttribute("role", "application");
      this.root.setAttribute("aria-roledescription", "interactive plot");
      this.root.setAttribute("aria-label", `${this.root.getAttribute("aria-label")} ${KEYS}`);
      this.root.addEventListener("keydown", (event) => this.key(event));
      for (const kind of ["pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave"]) {
        this.root.addEventListener(kind, (event) => this[kind](event));
      }
      this.root.addEventListener("dblclick", () => this.reset());
      this.draw();
      new ResizeObserver(() => {
        if (this.size()) this.draw();
      }).observe(this.root.parentElement);
    }

    // Takes the width that there is, or this one; whether that is new.
    size(width = this.root.parentElement.clientWidth) {
      const [wide, high, left, right, top] = this.chart.f;
      if (width < 50) width = wide;
      if (width === this.width) return false;
      [this.width, this.top, this.right] = [width, top, width - (wide - right)];
      this.left = this.rows ? Math.min(left, Math.round(width * 0.42)) : left;
      if (this.rows) {
        const letters = Math.floor((this.left - 8) / LETTER);
        this.labels = this.chart.y.n.map((name) => lines(name, letters));
        const most = Math.max(1, ...this.labels.map((label) => label.length));
        this.height = top + BELOW + this.chart.y.n.length * (row(this.chart.y.n.length) + LINE * (most - 1));
      } else {
        this.height = Math.round(Math.max(high * 0.8, Math.min(high * 1.25, width * 0.45)));
      }
      this.bottom = this.height - BELOW;
      this.root.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
      return true;
    }

    // Points by the words that they stand for.
    named() {
      const keys = new Map();
      const [, of] = /\(([^()]*)\)$/.exec(this.chart.t) ?? [];
      const axis = this.rows ? this.chart.y : this.chart.x;
      this.chart.s.forEach((series, index) => series.p.forEach((point, place) => {
        const at = label(axis, point[this.rows ? 1 : 0]);
        const all = [...words(of ?? ""), ...words(series.n), ...words(at)];
        point.key = [...new Set(all)].sort().join("|");
        if (!keys.has(point.key)) keys.set(point.key, []);
        keys.get(point.key).push([index, place]);
      }));
      return keys;
    }

    // Buttons below the drawing, and the line in which values are read out.
    controls(figure) {
      const button = (text, name, act) => {
        const element = html("button", { type: "button", "aria-label": name, title: name }, text);
        element.addEventListener("click", act);
        return element;
      };
      const bar = html("div", { class: "controls" });
      bar.append(
        button("+", "zoom in", () => this.zoom(ZOOM)),
        button("−", "zoom out", () => this.zoom(1 / ZOOM)),
        button("all", "show all", () => this.reset()),
      );
      for (const name of this.rows ? ["x"] : ["x", "y"]) {
        const { low } = this.extent(name);
        if (!(low > 0) || this.chart.s.some((series) => series.f === "s")) continue;
        const element = button(`log ${name}`, `logarithmic ${name} axis`, () => {
          this.scale(name, !this.log[name]);
          element.setAttribute("aria-pressed", String(this.log[name]));
        });
        element.setAttribute("aria-pressed", String(this.log[name]));
        bar.append(element);
      }
      this.output = html("output", { "aria-live": "off" });
      bar.append(this.output);
      this.root.parentElement.after(bar);
    }

    legend(figure) {
      const items = figure.querySelectorAll(".legend > li:not(.rule)");
      this.values = [];
      items.forEach((item, index) => {
        const button = html("button", { type: "button", "aria-pressed": "true" });
        button.append(...item.childNodes);
        button.addEventListener("click", () => {
          this.shown[index] = !this.shown[index];
          button.setAttribute("aria-pressed", String(this.shown[index]));
          if (this.at && !this.shown[this.at[0]]) this.at = null;
          this.draw();
        });
        const { n } = this.chart.s[index];
        for (const on of ["pointerenter", "focus"]) button.addEventListener(on, () => emphasise(n));
        for (const off of ["pointerleave", "blur"]) button.addEventListener(off, () => emphasise(null));
        this.values.push(html("output", { class: "value", "aria-live": "off" }));
        button.append(this.values[index]);
        item.append(button);
      });
    }

    // Least and largest value of all data along an axis; least only of those above zero.
    extent(name) {
      let low = Infinity;
      let high = -Infinity;
      let positive = Infinity;
      const values = (name === "x") === this.rows;
      for (const series of this.chart.s) {
        for (const p of series.p) {
          const own = name === "x" ? p[0] : p[1];
          for (const v of values ? [own, p[2], p[3]] : [own]) {
            if (typeof v !== "number") continue;
            low = Math.min(low, v);
            high = Math.max(high, v);
            if (v > 0) positive = Math.min(positive, v);
          }
          if (!(own > 0)) low = Math.min(low, 0);
        }
      }
      // An interval may reach below zero where its value does not.
      const own = this.chart.s.every((s) => s.p.every((p) => (name === "x" ? p[0] : p[1]) > 0));
      return { low: own && positive < Infinity ? positive : low, high };
    }

    scale(name, log) {
      const axis = this.chart[name];
      this.log[name] = log;
      if (log === axis.l) {
        this.home[name] = axis.r;
      } else {
        const { low, high } = this.extent(name);
        const top = roundStep({ u: "" }, high);
        this.home[name] = log ? [roundDown(low), top] : [0, Math.min(top, high * 1.05)];
      }
      this.view[name] = this.home[name];
      this.draw();
    }

    share(name, v) {
      const log = this.log[name];
      const [low, high] = this.view[name].map((end) => up(log, end));
      return high === low ? 0.5 : (up(log, v) - low) / (high - low);
    }

    across(x) {
      return this.left + this.share("x", x) * (this.right - this.left);
    }

    down(y) {
      const place = this.bottom - this.share("y", y) * (this.bottom - this.top);
      return Math.max(-1e5, Math.min(1e5, place));
    }

    // The value at a share of the view.
    value(name, share) {
      const log = this.log[name];
      const [low, high] = this.view[name].map((end) => up(log, end));
      return down(log, low + share * (high - low));
    }

    reset() {
      this.view = { x: this.home.x, y: this.home.y };
      this.draw();
    }

    // Zooms around the point that is read, else around the middle.
    zoom(factor) {
      const point = this.at && this.chart.s[this.at[0]].p[this.at[1]];
      const around = (name, v) => {
        const share = v === undefined ? 0.5 : Math.max(0, Math.min(1, this.share(name, v)));
        return [share - share * factor, share + (1 - share) * factor];
      };
      const next = { x: around("x", point?.[0]), y: around("y", point?.[1]) };
      this.show(next.x, this.rows ? [0, 1] : next.y);
    }

    // Shows these shares of the present view, at most what there is.
    show(x, y) {
      const view = {};
      for (const [name, shares] of [["x", x], ["y", y]]) {
        const ends = shares.map((share) => this.value(name, share));
        const [a, b] = this.home[name];
        const [least, most] = [Math.min(a, b), Math.max(a, b)];
        const inside = ends.map((end) => Math.max(least, Math.min(most, end)));
        const log = this.log[name];
        const room = Math.abs(up(log, inside[1]) - up(log, inside[0]));
        // Beyond this, numbers run out of digits.
        const enough = room > 1e-5 * Math.abs(up(log, b) - up(log, a));
        view[name] = enough ? inside : this.view[name];
      }
      this.view = view;
      this.draw();
    }

    draw() {
      const { chart, left, right, top, bottom } = this;
      const scales = svg("g", { class: "scales" });
      if (this.rows) {
        this.labels.forEach((label, row) => label.forEach((text, line) => {
          const y = this.down(row) + 4 - (LINE * (label.length - 1)) / 2 + LINE * line;
          scales.append(svg("text", { x: left - 6, y, "text-anchor": "end" }, text));
        }));
      } else {
        const all = ticks(chart.y, this.log.y, this.view.y).map((v) => [this.down(v), label(chart.y, v)]);
        for (const [y, text] of fitting(all, () => LINE / 2 + 1)) {
          scales.append(svg("path", { class: "grid", d: `M${left} ${y}H${right}` }));
          scales.append(svg("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, text));
        }
      }
      const all = ticks(chart.x, this.log.x, this.view.x).map((v) => [this.across(v), label(chart.x, v)]);
      for (const [x, text] of fitting(all, (text) => (text.length * LETTER) / 2 + 4)) {
        scales.append(
          svg("path", { class: "grid", d: `M${x} ${top}V${bottom}` }),
          svg("path", { class: "axis", d: `M${x} ${bottom}v4` }),
          svg("text", { x, y: bottom + 19, "text-anchor": "middle" }, text),
        );
      }
      const middle = { class: "title", x: (left + right) / 2, y: this.height - 9, "text-anchor": "middle" };
      scales.append(
        svg("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }),
        svg("text", middle, chart.x.t),
        svg("text", { class: "title", x: 2, y: 11 }, chart.y.t),
      );
      const frame = [left - MARGIN, top - MARGIN, right - left + 2 * MARGIN, bottom - top + 2 * MARGIN];
      const [x, y, width, height] = frame;
      this.data = svg("svg", { class: "data", x, y, width, height, viewBox: frame.join(" ") });
      this.data.append(this.rules(scales));
      chart.s.forEach((series, index) => {
        if (this.shown[index]) this.series(series, index);
      });
      this.root.replaceChildren(scales, this.data);
      this.cross = svg("path", { class: "cross", visibility: "hidden" });
      this.ring = svg("circle", { class: "ring", r: 6, visibility: "hidden" });
      this.others = svg("g", { class: "others" });
      this.data.prepend(this.cross);
      this.data.append(this.others, this.ring);
      this.ringed(this.rings);
      this.read();
    }

    // The rules that lie within, and their letters at the edge, apart from each other.
    rules(scales) {
      const { left, right, top, bottom } = this;
      const group = svg("g", { class: "rules" });
      for (const upright of [true, false]) {
        let last = -Infinity;
        this.chart.r
          .map(([stands, v], place) => ({ stands, v, letter: String.fromCharCode(97 + (place % 26)) }))
          .filter(({ stands, v }) => {
            const share = this.share(upright ? "x" : "y", v);
            return stands === upright && share >= 0 && share <= 1;
          })
          .map((rule) => ({ ...rule, at: upright ? this.across(rule.v) : this.down(rule.v) }))
          .sort((a, b) => a.at - b.at)
          .forEach(({ at, letter }) => {
            last = Math.max(at, last + APART);
            const place = upright
              ? { x: last, y: top - 4, "text-anchor": "middle" }
              : { x: right + 8, y: last + 4, "text-anchor": "start" };
            group.append(svg("path", { class: "half", d: upright ? `M${at} ${top}V${bottom}` : `M${left} ${at}H${right}` }));
            scales.append(svg("text", { class: "half", ...place }, letter));
          });
      }
      return group;
    }

    // Where a stacked bar begins.
    base(index, row) {
      let sum = 0;
      this.chart.s.slice(0, index).forEach((series) => {
        if (series.f === "s") series.p.forEach((point) => { if (point[1] === row) sum += point[0]; });
      });
      return sum;
    }

    // Where the mark of a point lies.
    spotted(index, point) {
      const series = this.chart.s[index];
      const x = series.f === "s" ? this.base(index, point[1]) + point[0] : point[0];
      const y = point[1] + (series.f === "b" ? series.b[0] : 0);
      return [this.across(x) + series.k, this.down(y)];
    }

    series({ f, p, b, c, k }, index) {
      const [colour, mark, dash] = c;
      const group = svg("g", { class: colour, "data-series": index });
      const place = ([x, y]) => `${(this.across(x) + k).toFixed(1)} ${this.down(y).toFixed(1)}`;
      const within = (v, from, to) => Math.max(from, Math.min(to, v));
      const ranged = p.filter((point) => typeof point[2] === "number");
      if (f === "b" || f === "s") {
        for (const [x, y] of p) {
          const [high, low] = [this.down(y + b[0] - b[1] / 2), this.down(y + b[0] + b[1] / 2)];
          const base = f === "s" ? this.base(index, y) : null;
          const begin = Math.max(this.left, base === null ? this.left : this.across(base));
          const end = Math.max(begin, this.across((base ?? 0) + x));
          group.append(svg("path", { class: "bar", d: `M${begin} ${high}H${end}V${low}H${begin}z` }));
        }
      }
      if (f === "t" && ranged.length > 1) {
        const ends = (end) => ranged.map((point) =>
          `${this.across(point[0]).toFixed(1)} ${within(this.down(point[end]), this.top, this.bottom).toFixed(1)}`);
        const d = `M${ends(2).join("L")}L${ends(3).reverse().join("L")}z`;
        group.append(svg("path", { class: "band", d }));
      }
      if ((f === "t" || f === "c") && p.length > 1) {
        group.append(svg("path", { class: `line d${dash}`, d: `M${p.map(place).join("L")}` }));
      }
      if (f !== "t" && f !== "s" && ranged.length) {
        const d = ranged.map(([x, y, low, high]) => {
          const [at, from, to] = this.rows
            ? [this.down(y + b[0]), this.left, this.right]
            : [this.across(x) + k, this.top, this.bottom];
          const own = [low, high].map((v) => (this.rows ? this.across(v) : this.down(v)));
          const [a, z] = own.map((v) => within(v, from, to));
          const caps = own.filter((v) => v >= from && v <= to)
            .map((v) => (this.rows ? `M${v} ${at - 3}v6` : `M${at - 2.5} ${v}h5`));
          return (this.rows ? `M${a} ${at}H${z}` : `M${at} ${a}V${z}`) + caps.join("");
        });
        group.append(svg("path", { class: "error", d: d.join("") }));
      }
      if (f === "c" || f === "m") {
        for (const point of p) {
          group.append(svg("path", { class: `mark m${mark}`, d: `M${place(point)}${marks[mark]}` }));
        }
      }
      this.data.append(group);
    }

    // Rings at the points that stand for what is read elsewhere.
    ringed(points) {
      this.rings = points;
      const circles = points.filter(([index]) => this.shown[index]).map(([index, place]) => {
        const [cx, cy] = this.spotted(index, this.chart.s[index].p[place]);
        return svg("circle", { class: "ring", r: 6, cx, cy });
      });
      this.others.replaceChildren(...circles);
    }

    // Dims the other series where one of this name is.
    emphasise(name) {
      const has = this.chart.s.some((series) => series.n === name);
      for (const group of this.data.querySelectorAll("g[data-series]")) {
        const other = this.chart.s[Number(group.dataset.series)].n !== name;
        group.classList.toggle("dim", name !== null && has && other);
      }
    }

    // Shows the point that is read, in words and by a ring, and the values of all series there.
    read() {
      const values = this.at ? this.beneath() : [];
      this.values.forEach((output, index) => { output.textContent = values[index] ?? ""; });
      const hide = (element) => element.setAttribute("visibility", "hidden");
      if (!this.at) {
        this.output.textContent = "";
        hide(this.ring);
        hide(this.cross);
        return;
      }
      const [index, place] = this.at;
      const series = this.chart.s[index];
      const point = series.p[place];
      const [across, value] = this.rows ? ["y", "x"] : ["x", "y"];
      const axes = this.chart;
      const [at, of] = this.rows ? [point[1], point[0]] : point;
      let text = `${label(axes[across], at)}: ${written(axes[value], of)}`;
      if (series.n) text = `${series.n}, ${text}`;
      if (typeof point[2] === "number") {
        text += ` (${written(axes[value], point[2])} to ${written(axes[value], point[3])})`;
      }
      if (point[4]) text += `, ${point[4]}`;
      this.output.textContent = text;
      const [cx, cy] = this.spotted(index, point);
      this.ring.setAttribute("cx", cx);
      this.ring.setAttribute("cy", cy);
      this.ring.setAttribute("visibility", "visible");
      const line = this.rows ? `M${this.left} ${this.down(point[1])}H${this.right}` : `M${this.across(point[0])} ${this.top}V${this.bottom}`;
      this.cross.setAttribute("d", line);
      this.cross.setAttribute("visibility", "visible");
      link(this, point.key);
    }

    // What each series has at the abscissa that is read.
    beneath() {
      const along = this.rows ? "y" : "x";
      const place = (point) => (this.rows ? this.down(point[1]) : this.across(point[0]));
      const [own, at] = this.at;
      const here = place(this.chart.s[own].p[at]);
      return this.chart.s.map((series, index) => {
        if (!this.shown[index]) return "";
        let best = null;
        for (const point of series.p) {
          if (!best || Math.abs(place(point) - here) < Math.abs(place(best) - here)) best = point;
        }
        if (!best || Math.abs(place(best) - here) > REACH) return "";
        return written(this.chart[along === "x" ? "y" : "x"], best[along === "x" ? 1 : 0]);
      });
    }

    // The point nearest to a place of the drawing.
    nearest(x, y) {
      let best = null;
      let least = Infinity;
      this.chart.s.forEach((series, index) => {
        if (!this.shown[index]) return;
        series.p.forEach((point, place) => {
          const [atX, atY] = this.spotted(index, point);
          const [dx, dy] = [atX - x, atY - y];
          const far = this.rows ? dx * dx * 0.05 + dy * dy : dx * dx + dy * dy * 0.3;
          if (far < least) [least, best] = [far, [index, place]];
        });
      });
      return best;
    }

    key(event) {
      const act = {
        ArrowRight: () => this.step(1),
        ArrowLeft: () => this.step(-1),
        ArrowUp: () => this.other(-1),
        ArrowDown: () => this.other(1),
        Home: () => this.step(-Infinity),
        End: () => this.step(Infinity),
        "+": () => this.zoom(ZOOM),
        "=": () => this.zoom(ZOOM),
        "-": () => this.zoom(1 / ZOOM),
        0: () => this.reset(),
        Escape: () => this.reset(),
      }[event.key];
      if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      this.output.setAttribute("aria-live", "polite");
      act();
    }

    // Goes along a series.
    step(by) {
      if (!this.at) return this.other(1);
      const [index, place] = this.at;
      const last = this.chart.s[index].p.length - 1;
      this.at = [index, Math.max(0, Math.min(last, place + by))];
      this.follow();
    }

    // Goes to the next series that is shown, near the same place.
    other(by) {
      const shown = this.chart.s.map((_, index) => index)
        .filter((index) => this.shown[index] && this.chart.s[index].p.length);
      if (!shown.length) return;
      const now = this.at ? shown.indexOf(this.at[0]) : -1;
      const index = shown[(now + by + shown.length) % shown.length];
      const along = this.rows ? 1 : 0;
      const at = this.at ? this.chart.s[this.at[0]].p[this.at[1]][along] : -Infinity;
      const points = this.chart.s[index].p;
      let place = 0;
      points.forEach((point, other) => {
        if (Math.abs(point[along] - at) < Math.abs(points[place][along] - at)) place = other;
      });
      this.at = [index, place];
      this.follow();
    }

    // Moves the view so that the point that is read lies in it.
    follow() {
      const point = this.chart.s[this.at[0]].p[this.at[1]];
      const move = (name, v) => {
        const share = this.share(name, v);
        const by = share < 0 ? share - 0.1 : share > 1 ? share - 0.9 : 0;
        return [by, 1 + by];
      };
      this.show(move("x", point[0]), this.rows ? [0, 1] : move("y", point[1]));
    }

    // Where an event lies, in units of the drawing.
    spot(event) {
      const box = this.root.getBoundingClientRect();
      return [
        ((event.clientX - box.left) / box.width) * this.width,
        ((event.clientY - box.top) / box.height) * this.height,
      ];
    }

    pointerdown(event) {
      if (event.button !== 0) return;
      this.drag = { from: this.spot(event), id: event.pointerId };
      try {
        this.root.setPointerCapture(event.pointerId);
      } catch {
        // The pointer has gone already.
      }
    }

    pointermove(event) {
      const [x, y] = this.spot(event);
      this.output.setAttribute("aria-live", "off");
      if (!this.drag) {
        this.at = this.nearest(x, y);
        this.read();
        return;
      }
      this.drag.box?.remove();
      const area = this.area(x, y);
      if (!area) return;
      this.drag.box = svg("rect", {
        class: "drag", x: area.x[0], y: area.y[0],
        width: area.x[1] - area.x[0], height: area.y[1] - area.y[0],
      });
      this.data.append(this.drag.box);
    }

    // What is dragged over; a flat or narrow area means the whole height or width.
    area(x, y) {
      const [fromX, fromY] = this.drag.from;
      const limit = (v, low, high) => Math.max(low, Math.min(high, v));
      const pair = (a, b, low, high) => [limit(Math.min(a, b), low, high), limit(Math.max(a, b), low, high)];
      let [across, along] = [pair(fromX, x, this.left, this.right), pair(fromY, y, this.top, this.bottom)];
      const [wide, tall] = [across[1] - across[0] >= 12, along[1] - along[0] >= 12 && !this.rows];
      if (!wide && !tall) return null;
      if (!wide) across = [this.left, this.right];
      if (!tall) along = [this.top, this.bottom];
      return { x: across, y: along };
    }

    pointerup(event) {
      if (!this.drag) return;
      const [x, y] = this.spot(event);
      const area = this.area(x, y);
      this.drag.box?.remove();
      this.drag = null;
      if (!area) {
        this.at = this.nearest(x, y);
        this.read();
        return;
      }
      const across = area.x.map((v) => (v - this.left) / (this.right - this.left));
      const along = area.y.map((v) => (this.bottom - v) / (this.bottom - this.top)).reverse();
      this.show(across, this.rows ? [0, 1] : along);
    }

    pointercancel() {
      this.drag?.box?.remove();
      this.drag = null;
    }

    pointerleave() {
      if (this.drag || document.activeElement === this.root) return;
      this.at = null;
      this.read();
      clear();
    }
  }

  for (const figure of document.querySelectorAll("figure.chart")) {
    plots.push(new Plot(figure, charts[Number(figure.dataset.chart)]));
  }
  document.addEventListener("pointerover", (event) => {
    const row = event.target.closest?.("tr");
    if (row) linkRow(row);
  });
  document.addEventListener("pointerout", (event) => {
    if (event.target.closest?.("tr")) clear();
  });

  // All folds at once, and on paper all of them, with plots as wide as it.
  const folds = [...document.querySelectorAll("article details")];
  const bar = document.querySelector(".tools");
  if (folds.length && bar) {
    const button = html("button", { type: "button" }, "open all");
    button.addEventListener("click", () => {
      const open = folds.some((fold) => !fold.open);
      folds.forEach((fold) => { fold.open = open; });
      button.textContent = open ? "close all" : "open all";
    });
    bar.append(button);
  }
  // A link into a fold opens it.
  const reveal = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    for (let fold = target && target.closest("details"); fold; fold = fold.parentElement.closest("details")) {
      fold.open = true;
    }
    if (target) target.scrollIntoView();
  };
  window.addEventListener("hashchange", reveal);
  reveal();
  let closed = [];
  window.addEventListener("beforeprint", () => {
    closed = folds.filter((fold) => !fold.open && !fold.closest("figure"));
    closed.forEach((fold) => { fold.open = true; });
    plots.forEach((plot) => { if (plot.size(PRINTED)) plot.draw(); });
  });
  window.addEventListener("afterprint", () => {
    closed.forEach((fold) => { fold.open = false; });
    plots.forEach((plot) => { if (plot.size()) plot.draw(); });
  });
})();
