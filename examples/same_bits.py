#!/usr/bin/env python3
"""Counts how often the bits of a product's rows depend on how many rows there are, and those of a training step on how
its sequences are divided.

Needs PyTorch and an NVIDIA GPU. Modes: cublas, the accuracies of sgemm.torch, and products in Triton with tiles of one
size (triton_matmul.py): triton-ieee, triton-tf32x3 and triton-tf32.

    PYTHONPATH=library/python examples/same_bits.py
    PYTHONPATH=library/python examples/same_bits.py --modes cublas,triton-ieee,reproducible --speed
    PYTHONPATH=library/python examples/same_bits.py --modes cublas,reproducible --gpt

Exits with 1 if any bits that the mode reproducible promises differ.
"""

import argparse
import contextlib
import sys

import train_gpt
from example_results import need, need_torch, parser, write_results

MODES = ("cublas", "fp32", "componentwise", "normwise", "rowwise", "reproducible")
TRITON_MODES = ("triton-ieee", "triton-tf32x3", "triton-tf32")
ROWS = (1, 2, 3, 4, 7, 8, 9, 16, 31, 32, 64, 100, 128, 129, 256, 500, 512, 1024, 2048, 3001, 5000)
ALL_ROWS = 8192
WIDTHS = ((1024, 4096), (4096, 4096), (14336, 4096))  # k and n
TIMED_ROWS = (1, 8, 32, 128, 512, 1024, 2048, 4096, 8192)
TIMED_WIDTH = 4096  # k and n
SPLITS = (8, 4, 2)  # sequences at a time


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    flags = ("speed", "times as well"), ("gpt", "the step of train_gpt.py as well, but for Triton")
    made = parser(__doc__, "the counts", *flags)
    made.add_argument("--modes", default=",".join(MODES), help=f"between commas; besides {', '.join(TRITON_MODES)}")
    options = made.parse_args(arguments)
    options.modes = options.modes.split(",")
    if unknown := set(options.modes) - {*MODES, *TRITON_MODES}:
        made.error(f"{', '.join(sorted(unknown))}: give some of {', '.join(MODES + TRITON_MODES)}")
    return options


class Mode:
    """Products of a mode: those of PyTorch in a context, or a function in Triton."""

    def __init__(self, torch, name: str):
        self.name = name
        self.precision = name.partition("triton-")[2]
        self.linear = torch.nn.functional.linear
        if self.precision:
            triton_matmul = need("triton_matmul", "triton")
            self.linear = lambda x, weight: triton_matmul.linear(x, weight, self.precision)

    @contextlib.contextmanager
    def switch(self):
        """For all threads: a backward pass inside of another one has products, too."""
        if self.precision:
            yield
            return
        switch = need("sgemm.torch", "sgemm")
        switch.enable(self.name)
        try:
            yield
        finally:
            switch.disable()


def differing_rows(torch, linear) -> dict[str, list[int]]:
    """For each k and n, the numbers of rows for which row 0 has other bits than among ALL_ROWS."""
    found = {}
    for k, n in WIDTHS:
        generator = torch.Generator("cuda").manual_seed(k)
        a, weight = (torch.randn(rows, k, device="cuda", generator=generator) for rows in (ALL_ROWS, n))
        expected = linear(a, weight)[0]
        found[f"k {k}, n {n}"] = [rows for rows in ROWS if not torch.equal(linear(a[:rows], weight)[0], expected)]
    return found


