"""What `runner --count` prints of a case (runner/report/count_report.cpp), from its record in a results file. The pages
show it from the committed records, so that they follow them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from results import Row, size_text

# Kinds of access, as records have their sums and their lines.
KINDS = {
    "global_loads": ("global_load", "global load"),
    "global_stores": ("global_store", "global store"),
    "shared_loads": ("shared_load", "shared load"),
    "shared_stores": ("shared_store", "shared store"),
    "async_copies": ("async_copy", "async copy"),
}
WORDS = dict(KINDS.values())
SHORT = {"dynamic shared memory": "dynamic"}
LEFT_OUT = "  ..."


def short_number(value: float) -> str:
    """1234567 as 1.23 M; whole numbers below 10000 as they are."""
    if value == int(value) and value < 10_000:
        return f"{value:.0f}"
    units = ["", " k", " M", " G", " T", " P"]
    while value >= 999.5 and len(units) > 1:
        value /= 1000
        units.pop(0)
    return f"{value:.{0 if value >= 99.95 else 1 if value >= 9.995 else 2}f}{units[0]}"


def bytes_text(value: float) -> str:
    number = short_number(value)
    return f"{number}B" if " " in number else f"{number} B"


def paragraph(name: str, text: str) -> str:
    return f"  {name:<19}{text}"


def dram(counts: dict, schedule: str) -> str:
    l2 = counts["l2"][schedule]
    text = f"{bytes_text(l2['dram_read_bytes'])} read, {bytes_text(l2['dram_written_bytes'])} written"
    if moved := l2["dram_read_bytes"] + l2["dram_written_bytes"]:
        text += f", {counts['flops'] / moved:.1f} FLOP/B"
    return f"{text}, {100 * l2['hit_rate']:.1f} % L2 hits"


def blocks(counts: dict, verdict: str = "") -> str:
    all_, executed = counts["blocks"], counts["blocks_executed"]
    some = f"{executed} of {all_} executed, the others are copies of them moved elsewhere"
    return paragraph("blocks", (f"all {all_} executed" if executed == all_ else some) + verdict)


def shape(launch: dict) -> Iterator[str]:
    """A launch's blocks, and which of them the GPU holds at a time."""
    memory = bytes_text(launch["smem_bytes"])
    yield paragraph("a block", f"{launch['threads_per_block']} threads, {memory} of shared memory")
    yield paragraph("resident", f"{launch['blocks_per_sm']} on an SM, {launch['resident_blocks']} on the GPU")
    wave = launch["first_wave"]
    if wave["elements"]:
        elements = short_number(wave["elements"])
        yield paragraph("first wave", f"{wave['blocks']} blocks read {elements} different elements of A and B")


def requests(counts: dict, lines: Sequence[dict], elements: int, has_turns: bool) -> Iterator[str]:
    """What a launch or all of them ask for; `elements` are those of C."""

    def per_element(flops: int) -> str:
        return f"{short_number(flops / elements)} per element of C"

    reads = counts["reads_per_element"]
    yield paragraph("reads per element", ", ".join(f"{name.upper()} {short_number(n)}" for name, n in reads.items()))
    workspace = {True: 0, False: 0}  # by whether it is written
    for line in lines:
        if line.get("array") == "workspace":
            workspace[line["kind"] == "global_store"] += line["bytes"]
    if any(workspace.values()):
        read, written = (bytes_text(workspace[is_written]) for is_written in (False, True))
        yield paragraph("workspace", f"{read} asked to read, {written} to write")
    yield paragraph("FLOPs", f"{short_number(counts['flops'])}, {per_element(counts['flops'])}")
    if tensor := counts.get("tensor_flops"):
        yield paragraph("on tensor cores", f"{short_number(tensor)} FLOPs, {per_element(tensor)}")
    barriers = counts["barriers"]
    yield paragraph("barriers", f"{short_number(barriers)} arrivals of warps" if barriers else "none")
    l2 = counts["l2"]["in_step"]
    yield paragraph("L2", f"{bytes_text(l2['read_bytes'])} read, {bytes_text(l2['written_bytes'])} written")
    if has_turns:
        yield paragraph("DRAM, in step", dram(counts, "in_step"))
        yield paragraph("DRAM, in turn", dram(counts, "in_turn"))
    else:
        yield paragraph("DRAM", dram(counts, "in_step"))


class Table:
    """Requests with their cost. All tables of a case are as wide as its longest name of an array needs."""

    def __init__(self, lines: Sequence[dict], elements: int):
        self._elements = elements
        self._width = max([6, *(len(self._memory(line)) for line in lines)])

    @staticmethod
    def _memory(line: dict) -> str:
        array = line.get("array", "")
        return SHORT.get(array, array)

    def _row(self, line: object, what: str, memory: str, *cells: str) -> str:
        count, sectors, waves, conflicts, bytes_ = cells
        numbers = f"{count:>7}  {sectors:>7}  {waves:>6}  {conflicts:>9}  {bytes_:>7}"
        return f"  {line:>4}  {what:<12}  {memory:<{self._width}}  {numbers}".rstrip()

    def _requests(self, line: object, kind: str, memory: str, of: dict) -> str:
        def each(applies: bool, name: str) -> str:
            return f"{of[name] / of['requests']:.2f}" if applies else ""

        is_global, is_shared = (not kind.startswith(other) for other in ("shared", "global"))
        cells = each(is_global, "sectors"), each(is_shared, "wavefronts"), each(is_shared, "conflicts")
        bytes_ = short_number(of["bytes"] / self._elements)
        return self._row(line, WORDS[kind], memory, short_number(of["requests"]), *cells, bytes_)

    def sums(self, counts: dict) -> Iterator[str]:
        yield self._row("line", "what", "memory", "count", "sectors", "waves", "conflicts", "bytes/C")
        for name, (kind, _) in KINDS.items():
            if counts[name]["requests"]:
                yield self._requests("all", kind, "", counts[name])

    def lines(self, lines: Sequence[dict]) -> Iterator[str]:
        file = ""
        for line in lines:
            if line["file"] != file:
                file = line["file"]
                yield f"  {file}"
            number = line["line"] or "?"
            if line["kind"] == "flops":
                yield self._row(number, "FLOPs", "", short_number(line["flops"]), "", "", "", "")
            else:
                yield self._requests(number, line["kind"], self._memory(line), line)


def count_report(row: Row, with_lines: bool = True) -> str:
    """The report on a case; without lines, "..." stands for those of each launch."""
    counts = row.counts
    launches = counts.get("launches", [counts])
    several = len(launches) > 1
    lines = [line for launch in launches for line in launch["lines"]]
    m, n, *_ = row.shape
    table = Table(lines, m * n)
    found = [f"{row.kernel} {size_text(row.shape)}"]
    if several:
        found.append(paragraph("launches", f"{len(launches)}: first their sum, then each"))
    found.append(blocks(counts, f"; verified, relative error {row.rel_err:.1e}" if row.verified else ""))
    found += [] if several else shape(counts)
    found += requests(counts, lines, m * n, any(launch["blocks_per_sm"] > 1 for launch in launches))
    found += table.sums(counts)
    for number, launch in enumerate(launches):
        if several:
            found += [f"launch {number} {launch['function']}", blocks(launch), *shape(launch)]
            found += requests(launch, launch["lines"], m * n, launch["blocks_per_sm"] > 1)
            found += table.sums(launch)
        found += table.lines(launch["lines"]) if with_lines else [LEFT_OUT]
    return "\n".join(found)
