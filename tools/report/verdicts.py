"""What a report shows of verdict files (runner --judge FILES --json FILE): a ranking, and what is not in it."""

import shlex
from collections.abc import Iterator, Sequence

from tools.fleet import device_name
from tools.forms import significant

RANKED = ("rank", "file", "times as fast as cuBLAS", "from", "to")
AGAIN = ("SHA-256", "runs it again")


def again(document: dict, verdict: dict) -> str:
    """The command that judges a file once more, with the same hidden cases where they are told."""
    secret = ["--secret", document["secret"]] if "secret" in document else []  # else the run is not over
    return shlex.join(["runner", "--judge", verdict["file"], "--sizes", document["sizes"], *secret])


def speed_text(speed: dict) -> str:
    low, high = (each / 1e3 for each in speed["gflops_ci"])
    return f"{significant(speed['gflops'] / 1e3, 4)} ({significant(low, 4)} to {significant(high, 4)})"


def ranking(judged: Sequence[tuple[dict, dict]], sizes: str) -> tuple[list[str], list[list]]:
    """Columns and rows, the fastest first, and last what has no ratio to cuBLAS."""
    judged = sorted(judged, key=lambda pair: -(pair[1]["vs_cublas"] or {"mean": 0})["mean"])
    columns = [*RANKED, *(f"TFLOP/s at {size}" for size in sizes.split(",")), "throttled", "not as FP32 with", *AGAIN]
    rows = []
    for rank, (document, verdict) in enumerate(judged, 1):
        ratio = verdict["vs_cublas"] or {}
        speeds = {speed["size"]: speed_text(speed) for speed in verdict["speeds"]}
        ratios = (float(f"{ratio[key]:.4g}") if key in ratio else None for key in ("mean", "ci_low", "ci_high"))
        throttled = "yes" * any(speed["throttled"] for speed in verdict["speeds"])
        rest = [throttled, ", ".join(verdict["weak_on"]), verdict["hash"], again(document, verdict)]
        rows.append([rank, verdict["file"], *ratios, *map(speeds.get, sizes.split(",")), *rest])
    return columns, rows


def leaderboards(documents: Sequence[dict]) -> Iterator[tuple[str, str, list[str], list[list]]]:
    """Title, text, columns and rows: of each device and set of sizes a ranking, and then all files that are not in one.
    A file that was judged several times counts once: as refused where one of `documents` refuses it, else as the last
    of them has it."""
    boards: dict[tuple[str, str], dict[tuple[str, str], tuple[dict, dict]]] = {}
    for document in documents:
        board = boards.setdefault((device_name(document["context"]), document["sizes"]), {})
        for verdict in document["verdicts"]:
            before = board.get((verdict["file"], verdict["hash"]))
            if not before or before[1]["verdict"] != "refused":
                board[verdict["file"], verdict["hash"]] = document, verdict
    for (device, sizes), board in boards.items():
        where = f"{device}, {sizes.replace(',', ', ')}"
        of: dict[str, list] = {"accepted": [], "refused": [], "undecided": []}
        for pair in board.values():
            of[pair[1]["verdict"]].append(pair)
        if of["accepted"]:
            text = (
                "Files that were right wherever they were tried, by the geometric mean over these sizes of the smaller "
                "ratio to cuBLAS: in turns, or to cuBLAS alone. Intervals are those of the ratios in turns. Two files "
                "whose intervals overlap may be equally fast."
            )
            yield f"Leaderboard: {where}", text, *ranking(of["accepted"], sizes)
            if steps := [[verdict["file"], step] for _, verdict in of["accepted"] for step in verdict["notes"]]:
                yield f"Notes: {where}", "What to know of the ranked files.", ["file", "note"], steps
        for word, text in (
            ("refused", "Wrong somewhere, faster than the machine can be, or no kernel for these sizes."),
            ("undecided", "Nothing is wrong with these as far as they could be tried, and they have no time."),
        ):
            rows = [
                [*map(v.get, ("file", "outcome", "reason")), ". ".join(v["notes"]), v["hash"], again(document, v)]
                for document, v in of[word]
            ]
            if rows:
                columns = ["file", "outcome", "reason", "notes", *AGAIN]
                yield f"{word.capitalize()}: {where}", text, columns, rows
