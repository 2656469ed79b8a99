"use strict";

// Three orders of tiles: which tiles are computed at one time, and how many numbers of A and B they read for each k.

const MOST_SIZE = 65536; // of a matrix, in the calculator as well
const MOST_TILES = 65536;
const ORDERS = [
  { id: "rows", name: "row-major", tilesOf: rowMajorTiles },
  { id: "hilbert", name: "Hilbert curve", tilesOf: hilbertTiles },
  { id: "grouped", name: "grouped", tilesOf: (rows, cols) => groupedTiles(rows, cols, chosen().group) },
];

function chosen() {
  return Object.fromEntries(["m", "n", "tileM", "tileN", "blocks", "group"].map((id) => [id, Number($(id).value)]));
}

/** The first thing that is wrong with the choices, as a sentence; "" for none. */
function problemOfOrders({ m, n, tileM, tileN, blocks, group }) {
  if (![m, n, tileM, tileN, blocks, group].every((value) => Number.isInteger(value) && value >= 1)) {
    return "All of these have to be whole numbers from 1 on.";
  }
  const tiles = Math.ceil(m / tileM) * Math.ceil(n / tileN);
  return tiles <= MOST_TILES ? "" : `The page draws ${MOST_TILES} tiles at most: larger tiles, please.`;
}

/** The tiles that are under way when so many blocks have ended, and what they read for each k. */
function wave({ tilesOf }, { m, n, tileM, tileN, blocks }, share) {
  const [rows, cols] = [Math.ceil(m / tileM), Math.ceil(n / tileN)];
  const first = Math.round(share * Math.max(rows * cols - blocks, 0));
  const order = tilesOf(rows, cols);
  const [done, tiles] = [order.slice(0, first), order.slice(first, first + blocks)];
  const [ofA, ofB] = ["row", "col"].map((of) => new Set(tiles.map((tile) => tile[of])).size);
  return { rows, cols, done, tiles, ofA, ofB, numbers: ofA * tileM + ofB * tileN };
}

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

function drawOrder(order, { tileM, tileN }, { rows, cols, done, tiles }) {
  const canvas = $(`grid-${order.id}`);
  const scale = canvas.clientWidth / Math.max(rows * tileM, cols * tileN);
  const [width, height] = [tileN * scale, tileM * scale];
  const context = contextOf(canvas, Math.ceil(rows * height));
  const gap = Math.min(width, height) > 5 ? 1 : 0;
  const fill = (color, list) => {
    context.fillStyle = color;
    list.forEach(({ row, col }) => context.fillRect(col * width, row * height, width - gap, height - gap));
  };
  fill(css("--panel"), rowMajorTiles(rows, cols));
  fill(css("--done"), done);
  fill(css("--second"), tiles);
  canvas.setAttribute("aria-label", `${order.name}: ${tiles.length} tiles at one time, after ${done.length}`);
}

/** A wrong choice is named, and the last right one stays. */
function showOrders() {
  const choices = chosen();
  $("status").textContent = problemOfOrders(choices);
  if ($("status").textContent !== "") return;
  const found = ORDERS.map((order) => ({ order, of: wave(order, choices, Number($("share").value) / 100) }));
  const least = Math.min(...found.map(({ of }) => of.numbers));
  found.forEach(({ order, of }) => drawOrder(order, choices, of));
  $("reads").replaceChildren(...found.map(({ order, of }) => {
    const cells = [of.ofA, of.ofB, of.numbers, `${(of.numbers / least).toFixed(2)} times`];
    const name = element("th", { scope: "row", class: "text" }, order.name);
    return element("tr", {}, name, ...cells.map((cell) => element("td", {}, `${cell}`)));
  }));
}

for (const { id, name } of ORDERS) {
  const canvas = element("canvas", { id: `grid-${id}`, role: "img", "aria-label": name });
  $("orders").append(element("section", {}, element("h3", {}, name), canvas));
}
$("choices").addEventListener("input", showOrders);
$("choices").addEventListener("submit", (event) => event.preventDefault());
window.addEventListener("resize", showOrders);
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", showOrders);
showOrders();
