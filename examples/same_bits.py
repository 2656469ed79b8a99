#!/usr/bin/env python3
"""Counts how often the bits of a product's rows depend on how many rows there are, and those of a training step on how
its sequences are divided.

Needs PyTorch and an NVIDIA GPU. Modes: cublas, and the accuracies of sgemm.torch.

    PYTHONPATH=library/python examples/same_bits.py
    PYTHONPATH=library/python examples/same_bits.py --modes cublas,reproducible --gpt

Exits with 1 if any bits differ in the mode reproducible.
"""

import argparse
import sys
from pathlib import Path

import train_gpt
from example_results import need, write_results

MODES = ("cublas", "fp32", "componentwise", "normwise", "rowwise", "reproducible")
ROWS = (1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 64, 100, 128, 129, 256, 500, 512, 1024, 2048, 3001, 5000)
ALL_ROWS = 8192
WIDTHS = ((1024, 4096), (4096, 4096), (14336, 4096))  # k and n


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Counts where bits depend on the batch.")
    parser.add_argument("--modes", default=",".join(MODES), help="between commas")
    parser.add_argument("--gpt", action="store_true", help="the step of train_gpt.py as well")
    parser.add_argument("--out", type=Path, help="writes the counts into this JSON file")
    options = parser.parse_args(arguments)
    options.modes = options.modes.split(",")
    if unknown := set(options.modes) - set(MODES):
        parser.error(f"{', '.join(sorted(unknown))}: give some of {', '.join(MODES)}")
    return options


def differing_rows(torch) -> dict[str, list[int]]:
    """For each k and n, the numbers of rows for which row 0 has other bits than among ALL_ROWS."""
    found = {}
    for k, n in WIDTHS:
        generator = torch.Generator("cuda").manual_seed(k)
        a, weight = (torch.randn(rows, k, device="cuda", generator=generator) for rows in (ALL_ROWS, n))
        expected = torch.nn.functional.linear(a, weight)[0]
        found[f"k {k}, n {n}"] = [
            rows for rows in ROWS if not torch.equal(torch.nn.functional.linear(a[:rows], weight)[0], expected)
        ]
    return found


def steps(torch) -> dict[str, bool]:
    """Whether a step of training repeats its bits, and whether 8 sequences have those of 4 + 4 and 2 + 2 + 2 + 2."""
    options = train_gpt.parse(["--steps", "1", "--layers", "4"])
    words = train_gpt.text(torch, options)[0]
    model = train_gpt.make_model(torch, options)

    def forward(size: int):
        with torch.no_grad():
            return torch.cat([model(part[:, :-1]) for part in words.split(size)])

    def gradients():
        model.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(model(words[:, :-1]).flatten(0, 1), words[:, 1:].flatten()).backward()
        return [parameter.grad for parameter in model.parameters()]

    whole, before = forward(8), gradients()
    return {
        "scores again": torch.equal(forward(8), whole),
        "scores of 4 + 4": torch.equal(forward(4), whole),
        "scores of 2 + 2 + 2 + 2": torch.equal(forward(2), whole),
        "gradients again": all(torch.equal(x, y) for x, y in zip(gradients(), before, strict=True)),
    }


def main() -> int:
    options = parse()
    torch = need("torch", "torch")
    if not torch.cuda.is_available():
        print("same_bits.py needs a GPU that PyTorch can use", file=sys.stderr)
        return 2
    switch = need("sgemm.torch", "sgemm")
    results = {}
    for mode in options.modes:
        with switch.use(mode):
            results[mode] = {"rows": differing_rows(torch), "steps": steps(torch) if options.gpt else {}}
        for shape, rows in results[mode]["rows"].items():
            print(f"{mode:14} {shape:16} row 0 differs among {', '.join(map(str, rows)) or 'no'} rows", flush=True)
        for what, same in results[mode]["steps"].items():
            print(f"{mode:14} {what:24} {'the same bits' if same else 'other bits'}", flush=True)
    write_results(options.out, torch, {"modes": results})
    ours = results.get("reproducible", {"rows": {}, "steps": {}})
    return 1 if any(ours["rows"].values()) or not all(ours["steps"].values()) else 0


if __name__ == "__main__":
    sys.exit(main())
