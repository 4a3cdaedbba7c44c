// Plots saved as files: the drawing as SVG or PNG, its numbers as CSV.

const SCALE = 2; // pixels of a PNG for one of the drawing

export async function saveFigure(figure, kind) {
  const name = figure.dataset.figure;
  if (kind === "csv") return save(new Blob([csvOf(figure)], { type: "text/csv" }), `${name}.csv`);
  const canvases = [...figure.querySelectorAll("canvas")];
  if (canvases.length && kind === "png") return stacked(canvases).toBlob((blob) => save(blob, `${name}.png`));
  const drawing = drawn(figure.querySelector(".plot-drawing svg"));
  if (kind === "svg") return save(new Blob([drawing], { type: "image/svg+xml" }), `${name}.svg`);
  return save(await painted(drawing), `${name}.png`);
}

// The drawing by itself: what the style sheets say of it stands in each of its parts.
function drawn(svg) {
  const copy = svg.cloneNode(true);
  const kept = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "fill-opacity", "font-family",
    "font-size", "font-weight", "text-anchor", "dominant-baseline"];
  const [theirs, mine] = [svg, copy].map((root) => [root, ...root.querySelectorAll("*")]);
  theirs.forEach((element, i) => {
    const style = window.getComputedStyle(element);
    for (const name of kept) mine[i].setAttribute(name, style.getPropertyValue(name));
  });
  const { width, height } = svg.viewBox.baseVal;
  copy.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  const ground = document.createElementNS("http://www.w3.org/2000/svg", "rect");
  ground.setAttribute("width", "100%");
  ground.setAttribute("height", "100%");
  ground.setAttribute("fill", window.getComputedStyle(svg.closest("figure")).backgroundColor);
  copy.prepend(ground);
  return new XMLSerializer().serializeToString(copy);
}

// Several drawings below each other as one.
function stacked(canvases) {
  const all = document.createElement("canvas");
  all.width = Math.max(...canvases.map((each) => each.width));
  all.height = canvases.reduce((height, each) => height + each.height, 0);
  canvases.reduce((y, each) => {
    all.getContext("2d").drawImage(each, 0, y);
    return y + each.height;
  }, 0);
  return all;
}

async function painted(drawing) {
  const address = URL.createObjectURL(new Blob([drawing], { type: "image/svg+xml" }));
  try {
    const image = new Image();
    image.src = address;
    await image.decode();
    const canvas = document.createElement("canvas");
    canvas.width = image.naturalWidth * SCALE;
    canvas.height = image.naturalHeight * SCALE;
    canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
    return await new Promise((done) => canvas.toBlob(done));
  } finally {
    URL.revokeObjectURL(address);
  }
}

// The table of numbers. An apostrophe stands before what spreadsheets would take for a formula.
function csvOf(figure) {
  const cell = (text) => {
    const safe = /^[=+@\t\r]|^-(?![\d.])/.test(text) ? `'${text}` : text;
    return /[",\n\r]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  };
  const rows = [...figure.querySelectorAll("table.numbers tr")];
  return rows.map((row) => [...row.cells].map((each) => cell(each.textContent)).join(",")).join("\r\n") + "\r\n";
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}
