// The mean colours of the cells of boxes of a picture, three digits of base 36 for each cell.
(async (data, boxes) => {
  const picture = new Image();
  picture.src = "data:image/png;base64," + data;
  await picture.decode();
  const canvas = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
  canvas.drawImage(picture, 0, 0);
  return boxes.map(({ left, top, width, height, columns, rows }) => {
    const [x, y, w, h] = [left, top, width, height].map(Math.round);
    const { data: pixels } = canvas.getImageData(x, y, Math.max(1, w), Math.max(1, h));
    const sums = new Float64Array(columns * rows * 4);
    for (let v = 0; v < h; v++) {
      const row = Math.floor((v * rows) / h) * columns;
      for (let u = 0; u < w; u++) {
        const cell = (row + Math.floor((u * columns) / w)) * 4;
        const at = (v * w + u) * 4;
        sums[cell] += pixels[at];
        sums[cell + 1] += pixels[at + 1];
        sums[cell + 2] += pixels[at + 2];
        sums[cell + 3] += 1;
      }
    }
    let digits = "";
    for (let cell = 0; cell < sums.length; cell += 4) {
      for (let channel = 0; channel < 3; channel++) {
        digits += Math.round((35 * sums[cell + channel]) / Math.max(1, sums[cell + 3]) / 255).toString(36);
      }
    }
    return digits;
  });
})
