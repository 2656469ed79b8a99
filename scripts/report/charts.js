// Charts from the definitions that report.py wrote, and the samples of a case.

const COLUMNS = 3; // of a legend on a wide page

const theme = () => {
  const chosen = document.documentElement.style.colorScheme;
  return chosen || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
};

/** A definition with its data, and with the colours of those kernels that occur. */
function fill(page, spec, rows, others = {}) {
  const filled = structuredClone(spec);
  const names = unique(rows.map((row) => row.name));
  const range = names.map((name) => page.colors[name]?.[theme()] ?? page.inks[theme()]);
  Object.assign(filled, { data: { name: "rows" }, datasets: { rows, ...others }, width: "container" });
  filled.params = [{ name: "ink", value: page.inks[theme()] }];
  for (const layer of filled.layer) {
    if (layer.encoding.color) layer.encoding.color.scale = { domain: names, range };
  }
  return filled;
}

/** Draws into a place and calls `opens` with the row of a point that is clicked. */
async function draw(page, place, spec, rows, opens, others) {
  const config = structuredClone(page.configs[theme()]);
  config.legend.columns = innerWidth < 800 ? 2 : COLUMNS;
  config.legend.labelLimit = innerWidth < 800 ? 130 : 220;
  const options = {
    config,
    renderer: "canvas",
    actions: { export: true, source: false, compiled: false, editor: false },
    downloadFileName: "chart",
    tooltip: { theme: theme() },
  };
  place.embedded?.finalize();
  place.embedded = await vegaEmbed(place, fill(page, spec, rows, others), options);
  place.embedded.view.addEventListener("click", (_, item) => {
    if (item?.datum?.id !== undefined) opens(item.datum);
  });
  place.dataset.rows = rows.length;
}

const SAMPLE_COLUMNS = [["sample", (s) => s.sample], ["of", (s) => s.name], ["µs", (s) => s.us]];

/** Opens the panel with the samples of a case: its own, and cuBLAS's that were taken in turn with them. */
async function showSamples(page, row) {
  const panel = document.getElementById("samples");
  const before = document.activeElement;
  const numbered = (values, name) => (values ?? []).map((us, index) => ({ sample: index + 1, us, name }));
  const rival = row.name === "cuBLAS" ? "cuBLAS, in turn" : "cuBLAS";
  const samples = [...numbered(row.samples, row.name), ...numbered(row.rivals, rival)];
  const facts = {
    file: row.source,
    speed: row.written_speed,
    "of cuBLAS": row.written_ratio && `${row.written_ratio} in pairs; the smaller figure, with cuBLAS alone: ${written(row.of_least)} %`,
    "relative error": row.written_err,
    power: row.power && `${row.power}, one reading after the samples`,
    energy: row.joules && `${written(row.joules)} J per product, ${written(row.gflops_per_watt)} GFLOP/s per W`,
    throttled: row.throttled ? row.why_throttled || "yes" : null,
    detail: row.detail,
    samples: `${row.samples?.length ?? 0}${row.few ? ", too few for an interval: ranges are shown" : ""}`,
  };
  const close = () => { panel.hidden = true; before?.focus(); };
  const chart = make("div", { className: "chart" });
  const found = Object.entries(facts).filter(([, value]) => value);
  panel.replaceChildren(
    make("div", { className: "head" }, make("h2", {}, `${row.name}, ${row.problem}`),
      make("button", { type: "button", onclick: close }, "Close")),
    make("dl", {}, ...found.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)])),
    chart,
    make("details", {}, make("summary", {}, "Table"), tableOf("Samples", SAMPLE_COLUMNS, samples)));
  panel.onkeydown = (event) => { if (event.key === "Escape") close(); };
  panel.hidden = false;
  panel.querySelector("button").focus();
  if (samples.length) await draw(page, chart, page.charts.samples.scatter, samples, () => {});
}
