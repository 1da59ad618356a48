// What a reader does with a report, and what should come of it: appended to a copy of the page by
// the test, which reads the element with the results. It knows the page by its markup alone.
"use strict";
window.addEventListener("load", () => {
  const results = [];
  const check = (what, holds) => results.push(`${holds ? "ok" : "FAILED"} ${what}`);
  const figures = [...document.querySelectorAll("figure.chart")];
  check("there are plots", figures.length > 0);
  for (const figure of figures) {
    const title = figure.querySelector("h4").textContent;
    const plot = figure.querySelector(".plot > svg");
    const output = figure.querySelector("output");
    const shapes = () => plot.querySelectorAll(".mark, .line, .bar").length;
    const labels = () => [...plot.querySelectorAll(".scales text")].map((t) => t.textContent).join("|");
    const press = (key) =>
      plot.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    const pointer = (kind, x, y) => {
      const box = plot.getBoundingClientRect();
      plot.dispatchEvent(new PointerEvent(kind, {
        bubbles: true, button: 0, pointerId: 1,
        clientX: box.left + x * box.width, clientY: box.top + y * box.height,
      }));
    };
    const button = (name) =>
      [...figure.querySelectorAll(".controls button")].find((b) => b.getAttribute("aria-label") === name);
    check(`${title}: is live`, figure.classList.contains("live"));
    check(`${title}: has points`, shapes() > 0);
    check(`${title}: has a name and can be focused`, plot.getAttribute("aria-label").length > 20 && plot.tabIndex === 0);
    check(`${title}: every place is a number`, !plot.outerHTML.includes("NaN"));
    const [all, home] = [shapes(), labels()];
    for (const toggle of figure.querySelectorAll(".legend button")) {
      toggle.click();
      check(`${title}: a series goes`, shapes() < all && toggle.getAttribute("aria-pressed") === "false");
      toggle.click();
      check(`${title}: and comes back`, shapes() === all && toggle.getAttribute("aria-pressed") === "true");
    }
    plot.focus();
    press("ArrowRight");
    const first = output.textContent;
    press("ArrowRight");
    check(`${title}: the keyboard reads values`, /: /.test(first) && output.textContent !== "");
    check(`${title}: and says them`, output.getAttribute("aria-live") === "polite");
    press("+");
    press("+");
    check(`${title}: the keyboard zooms`, labels() !== home);
    press("0");
    check(`${title}: and shows all again`, labels() === home && shapes() === all);
    pointer("pointerdown", 0.4, 0.3);
    pointer("pointermove", 0.6, 0.6);
    check(`${title}: dragging shows what it takes`, plot.querySelector(".drag") !== null);
    pointer("pointerup", 0.6, 0.6);
    check(`${title}: dragging zooms`, labels() !== home && plot.querySelector(".drag") === null);
    button("show all").click();
    check(`${title}: a button shows all`, labels() === home);
    pointer("pointermove", 0.5, 0.5);
    check(`${title}: the pointer reads values`, output.textContent !== "");
    for (const axis of ["x", "y"]) {
      const scale = button(`logarithmic ${axis} axis`);
      if (!scale) continue;
      const before = scale.getAttribute("aria-pressed");
      scale.click();
      const places = plot.outerHTML;
      check(`${title}: the ${axis} axis changes`, scale.getAttribute("aria-pressed") !== before && !places.includes("NaN"));
      scale.click();
      check(`${title}: the ${axis} axis changes back`, labels() === home && scale.getAttribute("aria-pressed") === before);
    }
  }
  const list = document.createElement("pre");
  list.id = "results";
  list.textContent = results.join("\n");
  document.body.append(list);
});
