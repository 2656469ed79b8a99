"use strict";

// What a choice of tiles means for a product C = A B of M x N x K: numbers, their formulas, and a picture of one block.

const SM = { threads: 2048, blocks: 32, registers: 65536, sharedBytes: 228 * 1024, reservedBytes: 1024 }; // of an H100
const MOST_THREADS = 1024; // of a block
const MOST_SHARED_BYTES = SM.sharedBytes - SM.reservedBytes;
const MOST_REGISTERS = 255; // of a thread
const FLOAT_BYTES = 4;
const BANDS = 256; // the picture's colours, at most

// Those of an example, in the order of its value.
const FIELDS = ["m", "n", "k", "rows", "cols", "strips", "threadRows", "threadCols", "a", "blockRow", "blockCol"];

/** The quantities of a choice, by name. */
function tileFacts(choice) {
  const { m, n, k, rows, cols, strips, threadRows, threadCols } = choice;
  const inRegisters = choice.a === "registers";
  const [tileRows, tileCols, steps] = [Math.ceil(m / rows), Math.ceil(n / cols), Math.ceil(k / strips)];
  const threads = (rows / threadRows) * (cols / threadCols);
  const sharedBytes = FLOAT_BYTES * strips * (cols + (inRegisters ? 0 : rows));
  const sums = threadRows * threadCols;
  const registers = sums + (inRegisters ? threadRows * strips : threadRows + threadCols);
  const usesOfA = inRegisters ? threadCols : cols;
  const products = m * n * k;
  const reads = (m * k * tileCols * cols) / usesOfA + k * n * tileRows;
  const bytes = FLOAT_BYTES * (reads + m * n);
  return {
    ...{ tileRows, tileCols, threads, steps, sharedBytes, registers, usesOfA, usesOfB: rows, reads },
    blocks: tileRows * tileCols,
    multiplyAdds: sums * strips,
    copiers: copiers(choice, threads),
    blocksPerSm: Math.min(
      SM.blocks,
      Math.floor(SM.threads / threads),
      Math.floor(SM.registers / (threads * registers)),
      Math.floor(SM.sharedBytes / (sharedBytes + SM.reservedBytes)),
    ),
    timesFewer: (2 * products) / reads,
    sharedReads: ((inRegisters ? 0 : threadRows) + threadCols) / sums,
    flopPerByte: (2 * products) / bytes,
    percentOutside: 100 * (1 - products / (tileRows * rows * tileCols * cols * steps * strips)),
    memorySeconds: bytes / (choice.bandwidth * 1e12),
    arithmeticSeconds: (2 * products) / (choice.peak * 1e12),
  };
}

/** How many of a block's threads copy an element or more from global to shared memory in a step. */
function copiers({ rows, cols, strips, threadRows, threadCols, a }, threads) {
  if (a === "registers") return Math.min(threads, strips * cols);
  if (threadRows * threadCols > 1) return Math.min(threads, strips * Math.max(rows, cols));
  // Thread (y, x) copies A's element (y, x), if x is below the strips, and B's, if y is.
  const [width, height] = [Math.min(strips, cols), Math.min(strips, rows)];
  return rows * width + cols * height - width * height;
}

/** The first thing that is wrong with a choice, as a sentence; "" for none. `labelOf` gives the name of a field. */
function problemOf(choice, labelOf) {
  const { rows, cols, threadRows, threadCols } = choice;
  for (const field of FIELDS.filter((name) => name !== "a")) {
    const least = field.startsWith("block") ? 0 : 1;
    if (!Number.isInteger(choice[field]) || choice[field] < least || choice[field] > MOST_SIZE) {
      return `${labelOf(field)} has to be a whole number from ${least} to ${MOST_SIZE}.`;
    }
  }
  for (const field of ["bandwidth", "peak"]) {
    if (!(choice[field] > 0 && choice[field] < Infinity)) return `${labelOf(field)} has to be a number above 0.`;
  }
  if (rows % threadRows !== 0) {
    return `The ${rows} rows of a tile of C can not be shared out in parts of ${threadRows}.`;
  }
  if (cols % threadCols !== 0) {
    return `The ${cols} columns of a tile of C can not be shared out in parts of ${threadCols}.`;
  }
  const { threads, sharedBytes, registers } = tileFacts(choice);
  for (const [needs, count, most, of] of [
    ["A block would have", threads, MOST_THREADS, "threads"],
    ["A block would need", sharedBytes, MOST_SHARED_BYTES, "bytes of shared memory"],
    ["A thread would need", registers, MOST_REGISTERS, "registers and more"],
  ]) {
    if (count > most) return `${needs} ${count} ${of}, and it can have ${most}.`;
  }
  return "";
}

// ---- The table ----

function factText(name, value) {
  if (!name.endsWith("Seconds")) {
    return value.toLocaleString("en", value < 1e6 ? { maximumFractionDigits: 2 } : { maximumSignificantDigits: 4 });
  }
  const [unit, text] = value >= 1e-3 ? [1e-3, "ms"] : value >= 1e-6 ? [1e-6, "µs"] : [1e-9, "ns"];
  return `${(value / unit).toPrecision(3)} ${text}`;
}

