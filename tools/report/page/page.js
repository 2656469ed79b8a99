// The page: its views, each with charts and the table behind them.

const CASE = [["kernel", (r) => r.name], ["M × N × K", (r) => r.problem], ["file", (r) => r.source]];
const OF_SPEED = [["TFLOP/s", (r) => r.tflops], ["from", (r) => r.tflops_low], ["to", (r) => r.tflops_high]];
const OF_RATIO = [["% of cuBLAS", (r) => r.of], ["from", (r) => r.of_low], ["to", (r) => r.of_high],
  ["% of cuBLAS, the smaller figure", (r) => r.of_least]];
const HOT = ["throttled", (r) => (r.throttled ? r.why_throttled || "yes" : "")];

/** The moments of sustained cases, those of a case's two turns on lines of their own. */
function momentsOf(cases) {
  return cases.flatMap((row) => row.moments.map((moment) => ({
    ...moment, id: row.id, name: row.name, problem: row.problem, source: row.source, line: `${row.id} ${moment.turn}`,
  })));
}

const VIEWS = [
  {
    id: "relative", title: "Relative to cuBLAS", field: "of", columns: [...CASE, ...OF_RATIO, HOT],
    text: "Points are medians over cuBLAS samples taken in turn, lines their intervals. Ticks are ratios to cuBLAS " +
      "timed alone, where those are smaller. 100 % is as fast as cuBLAS in FP32. Hollow: the GPU had lowered its clock.",
    missing: "No case here was compared with cuBLAS.",
    scales: {
      logarithmic: { type: "log", nice: false, padding: 14 },
      "from 0 %": { type: "linear", zero: true },
      "90 to 120 %": { type: "linear", zero: false, nice: false, domain: [90, 120] },
    },
  },
  {
    id: "absolute", title: "Speed", field: "tflops", columns: [...CASE, ...OF_SPEED, ["µs", (r) => r.us], HOT],
    text: "Both axes are logarithmic. Lines at the points are the intervals of the median time.",
    missing: "No case here was timed.",
  },
  {
    id: "comparison", title: "One file against another", field: "ratio",
    columns: [...CASE, ["ratio", (r) => r.ratio], ["from", (r) => r.ratio_low], ["to", (r) => r.ratio_high],
      ["verdict", (r) => r.verdict]],
    text: "The new speed over the old one; above 1 is faster. Intervals are those of scripts/compare.py: they know the " +
      "scatter within a run and not the drift from run to run.",
    missing: "It takes two files that measured the same cases under one protocol.",
  },
  {
    id: "error", title: "Error against speed", field: "err",
    columns: [...CASE, ["relative error", (r) => r.err], ...OF_SPEED.slice(0, 1)],
    text: "Faster is to the right, more accurate below. The error is that of the verified result against FP64, in the " +
      "Frobenius norm.",
    missing: "No timed case here has an error.",
  },
  {
    id: "energy", title: "Energy", field: "gflop_per_joule",
    columns: [...CASE, ["GFLOP per joule", (r) => r.gflop_per_joule], ["J per product", (r) => r.joules],
      ["J of cuBLAS beside it", (r) => r.rival_joules], ["mean W", (r) => r.turn_watts],
      ["mean MHz", (r) => r.turn_mhz], ["TFLOP/s", (r) => r.turn_tflops], ["seconds", (r) => r.turn_seconds],
      ["throttled", (r) => (r.turn_throttled ? "yes" : "")]],
    text: "Of products back to back, with no pause and a warm L2. Power, clock and speed are means of that time. Hollow: " +
      "the GPU had lowered its clock meanwhile.",
    missing: "No case here has its energy measured: the runner's --energy does that. Power and clock after the samples " +
      "are single readings, which tell no energy.",
  },
  {
    id: "sustained", title: "Sustained speed", field: "moments", drawn: momentsOf,
    columns: [...CASE, ["turn", (r) => r.turn], ["second", (r) => r.seconds], ["TFLOP/s", (r) => r.tflops],
      ["MHz", (r) => r.mhz], ["W", (r) => r.watts], ["°C", (r) => r.celsius], ["clock lowered by", (r) => r.why]],
    summary: [...CASE, ["TFLOP/s", (r) => r.turn_tflops], ["in the first second", (r) => r.first_tflops],
      ["in the last", (r) => r.last_tflops], ["cuBLAS beside it", (r) => r.rival_tflops],
      ["% of cuBLAS beside it", (r) => r.turn_of], ["mean W", (r) => r.turn_watts], ["mean MHz", (r) => r.turn_mhz],
      ["°C at the end", (r) => r.celsius], ["clock lowered by, share of the time", (r) => r.throttle_shares],
      ["seconds", (r) => r.turn_seconds], ["cut short", (r) => (r.cut_short ? "yes" : "")]],
    text: "Each kernel ran back to back for seconds, and then cuBLAS, with a warm L2. These are no speeds of single " +
      "products, and no other chart has them. Points are means over parts of the time.",
    missing: "No case here ran for seconds: the runner's --sustain does that.",
    about: "Solid: the kernel. Dashed: cuBLAS beside it.",
  },
  {
    id: "distribution", title: "Error by operands", field: "err", anyProtocol: true, about: "",
    columns: [...CASE, ["operands", (r) => r.data], ["relative error", (r) => r.err]],
    text: "The relative error against FP64 on each kind of operands; what is exact is not drawn.",
  },
];

