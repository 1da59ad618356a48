// Makes the plots of a report answer: zoom, reading of values, switching of series and scales.
//
// The page is complete without this script. It takes the data of each chart, which stand in the
// page as JSON, and draws the same drawing again whenever the reader asks for another view. Text
// reaches the page as text nodes and attributes only, never as markup, because names in it come
// from outside. It needs nothing else, keeps nothing, and sends nothing.
"use strict";
(() => {
  const source = document.getElementById("charts");
  if (!source) return;
  const { charts, marks, colours } = JSON.parse(source.textContent);
  const space = document.querySelector("figure.chart svg")?.namespaceURI;
  const MARGIN = 6;
  const TICKS_MAX = 9;
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
  const count = (v) => scaled(v, COUNTS).trim();
  const FORMATS = {
    "": digits,
    ns: (v) => scaled(v, TIMES),
    us: (v) => scaled(v * 1e3, TIMES),
    ms: (v) => scaled(v * 1e6, TIMES),
    B: (v) => scaled(v, SIZES),
    "B/s": (v) => scaled(v, RATES),
    "/s": (v) => count(v) + "/s",
    n: count,
    "%": (v) => digits(v * 100) + " %",
  };
  const written = (axis, v) =>
    axis.n.length ? axis.n[Math.max(0, Math.round(v))] ?? "" : FORMATS[axis.u](v);
  const label = (axis, v) => {
    if (axis.n.length) return written(axis, v);
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
    if (log && axis.u === "B") {
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
    const every = Math.max(1, Math.ceil(out.length / TICKS_MAX));
    return out.filter((_, place) => place % every === 0);
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
  const look = (index) => (index + Math.floor(index / colours)) % marks.length;

  class Plot {
    constructor(figure, chart) {
      this.chart = chart;
      this.root = figure.querySelector("svg");
      [this.width, this.height, this.left, this.right, this.top, this.bottom] = chart.f;
      this.rows = chart.y.n.length > 0;
      this.log = { x: chart.x.l, y: chart.y.l };
      this.home = { x: chart.x.r, y: chart.y.r };
      this.view = { x: chart.x.r, y: chart.y.r };
      this.shown = chart.s.map(() => true);
      this.at = null;
      this.drag = null;
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
      figure.classList.add("live");
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
        if (!(low > 0)) continue;
        const element = button(`log ${name}`, `logarithmic ${name} axis`, () => {
          this.scale(name, !this.log[name]);
          element.setAttribute("aria-pressed", String(this.log[name]));
        });
        element.setAttribute("aria-pressed", String(this.log[name]));
        bar.append(element);
      }
      this.output = html("output", { "aria-live": "off" });
      bar.append(this.output);
      this.root.after(bar);
    }

    legend(figure) {
      const items = figure.querySelectorAll(".legend > li");
      items.forEach((item, index) => {
        const button = html("button", { type: "button", "aria-pressed": "true" });
        button.append(...item.childNodes);
        button.addEventListener("click", () => {
          this.shown[index] = !this.shown[index];
          button.setAttribute("aria-pressed", String(this.shown[index]));
          if (this.at && !this.shown[this.at[0]]) this.at = null;
          this.draw();
        });
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
      const parts = [];
      const scales = svg("g", { class: "scales" });
      for (const v of ticks(chart.y, this.log.y, this.view.y)) {
        const y = this.down(v);
        if (!this.rows) scales.append(svg("path", { class: "grid", d: `M${left} ${y}H${right}` }));
        let text = label(chart.y, v);
        if (text.length > 23) text = text.slice(0, 22) + "…";
        scales.append(svg("text", { x: left - 5, y: y + 4, "text-anchor": "end" }, text));
      }
      for (const v of ticks(chart.x, this.log.x, this.view.x)) {
        const x = this.across(v);
        const line = this.rows
          ? { class: "grid", d: `M${x} ${top}V${bottom}` }
          : { class: "axis", d: `M${x} ${bottom}v4` };
        const place = { x, y: bottom + 15, "text-anchor": "middle" };
        scales.append(svg("path", line), svg("text", place, label(chart.x, v)));
      }
      scales.append(svg("path", { class: "axis", d: `M${left} ${top}V${bottom}H${right}` }));
      parts.push(scales);
      const middle = { "text-anchor": "middle" };
      parts.push(svg("text", { x: (left + right) / 2, y: this.height - 8, ...middle }, chart.x.t));
      if (chart.y.t) {
        const turn = `translate(11 ${(top + bottom) / 2}) rotate(-90)`;
        parts.push(svg("text", { transform: turn, ...middle }, chart.y.t));
      }
      const frame = [left - MARGIN, top - MARGIN, right - left + 2 * MARGIN, bottom - top + 2 * MARGIN];
      const [x, y, width, height] = frame;
      this.data = svg("svg", { class: "data", x, y, width, height, viewBox: frame.join(" ") });
      chart.r.forEach((rule, place) => this.rule(rule, place));
      chart.s.forEach((series, index) => {
        if (this.shown[index]) this.series(series, index);
      });
      parts.push(this.data);
      this.root.replaceChildren(...parts);
      this.ring = svg("circle", { class: "ring", r: 6, visibility: "hidden" });
      this.data.append(this.ring);
      this.read();
    }

    rule([upright, v, name], place) {
      const { left, right, top, bottom } = this;
      const at = upright ? this.across(v) : this.down(v);
      const end = upright ? at > (left + right) / 2 : place % 2 === 0;
      const x = upright ? at + (end ? -4 : 4) : end ? right - 3 : left + 3;
      this.data.append(
        svg("path", { class: "half", d: upright ? `M${at} ${top}V${bottom}` : `M${left} ${at}H${right}` }),
        svg("text", {
          class: "half", x, y: upright ? top + 9 + 12 * place : at - 4, "text-anchor": end ? "end" : "start",
        }, name),
      );
    }

    series({ f, p, b }, index) {
      const group = svg("g", { class: `c${index % colours}`, "data-series": index });
      const dash = `line d${look(index)}`;
      const place = ([x, y]) => `${this.across(x).toFixed(1)} ${this.down(y).toFixed(1)}`;
      const ranged = p.filter((point) => typeof point[2] === "number");
      if (f === "b") {
        for (const [x, y] of p) {
          const [high, low] = [this.down(y + b[0] - b[1] / 2), this.down(y + b[0] + b[1] / 2)];
          const end = Math.max(this.left, this.across(x));
          group.append(svg("path", { class: "bar", d: `M${this.left} ${high}H${end}V${low}H${this.left}z` }));
        }
      }
      if (f === "t" && ranged.length > 1) {
        const ends = (end) => ranged.map((point) => place([point[0], point[end]]));
        const d = `M${ends(2).join("L")}L${ends(3).reverse().join("L")}z`;
        group.append(svg("path", { class: "band", d }));
      }
      if ((f === "t" || f === "c") && p.length > 1) {
        group.append(svg("path", { class: dash, d: `M${p.map(place).join("L")}` }));
      }
      if (f !== "t" && ranged.length) {
        const d = ranged.map(([x, y, low, high]) => {
          if (this.rows) {
            const [a, z, at] = [this.across(low), this.across(high), this.down(y + b[0])];
            return `M${a} ${at}H${z}M${a} ${at - 3}v6M${z} ${at - 3}v6`;
          }
          const [a, z, at] = [this.down(low), this.down(high), this.across(x)];
          return `M${at} ${a}V${z}M${at - 2.5} ${a}h5M${at - 2.5} ${z}h5`;
        });
        group.append(svg("path", { class: "error", d: d.join("") }));
      }
      if (f === "c" || f === "m") {
        const mark = look(index);
        for (const point of p) {
          group.append(svg("path", { class: `mark m${mark}`, d: `M${place(point)}${marks[mark]}` }));
        }
      }
      this.data.append(group);
    }

    // Shows the point that is read, in words and by a ring.
    read() {
      if (!this.at) {
        this.output.textContent = "";
        this.ring.setAttribute("visibility", "hidden");
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
      this.ring.setAttribute("cx", this.across(point[0]));
      this.ring.setAttribute("cy", this.down(point[1] + (series.f === "b" ? series.b[0] : 0)));
      this.ring.setAttribute("visibility", "visible");
    }

    // The point nearest to a place of the drawing.
    nearest(x, y) {
      let best = null;
      let least = Infinity;
      this.chart.s.forEach((series, index) => {
        if (!this.shown[index]) return;
        const beside = series.f === "b" ? series.b[0] : 0;
        series.p.forEach((point, place) => {
          const dx = this.across(point[0]) - x;
          const dy = this.down(point[1] + beside) - y;
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
    }
  }

  for (const figure of document.querySelectorAll("figure.chart")) {
    new Plot(figure, charts[Number(figure.dataset.chart)]);
  }
})();