def speeds(torch, modes: dict[str, Mode]) -> dict[str, dict[int, float]]:
    """Microseconds of products with so many rows, by mode: medians of calls with a cold L2, the modes in turns."""
    a, weight = (torch.randn(rows, TIMED_WIDTH, device="cuda") for rows in (ALL_ROWS, TIMED_WIDTH))
    other = torch.empty(8 * torch.cuda.get_device_properties(0).L2_cache_size, dtype=torch.uint8, device="cuda")
    found = {name: {} for name in modes}
    for rows in TIMED_ROWS:
        times = {name: [] for name in modes}
        for turn in range(3 + 15):
            for name, mode in modes.items():
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
                with mode.switch():
                    other.fill_(turn)
                    begin.record()
                    mode.linear(a[:rows], weight)
                    end.record()
                end.synchronize()
                if turn >= 3:  # the first ones compile and load code
                    times[name].append(1e3 * begin.elapsed_time(end))
        for name, samples in times.items():
            found[name][rows] = sorted(samples)[len(samples) // 2]
    return found


class Step:
    """The forward and backward pass of train_gpt.py's model, with 8 sequences divided in several ways.

    `fixed` makes the sums over words of a parameter's gradient those of one sequence, added in the order of sequences.
    Then it does not matter how many sequences were computed at a time. PyTorch's own gradients are sums over all words
    that are computed at a time.
    """

    def __init__(self, torch, fixed: bool):
        self.torch = torch
        options = train_gpt.parse(["--steps", "1", "--layers", "4"])
        self.words = train_gpt.text(torch, options)[0]
        self.model = train_gpt.make_model(torch, options)
        if fixed:
            for module in self.model.modules():
                if not list(module.children()):
                    by_sequence(torch, module)

    def scores(self, size: int):
        with self.torch.no_grad():
            return self.torch.cat([self.model(part[:, :-1]) for part in self.words.split(size)])

    def gradients(self, size: int) -> dict:
        self.model.zero_grad(set_to_none=True)
        for part in self.words.split(size):
            scores, expected = self.model(part[:, :-1]).flatten(0, 1), part[:, 1:].flatten()
            loss = self.torch.nn.functional.cross_entropy(scores, expected, reduction="sum")
            (loss / self.words[:, 1:].numel()).backward()
        return {name: parameter.grad for name, parameter in self.model.named_parameters()}


def by_sequence(torch, module) -> None:
    """Has the gradients of a module's parameters computed for one sequence after the other, by the module's own
    backward pass, and added up in that order."""
    parameters = list(module.parameters())
    forward = module.forward

    class BySequence(torch.autograd.Function):
        @staticmethod
        def forward(context, x, *_parameters):
            context.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(context, gradient):
            (x,) = context.saved_tensors
            of_x = []
            for one, of_one in zip(x.split(1), gradient.split(1), strict=True):
                with torch.enable_grad():
                    one = one.detach().requires_grad_(one.is_floating_point())
                    inputs = [*([one] if one.requires_grad else []), *parameters]
                    found = list(torch.autograd.grad(forward(one), inputs, of_one))
                if one.requires_grad:
                    of_x.append(found.pop(0))
                for parameter, more in zip(parameters, found, strict=True):
                    parameter.grad = more if parameter.grad is None else parameter.grad.add_(more)
            return (torch.cat(of_x) if of_x else None, *(None for _ in parameters))

    if parameters:
        module.forward = lambda x: BySequence.apply(x, *parameters)


def same_steps(torch) -> dict[str, list[str]]:
    """What has other bits in other divisions of 8 sequences, or when it is computed again: scores, or parameters."""

    def differing(found: dict, expected: dict) -> list[str]:
        return [name for name in expected if not torch.equal(found[name], expected[name])]

    results = {}
    for fixed in (False, True):
        step = Step(torch, fixed)
        scores, gradients = step.scores(SPLITS[0]), step.gradients(SPLITS[0])
        for size in SPLITS:
            of = "again" if size == SPLITS[0] else " + ".join([str(size)] * (SPLITS[0] // size))
            if not fixed:
                results[f"scores, {of}"] = differing({"scores": step.scores(size)}, {"scores": scores})
            kind = "gradients by sequence" if fixed else "gradients"
            results[f"{kind}, {of}"] = differing(step.gradients(size), gradients)
    return results


def summary(names: list[str]) -> str:
    """Names of parameters, those of several layers once."""
    kinds = sorted({".".join(part for part in name.split(".") if not part.isdecimal()) for name in names})
    return f"other bits: {', '.join(kinds)}" if names else "the same bits"


def main() -> int:
    options = parse()
    torch = need_torch()
    modes = {name: Mode(torch, name) for name in options.modes}
    results = {}
    for name, mode in modes.items():
        with mode.switch():
            results[name] = {"rows": differing_rows(torch, mode.linear)}
        for shape, rows in results[name]["rows"].items():
            print(f"{name:14} {shape:16} row 0 differs among {', '.join(map(str, rows)) or 'no'} rows", flush=True)
    for name, times in (speeds(torch, modes) if options.speed else {}).items():
        results[name]["us"] = times
        print(f"{name:14} us: {', '.join(f'{rows}: {us:.1f}' for rows, us in times.items())}", flush=True)
    for name, mode in modes.items():
        if options.gpt and not mode.precision:
            with mode.switch():
                results[name]["steps"] = same_steps(torch)
            for what, names in results[name]["steps"].items():
                print(f"{name:14} {what:34} {summary(names)}", flush=True)
    write_results(options.out, torch, {"modes": results})
    ours = results.get("reproducible", {"rows": {}})
    broken = any(ours["rows"].values()) or any(names for of, names in ours.get("steps", {}).items() if "scores" in of)
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
