"use strict";

// Runs the model of the L2 for three orders of tiles at once. tools/viewers.py writes the data: the models of GPUs.

const GPUS = JSON.parse(document.getElementById("data").textContent);
const MOST_SIZE = 65536;
const MOST_BLOCKS = 65536;
/** Accesses of an order that the model follows in full. Of more it follows every second to sixteenth set. */
const MOST_FOLLOWED = 3e6;
const POINTS = 200; // of a chart's line

const ORDERS = [
  { id: "rows", name: "row-major", color: "--first", dash: [], tileAt: rowMajorTile },
  { id: "hilbert", name: "Hilbert curve", color: "--second", dash: [8, 4], tileAt: hilbertTile },
  {
    id: "grouped",
    name: "grouped",
    color: "--third",
    dash: [2, 3],
    tileAt: (index, rows, cols) => groupedTile(index, rows, cols, Number($("group").value)),
  },
];

function $(id) {
  return document.getElementById(id);
}

function css(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name);
}

function bytesText(bytes) {
  if (bytes === 0) {
    return "0";
  }
  const [unit, name] = bytes >= 1e9 ? [1e9, "GB"] : bytes >= 1e6 ? [1e6, "MB"] : [1e3, "kB"];
  return `${(bytes / unit).toPrecision(3)} ${name}`;
}

function percentText(part, whole) {
  return whole === 0 ? "" : `${((100 * part) / whole).toFixed(1)} %`;
}

// ---- Choices ----

function addGpus() {
  for (const { id, name, sms, l2Bytes } of GPUS) {
    $("gpu").append(element("option", { value: id }, `${name}: ${sms} SMs, L2 of ${l2Bytes / 2 ** 20} MiB`));
  }
}

function chosenLaunch() {
  const number = (id) => Number($(id).value);
  return {
    m: number("m"),
    n: number("n"),
    k: number("k"),
    tileM: number("tile-m"),
    tileN: number("tile-n"),
    blocksPerSm: number("blocks"),
    inTurn: $("turns").value === "turn",
  };
}

/** The first thing that is wrong with a launch, as a sentence; "" for none. */
function problemOfLaunch({ m, n, k, tileM, tileN, blocksPerSm }, groupRows) {
  const isWhole = (value, most) => Number.isInteger(value) && value >= 1 && value <= most;
  for (const [name, size, part] of [["M", m, tileM], ["N", n, tileN], ["K", k, LINE_FLOATS]]) {
    if (!isWhole(part / LINE_FLOATS, MOST_SIZE / LINE_FLOATS) || !isWhole(size / part, MOST_SIZE / part)) {
      const sides = `a tile's sides multiples of ${LINE_FLOATS}`;
      return `${name} has to be a multiple of ${part}, up to ${MOST_SIZE}, and ${sides}.`;
    }
  }
  if ((m / tileM) * (n / tileN) > MOST_BLOCKS) {
    return `The page follows ${MOST_BLOCKS} tiles at most: smaller matrices or larger tiles, please.`;
  }
  return isWhole(blocksPerSm, 32) && isWhole(groupRows, MOST_SIZE)
    ? ""
    : "An SM has 1 to 32 blocks, and a group a row of tiles or more.";
}

// ---- A run ----

/** An order with its replay and what the charts show of it. */
function makeRun(order, launch, gpu) {
  const replay = new Replay(launch, gpu, order.tileAt, MOST_FOLLOWED);
  return { order, replay, history: [{ progress: 0, bytes: 0, missed: null }], last: { reads: 0, hits: 0 } };
}

function totalBytes(traffic) {
  return traffic.dramReadBytes + traffic.dramWrittenBytes;
}

/** Adds a point to the charts where the work has come far enough. */
function addPoint(run) {
  const { replay, history, last } = run;
  if (!replay.finished && replay.progress < history.length / POINTS) {
    return;
  }
  const traffic = replay.traffic();
  const reads = replay.followed.read - last.reads;
  const misses = reads - (replay.followed.hits - last.hits);
  history.push({
    progress: replay.progress,
    bytes: totalBytes(traffic),
    missed: reads === 0 ? history.at(-1).missed : (100 * misses) / reads,
  });
  run.last = { reads: replay.followed.read, hits: replay.followed.hits };
}

