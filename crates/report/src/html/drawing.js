// Draws the charts of a report at any width, scale and view: numbers, axes, marks, rules.
//
// `page.js` follows in the same script, and lets a reader choose the view. Text reaches the page as
// text nodes and attributes only, never as markup, because names in it come from outside.
"use strict";
const { charts, marks } = JSON.parse(document.getElementById("charts").textContent);
const space = document.querySelector("figure.chart svg").namespaceURI;
const MARGIN = 6;
// As in the static drawing: letters, lines, space below and between.
const [LETTER, LINE, BELOW, APART] = [6.5, 13, 48, 13];
const limit = (v, low, high) => Math.max(low, Math.min(high, v));
const sorted = (values) => [...values].sort((a, b) => a - b);

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
  const [factor, name] = steps.find(([least]) => Math.abs(v) >= least * 0.9995) ?? steps.at(-1);
  return `${significant(v / factor)} ${name}`;
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
const power = (v) => 10 ** Math.floor(Math.log10(v));
const roundUp = (v) =>
  [1, 2, 5, 10].map((s) => s * power(v)).find((s) => s >= v * (1 - 1e-9)) ?? power(v);
const roundDown = (v) =>
  [5, 2, 1].map((s) => s * power(v)).find((s) => s <= v * (1 + 1e-9)) ?? power(v);
