// Makes the plots of a report interactive: zoom, reading of values, switching of series and scales.
// It also marks where a point appears in other plots and in tables.
//
// The page is complete without this script. It takes the data of each chart from the page, where
// they are JSON, and `drawing.js` draws the same drawing again whenever the reader asks for another
// view. The script needs nothing else, stores nothing, and sends nothing.
const PRINTED = 700;
// Largest distance of a point from the crosshair that reads it.
const REACH = 14;
// Shortest drag that zooms.
const DRAGGED = 12;
const ZOOM = 0.6;
const KEYS = "Arrow keys read values, plus and minus zoom, 0 shows all.";
// The first item with the lowest measure.
const lowest = (items, measure) => items.reduce(([best, least], one) => {
  const own = measure(one);
  return best === undefined || own < least ? [one, own] : [best, least];
}, [])[0];

const html = (name, attributes, ...children) =>
  filled(document.createElement(name), attributes, children);
const ring = (attributes) => svg("circle", { class: "ring", r: 6, ...attributes });
const button = (attributes, act, ...children) => {
  const element = html("button", { type: "button", ...attributes }, ...children);
  element.addEventListener("click", () => act(element));
  return element;
};
const press = (element, on) => element.setAttribute("aria-pressed", String(on));

// Words by which a point and a row of a table are one: levels without the names of their axes.
const word = (text) => text.toLowerCase().replace(/\s+/g, " ").trim()
  .replace(/^(queue depth|iodepth|depth|qd|cache|bs|rw) /, "")
  .replace(/^([\d.]+) (ki|mi|gi)b$/, (_, number, unit) => number + unit[0]);
const words = (text) => text.split(", ").map(word).filter(Boolean);
const isIn = (key, all) => key.includes("|") && key.split("|").every((one) => all.has(one));
// The words of each row.
const rows = new Map();
for (const table of document.querySelectorAll("table")) {
  let above = [];
  for (const row of table.rows) {
    if (!row.querySelector("td")) continue;
    const cells = [...row.cells].slice(0, 6).map((cell) => cell.textContent.trim());
    // Levels that are as in the row above are left empty.
    for (let at = 0; at < cells.length && !cells[at]; at++) cells[at] = above[at] ?? "";
    above = cells;
    rows.set(row, new Set(cells.flatMap((cell) => [word(cell), ...words(cell)])));
  }
}
const plots = [];
const clear = () => {
  rows.forEach((_, row) => row.classList.remove("linked"));
  plots.forEach((plot) => plot.ringed([]));
};
// Marks the rows and the points of other plots that show the same as a point.
const link = (own, key) => {
  rows.forEach((all, row) => row.classList.toggle("linked", isIn(key, all)));
  plots.forEach((plot) => plot.ringed(plot === own ? [] : plot.keys.get(key) ?? []));
};
const linkRow = (row) => {
  clear();
  for (const plot of rows.has(row) ? plots : []) {
    plot.ringed([...plot.keys].flatMap(([key, all]) => (isIn(key, rows.get(row)) ? all : [])));
    if (plot.rings.length) row.classList.add("linked");
  }
};
const emphasise = (name) => plots.forEach((plot) => plot.emphasise(name));

// A drawing that answers the pointer and the keyboard.
class Plot extends Drawing {
  constructor(figure, chart) {
    figure.classList.add("live");
    super(figure.querySelector("svg"), chart);
    // Series and index of the point that is read.
    this.at = null;
    this.drag = null;
    this.rings = [];
    this.keys = this.named();
    this.controls();
    this.legend(figure);
    filled(this.root, {
      tabindex: "0", role: "application", "aria-roledescription": "interactive plot",
      "aria-label": `${this.root.getAttribute("aria-label")} ${KEYS}`,
    });
    for (const kind of ["keydown", "pointerdown", "pointermove", "pointerup", "pointercancel", "pointerleave"]) {
      this.root.addEventListener(kind, (event) => this[kind](event));
    }
    this.root.addEventListener("dblclick", () => this.reset());
    this.draw();
    new ResizeObserver(() => this.resize()).observe(this.root.parentElement);
  }

  draw() {
    super.draw();
    this.cross = svg("path", { class: "cross", visibility: "hidden" });
    this.others = svg("g", { class: "others" });
    this.ring = ring({ visibility: "hidden" });
    this.data.prepend(this.cross);
    this.data.append(this.others, this.ring);
    this.ringed(this.rings);
    this.read();
  }

