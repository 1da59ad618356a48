// The parts of a page that a reader sees without opening anything: for each its name, whether it is a
// drawing, and its box.
(() => {
  const parts = "header, nav, article > *, .lead .plot, .lead .legend, .lead .conclusions, .lead .facts, footer";
  const height = innerHeight;
  return [...document.querySelectorAll(parts)].map((element) => {
    const { left, top, width, bottom } = element.getBoundingClientRect();
    const name = element.tagName.toLowerCase() + (element.className ? "." + element.classList[0] : "");
    return { name, drawn: element.matches(".plot"), left, top, width, height: bottom - top };
  }).filter((part) => part.height > 3 && part.width > 3 && part.top + part.height <= height && !part.name.endsWith(".lead"));
})()
