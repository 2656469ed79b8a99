"use strict";

// Steps through the accesses of one warp. runner/count/trace_page.cpp writes the data.

const LANES = 32;
const SECTOR = 32; // bytes of global memory
const LINE = 128;
const WORD = 4;
const BANKS = 32;
const KINDS = {
  global_load: "global load",
  global_store: "global store",
  shared_load: "shared load",
  shared_store: "shared store",
  async_copy: "asynchronous copy",
};

// ---- Accesses: { bytes, address: [a number or null for each lane] } ----

const lanesOf = (access) => access.address.flatMap((address, lane) => (address === null ? [] : [lane]));

/** The numbers of all units of so many bytes that the lanes touch, in order. */
function unitsOf(access, size, lanes = lanesOf(access)) {
  const units = lanes.flatMap((lane) => {
    const [first, last] = [0, access.bytes - 1].map((byte) => Math.floor((access.address[lane] + byte) / size));
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
  return [...new Set(units)].sort((x, y) => x - y);
}

/** The sectors that the different bytes of the access would fill. */
function fewestSectorsOf(access) {
  const unit = Math.min(access.bytes, WORD);
  return Math.ceil((unitsOf(access, unit).length * unit) / SECTOR);
}

/** The parts of a warp that shared memory serves one after the other: simt/count/warp_access.cpp has the rule. */
function partsOf(access, load) {
  const paired = (bit) =>
    lanesOf(access).every((lane) => [null, access.address[lane]].includes(access.address[lane ^ bit]));
  let parts = Math.max(access.bytes / WORD, 1);
  if (load && parts > 1 && (paired(1) || paired(2))) parts /= 2;
  return [...Map.groupBy(lanesOf(access), (lane) => Math.floor((lane * parts) / LANES)).values()];
}

/** How many different words of each bank the lanes want. */
function wordsByBank(access, lanes) {
  const words = unitsOf(access, WORD, lanes);
  return Array.from({ length: BANKS }, (_, bank) => words.filter((word) => word % BANKS === bank).length);
}

function wavefrontsOf(access, load) {
  return partsOf(access, load).reduce((sum, lanes) => sum + Math.max(...wordsByBank(access, lanes)), 0);
}

// ---- The trace ----

/** The trace with its requests written out. */
function readTrace(data) {
  const accessOf = (packed) => {
    const { bytes, lanes } = data.shapes[packed?.[0]] ?? {};
    return packed && { bytes, address: lanes.map((distance) => (distance === null ? null : packed[1] + distance)) };
  };
  const requestOf = ([place, barriers, access, copiedTo, count, sectors, wavefronts, ideal, bytes]) => ({
    ...{ place: data.places[place], access: accessOf(access), copiedTo: accessOf(copiedTo) },
    ...{ barriers, count, sectors, wavefronts, ideal, bytes },
  });
  return { ...data, requests: data.requests.map(requestOf) };
}

const isShared = (place) => place.kind.startsWith("shared_");

/** The sums of requests. */
function totalsOf(requests) {
  const sum = (of) => requests.reduce((before, request) => before + of(request), 0);
  return {
    requests: sum((request) => request.count),
    sectors: sum((request) => request.sectors),
    wavefronts: sum((request) => request.wavefronts),
    conflicts: sum((request) => request.wavefronts - request.ideal),
    bytes: sum((request) => request.bytes),
  };
}

// ---- Words ----

const written = (number) => number.toLocaleString("en");
const plural = (count, word) => `${written(count)} ${word}${count === 1 ? "" : "s"}`;
const memoryName = (place) => place.array || "memory that is not known";

function factOf(request) {
  const { place, access, sectors, wavefronts, ideal } = request;
  const line = place.line > 0 ? `Line ${place.line}` : "A line that is not known";
  if (access === null) return `${line}: ${KINDS[place.kind]} that reads nothing and writes zeros.`;
  const bytes = `${plural(lanesOf(access).length, "lane")}, ${plural(access.bytes, "byte")} each`;
  const facts = [`${line}: ${KINDS[place.kind]} of ${memoryName(place)}, ${bytes}.`];
  if (!isShared(place)) {
    facts.push(`Sectors of 32 bytes: ${sectors}, and ${fewestSectorsOf(access)} would hold what it wants.`);
  }
  if (isShared(place) || request.copiedTo !== null) {
    const conflicts = wavefronts - ideal;
    const text = conflicts === 0 ? "no bank conflict" : plural(conflicts, "bank conflict");
    facts.push(`Wavefronts: ${wavefronts}, with ${text}.`);
    if (request.copiedTo !== null && conflicts > 0) {
      facts.push("Both sides of a copy count, where it reads and where it writes.");
    }
  }
  facts.push(`The warp has passed ${plural(request.barriers, "barrier")}.`);
  return facts.join(" ");
}

// ---- Pictures ----

/** The lanes that want each word of memory. */
function lanesByWord(access) {
  const lanes = new Map();
  for (const lane of lanesOf(access)) {
    for (const word of unitsOf(access, WORD, [lane])) lanes.set(word, [...(lanes.get(word) ?? []), lane]);
  }
  return lanes;
}

/** The cell of a word: in the colour and with the number of the first lane that wants it. */
function cellOf(word, lanes, classes = "") {
  const cell = element("div", { class: `cell ${classes}` });
  if (lanes !== undefined) {
    cell.classList.add("lane");
    cell.style.setProperty("--hue", (lanes[0] * 360) / LANES);
    cell.classList.toggle("several", lanes.length > 1);
    cell.textContent = lanes[0];
    cell.title = `byte ${word * WORD}: lane${lanes.length > 1 ? "s" : ""} ${lanes.join(", ")}`;
  }
  return cell;
}

function rowOf(label, ...content) {
  return element("div", { class: "row" }, element("div", { class: "label" }, label), ...content);
}

function memoryPicture(title, description, rows) {
  const most = 40;
  const picture = element("div", { class: "memory", role: "img", "aria-label": description });
  picture.append(...rows.slice(0, most));
  if (rows.length > most) picture.append(element("p", {}, `... and ${rows.length - most} more`));
  return [element("h3", {}, title), picture];
}

/** Lines of 128 bytes, with their sectors. */
function globalPicture(access, array) {
  const lanes = lanesByWord(access);
  const sectors = new Set(unitsOf(access, SECTOR));
  const rows = unitsOf(access, LINE).map((line) => {
    const own = Array.from({ length: LINE / SECTOR }, (_, part) => (line * LINE) / SECTOR + part);
    const parts = own.map((sector) => {
      const words = Array.from({ length: SECTOR / WORD }, (_, i) => (sector * SECTOR) / WORD + i);
      const touched = sectors.has(sector) ? "touched" : "";
      return element("div", { class: "words" }, ...words.map((word) => cellOf(word, lanes.get(word), touched)));
    });
    const count = plural(own.filter((sector) => sectors.has(sector)).length, "sector");
    return rowOf(`from byte ${written(line * LINE)}: ${count}`, element("div", { class: "sectors" }, ...parts));
  });
  const title = `Global memory, ${array}: ${plural(rows.length, "line")} of 128 bytes with four sectors each`;
  return memoryPicture(title, `${sectors.size} sectors of ${array} in ${rows.length} lines`, rows);
}

/**
 * Rows of all banks, for each part of the warp that is served by itself. The operation is "load", "store" or "copy",
 * whose wavefronts depend on where it reads as well.
 */
function sharedPicture(access, array, operation) {
  const isNamed = !array.endsWith("shared memory");
  const name = isNamed ? `Shared memory, ${array}` : array[0].toUpperCase() + array.slice(1);
  const rows = partsOf(access, operation === "load").flatMap((part) => {
    const only = { ...access, address: access.address.map((address, lane) => (part.includes(lane) ? address : null)) };
    const lanes = lanesByWord(only);
    const banks = wordsByBank(access, part);
    const worst = operation === "copy" ? "" : `: ${plural(Math.max(...banks), "wavefront")}`;
    return unitsOf(only, BANKS * WORD).map((row, index) => {
      const cells = banks.map((words, bank) => {
        const word = row * BANKS + bank;
        return cellOf(word, lanes.get(word), lanes.has(word) && words > 1 ? "conflict" : "");
      });
      const heading = index === 0 ? `lanes ${part[0]} to ${part.at(-1)}${worst}; ` : "";
      const label = `${heading}from byte ${written(row * BANKS * WORD)}`;
      return rowOf(label, element("div", { class: "words" }, ...cells));
    });
  });
  const described = `${plural(lanesOf(access).length, "lane")} in ${plural(rows.length, "row")} of all banks`;
  return memoryPicture(`${name}: rows of 32 banks of 4 bytes`, `${name}: ${described}`, rows);
}

function picturesOf({ place, access, copiedTo }) {
  const source = (array) =>
    isShared(place) ? sharedPicture(access, array, place.kind.replace("shared_", "")) : globalPicture(access, array);
  return [
    ...(access === null ? [] : source(memoryName(place))),
    ...(copiedTo === null ? [] : sharedPicture(copiedTo, place.copied_to || "shared memory", "copy")),
  ];
}

// ---- The page ----

function show(trace) {
  const { requests } = trace;
  const keyOf = (place) => `${place.file}:${place.line}`;
  const lines = Map.groupBy(requests.keys(), (number) => keyOf(requests[number].place)); // the numbers of requests
  let current = 0;
  let timer = null;
  let file = null;

  $("kernel").textContent = trace.kernel;
  document.title = `A warp's accesses: ${trace.kernel}`;
  // The function of a single launch has the kernel's name.
  const launch =
    `This is launch ${trace.launch} of ${trace.launches}, ${trace.function || "whose function is not known"}, and ` +
    `--trace-launch chooses another one. Launches, blocks and warps are numbered from 0. `;
  $("about").textContent =
    `M x N x K = ${trace.size.join(" x ")}. Warp ${trace.warp} of ${trace.warps} in block ${trace.block} of ` +
    `${written(trace.blocks)}, executed on a CPU. ${trace.launches === 1 ? "" : launch}Numbers in the pictures are ` +
    `lanes. An underlined one is the first of several lanes that want the same word.`;
  $("cut").hidden = trace.left_out === 0;
  $("cut").textContent =
    `The warp makes ${written(requests.length + trace.left_out)} accesses. This page has the first ` +
    `${written(trace.left_out_at)} and the last ${written(requests.length - trace.left_out_at)}, and their sums are ` +
    `not the whole warp's.`;
  if (requests.length === 0) {
    $("fact").textContent = "This warp makes no access to global or shared memory. Another one may.";
    for (const control of document.querySelectorAll("button, input, select")) control.disabled = true;
    return;
  }

  /** Fills the source panel with the file. */
  function openFile(name) {
    file = name;
    $("file").textContent = name || "Source";
    const text = trace.files[name];
    if (text === null || text === undefined) {
      $("source").replaceChildren(element("p", {}, "The source could not be read when this page was made."));
      return;
    }
    const items = text.split("\n").map((line, index) => {
      const number = `${index + 1}`;
      const own = lines.get(`${name}:${number}`);
      const button = { type: "button", "aria-label": `Next access of line ${number}` };
      const label = element(own ? "button" : "span", { class: "number", ...(own && button) }, number);
      label.addEventListener("click", () => own && goTo(own.find((other) => other > current) ?? own[0]));
      return element("li", {}, label, line);
    });
    $("source").replaceChildren(element("ol", {}, ...items));
  }

  function showSource(place) {
    if (place.file !== file) openFile(place.file);
    const panel = $("source");
    const line = panel.querySelectorAll("li")[place.line - 1];
    const before = panel.querySelector(".current");
    before?.classList.remove("current");
    before?.removeAttribute("aria-current");
    line?.classList.add("current");
    line?.setAttribute("aria-current", "step");
    if (line?.offsetTop < panel.scrollTop + 48 || line?.offsetTop > panel.scrollTop + panel.clientHeight - 72) {
      panel.scrollTop = line.offsetTop - panel.clientHeight / 2;
    }
  }

  function drawOverview() {
    const canvas = $("overview");
    const scale = window.devicePixelRatio || 1;
    canvas.width = canvas.clientWidth * scale;
    canvas.height = 48 * scale;
    const context = canvas.getContext("2d");
    const [wastes, needs] = [css("--second"), css("--edge")];
    const costOf = (request) => Math.max(request.sectors, request.wavefronts);
    const most = Math.max(...requests.map(costOf), 1);
    const width = canvas.width / requests.length;
    requests.forEach((request, number) => {
      const wasteful =
        request.wavefronts > request.ideal ||
        (request.access !== null && request.sectors > fewestSectorsOf(request.access));
      const height = Math.max((costOf(request) / most) * canvas.height * 0.85, scale);
      context.fillStyle = wasteful ? wastes : needs;
      context.fillRect(number * width, canvas.height - height, Math.max(width - (width > 3 ? 1 : 0), 1), height);
    });
    context.fillStyle = css("--accent");
    context.fillRect(current * width - scale, 0, Math.max(width, 2 * scale), 4 * scale);
    context.fillRect(current * width + width / 2 - scale / 2, 0, scale, canvas.height);
  }

  function showCounts() {
    const keyOfRow = (place) => [place.file, place.line, place.kind, place.array ?? ""].join("\n");
    const rows = Map.groupBy(requests.keys(), (number) => keyOfRow(requests[number].place));
    const mean = (sum, requests) => (requests === 0 ? "" : (sum / requests).toFixed(2));
    const cellsOf = (texts, name, attributes = {}) => texts.map((text, column) =>
      element(name, { ...attributes, class: column === 1 || column === 2 ? "text" : "" }, `${text}`));
    const costs = ["requests", "sectors", "wavefronts", "conflicts"];
    const titles = cellsOf(["line", "what", "memory", "so far", ...costs, ...costs], "th", { scope: "col" });
    const group = (title, columns) => element("th", { scope: "colgroup", colspan: columns, class: "group" }, title);
    const groups = [element("td", { colspan: 3 }), group("this warp", 5), group("all warps of the launch", 4)];
    const body = [...rows].map(([key, numbers]) => {
      const { place } = requests[numbers[0]];
      const own = numbers.map((number) => requests[number]);
      const before = totalsOf(own.filter((_, index) => numbers[index] <= current));
      const ofLaunch = trace.lines.find((line) => keyOfRow(line) === key);
      const shared = place.kind !== "global_load" && place.kind !== "global_store";
      const costsOf = (counts) => [
        written(counts.requests),
        isShared(place) ? "" : mean(counts.sectors, counts.requests),
        shared ? mean(counts.wavefronts, counts.requests) : "",
        shared ? mean(counts.conflicts, counts.requests) : "",
      ];
      const cells = [place.line || "?", KINDS[place.kind], place.array, written(before.requests)];
      cells.push(...costsOf(totalsOf(own)), ...(ofLaunch ? costsOf(ofLaunch) : ["", "", "", ""]));
      return element("tr", numbers.includes(current) ? { class: "current" } : {}, ...cellsOf(cells, "td"));
    });
    $("counts").replaceChildren(
      element("thead", {}, element("tr", {}, ...groups), element("tr", {}, ...titles)),
      element("tbody", {}, ...body),
    );
  }

  function goTo(number) {
    current = Math.min(Math.max(number, 0), requests.length - 1);
    const request = requests[current];
    $("step").value = current + 1;
    $("step").setAttribute("aria-valuetext", `access ${current + 1}, line ${request.place.line}`);
    const skipped = trace.left_out > 0 && current === trace.left_out_at;
    const behind = skipped ? `, behind ${written(trace.left_out)} that are left out` : "";
    $("position").textContent = `Access ${written(current + 1)} of ${written(requests.length)}${behind}`;
    $("fact").textContent = factOf(request);
    $("memories").replaceChildren(...picturesOf(request));
    $("first").disabled = $("back").disabled = current === 0;
    $("last").disabled = $("next").disabled = current === requests.length - 1;
    showSource(request.place);
    showCounts();
    drawOverview();
  }

  /** The access of the same line after (1) or before (-1) this one; this one where there is none. */
  function ofSameLine(direction) {
    const own = lines.get(keyOf(requests[current].place));
    return own[own.indexOf(current) + direction] ?? current;
  }

  function play(wanted) {
    clearInterval(timer);
    timer = null;
    $("play").textContent = wanted ? "Pause" : "Play";
    // Each step would be read out.
    $("fact").setAttribute("aria-live", wanted ? "off" : "polite");
    if (wanted) {
      const isLast = () => current === requests.length - 1;
      goTo(isLast() ? 0 : current);
      timer = setInterval(() => (isLast() ? play(false) : goTo(current + 1)), 1000 / Number($("speed").value));
    }
  }

  $("step").max = requests.length;
  $("step").addEventListener("input", () => goTo(Number($("step").value) - 1));
  const buttons = {
    first: () => goTo(0),
    back: () => goTo(current - 1),
    next: () => goTo(current + 1),
    last: () => goTo(requests.length - 1),
    again: () => goTo(ofSameLine(1)),
    play: () => play(timer === null),
  };
  for (const [id, press] of Object.entries(buttons)) $(id).addEventListener("click", press);
  $("speed").addEventListener("change", () => timer !== null && play(true));
  const keys = {
    ArrowRight: buttons.next,
    ArrowLeft: buttons.back,
    ArrowDown: buttons.again,
    ArrowUp: () => goTo(ofSameLine(-1)),
    Home: buttons.first,
    End: buttons.last,
    " ": buttons.play,
  };
  document.addEventListener("keydown", (event) => {
    // Whoever has the focus and a use for the key keeps it.
    const busy = event.target.closest("select, .scrolls") || (event.key === " " && event.target.closest("button"));
    if (keys[event.key] && !busy && !event.ctrlKey && !event.altKey && !event.metaKey) {
      event.preventDefault();
      keys[event.key]();
    }
  });
  $("overview").addEventListener("click", (event) => {
    goTo(Math.floor((event.offsetX / $("overview").clientWidth) * requests.length));
  });
  window.addEventListener("resize", drawOverview);
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawOverview);
  goTo(0);
  // In a frame of another page it plays while it is seen.
  if (window.top !== window) {
    document.body.className = "framed";
    const still = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    new IntersectionObserver(([body]) => play(body.isIntersecting && !still)).observe(document.body);
  }
}

const trace = readTrace(JSON.parse(document.getElementById("data").textContent));
show(trace);