  // Points by their words.
  named() {
    const keys = new Map();
    const [, of] = /\(([^()]*)\)$/.exec(this.chart.t) ?? [];
    this.chart.s.forEach((series, index) => series.p.forEach((point, place) => {
      const at = label(this.axes[this.along], point[this.along]);
      point.key = [...new Set([of ?? "", series.n, at].flatMap(words))].sort().join("|");
      if (!keys.has(point.key)) keys.set(point.key, []);
      keys.get(point.key).push([index, place]);
    }));
    return keys;
  }

  // Buttons below the drawing, and the line that shows values.
  controls() {
    const named = (text, name, act) => button({ "aria-label": name, title: name }, act, text);
    const bar = html("div", { class: "controls" },
      named("+", "zoom in", () => this.zoom(ZOOM)),
      named("−", "zoom out", () => this.zoom(1 / ZOOM)),
      named("all", "show all", () => this.reset()));
    for (const axis of this.rows ? [0] : [0, 1]) {
      if (!(this.extent(axis)[0] > 0) || this.chart.s.some((series) => series.f === "s")) continue;
      const name = "xy"[axis];
      const toggle = named(`log ${name}`, `logarithmic ${name} axis`, () => {
        this.scale(axis, !this.log[axis]);
        press(toggle, this.log[axis]);
      });
      press(toggle, this.log[axis]);
      bar.append(toggle);
    }
    this.output = html("output", { "aria-live": "off" });
    bar.append(this.output);
    this.root.parentElement.after(bar);
  }

  legend(figure) {
    this.values = [...figure.querySelectorAll(".legend > li:not(.rule)")].map((item, index) => {
      const value = html("output", { class: "value", "aria-live": "off" });
      const toggle = button({ "aria-pressed": "true" }, () => {
        this.shown[index] = !this.shown[index];
        press(toggle, this.shown[index]);
        if (this.at && !this.shown[this.at[0]]) this.at = null;
        this.draw();
      }, ...item.childNodes, value);
      const { n } = this.chart.s[index];
      for (const on of ["pointerenter", "focus"]) toggle.addEventListener(on, () => emphasise(n));
      for (const off of ["pointerleave", "blur"]) toggle.addEventListener(off, () => emphasise(null));
      item.append(toggle);
      return value;
    });
  }

  get point() {
    return this.at && this.chart.s[this.at[0]].p[this.at[1]];
  }

  // Zooms around the point that is read; without one, around the middle.
  zoom(factor) {
    this.show([0, 1].map((axis) => {
      const share = this.point ? limit(this.share(axis, this.point[axis]), 0, 1) : 0.5;
      return [share - share * factor, share + (1 - share) * factor];
    }));
  }

  // Rings the points that show what is read elsewhere.
  ringed(points) {
    this.rings = points;
    this.others.replaceChildren(...points.filter(([index]) => this.shown[index]).map((at) => {
      const [cx, cy] = this.spotted(at);
      return ring({ cx, cy });
    }));
  }

  // Dims the other series in plots that have a series of this name.
  emphasise(name) {
    const has = this.chart.s.some((series) => series.n === name);
    for (const group of this.data.querySelectorAll("g[data-series]")) {
      group.classList.toggle("dim", has && this.chart.s[Number(group.dataset.series)].n !== name);
    }
  }

  // Shows the point that is read, in words and by a ring, and the values of all series there.
  read() {
    const { point, along, of } = this;
    this.values.forEach((output, index) => { output.textContent = point ? this.beneath(index) : ""; });
    for (const mark of [this.ring, this.cross]) mark.setAttribute("visibility", point ? "visible" : "hidden");
    this.output.textContent = "";
    if (!point) return;
    const told = (v) => written(this.axes[of], v);
    const { n } = this.chart.s[this.at[0]];
    this.output.textContent = (n ? `${n}, ` : "") +
      `${label(this.axes[along], point[along])}: ${told(point[of])}` +
      (typeof point[2] === "number" ? ` (${told(point[2])} to ${told(point[3])})` : "") +
      (point[4] ? `, ${point[4]}` : "");
    const [cx, cy] = this.spotted(this.at);
    filled(this.ring, { cx, cy });
    const [[left, right], [bottom, top]] = this.ends;
    const at = this.place(along, point[along]);
    this.cross.setAttribute("d", this.rows ? `M${left} ${at}H${right}` : `M${at} ${top}V${bottom}`);
    link(this, point.key);
  }

  // The value of a series at the position that is read.
  beneath(index) {
    const { along, of } = this;
    const here = this.place(along, this.point[along]);
    const far = (point) => Math.abs(this.place(along, point[along]) - here);
    const best = this.shown[index] && lowest(this.chart.s[index].p, far);
    return best && far(best) <= REACH ? written(this.axes[of], best[of]) : "";
  }

