// Charts from the definitions that report.py wrote, and the samples of a case.

const NARROW = { columns: 2, labelLimit: 108, labelFontSize: 10, columnPadding: 4 }; // a legend on a phone

const theme = () => {
  const chosen = document.documentElement.style.colorScheme;
  return chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
};

/** A definition with its data, and with the colours and shapes of those kernels that occur. */
function fill(page, spec, rows) {
  const filled = structuredClone(spec);
  const names = unique(rows.map((row) => row.name));
  const looks = (name, look, other) => page.looks[name]?.[look] ?? other;
  const color = { domain: names, range: names.map((name) => looks(name, theme(), page.inks[theme()])) };
  const shape = { domain: names, range: names.map((name) => looks(name, "shape", "circle")) };
  Object.assign(filled, { data: { name: "rows" }, datasets: { rows }, width: "container" });
  filled.params = [{ name: "ink", value: page.inks[theme()] }];
  const sides = unique(rows.map((row) => row.side).filter(Boolean)).sort((a, b) => a - b);
  const powers = Array.from({ length: 32 }, (_, e) => 2 ** e).filter((p) => sides[0] <= p && p <= sides.at(-1));
  const oneFile = unique(rows.map((row) => row.source)).length === 1;
  for (const { encoding } of filled.layer) {
    if (oneFile && encoding.strokeDash?.field === "source") delete encoding.strokeDash;
    if (encoding.x?.field === "side") encoding.x.axis.values = powers.length > 1 ? powers : sides;
    if (encoding.color) encoding.color.scale = color;
    if (encoding.shape) encoding.shape.scale = shape;
  }
  return filled;
}

/** Draws into a place and calls `opens` with the row of a point that is clicked. */
async function draw(page, place, spec, rows, opens) {
  const config = structuredClone(page.configs[theme()]);
  if (innerWidth < 800) Object.assign(config.legend, NARROW);
  const options = {
    config,
    renderer: "canvas",
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: "chart",
    tooltip: { theme: theme() },
    logLevel: 1, // errors: an axis that does without what the filters left out is no reason for a warning
  };
  place.embedded?.finalize();
  place.dataset.drawing = "";
  place.embedded = await vegaEmbed(place, fill(page, spec, rows), options);
  place.embedded.view.addEventListener("click", (_, item) => {
    if (item?.datum?.id !== undefined) opens(item.datum);
  });
  place.querySelector("summary").setAttribute("aria-label", "Save this chart");
  delete place.dataset.drawing;
  place.dataset.rows = rows.length;
}

const SAMPLE_COLUMNS = [["sample", "sample"], ["of", "name"], ["µs", "us"], ["% of their median", "share"]];

function median(values) {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Samples of one kernel as rows, numbered, each also in percent of their median. */
function numbered(values, name) {
  return values.map((us, index) => ({ sample: index + 1, name, us, share: 100 * us / median(values) }));
}

/** Opens the panel with the samples of a case: its own, and cuBLAS's that were taken in turn with them. */
async function showSamples(page, row) {
  const panel = document.getElementById("samples");
  const before = document.activeElement;
  const rival = row.name === "cuBLAS" ? "cuBLAS, in turn" : "cuBLAS";
  const samples = [...numbered(row.samples ?? [], row.name), ...numbered(row.rivals ?? [], rival)];
  const facts = {
    file: row.source,
    speed: row.written_speed,
    "of cuBLAS": row.written_ratio && `${row.written_ratio} in pairs; ${written(row.of_least, 3)} % is the smaller of that and of cuBLAS alone`,
    "relative error": row.written_err,
    power: row.power && `${row.power}, one reading after the samples`,
    "speed, back to back": row.turn_tflops && `${written(row.turn_tflops)} TFLOP/s for ${written(row.turn_seconds)} s`,
    energy: row.joules && `${written(row.joules)} J per product, ${written(row.gflop_per_joule)} GFLOP per joule`,
    throttled: row.why_throttled,
    detail: row.detail,
    samples: row.samples && `${row.samples.length}${row.few ? ", too few for an interval: ranges are shown" : ""}`,
  };
  const close = () => { panel.hidden = true; before?.focus(); };
  const chart = make("div", { className: "chart" });
  const found = Object.entries(facts).filter(([, value]) => value);
  panel.replaceChildren(
    make("div", { className: "head" }, make("h2", {}, `${row.name}, ${row.problem}`),
      make("button", { type: "button", onclick: close }, "Close")),
    make("dl", {}, ...found.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    ...(samples.length
      ? [chart, make("details", {}, make("summary", {}, "Table"), tableOf("Samples", SAMPLE_COLUMNS, samples))] : []));
  panel.onkeydown = (event) => { if (event.key === "Escape") close(); };
  panel.hidden = false;
  panel.querySelector("button").focus();
  if (samples.length) await draw(page, chart, page.charts.samples.scatter, samples, () => {});
}