/** The page has a row for each quantity, with its formula; its cell for the value has the quantity's name. */
function showFacts(facts) {
  for (const cell of document.querySelectorAll("#facts [data-fact]")) {
    cell.textContent = factText(cell.dataset.fact, facts[cell.dataset.fact]);
  }
  $("limit").textContent =
    facts.memorySeconds > facts.arithmeticSeconds
      ? "Memory limits it where no cache helps: its bytes take longer than its arithmetic."
      : "Arithmetic limits it: its bytes take less time, even where no cache helps.";
}

// ---- The picture ----

/** The tile that the reader asks for, or the last one. */
function chosenBlock({ blockRow, blockCol }, { tileRows, tileCols }) {
  return { row: Math.min(blockRow, tileRows - 1), col: Math.min(blockCol, tileCols - 1) };
}

/** A beside C and B above it; the block's tile of C, and a colour for each step's tiles of A and B. */
function drawBlock(choice) {
  const facts = tileFacts(choice);
  const { m, n, k, rows, cols, strips, threadRows, threadCols } = choice;
  const block = chosenBlock(choice, facts);
  const canvas = $("block");
  const margin = 20;
  const scale = Math.min((canvas.clientWidth - 2 * margin) / (k + n), 480 / (k + m));
  const context = contextOf(canvas, Math.ceil(scale * (k + m)) + 2 * margin);
  const corner = scale * k + 1.5 * margin; // of C
  const fill = (color, x, y, width, height) => {
    context.fillStyle = color;
    context.fillRect(x, y, width * scale, height * scale);
  };
  const [start, above] = [0.5, margin - 4]; // of A, from the left, and of B, from the top
  const matrices = [["A", start, corner, m, k], ["B", corner, above, k, n], ["C", corner, corner, m, n]];
  context.font = "13px system-ui, sans-serif";
  for (const [name, x, y, height, width] of matrices) {
    fill(css("--panel"), x, y, width, height);
    context.strokeStyle = css("--edge");
    context.strokeRect(x, y, width * scale, height * scale);
    context.fillStyle = css("--quiet");
    context.fillText(name, x, y - 4);
  }
  const [top, left] = [block.row * rows, block.col * cols];
  const [height, width] = [Math.min(rows, m - top), Math.min(cols, n - left)];
  const [tileX, tileY] = [corner + left * scale, corner + top * scale];
  const stride = Math.ceil(facts.steps / BANDS);
  for (let step = 0; step < facts.steps; step += stride) {
    const hue = (300 * step) / facts.steps;
    const color = `hsl(${hue} ${css("--lane-saturation")} ${css("--lane-lightness")})`;
    const depth = Math.min(strips * stride, k - step * strips);
    fill(color, start + step * strips * scale, tileY, depth, height);
    fill(color, tileX, above + step * strips * scale, width, depth);
  }
  fill(css("--second"), tileX, tileY, width, height);
  fill(css("--text"), tileX, tileY, Math.min(threadCols, width), Math.min(threadRows, height));
  if (scale >= 6) {
    context.strokeStyle = css("--faint");
    for (const [, x, y, tall, wide] of matrices) {
      for (let row = 0; row <= tall; ++row) context.strokeRect(x, y + row * scale, wide * scale, 0);
      for (let col = 0; col <= wide; ++col) context.strokeRect(x + col * scale, y, 0, tall * scale);
    }
  }
  const parts = [`${top}:${top + height}`, `${left}:${left + width}`];
  const product = `C[${parts}] = A[${parts[0]}, :] × B[:, ${parts[1]}]`;
  const steps = facts.steps === 1 ? "one step" : `${facts.steps} steps`;
  const caption = `Block (${block.row}, ${block.col}) computes ${product} in ${steps}.`;
  $("computes").textContent = caption;
  canvas.setAttribute("aria-label", caption);
}

// ---- The form ----

function calculatorChoice() {
  const { elements } = $("calculator");
  const choice = { a: elements.a.value };
  for (const field of [...FIELDS.filter((name) => name !== "a"), "bandwidth", "peak"]) {
    choice[field] = elements[field].value === "" ? NaN : Number(elements[field].value);
  }
  return choice;
}

let lastChoice;

/** A wrong choice is named, and the last right one stays. */
function calculate() {
  const choice = calculatorChoice();
  const { elements } = $("calculator");
  const problem = problemOf(choice, (field) => elements[field].getAttribute("aria-label"));
  $("problem").textContent = problem;
  if (problem === "") {
    lastChoice = choice;
    showFacts(tileFacts(choice));
  }
  drawBlock(lastChoice);
}

function takeExample() {
  const { elements } = $("calculator");
  elements.example.value.split(" ").forEach((value, index) => {
    elements[FIELDS[index]].value = value;
  });
  calculate();
}

$("calculator").elements.example.addEventListener("change", takeExample);
$("calculator").addEventListener("input", (event) => event.target.name === "example" || calculate());
$("calculator").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("resize", () => drawBlock(lastChoice));
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawBlock(lastChoice));
takeExample();