/** A section with a title and a text. */
function sectionOf(id, title, text, ...children) {
  const heading = make("h2", { id: `${id}-title` }, title);
  return make("section", { id, attributes: { "aria-labelledby": heading.id } }, heading, text && make("p", {}, text),
    ...children);
}

/** A chart with a caption and the table behind it, both made when they are looked at. */
class Figure {
  constructor(page, title, columns, opens) {
    Object.assign(this, { page, title, columns, opens, stale: false, seen: false });
    this.caption = make("figcaption");
    this.place = make("div", { className: "chart" });
    this.table = make("details", {}, make("summary", {}, "Table"));
    this.table.addEventListener("toggle", () => this.showTable());
    this.element = make("figure", {}, this.caption, this.place, this.table);
    new IntersectionObserver(([entry]) => {
      this.seen = entry.isIntersecting;
      this.show();
    }, { rootMargin: "200px" }).observe(this.element);
  }

  update(spec, rows, caption) {
    Object.assign(this, { spec, rows, stale: true });
    this.element.hidden = !rows.length;
    this.caption.textContent = caption;
    this.showTable();
    this.show();
  }

  show() {
    if (!this.stale || !this.seen || !this.rows.length) return;
    this.stale = false;
    draw(this.page, this.place, this.spec, this.rows, this.opens);
  }

  showTable() {
    [...this.table.children].slice(1).forEach((child) => child.remove());
    if (!this.table.open) return;
    const opens = (row) => row.id !== undefined && (() => this.opens(row));
    this.table.append(tableOf(this.title, this.columns, this.rows, opens));
  }
}

/** A view of the cases: its charts follow the filters. `rowsOf` gives the cases that its charts may show, and `drawn`
 * what is drawn of those that the filters let through. `summary` has the columns of a table of these cases. */
class View {
  constructor(page, filters, { rowsOf, controls = [], drawn = (cases) => cases, ...definition }, opens) {
    Object.assign(this, { page, filters, rowsOf, drawn, opens }, definition);
    this.scale = Object.keys(this.scales ?? {})[0];
    this.figures = Object.fromEntries(Object.keys(page.charts[this.id]).map((form) => [
      form, new Figure(page, this.title, this.columns, opens)]));
    this.empty = make("div", { className: "empty" });
    this.cases = make("div");
    const scales = this.scale ? [select("Axis", Object.keys(this.scales).map((name) => [name, name]), this.scale,
      (value) => { this.scale = value; this.update(); })] : [];
    const buttons = [...controls.map((control) => control(() => this.update())), ...scales];
    this.section = sectionOf(this.id, this.title, this.text, make("div", { className: "buttons" }, ...buttons), this.empty, this.cases,
      ...Object.values(this.figures).map((figure) => figure.element));
  }

