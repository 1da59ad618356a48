// What a reader does with a report, and what should come of it: appended to a copy of the page by
// the test, which reads the element with the results. It knows the page by its markup alone.
"use strict";
window.addEventListener("load", () => {
  const results = [];
  const check = (what, holds) => results.push(`${holds ? "ok" : "FAILED"} ${what}`);
  const figures = [...document.querySelectorAll("figure.chart")];
  check("there are plots", figures.length > 0);
  let [several, elsewhere] = [0, 0];
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
    check(`${title}: and stands at a crosshair`, plot.querySelector(".cross").getAttribute("visibility") === "visible");
    const values = [...figure.querySelectorAll(".legend .value")];
    const told = values.filter((value) => value.textContent !== "");
    check(`${title}: the legend has the values of series there`, values.length === 0 || told.length > 0);
    if (told.length > 1) several += 1;
    const rows = [...figure.querySelectorAll("table tr")].slice(1);
    check(`${title}: the row of that value is marked`, rows.length > 60 || rows.some((row) => row.matches(".linked")));
    pointer("pointerleave", 0.5, 0.5);
    document.activeElement.blur();
    pointer("pointerleave", 0.5, 0.5);
    check(`${title}: and is not when the pointer is gone`, !document.querySelector(".linked"));
    rows[0].dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    check(`${title}: a row rings its point`, plot.querySelectorAll(".others .ring").length > 0);
    elsewhere += [...document.querySelectorAll(".others .ring")].length - plot.querySelectorAll(".others .ring").length;
    rows[0].dispatchEvent(new PointerEvent("pointerout", { bubbles: true }));
    check(`${title}: and lets it go`, !document.querySelector(".others .ring"));
    const toggle = figure.querySelector(".legend button");
    if (toggle) {
      toggle.dispatchEvent(new PointerEvent("pointerenter"));
      check(`${title}: a name in the legend dims the others`, figure.querySelectorAll(".dim").length > 0);
      toggle.dispatchEvent(new PointerEvent("pointerleave"));
      check(`${title}: and lets them be`, !document.querySelector(".dim"));
    }
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
  check("values of several series are read at once", several > 0);
  check("a row rings points of other plots", elsewhere > 0);
  const fold = [...document.querySelectorAll("article > details")].find((one) => !one.open);
  const all = document.querySelector(".tools button");
  all.click();
  check("a button opens all folds", fold.open);
  all.click();
  check("and closes them", !fold.open);
  window.dispatchEvent(new Event("beforeprint"));
  check("paper shows what is folded", fold.open);
  window.dispatchEvent(new Event("afterprint"));
  check("and the screen folds it again", !fold.open);
  const list = document.createElement("pre");
  list.id = "results";
  list.textContent = results.join("\n");
  document.body.append(list);
});