// ---- Pictures ----

/** The canvas's context, in CSS pixels, emptied. */
function contextOf(canvas, height) {
  const scale = window.devicePixelRatio || 1;
  canvas.width = canvas.clientWidth * scale;
  canvas.height = height * scale;
  canvas.style.height = `${height}px`;
  const context = canvas.getContext("2d");
  context.scale(scale, scale);
  return context;
}

function drawGrid(run) {
  const { order, replay } = run;
  const canvas = $(`grid-${order.id}`);
  const { tileM, tileN, m, n } = replay.launch;
  const scale = canvas.clientWidth / Math.max(n, m);
  const [width, height] = [tileN * scale, tileM * scale];
  const context = contextOf(canvas, Math.ceil(m * scale));
  const gap = Math.min(width, height) > 5 ? 1 : 0;
  const fill = (block, color) => {
    const { row, col } = replay.tiles[block];
    context.fillStyle = color;
    context.fillRect(col * width, row * height, width - gap, height - gap);
  };
  const waiting = css("--panel");
  context.fillStyle = waiting;
  context.fillRect(0, 0, n * scale, m * scale);
  const done = css("--done");
  for (let block = 0; block < replay.nextBlock; ++block) {
    fill(block, done);
  }
  const working = css("--second");
  for (const slot of replay.slots) {
    if (slot.block >= 0) {
      fill(slot.block, replay.tick > slot.started ? working : waiting);
    }
  }
  const started = replay.tick > 0 ? replay.nextBlock : 0;
  canvas.setAttribute("aria-label", `${order.name}: ${started} of ${replay.blocks} tiles begun`);
}

function drawChart(canvas, runs, valueOf, textOf) {
  const height = 240;
  const margin = { left: 64, right: 12, top: 10, bottom: 30 };
  const context = contextOf(canvas, height);
  const width = canvas.clientWidth - margin.left - margin.right;
  const tall = height - margin.top - margin.bottom;
  const values = runs.flatMap((run) => run.history.map(valueOf)).filter((value) => value !== null);
  const most = Math.max(...values, 0) * 1.05 || 1;
  const x = (progress) => margin.left + progress * width;
  const y = (value) => margin.top + tall - (value / most) * tall;
  context.font = "13px system-ui, sans-serif";
  context.lineWidth = 1;
  for (let i = 0; i <= 4; ++i) {
    const value = (most * i) / 4;
    context.strokeStyle = css("--faint");
    context.beginPath();
    context.moveTo(margin.left, y(value));
    context.lineTo(margin.left + width, y(value));
    context.stroke();
    context.fillStyle = css("--quiet");
    context.textAlign = "right";
    context.fillText(values.length > runs.length ? textOf(value) : "", margin.left - 6, y(value) + 4);
  }
  context.textAlign = "center";
  context.fillText("share of the work that is done", margin.left + width / 2, height - 8);
  context.lineWidth = 2;
  for (const { order, history } of runs) {
    context.strokeStyle = css(order.color);
    context.setLineDash(order.dash);
    context.beginPath();
    for (const point of history) {
      if (valueOf(point) !== null) {
        context.lineTo(x(point.progress), y(valueOf(point)));
      }
    }
    context.stroke();
  }
}

