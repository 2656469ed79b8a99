// The page: its views, each with charts and the table behind them.

// Columns of tables are pairs of a title and a field of the rows.
const CASE = [["kernel", "name"], ["M × N × K", "problem"], ["file", "source"]];
const columnsOf = (fields) => [...CASE, ...Object.entries(fields)];

/** The moments of sustained cases, those of a case's two turns on lines of their own. */
function momentsOf(cases) {
  return cases.flatMap((row) => row.moments.map((moment) => ({
    ...moment, id: row.id, name: row.name, problem: row.problem, source: row.source, line: `${row.id} ${moment.turn}`,
  })));
}

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
      form, new Figure(page, this.title, columnsOf(this.columns), opens)]));
    this.empty = make("div", { className: "empty" });
    this.cases = make("div");
    const scales = this.scale ? [select("Axis", Object.keys(this.scales).map((name) => [name, name]), this.scale,
      (value) => { this.scale = value; this.update(); })] : [];
    const buttons = [...controls.map((control) => control(() => this.update())), ...scales];
    this.section = sectionOf(this.id, this.title, this.text.join(" "), make("div", { className: "buttons" }, ...buttons),
      this.empty, this.cases, ...Object.values(this.figures).map((figure) => figure.element));
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
    if (!found.length) return [make("p", {}, this.hasCases() ? "The filters leave no case here." : this.missing.join(" "))];
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
    const summary = this.summary && cases.length ? [tableOf(this.title, columnsOf(this.summary), cases)] : [];
    this.cases.replaceChildren(...summary);
  }
}

/** Every case, whatever became of it. */
function allCases(page, filters, { id, title, text, columns }, opens) {
  const place = make("div");
  const update = () => {
    const rows = page.cases.filter((row) => filters.letsThrough(row));
    const has = ([, field]) => rows.some((row) => ![undefined, ""].includes(row[field]));
    const shown = columnsOf(columns).filter(has);
    place.replaceChildren(tableOf(title, shown, rows, (row) => row.samples && (() => opens(row))));
  };
  return { section: sectionOf(id, title, text.join(" "), place), update };
}

function simpleSection(table, index) {
  const columns = table.columns.map((name, column) => [name, column]);
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
const sustainedOf = (page) => ({ ...byProblem(page.cases.filter((row) => row.moments)), drawn: momentsOf });

async function main() {
  const page = await unpacked(document.getElementById("data"));
  const filters = new Filters(page);
  const opens = (row) => showSamples(page, page.cases[row.id]);
  const charted = page.cases.some((row) => row.charted);
  const special = { comparison: comparisonOf, error: errorsOf, sustained: sustainedOf, distribution: distributionOf };
  const all = page.views.slice(0, -1).map((definition) => {
    const source = special[definition.id]?.(page) ?? { rowsOf: () => page.cases };
    return new View(page, filters, { ...definition, ...source }, opens);
  });
  const shown = all.filter((view) => view.hasCases() || (charted && !view.onlyWithCases));
  const views = shown.toSorted((a, b) => b.hasCases() - a.hasCases()); // what is empty says why, and comes last
  if (page.cases.length) views.push(allCases(page, filters, page.views.at(-1), opens));
  const ofFiles = unique(page.files.flatMap(Object.keys)).map((name) => [name, name]);
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
  document.getElementById("theme").addEventListener("click", () => {
    document.documentElement.style.colorScheme = theme() === "dark" ? "light" : "dark";
    update();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", update);
  update();
}

await main();
