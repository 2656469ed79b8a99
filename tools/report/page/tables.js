// Tables that can be sorted, copied, and saved as CSV.

const ROWS_SHOWN = 100; // until a reader asks for all: thousands of rows take seconds

const quoted = (text) => (/[",\n\r\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

const FLAGS = new Map([[true, "yes"], [false, ""]]);
const valueOf = (row, field) => FLAGS.get(row[field]) ?? row[field];

/** Rows as text, in full precision; columns are [title, field of a row]. */
function separated(columns, rows, separator) {
  const cells = (of) => columns.map(of).map((value) => quoted(String(value ?? ""))).join(separator);
  return [cells(([title]) => title), ...rows.map((row) => cells(([, field]) => valueOf(row, field)))].join("\n");
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch { // where a browser gives local files no clipboard
    const area = make("textarea", { value: text });
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say("Copied");
}

function save(text, name) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type: "text/csv" })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

/** A table with its buttons. `opens(row)`, where given, is called with the row whose first cell is pressed. */
function tableOf(title, columns, rows, opens) {
  const body = make("tbody");
  const scroll = make("div", { className: "scroll", tabIndex: 0, attributes: { role: "region", "aria-label": title } });
  let sorted = rows;
  let order = null;
  let most = ROWS_SHOWN;

  const isNumber = columns.map(([, field]) => rows.some((row) => typeof row[field] === "number"));
  const cell = (row, [, field], index) => {
    const text = written(valueOf(row, field));
    const opening = index === 0 && opens && opens(row);
    const content = opening ? make("button", { type: "button", onclick: opening }, text) : text;
    return make("td", { className: isNumber[index] ? "number" : "text" }, content);
  };
  const all = make("button", { type: "button", onclick: () => { most = Infinity; show(); } });
  const show = () => {
    body.replaceChildren(...sorted.slice(0, most).map((row) => make("tr", {}, ...columns.map((c, i) => cell(row, c, i)))));
    all.hidden = sorted.length <= most;
    all.textContent = `Show all ${sorted.length} rows`;
  };
  const sort = (index) => {
    const value = (row) => valueOf(row, columns[index][1]) ?? null;
    const sign = order === index ? -1 : 1;
    order = sign > 0 ? index : null;
    const compare = (a, b) => (isNumber[index] ? a - b : String(a).localeCompare(String(b)));
    sorted = [...rows].sort((a, b) => {
      const [left, right] = [value(a), value(b)];
      if (left === null || right === null) return (left === null) - (right === null);
      return sign * compare(left, right);
    });
    show();
  };
  const heads = columns.map(([name], index) => make("th", { scope: "col", className: isNumber[index] ? "number" : "" },
    make("button", { type: "button", title: `Sort by ${name}`, onclick: () => sort(index) }, name)));
  scroll.append(make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
  show();
  const name = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.csv`;
  return make("div", {}, make("div", { className: "buttons" },
    make("button", { type: "button", onclick: () => copy(separated(columns, sorted, "\t")) }, "Copy"),
    make("button", { type: "button", onclick: () => save(separated(columns, sorted, ","), name) }, "CSV"), all), scroll);
}