  /** The definition with the scale that a reader chose. */
  specOf(form) {
    const spec = structuredClone(this.page.charts[this.id][form]);
    const axis = form === "by_shape" ? "x" : "y";
    for (const layer of this.scale ? spec.layer : []) {
      if (layer.encoding[axis].field) layer.encoding[axis].scale = this.scales[this.scale];
    }
    return spec;
  }

  /** Whether any case of the page has what this view shows, whatever the filters are. */
  hasCases() {
    return this.drawn(this.rowsOf().filter((row) => row[this.field] !== undefined)).length > 0;
  }

  /** Why nothing is drawn, with buttons for the protocols that have something. */
  whyEmpty(all) {
    const others = Map.groupBy(all.filter((row) => this.filters.letsThrough(row)), (row) => row.protocol);
    const found = [...others].filter(([, rows]) => this.drawn(rows).length).map(([protocol]) => protocol);
    if (!found.length) return [make("p", {}, this.hasCases() ? "The filters leave no case here." : this.missing)];
    const button = (protocol) => make("button", { type: "button", onclick: () => this.filters.choose(protocol) },
      `Show ${this.page.protocols[protocol]}`);
    return [make("p", {}, "No case of this protocol is here, but there are some of another one:"), ...found.map(button)];
  }

  update() {
    const all = this.rowsOf().filter((row) => row[this.field] !== undefined);
    const cases = this.anyProtocol ? all.filter((row) => this.filters.letsThrough(row)) : this.filters.rows(all);
    const rows = this.drawn(cases);
    const forms = { over_size: rows.filter((r) => r.side), by_shape: rows.filter((r) => !r.side) };
    const protocol = this.page.protocols[rows[0]?.protocol ?? this.filters.protocol];
    for (const [form, figure] of Object.entries(this.figures)) {
      const shown = forms[form] ?? rows;
      const number = shown[0]?.id === undefined ? shown.length : unique(shown.map((row) => row.id)).length;
      const count = `${number} ${number === 1 ? "case" : "cases"}: ${protocol}`;
      const about = this.about ?? "A click on a point shows its samples.";
      figure.update(this.specOf(form), shown, `${count}. ${about}`);
    }
    this.empty.hidden = rows.length > 0;
    this.empty.replaceChildren(...(rows.length ? [] : this.whyEmpty(all)));
    this.cases.replaceChildren(...(this.summary && cases.length ? [tableOf(this.title, this.summary, cases)] : []));
  }
}

/** Every case, whatever became of it. */
function allCases(page, filters, opens) {
  const place = make("div");
  const section = sectionOf("cases", "All cases", "Of all protocols and outcomes, as far as the filters let them " +
    "through. The first column opens the samples.", place);
  const columns = [...CASE, ["protocol", (r) => page.protocols[r.protocol]], ["outcome", (r) => r.outcome],
    ["µs", (r) => r.us], ["TFLOP/s", (r) => r.tflops], ["% of cuBLAS, the smaller figure", (r) => r.of_least],
    ["relative error", (r) => r.err], ["operands", (r) => r.data], HOT, ["reason", (r) => r.reason],
    ["detail", (r) => r.detail]];
  const update = () => {
    const rows = page.cases.filter((row) => filters.letsThrough(row));
    const has = ([, value]) => rows.some((row) => ![undefined, null, ""].includes(value(row)));
    place.replaceChildren(tableOf("All cases", columns.filter(has), rows, (row) => row.samples && (() => opens(row))));
  };
  return { section, update };
}

function simpleSection(table, index) {
  const columns = table.columns.map((name, column) => [name, (row) => row[column]]);
  return sectionOf(`table-${index}`, table.title, table.text, tableOf(table.title, columns, table.rows));
}