// The whole numbers between two numbers.
const whole = (low, high) => {
  const from = Math.ceil(low);
  return Array.from({ length: Math.max(0, Math.floor(high) - from + 1) }, (_, at) => from + at);
};
const ticks = (axis, log, view) => {
  const [from, to] = sorted(view);
  const given = axis.k.filter((v) => v >= from && v <= to);
  if (axis.n.length || (log === axis.l && given.length > 2)) return given;
  let out = [];
  if (log && (axis.u === "B" || axis.k.every((v) => Number.isInteger(Math.log2(v))))) {
    out = whole(Math.log2(from), Math.log2(to)).map((exponent) => 2 ** exponent);
  } else if (log) {
    const steps = Math.log10(to / from) < 2.5 ? [1, 2, 5] : [1];
    out = whole(Math.floor(Math.log10(from)), Math.log10(to * 1.001))
      .flatMap((exponent) => steps.map((step) => step * 10 ** exponent))
      .filter((v) => v >= from * 0.999 && v <= to * 1.001);
  }
  if (out.length > 1) return out;
  // A linear scale, or a range without two powers.
  const least = Math.max((to - from) / 5, Number.EPSILON * Math.abs(to));
  const step = axis.u === "B" ? 2 ** Math.ceil(Math.log2(Math.max(1, least))) : roundUp(least);
  return whole(from / step - 1e-9, (to * (1 + 1e-9)) / step).map((at) => at * step);
};
// The labels that fit, each with its position.
const fitting = (all, half) => {
  for (let every = 1; ; every++) {
    const shown = all.filter((_, place) => place % every === 0);
    if (shown.every(([at, text], place) => place === 0 ||
      Math.abs(at - shown[place - 1][0]) >= half(text) + half(shown[place - 1][1]))) return shown;
  }
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

// Elements.
const filled = (element, attributes, children = []) => {
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};
const svg = (name, attributes, ...children) =>
  filled(document.createElementNS(space, name), attributes, children);
const path = (kind, d) => svg("path", { class: kind, d });

// A chart, drawn at any width, scale and view. Positions, values, ends and views are pairs by axis:
// 0 is the abscissa, 1 the ordinate.
class Drawing {
  constructor(root, chart) {
    this.root = root;
    this.chart = chart;
    this.rows = chart.y.n.length > 0;
    this.axes = [chart.x, chart.y];
    // The axis of positions, and the axis of values.
    [this.along, this.of] = this.rows ? [1, 0] : [0, 1];
    this.log = this.axes.map((axis) => axis.l);
    this.home = this.axes.map((axis) => axis.r);
    this.view = [...this.home];
    this.shown = chart.s.map(() => true);
    this.size();
  }

  // Takes the available width, or the given one, and returns whether it is new.
  size(width = this.root.parentElement.clientWidth) {
    const [wide, high, left, right, top] = this.chart.f;
    if (width < 50) width = wide;
    if (width === this.width) return false;
    const names = this.chart.y.n;
    this.width = width;
    const start = this.rows ? Math.min(left, Math.round(width * 0.42)) : left;
    this.labels = names.map((name) => lines(name, Math.floor((start - 8) / LETTER)));
    const most = Math.max(1, ...this.labels.map((label) => label.length));
    this.height = this.rows
      ? top + BELOW + names.length * ((names.length > 8 ? 26 : 34) + LINE * (most - 1))
      : Math.round(limit(width * 0.45, high * 0.8, high * 1.25));
    this.ends = [[start, width - (wide - right)], [this.height - BELOW, top]];
    this.root.setAttribute("viewBox", `0 0 ${width} ${this.height}`);
    return true;
  }

  resize(width) {
    if (this.size(width)) this.draw();
  }

  // Smallest and largest value along an axis. An interval may reach below zero where its value
  // does not; the smallest is zero if a value does.
  extent(axis) {
    const points = this.chart.s.flatMap((series) => series.p);
    const parts = axis === this.of ? [axis, 2, 3] : [axis];
    const all = points.flatMap((point) => parts.map((part) => point[part]))
      .filter((v) => typeof v === "number");
    const least = points.every((point) => point[axis] > 0)
      ? all.reduce((low, v) => (v > 0 ? Math.min(low, v) : low), Infinity)
      : 0;
    return [least, all.reduce((high, v) => Math.max(high, v), -Infinity)];
  }

  scale(axis, log) {
    this.log[axis] = log;
    if (log === this.axes[axis].l) {
      this.home[axis] = this.axes[axis].r;
    } else {
      const [low, high] = this.extent(axis);
      const top = roundUp(high);
      this.home[axis] = log ? [roundDown(low), top] : [0, Math.min(top, high * 1.05)];
    }
    this.view[axis] = this.home[axis];
    this.draw();
  }

  // The position of a value as a share of the view, 0 to 1.
  share(axis, v) {
    const [low, high, at] = [...this.view[axis], v].map((end) => up(this.log[axis], end));
    return high === low ? 0.5 : (at - low) / (high - low);
  }

  // The position of a value in the drawing.
  place(axis, v) {
    const [from, to] = this.ends[axis];
    const at = from + this.share(axis, v) * (to - from);
    return axis === 0 ? at : limit(at, -1e5, 1e5);
  }

  reset() {
    this.view = [...this.home];
    this.draw();
  }

  // Shows these shares of the view, but nothing beyond the data. Rows are always shown all.
  show(shares) {
    this.view = this.view.map((view, axis) => {
      if (this.rows && axis === 1) return view;
      const [scale, home] = [(v) => up(this.log[axis], v), this.home[axis]];
      const [low, high] = view.map(scale);
      const ends = shares[axis].map((share) => down(this.log[axis], low + share * (high - low)))
        .map((end) => limit(end, ...sorted(home)));
      const room = ([from, to]) => Math.abs(scale(to) - scale(from));
      // Beyond this, numbers run out of digits.
      return room(ends) > 1e-5 * room(home) ? ends : view;
    });
    this.draw();
  }

  draw() {
    const [[left, right], [bottom, top]] = this.ends;
    const scales = svg("g", { class: "scales" });
    const text = (attributes, words) => scales.append(svg("text", attributes, words));
    const labels = (axis, half) => fitting(
      ticks(this.axes[axis], this.log[axis], this.view[axis])
        .map((v) => [this.place(axis, v), label(this.axes[axis], v)]), half);
    this.labels.forEach((label, row) => label.forEach((line, at) => {
      const y = this.place(1, row) + 4 - (LINE * (label.length - 1)) / 2 + LINE * at;
      text({ x: left - 6, y, "text-anchor": "end" }, line);
    }));
    for (const [y, words] of this.rows ? [] : labels(1, () => LINE / 2 + 1)) {
      scales.append(path("grid", `M${left} ${y}H${right}`));
      text({ x: left - 6, y: y + 4, "text-anchor": "end" }, words);
    }
    for (const [x, words] of labels(0, (words) => (words.length * LETTER) / 2 + 4)) {
      scales.append(path("grid", `M${x} ${top}V${bottom}`), path("axis", `M${x} ${bottom}v4`));
      text({ x, y: bottom + 19, "text-anchor": "middle" }, words);
    }
    scales.append(path("axis", `M${left} ${top}V${bottom}H${right}`));
    text({ class: "title", x: (left + right) / 2, y: this.height - 9, "text-anchor": "middle" }, this.chart.x.t);
    text({ class: "title", x: 2, y: 11 }, this.chart.y.t);
    const [x, y, width, height] = [left - MARGIN, top - MARGIN, right - left + 2 * MARGIN, bottom - top + 2 * MARGIN];
    this.data = svg("svg", { class: "data", x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` });
    this.data.append(this.rules(scales));
    this.chart.s.forEach((series, index) => {
      if (this.shown[index]) this.series(series, index);
    });
    this.root.replaceChildren(scales, this.data);
  }

  // The rules in the view, and their letters at the edge, which do not overlap.
  rules(scales) {
    const [[left, right], [bottom, top]] = this.ends;
    const group = svg("g", { class: "rules" });
    for (const axis of [0, 1]) {
      let last = -Infinity;
      this.chart.r
        .map(([upright, v], place) => ({
          own: upright === (axis === 0), share: this.share(axis, v), at: this.place(axis, v), place,
        }))
        .filter(({ own, share }) => own && share >= 0 && share <= 1)
        .sort((a, b) => a.at - b.at)
        .forEach(({ at, place: index }) => {
          const letter = String.fromCharCode(97 + (index % 26));
          last = Math.max(at, last + APART);
          const [d, place] = axis === 0
            ? [`M${at} ${top}V${bottom}`, { x: last, y: top - 4, "text-anchor": "middle" }]
            : [`M${left} ${at}H${right}`, { x: right + 8, y: last + 4, "text-anchor": "start" }];
          group.append(path("half", d));
          scales.append(svg("text", { class: "half", ...place }, letter));
        });
    }
    return group;
  }

  // Where a bar of a series begins: on the bars of the series before it, if they are stacked.
  base(index, row) {
    if (this.chart.s[index].f !== "s") return 0;
    const before = this.chart.s.slice(0, index).filter((series) => series.f === "s");
    return before.flatMap((series) => series.p).reduce((sum, [x, y]) => (y === row ? sum + x : sum), 0);
  }

  // Where the mark of a point is.
  spotted([index, place]) {
    const { f, b, k, p } = this.chart.s[index];
    const [x, y] = p[place];
    return [this.place(0, this.base(index, y) + x) + k, this.place(1, y + (f === "b" ? b[0] : 0))];
  }

  series({ f, p, b, c: [colour, mark, dash], k }, index) {
    const [[left, right], [bottom, top]] = this.ends;
    const group = svg("g", { class: colour, "data-series": index });
    const add = (kind, d) => group.append(path(kind, d));
    const place = ([x, y]) => `${(this.place(0, x) + k).toFixed(1)} ${this.place(1, y).toFixed(1)}`;
    const ranged = p.filter((point) => typeof point[2] === "number");
    for (const [x, y] of f === "b" || f === "s" ? p : []) {
      const [high, low] = [-1, 1].map((side) => this.place(1, y + b[0] + (side * b[1]) / 2));
      const base = this.base(index, y);
      const begin = f === "s" ? Math.max(left, this.place(0, base)) : left;
      add("bar", `M${begin} ${high}H${Math.max(begin, this.place(0, base + x))}V${low}H${begin}z`);
    }
    if (f === "t" && ranged.length > 1) {
      const ends = (end) => ranged.map((point) =>
        `${this.place(0, point[0]).toFixed(1)} ${limit(this.place(1, point[end]), top, bottom).toFixed(1)}`);
      add("band", `M${[...ends(2), ...ends(3).reverse()].join("L")}z`);
    }
    if ((f === "t" || f === "c") && p.length > 1) add(`line d${dash}`, `M${p.map(place).join("L")}`);
    if (f !== "t" && f !== "s" && ranged.length) {
      const [from, to] = this.rows ? [left, right] : [top, bottom];
      add("error", ranged.map(([x, y, ...ends]) => {
        const at = this.rows ? this.place(1, y + b[0]) : this.place(0, x) + k;
        const own = ends.slice(0, 2).map((v) => this.place(this.of, v));
        const [a, z] = own.map((v) => limit(v, from, to));
        const caps = own.filter((v) => v >= from && v <= to)
          .map((v) => (this.rows ? `M${v} ${at - 3}v6` : `M${at - 2.5} ${v}h5`));
        return (this.rows ? `M${a} ${at}H${z}` : `M${at} ${a}V${z}`) + caps.join("");
      }).join(""));
    }
    for (const point of f === "c" || f === "m" ? p : []) add(`mark m${mark}`, `M${place(point)}${marks[mark]}`);
    this.data.append(group);
  }
}
