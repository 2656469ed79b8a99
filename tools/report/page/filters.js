// The filters: what a reader picked, and the controls for it.

/** Which cases are shown. Sets hold what is ticked. */
class Filters {
  constructor(page) {
    this.page = page;
    this.protocol = page.first.protocol;
    this.kernels = new Set(page.first.kernels);
    this.sources = new Set(unique(page.cases.map((c) => c.source)));
    this.devices = new Set(unique(page.cases.map((c) => c.device)));
    this.sides = unique(page.cases.map((c) => c.side).filter(Boolean)).sort((a, b) => a - b);
    this.from = this.sides[0];
    this.to = this.sides.at(-1);
    this.shapes = unique(page.cases.filter((c) => c.charted && !c.side).map((c) => c.problem));
    this.shape = "all";
    this.choose = () => {}; // a protocol, once there are controls
  }

  hasShape(row) {
    if (row.side) return ["all", "squares"].includes(this.shape) && row.side >= this.from && row.side <= this.to;
    return ["all", "others", row.problem].includes(this.shape);
  }

  /** Whether the filters let a case through, apart from its protocol. */
  letsThrough(row) {
    return this.kernels.has(row.name) && this.sources.has(row.source) && this.devices.has(row.device) &&
      this.hasShape(row);
  }

  /** The rows that are shown: those of one protocol, since times of several are not compared. */
  rows(of) {
    return of.filter((row) => row.protocol === this.protocol && this.letsThrough(row));
  }
}

let selects = 0;

function select(label, options, value, changed) {
  const control = make("select", { id: `select-${++selects}` }, ...options.map(([of, text]) => make("option", { value: of }, text)));
  control.value = value;
  control.addEventListener("change", () => changed(control.value));
  return make("div", { className: "select" }, make("label", { htmlFor: control.id }, label), control);
}

/** Boxes to tick, with buttons for all and none; `looks` has the colours of each, where it has any. */
function choices(title, names, ticked, changed, looks, extra = {}) {
  const boxes = names.map((name) => {
    const box = make("input", { type: "checkbox", checked: ticked.has(name), value: name });
    box.addEventListener("change", () => {
      box.checked ? ticked.add(name) : ticked.delete(name);
      changed();
    });
    return box;
  });
  const tick = (which) => {
    ticked.clear();
    which.forEach((name) => ticked.add(name));
    boxes.forEach((box) => { box.checked = ticked.has(box.value); });
    changed();
  };
  const buttons = Object.entries({ All: names, None: [], ...extra })
    .map(([text, which]) => make("button", { type: "button", onclick: () => tick(which) }, text));
  const lines = boxes.map((box) => {
    const mark = looks && make("span", { className: "swatch" });
    if (mark) mark.style.background = `light-dark(${looks[box.value].light}, ${looks[box.value].dark})`;
    return make("label", { className: "choice" }, box, mark, make("span", {}, box.value));
  });
  return make("fieldset", {}, make("legend", {}, title), make("div", { className: "buttons" }, ...buttons),
    make("div", { className: "choices" }, ...lines));
}

/** Fills the form. `changed` is called after each change. */
function showFilters(form, filters, changed) {
  const { page } = filters;
  const body = make("div");
  const add = (...controls) => body.append(...controls);
  const used = unique(page.cases.filter((c) => c.charted).map((c) => c.protocol));
  if (used.length > 1) {
    const parts = used.map((number) => page.protocols[number].split(", "));
    const differing = (part) => !parts.every((other) => other.includes(part));
    const options = used.map((number, index) => [number, parts[index].filter(differing).join(", ")]);
    filters.choose = (protocol) => {
      filters.protocol = protocol;
      body.querySelector(".protocol select").value = protocol;
      changed();
    };
    const control = select("Protocol", options, filters.protocol, (value) => filters.choose(Number(value)));
    add(make("fieldset", { className: "protocol" }, control));
  }
  const several = (values) => values.length > 1;
  const devices = [...filters.devices];
  if (several(devices)) add(choices("Device", devices, filters.devices, changed));
  const sources = [...filters.sources];
  if (several(sources)) add(choices("File or board", sources, filters.sources, changed));
  if (several(filters.sides)) {
    const sizes = filters.sides.map((side) => [side, side]);
    add(make("fieldset", { className: "pair" },
      select("Size from", sizes, filters.from, (value) => { filters.from = Number(value); changed(); }),
      select("to", sizes, filters.to, (value) => { filters.to = Number(value); changed(); })));
  }
  if (filters.shapes.length) {
    const options = [["all", "all"], ["squares", "M = N = K"], ["others", "all others"]];
    add(make("fieldset", {}, select("Shape", [...options, ...filters.shapes.map((s) => [s, s])], filters.shape,
      (value) => { filters.shape = value; changed(); })));
  }
  const names = Object.keys(page.looks);
  if (names.length) {
    const first = page.first.defaults.length < names.length ? { "Default variants": page.first.defaults } : {};
    add(choices("Kernels and variants", names, filters.kernels, changed, page.looks, first));
  }
  const details = make("details", { open: matchMedia("(min-width: 801px)").matches }, make("summary", {}, "Filters"), body);
  form.append(details);
  form.addEventListener("submit", (event) => event.preventDefault());
}