  // Reads the point nearest to a place of the drawing.
  look([x, y]) {
    const all = this.chart.s.flatMap(({ p }, index) =>
      this.shown[index] ? p.map((_, place) => [index, place]) : []);
    this.at = lowest(all, (at) => {
      const [dx, dy] = this.spotted(at).map((v, axis) => v - [x, y][axis]);
      return this.rows ? dx * dx * 0.05 + dy * dy : dx * dx + dy * dy * 0.3;
    }) ?? null;
    this.read();
  }

  keydown(event) {
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
    this.follow([index, limit(place + by, 0, this.chart.s[index].p.length - 1)]);
  }

  // Goes to the next series that is shown, near the same place.
  other(by) {
    const shown = [...this.chart.s.keys()].filter((index) => this.shown[index] && this.chart.s[index].p.length);
    if (!shown.length) return;
    const now = this.at ? shown.indexOf(this.at[0]) : -1;
    const index = shown[(now + by + shown.length) % shown.length];
    const points = this.chart.s[index].p;
    const at = (this.point ?? points[0])[this.along];
    const nearest = lowest(points, (point) => Math.abs(point[this.along] - at));
    this.follow([index, points.indexOf(nearest)]);
  }

  // Reads a point, and moves the view so that it contains the point.
  follow(at) {
    this.at = at;
    this.show([0, 1].map((axis) => {
      const share = this.share(axis, this.point[axis]);
      const by = share < 0 ? share - 0.1 : share > 1 ? share - 0.9 : 0;
      return [by, 1 + by];
    }));
  }

  // Where an event is, in units of the drawing.
  spot(event) {
    const box = this.root.getBoundingClientRect();
    return [
      ((event.clientX - box.left) / box.width) * this.width,
      ((event.clientY - box.top) / box.height) * this.height,
    ];
  }

  pointerdown(event) {
    if (event.button !== 0) return;
    this.drag = { from: this.spot(event) };
    try {
      this.root.setPointerCapture(event.pointerId);
    } catch {
      // The pointer is already gone.
    }
  }

  pointermove(event) {
    const spot = this.spot(event);
    this.output.setAttribute("aria-live", "off");
    if (!this.drag) return this.look(spot);
    this.drag.box?.remove();
    const area = this.area(spot);
    if (!area) return;
    const [[x, right], [y, bottom]] = area;
    this.drag.box = svg("rect", { class: "drag", x, y, width: right - x, height: bottom - y });
    this.data.append(this.drag.box);
  }

  // The area between the beginning of the drag and a place. If it is flat or narrow, it has the
  // whole height or width; if both, there is none.
  area(spot) {
    const dragged = this.ends.map((ends, axis) =>
      sorted([this.drag.from[axis], spot[axis]].map((v) => limit(v, ...sorted(ends)))));
    const wide = dragged.map(([low, high], axis) => high - low >= DRAGGED && !(this.rows && axis === 1));
    if (!wide[0] && !wide[1]) return null;
    return dragged.map((pair, axis) => (wide[axis] ? pair : sorted(this.ends[axis])));
  }

  pointerup(event) {
    if (!this.drag) return;
    const spot = this.spot(event);
    const area = this.area(spot);
    this.pointercancel();
    if (!area) return this.look(spot);
    this.show(area.map((pair, axis) => {
      const [from, to] = this.ends[axis];
      return sorted(pair.map((v) => (v - from) / (to - from)));
    }));
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
  const row = event.target.closest("tr");
  if (row) linkRow(row);
});
document.addEventListener("pointerout", (event) => {
  if (event.target.closest("tr")) clear();
});

// A button opens all folds. Paper shows all of them, and plots as wide as the paper.
const folds = [...document.querySelectorAll("article details")];
const set = (some, open) => some.forEach((fold) => { fold.open = open; });
document.querySelector(".tools").append(button({}, (element) => {
  const open = folds.some((fold) => !fold.open);
  set(folds, open);
  element.textContent = open ? "close all" : "open all";
}, "open all"));
// A link into a fold opens it.
const reveal = () => {
  const target = document.getElementById(location.hash.slice(1));
  set(folds.filter((fold) => fold.contains(target)), true);
  target?.scrollIntoView();
};
window.addEventListener("hashchange", reveal);
reveal();
let opened = [];
window.addEventListener("beforeprint", () => {
  opened = folds.filter((fold) => !fold.open && !fold.closest("figure"));
  set(opened, true);
  plots.forEach((plot) => plot.resize(PRINTED));
});
window.addEventListener("afterprint", () => {
  set(opened, false);
  plots.forEach((plot) => plot.resize());
});
