// What no page may do, whatever it shows: run in an open page, it returns its defects as sentences.
//
// It knows pages by their markup alone: figures, axes, marks, texts. Everything that folds is opened
// first, because a fold hides no defect from a reader who opens it.
(() => {
  const problems = new Set();
  const say = (text) => problems.add(text);
  document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
  window.dispatchEvent(new Event("resize"));
  const near = 1.5;
  const meets = (a, b) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > near &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > near;
  const shown = (e) => e.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const quote = (e) => `"${e.textContent.trim().replace(/\s+/g, " ").slice(0, 40)}"`;

  // The page does not scroll sideways.
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) say(`the page is ${root.scrollWidth} wide, the window ${root.clientWidth}`);

  // Parts that stand beside or below each other do not overlap.
  for (const parent of document.querySelectorAll("body, article, details, figure, figcaption, dl, ul, tr, .facts, .legend, .controls, .plots, .lead, .aside")) {
    const parts = [...parent.children].filter((e) => shown(e) && getComputedStyle(e).position === "static" && e.tagName !== "SUMMARY");
    const boxes = parts.map((e) => e.getBoundingClientRect());
    for (let a = 0; a < parts.length; a++) {
      for (let b = a + 1; b < Math.min(parts.length, a + 12); b++) {
        if (meets(boxes[a], boxes[b])) say(`${quote(parts[a])} overlaps ${quote(parts[b])}`);
      }
    }
  }
  // No text leaves its cell or tile.
  for (const box of document.querySelectorAll("td, th, .facts > div, button, .badge, summary")) {
    if (shown(box) && box.scrollWidth > box.clientWidth + 1 && box.clientWidth > 0) say(`${quote(box)} leaves its box`);
  }

  for (const figure of document.querySelectorAll("figure.chart")) {
    const title = figure.querySelector("h3, h4")?.textContent ?? "";
    const svg = figure.querySelector("svg[role]");
    const [frame] = [...svg.querySelectorAll(".scales > path.axis")].slice(-1);
    const axes = frame.getBoundingClientRect();
    const whole = svg.getBoundingClientRect();
    if (!(whole.width > 100) || !(whole.height > 60)) say(`${title}: the plot is ${whole.width} x ${whole.height}`);
    // Labels.
    const texts = [...svg.querySelectorAll("text")].filter((e) => e.textContent && shown(e));
    const boxes = texts.map((e) => e.getBoundingClientRect());
    texts.forEach((text, a) => {
      const box = boxes[a];
      for (let b = a + 1; b < texts.length; b++) {
        if (meets(box, boxes[b])) say(`${title}: label ${quote(text)} overprints ${quote(texts[b])}`);
      }
      if (box.left < whole.left - near || box.right > whole.right + near || box.top < whole.top - near || box.bottom > whole.bottom + near) {
        say(`${title}: label ${quote(text)} is cut off`);
      }
    });
    const marks = [...svg.querySelectorAll(".mark, .line, .bar, .band, .error, .half")].filter((e) => e.tagName === "path");
    const written = texts.filter((e) => !e.matches(".title, .half")).length;
    if (written < 3) say(`${title}: the axes have ${written} labels`);
    // Shapes that nothing is drawn of at all.
    if (!svg.querySelector(".mark, .line, .bar")) say(`${title}: nothing is drawn`);
    const scale = whole.width / svg.viewBox.baseVal.width;
    const edge = 5.5 * scale;
    for (const mark of marks) {
      // The place of its geometry on the screen, not cut by the frame.
      const own = mark.getBBox();
      const matrix = mark.getScreenCTM();
      const at = (x, y) => new DOMPoint(x, y).matrixTransform(matrix);
      const [a, z] = [at(own.x, own.y), at(own.x + own.width, own.y + own.height)];
      const out = Math.max(axes.left - a.x, z.x - axes.right, axes.top - a.y, z.y - axes.bottom);
      if (out > edge) say(`${title}: a ${mark.getAttribute("class").split(" ")[0]} of series ${mark.parentNode.dataset.series ?? mark.parentNode.getAttribute("class")} lies ${out.toFixed(0)} px outside the axes`);
    }
    // Labels over marks.
    const points = marks.filter((e) => e.matches(".mark, .bar")).map((e) => e.getBoundingClientRect());
    texts.forEach((text, a) => {
      if (points.some((point) => meets(boxes[a], point))) say(`${title}: label ${quote(text)} overprints a mark`);
    });
    // Intervals of several series over each other, and colours that repeat.
    const groups = [...svg.querySelectorAll("svg.data > g:not(.rules)")].filter((g) => g.querySelector("path"));
    const colours = new Map();
    const bars = [];
    groups.forEach((group, index) => {
      const colour = getComputedStyle(group).color;
      if (colours.has(colour)) say(`${title}: series ${colours.get(colour)} and ${index} have one colour`);
      colours.set(colour, index);
      for (const path of group.querySelectorAll("path.error")) {
        for (const [, x, low, high] of path.getAttribute("d").matchAll(/M([-\d.]+) ([-\d.]+)V([-\d.]+)/g)) {
          bars.push({ index, x: +x, low: Math.min(+low, +high), high: Math.max(+low, +high) });
        }
      }
    });
    bars.forEach((a, place) => {
      const over = bars.slice(place + 1).find((b) =>
        b.index !== a.index && Math.abs(a.x - b.x) < 0.75 && Math.min(a.high, b.high) - Math.max(a.low, b.low) > 3);
      if (over) say(`${title}: an interval of series ${over.index} overprints one of series ${a.index}`);
    });
    if (document.querySelectorAll("figure.live").length && !figure.matches(".live")) say(`${title}: is not live`);
  }

  // Contrast of all text to what lies behind it (WCAG 2.1, 1.4.3).
  const channel = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = colour;
      canvas.fillRect(0, 0, 1, 1);
      known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255));
    }
    return known.get(colour);
  };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const behind = (element) => {
    const own = rgba(getComputedStyle(element).backgroundColor);
    if (own[3] >= 1) return own;
    return over(own, element.parentElement ? behind(element.parentElement) : [1, 1, 1, 1]);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const seen = new Set();
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.data.trim() || seen.has(element) || /^(SCRIPT|STYLE|TITLE)$/i.test(element.tagName)) continue;
    seen.add(element);
    if (!shown(element)) continue;
    const style = getComputedStyle(element);
    const ground = behind(element);
    const ink = over(rgba(element.namespaceURI.endsWith("svg") ? style.fill : style.color), ground);
    const [a, b] = [light(ink), light(ground)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) say(`${quote(element)} has a contrast of ${ratio.toFixed(2)}`);
  }
  return [...problems];
})()
