// One translation and what the model attended to, drawn into #picture. Everything comes from #data.
"use strict";
(() => {
  const ROW = 26; // height of a word beside the lines, in pixels
  const FAINT = 0.02; // of all lines at once those below are left out
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const [picture, says] = [byId("picture"), byId("says")];
  const controls = Object.fromEntries(
    ["panel", "layer", "head", "mode", "merged"].map((id) => [id, byId(id)]));

  const shown = { matrix: null, pixels: null, rows: 0, columns: 0, queries: [], keys: [] };
  let lists = {}; // the buttons of both sides, and the canvas between them
  let pointed = null; // { side, index } of a word, or { row, column } of a cell
  let held = false;

  // Weights

  const numbersOf = new Map(); // a layer → its weights, decoded when they are first asked for

  function numbers(layer) {
    if (!numbersOf.has(layer)) {
      const letters = atob(layer.weights);
      const values = new Float32Array(letters.length / 2);
      for (let i = 0; i < values.length; i++) {
        values[i] = (letters.charCodeAt(2 * i) + 256 * letters.charCodeAt(2 * i + 1)) / 65535;
      }
      numbersOf.set(layer, values);
    }
    return numbersOf.get(layer);
  }

  function layersOf(panel) {
    const number = controls.layer.value;
    return panel.layers.filter((_, i) => number === "mean" || i === Number(number));
  }

  // The chosen weights (T, S): those of a head, or the mean over heads, then over layers.
  function chosen(panel) {
    const size = panel.queries.tokens.length * panel.keys.tokens.length;
    const head = controls.head.value;
    const layers = layersOf(panel);
    const mean = new Float32Array(size);
    for (const layer of layers) {
      const values = numbers(layer);
      const heads = head === "mean" ? [...Array(layer.heads).keys()] : [Number(head)];
      const share = 1 / (heads.length * layers.length);
      for (const h of heads) {
        for (let i = 0; i < size; i++) mean[i] += share * values[h * size + i];
      }
    }
    return mean;
  }

  // The largest weight of all layers and heads: the colours of two of them can then be compared.
  const largestOf = new Map();

  function largest(panel) {
    if (!largestOf.has(panel)) {
      const each = panel.layers.map((layer) => numbers(layer).reduce((a, b) => Math.max(a, b), 0));
      largestOf.set(panel, Math.max(...each));
    }
    return largestOf.get(panel);
  }

  // Tokens as words: the weights on the pieces of a word are added, those of its pieces averaged.
  function merge(matrix, panel) {
    const [rows, columns] = [panel.queries.groups, panel.keys.groups];
    const width = panel.keys.tokens.length;
    const merged = new Float32Array(rows.length * columns.length);
    rows.forEach((row, r) => columns.forEach((column, c) => {
      let sum = 0;
      for (const t of row) for (const s of column) sum += matrix[t * width + s];
      merged[r * columns.length + c] = sum / row.length;
    }));
    return merged;
  }

  function words({ tokens, groups, unknown }, merging) {
    return (merging ? groups : tokens.map((_, i) => [i])).map((group) => ({
      text: group.map((i) => tokens[i]).join(""),
      unknown: group.some((i) => unknown.includes(i)),
    }));
  }

  // What is chosen

  // What was asked for is kept while there is no choice, and taken again where there is one.
  function options(select, choices) {
    const wanted = select.dataset.wanted;
    select.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
    if (choices.some(([value]) => String(value) === wanted)) select.value = wanted;
    select.disabled = choices.length < 2;
  }

  function numbered(count) {
    const each = [...Array(count).keys()].map((i) => [i, String(i + 1)]);
    return count > 1 ? [["mean", "mean of all"], ...each] : each;
  }

  function choosePanel() {
    const panel = data.panels[controls.panel.value];
    options(controls.layer, numbered(panel.layers.length));
    byId("merging").hidden = panel.queries.merged && panel.keys.merged;
    chooseLayer();
    build();
  }

  function chooseLayer() {
    const heads = layersOf(data.panels[controls.panel.value]).map((layer) => layer.heads);
    options(controls.head, numbered(Math.min(...heads)));
  }

  // The page: words at two sides, and a canvas

  function list(side, name) {
    const items = shown[side].map((word, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.tabIndex = index ? -1 : 0;
      button.textContent = word.text;
      button.dir = "auto";
      button.classList.toggle("unknown", word.unknown);
      if (word.unknown) button.title = "the model does not know this word";
      button.setAttribute("aria-label", `${word.text}, ${name} ${index + 1} of ${shown[side].length}`);
      Object.assign(button.dataset, { side, index });
      const item = document.createElement("li");
      item.append(button);
      return item;
    });
    const ordered = document.createElement("ol");
    ordered.className = side;
    ordered.setAttribute("aria-label", name);
    ordered.append(...items);
    return ordered;
  }

  function heading(side, text) {
    const element = document.createElement("h2");
    element.className = side;
    element.textContent = text;
    return element;
  }

  function build() {
    const panel = data.panels[controls.panel.value];
    const merging = controls.merged.checked;
    shown.queries = words(panel.queries, merging);
    shown.keys = words(panel.keys, merging);
    [shown.rows, shown.columns] = [shown.queries.length, shown.keys.length];
    shown.runsLeft = panel.keys.runsLeft;
    const canvas = document.createElement("canvas");
    canvas.setAttribute("aria-hidden", "true"); // what it shows is said by #says, word by word
    const [queries, keys] = [list("queries", panel.queries.name), list("keys", panel.keys.name)];
    const frame = document.createElement("div");
    frame.className = controls.mode.value;
    if (controls.mode.value === "lines") {
      frame.append(heading("queries", panel.queries.name), heading("keys", panel.keys.name),
        queries, canvas, keys);
    } else {
      const corner = document.createElement("div");
      corner.className = "corner";
      corner.append(heading("keys", `${panel.keys.name} →`), heading("queries", `${panel.queries.name} ↓`));
      frame.append(corner, keys, queries, canvas);
    }
    picture.replaceChildren(frame);
    const buttons = (ordered) => [...ordered.querySelectorAll("button")];
    lists = { frame, canvas, queries: buttons(queries), keys: buttons(keys) };
    [pointed, held] = [null, false];
    weigh();
  }

  function weigh() {
    const panel = data.panels[controls.panel.value];
    const matrix = chosen(panel);
    shown.matrix = controls.merged.checked ? merge(matrix, panel) : matrix;
    // The weights of pieces are added, so a word may have more than any piece
    shown.darkest = shown.matrix.reduce((a, b) => Math.max(a, b), Math.max(largest(panel), 1e-9));
    byId("scale").hidden = controls.mode.value !== "matrix";
    byId("darkest").textContent = percent(shown.darkest);
    shown.pixels = null;
    layOut();
  }

  // The place of a column: a sentence that is read from the right has its first word there.
  const placeOf = (column) => (shown.runsLeft ? shown.columns - 1 - column : column);

  function cell() {
    const room = picture.clientWidth - (lists.queries[0] ? 190 : 0);
    return Math.max(12, Math.min(34, Math.floor(room / shown.columns)));
  }

  function layOut() {
    const { canvas } = lists;
    const isMatrix = controls.mode.value === "matrix";
    let [width, height] = [0, ROW * Math.max(shown.rows, shown.columns)];
    if (isMatrix) {
      const size = cell();
      [width, height] = [size * shown.columns, size * shown.rows];
      lists.queries.forEach((button) => {
        button.style.height = button.style.lineHeight = `${size}px`;
        button.style.fontSize = `${Math.min(15, size)}px`;
      });
      lists.keys.forEach((button, i) => {
        button.style.fontSize = `${Math.min(15, size)}px`;
        button.parentElement.style.left = `${(placeOf(i) + 0.7) * size}px`;
      });
    } else {
      canvas.style.width = "100%";
      width = canvas.clientWidth;
    }
    canvas.style.width = isMatrix ? `${width}px` : "100%";
    canvas.style.height = `${height}px`;
    // Some browsers leave a canvas of more than 16 million pixels blank
    const scale = Math.min(window.devicePixelRatio || 1, Math.sqrt(16e6 / Math.max(1, width * height)));
    [canvas.width, canvas.height] = [width * scale, height * scale];
    canvas.getContext("2d").setTransform(scale, 0, 0, scale, 0, 0);
    paint();
  }

  // What is drawn and said

  const weight = (row, column) => shown.matrix[row * shown.columns + column];
  const percent = (share) => `${(100 * share).toFixed(share < 0.0995 ? 1 : 0)} %`;

  // The row and column that are pointed at: a word has one of them, a cell both.
  function place() {
    if (!pointed) return {};
    if ("row" in pointed) return pointed;
    return pointed.side === "queries" ? { row: pointed.index } : { column: pointed.index };
  }

  function paint() {
    const { row, column } = place();
    const context = lists.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const color = style.getPropertyValue("--weight-color").trim().split(/\s+/).join(",");
    const [width, height] = [lists.canvas.clientWidth, lists.canvas.clientHeight];
    context.clearRect(0, 0, width, height);
    (controls.mode.value === "lines" ? paintLines : paintMatrix)(context, color, width, row, column);
    lists.queries.forEach((button, r) =>
      mark(button, row === r, column === undefined ? 0 : weight(r, column)));
    lists.keys.forEach((button, c) =>
      mark(button, column === c, row === undefined ? 0 : weight(row, c)));
    says.textContent = sentence(row, column);
  }

  function mark(button, isChosen, share) {
    button.style.setProperty("--weight", isChosen ? 0 : share);
    button.classList.toggle("chosen", isChosen);
    button.setAttribute("aria-pressed", String(isChosen && held));
  }

  function paintLines(context, color, width, row, column) {
    context.lineWidth = 2;
    for (let r = 0; r < shown.rows; r++) {
      if (row !== undefined && r !== row) continue;
      for (let c = 0; c < shown.columns; c++) {
        const share = weight(r, c);
        if ((column !== undefined && c !== column) || (!pointed && share < FAINT)) continue;
        const [from, to] = [(r + 0.5) * ROW, (c + 0.5) * ROW];
        context.strokeStyle = `rgba(${color},${share})`;
        context.beginPath();
        context.moveTo(0, from);
        context.bezierCurveTo(width / 3, from, (2 * width) / 3, to, width, to);
        context.stroke();
      }
    }
  }

  // The matrix with a pixel a cell, made once for each choice: 40,000 cells follow the pointer.
  function pixels(color) {
    if (shown.pixels?.color !== color) {
      const image = new ImageData(shown.columns, shown.rows);
      const channels = color.split(",").map(Number);
      shown.matrix.forEach((share, i) => {
        const column = i % shown.columns;
        const alpha = (255 * share) / shown.darkest;
        image.data.set([...channels, alpha], 4 * (i - column + placeOf(column)));
      });
      const canvas = new OffscreenCanvas(shown.columns, shown.rows);
      canvas.getContext("2d").putImageData(image, 0, 0);
      shown.pixels = { color, canvas };
    }
    return shown.pixels.canvas;
  }

  function paintMatrix(context, color, width, row, column) {
    const size = width / shown.columns;
    const height = size * shown.rows;
    const style = getComputedStyle(document.documentElement);
    context.imageSmoothingEnabled = false;
    context.drawImage(pixels(color), 0, 0, width, height);
    context.strokeStyle = style.getPropertyValue("--edge");
    context.lineWidth = 0.5;
    context.beginPath();
    for (let r = 1; r < shown.rows; r++) {
      context.moveTo(0, r * size);
      context.lineTo(width, r * size);
    }
    for (let c = 1; c < shown.columns; c++) {
      context.moveTo(c * size, 0);
      context.lineTo(c * size, height);
    }
    context.stroke();
    context.strokeStyle = style.getPropertyValue("--held");
    context.lineWidth = 1.5;
    if (row !== undefined) context.strokeRect(0.75, row * size, width - 1.5, size);
    if (column !== undefined) context.strokeRect(placeOf(column) * size, 0.75, size, height - 1.5);
  }

  function sentence(row, column) {
    const quoted = ({ text }) => `“${text}”`;
    const [says, isSaid] = data.panels[controls.panel.value].verbs;
    if (row !== undefined && column !== undefined) {
      return `${quoted(shown.queries[row])} ${says} ${quoted(shown.keys[column])}: ${percent(weight(row, column))}`;
    }
    const most = (words, share) => words
      .map((word, i) => [word, share(i)])
      .sort((a, b) => b[1] - a[1])
      .filter(([, value], i) => i === 0 || value >= 0.0005)
      .slice(0, 5)
      .map(([word, value]) => `${quoted(word)} ${percent(value)}`)
      .join(", ");
    if (row !== undefined) {
      return `${quoted(shown.queries[row])} ${says} ${most(shown.keys, (c) => weight(row, c))}`;
    }
    if (column !== undefined) {
      return `${quoted(shown.keys[column])} ${isSaid} ${most(shown.queries, (r) => weight(r, column))}`;
    }
    return "";
  }

  // What the user does

  function point(at, holds = false) {
    [pointed, held] = [at, holds];
    paint();
  }

  const wordAt = (target) => {
    const button = target.closest?.("button");
    return button && { side: button.dataset.side, index: Number(button.dataset.index) };
  };

  function cellAt(event) {
    if (controls.mode.value !== "matrix" || event.target !== lists.canvas) return null;
    const size = lists.canvas.clientWidth / shown.columns;
    const within = (x, count) => Math.max(0, Math.min(Math.floor(x / size), count - 1));
    const column = placeOf(within(event.offsetX, shown.columns));
    return { row: within(event.offsetY, shown.rows), column };
  }

  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);

  picture.addEventListener("pointermove", (event) => {
    const at = wordAt(event.target) || cellAt(event);
    if (!held && !same(at, pointed)) point(at || null);
  });
  picture.addEventListener("pointerleave", () => held || point(null));
  picture.addEventListener("click", (event) => {
    const at = wordAt(event.target) || cellAt(event);
    if (at) point(at, !(held && same(at, pointed)));
  });
  picture.addEventListener("focusin", (event) => {
    const at = wordAt(event.target);
    if (at && !held) point(at);
  });
  picture.addEventListener("focusout", () => held || point(null));

  picture.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return point(wordAt(event.target) || null);
    const at = wordAt(event.target);
    if (!at || event.altKey || event.ctrlKey || event.metaKey) return undefined;
    const right = shown.runsLeft ? -1 : 1;
    const along = controls.mode.value === "matrix" && at.side === "keys"
      ? { ArrowLeft: -right, ArrowRight: right } : { ArrowUp: -1, ArrowDown: 1 };
    const last = lists[at.side].length - 1;
    const other = at.side === "queries" ? "keys" : "queries";
    const goals = { Home: [at.side, 0], End: [at.side, last] };
    for (const key of ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"]) {
      goals[key] = key in along ? [at.side, at.index + along[key]] : [other, at.index];
    }
    if (!(event.key in goals)) return undefined;
    event.preventDefault();
    const [side, index] = goals[event.key];
    const goal = lists[side][Math.max(0, Math.min(index, lists[side].length - 1))];
    for (const button of lists[side]) button.tabIndex = button === goal ? 0 : -1;
    goal.focus();
    point({ side, index: Number(goal.dataset.index) });
    return undefined;
  });

  const wanting = (select, then) => select.addEventListener("change", () => {
    select.dataset.wanted = select.value;
    then();
  });
  wanting(controls.panel, choosePanel);
  wanting(controls.layer, () => {
    chooseLayer();
    weigh();
  });
  wanting(controls.head, weigh);
  controls.mode.addEventListener("change", build);
  controls.merged.addEventListener("change", build);
  byId("controls").addEventListener("submit", (event) => event.preventDefault());
  let widthBefore = 0;
  new ResizeObserver(() => {
    if (picture.clientWidth === widthBefore) return; // its height follows from what is drawn
    widthBefore = picture.clientWidth;
    requestAnimationFrame(layOut);
  }).observe(picture);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => paint());

  // The sentences, and what else was found

  byId("source").textContent = data.source;
  byId("text").textContent = data.text;
  if (data.candidates.length > 1) {
    byId("alternatives").hidden = false;
    byId("alternatives").querySelector("tbody").append(...data.candidates.map(([text, score]) => {
      const line = document.createElement("tr");
      line.insertCell().textContent = score.toFixed(3);
      line.insertCell().textContent = text;
      line.lastChild.dir = "auto";
      return line;
    }));
  }
  options(controls.panel, data.panels.map(({ name }, i) => [i, name]));
  const longest = Math.max(...data.panels.map((p) => Math.max(p.queries.tokens.length, p.keys.tokens.length)));
  if (longest > 40) controls.mode.value = "matrix";
  choosePanel();
})();