function showTraffic(runs) {
  const titles = ["order", "asked of the L2", "hits", "DRAM reads", "DRAM writes", "DRAM, all", "of the least"];
  const all = runs.map(({ order, replay }) => ({ order, traffic: replay.traffic() }));
  const least = Math.min(...all.map(({ traffic }) => totalBytes(traffic)));
  const rows = all.map(({ order, traffic }) => {
    const bytes = totalBytes(traffic);
    const cells = [
      bytesText((traffic.readSectors + traffic.writtenSectors) * SECTOR_BYTES),
      percentText(traffic.readHits, traffic.readSectors),
      bytesText(traffic.dramReadBytes),
      bytesText(traffic.dramWrittenBytes),
      bytesText(bytes),
      least === 0 ? "" : percentText(bytes, least),
    ];
    return element(
      "tr",
      { id: `traffic-${order.id}` },
      element("th", { scope: "row", class: "text" }, order.name),
      ...cells.map((cell) => element("td", {}, cell)),
    );
  });
  const head = titles.map((title, column) =>
    element("th", { scope: "col", class: column === 0 ? "text" : "" }, title),
  );
  $("traffic").replaceChildren(element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}

// ---- The page ----

let runs = [];
let frame = null;

function draw() {
  runs.forEach(drawGrid);
  drawChart($("bytes"), runs, (point) => point.bytes, bytesText);
  drawChart($("misses"), runs, (point) => point.missed, (value) => `${value.toFixed(1)} %`);
  showTraffic(runs);
  $("progress").value = runs[0].replay.progress;
}

function isFinished() {
  return runs.every(({ replay }) => replay.finished);
}

/** Advances all orders by so many ticks, or until the time is over. A tick is the same share of each order's work. */
function advance(ticks, milliseconds) {
  const end = performance.now() + milliseconds;
  for (let tick = 0; tick < ticks && !isFinished() && performance.now() < end; ++tick) {
    for (const run of runs) {
      if (!run.replay.finished) {
        run.replay.advance();
        addPoint(run);
      }
    }
  }
}

function stop() {
  cancelAnimationFrame(frame);
  frame = null;
  $("run").textContent = isFinished() ? "Run again" : "Run";
}

function step() {
  const { blocks, ticksOfBlock, slots } = runs[0].replay;
  const ticks = Math.ceil(blocks / slots.length) * ticksOfBlock;
  const seconds = Number($("seconds").value);
  advance(seconds === 0 ? Infinity : Math.ceil(ticks / (60 * seconds)), seconds === 0 ? 200 : 14);
  draw();
  if (isFinished()) {
    stop();
    const moved = runs.map(({ order, replay }) => `${order.name} ${bytesText(totalBytes(replay.traffic()))}`);
    $("status").textContent = `All tiles are done. DRAM has moved: ${moved.join(", ")}. ${setsText()}`;
  } else {
    frame = requestAnimationFrame(step);
  }
}

function setsText() {
  const { sample } = runs[0].replay;
  return sample === 1 ? "" : `One in ${sample} sets of the L2 is followed and stands for all.`;
}

/** A wrong launch is named, and the last right one stays. */
function reset() {
  const launch = chosenLaunch();
  const problem = problemOfLaunch(launch, Number($("group").value));
  if (problem !== "") {
    stop();
    $("status").textContent = problem;
    return;
  }
  const gpu = GPUS.find(({ id }) => id === $("gpu").value);
  runs = ORDERS.map((order) => makeRun(order, launch, gpu));
  stop();
  const { rows, cols, slots } = runs[0].replay;
  $("status").textContent = `${rows} x ${cols} tiles; ${slots.length} blocks at one time. ${setsText()}`;
  $("turns").disabled = launch.blocksPerSm === 1; // then both are the same
  draw();
}

addGpus();
for (const { id, name, color, dash } of ORDERS) {
  const canvas = element("canvas", { id: `grid-${id}`, role: "img", "aria-label": name });
  $("orders").append(element("section", {}, element("h2", {}, name), canvas));
  const kind = dash.length === 0 ? "solid" : dash[0] > 4 ? "dashed" : "dotted";
  $("lines").append(element("span", { class: "line", style: `border-top: 3px ${kind} var(${color})` }), ` ${name} `);
}
if (window.matchMedia("(prefers-reduced-motion: reduce)").matches) {
  $("seconds").value = "0";
}
$("choices").addEventListener("change", reset);
$("choices").addEventListener("submit", (event) => event.preventDefault());
$("reset").addEventListener("click", reset);
$("run").addEventListener("click", () => {
  if (frame !== null) {
    stop();
    return;
  }
  if (isFinished()) {
    reset();
  }
  $("run").textContent = "Pause";
  frame = requestAnimationFrame(step);
});
window.addEventListener("resize", draw);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
reset();
$("run").click();