/** The rows of the two files that a reader chose, and the control for it. */
function comparisonOf(page) {
  let chosen = 0;
  const options = page.pairs.map((pair, index) => [index, pair.title]);
  const control = (changed) => select("Files", options, chosen, (value) => { chosen = Number(value); changed(); });
  return { rowsOf: () => page.pairs[chosen]?.cases ?? [], controls: [control] };
}

/** The cases of one problem, or of all, and the control for it: first 4096, as the worklog's ladder, where `usual`
 * asks for it, or else the largest. */
function byProblem(cases, usual) {
  const problems = unique(cases.map((row) => row.problem));
  const largest = cases.toSorted((a, b) => a.m * a.n * a.k - b.m * b.n * b.k).at(-1)?.problem;
  let chosen = problems.includes(usual) ? usual : largest;
  const options = [["all", "all"], ...problems.map((problem) => [problem, problem])];
  const control = (changed) => select("M × N × K", options, chosen, (value) => { chosen = value; changed(); });
  const rowsOf = () => cases.filter((row) => chosen === "all" || row.problem === chosen);
  return { rowsOf, controls: problems.length > 1 ? [control] : [] };
}

const distributionOf = (page) => byProblem(page.cases.filter((row) => row.outcome === "compared" && row.err), "4096");
const errorsOf = (page) => byProblem(page.cases.filter((row) => row.outcome === "measured" && row.err), "4096");
const sustainedOf = (page) => byProblem(page.cases.filter((row) => row.moments));

function paintSwatches(page) {
  for (const swatch of document.querySelectorAll(".swatch")) {
    swatch.style.background = page.looks[swatch.dataset.name][theme()];
  }
}

async function main() {
  const page = await unpacked(document.getElementById("data"));
  const filters = new Filters(page);
  const opens = (row) => showSamples(page, page.cases[row.id]);
  const charted = page.cases.some((row) => row.charted);
  const special = { comparison: comparisonOf, error: errorsOf, sustained: sustainedOf, distribution: distributionOf };
  const ask = ["comparison", "sustained", "distribution"]; // for files that few reports have
  const all = VIEWS.map((definition) => {
    const source = special[definition.id]?.(page) ?? { rowsOf: () => page.cases };
    return new View(page, filters, { ...definition, ...source }, opens);
  });
  const shown = all.filter((view) => view.hasCases() || (charted && !ask.includes(view.id)));
  const views = shown.toSorted((a, b) => b.hasCases() - a.hasCases()); // what is empty says why, and comes last
  if (page.cases.length) views.push(allCases(page, filters, opens));
  const ofFiles = unique(page.files.flatMap(Object.keys)).map((name) => [name, (file) => file[name]]);
  const sections = [...views.map((view) => view.section), ...page.tables.map(simpleSection),
    ...(page.files.length ? [sectionOf("files", "Files", "", tableOf("Files", ofFiles, page.files))] : [])];
  const links = sections.map((section) => make("li", {},
    make("a", { href: `#${section.id}` }, section.querySelector("h2").textContent)));
  const contents = make("nav", { attributes: { "aria-label": "Contents" } }, make("ul", {}, ...links));
  const list = make("ul", {}, ...page.notes.map((note) => make("li", {}, note)));
  const notes = page.notes.length ? [sectionOf("notes", "What to know first", "", list)] : [];
  document.getElementById("views").replaceChildren(make("section", {}, contents), ...notes, ...sections);

  let wanted = 0;
  const update = () => {
    cancelAnimationFrame(wanted);
    wanted = requestAnimationFrame(() => views.forEach((view) => view.update()));
  };
  const form = document.getElementById("filters");
  if (page.cases.length) showFilters(form, filters, update);
  else form.remove();
  const repaint = () => { paintSwatches(page); update(); };
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.style.colorScheme = theme() === "dark" ? "light" : "dark";
    repaint();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  repaint();
}

await main();
