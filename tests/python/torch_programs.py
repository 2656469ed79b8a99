#!/usr/bin/env python3
"""Times programs that use PyTorch, each with cuBLAS, under the preload and with sgemm.torch.enable(), in turns.

    tests/python/torch_programs.py --out programs.json
    tests/python/torch_programs.py --programs llama,gp --modes cublas,normwise,normwise.enable --out programs.json

Modes are those of examples/measure.py. Each has a process of its own, which keeps its model while the others compute:
one process steps at a time, and every second round goes through them backwards. So all modes see the same GPU at
almost the same time. A step ends when the GPU is done.

llama, bert and convnext need transformers or timm, gp needs gpytorch; what is not installed is left out with a word.
Exits with 1 if a program failed; the others go on.
"""

import argparse
import contextlib
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))

from example_results import need, positive, write_json  # noqa: E402
from measure import ENABLED, commit, environment, modes_of  # noqa: E402


def training(torch, model, loss_of):
    """A step of gradient descent."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def step() -> float:
        optimizer.zero_grad()
        loss = loss_of(model)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def llama(torch):
    """8 layers of Llama's kind with 2048 channels, 4 sequences of 1024 words: a step of training."""
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(hidden_size=2048, intermediate_size=5504, num_hidden_layers=8, num_attention_heads=16)
    model = LlamaForCausalLM(config).cuda().float()
    words = torch.randint(config.vocab_size, (4, 1024), device="cuda")
    return training(torch, model, lambda model: model(input_ids=words, labels=words).loss)


def bert(torch):
    """BERT-large, 16 sequences of 256 words: a step of training."""
    from transformers import BertConfig, BertForMaskedLM

    config = BertConfig(hidden_size=1024, num_hidden_layers=24, num_attention_heads=16, intermediate_size=4096)
    model = BertForMaskedLM(config).cuda().float()
    words = torch.randint(config.vocab_size, (16, 256), device="cuda")
    return training(torch, model, lambda model: model(input_ids=words, labels=words).loss)


def convnext(torch):
    """ConvNeXt-base, 64 pictures: inference."""
    import timm

    model = timm.create_model("convnext_base").cuda().eval()
    pictures = torch.randn(64, 3, 224, 224, device="cuda")

    def step() -> float:
        with torch.inference_mode():
            return model(pictures).square().mean().item()

    return step


def compiled(torch):
    """4 layers of 4096 channels and 8192 rows by torch.compile(mode="reduce-overhead"): inference in a CUDA graph."""
    nn = torch.nn
    layers = [module for _ in range(4) for module in (nn.Linear(4096, 4096), nn.GELU())]
    model = torch.compile(nn.Sequential(*layers).cuda(), mode="reduce-overhead")
    rows = torch.randn(8192, 4096, device="cuda")

    def step() -> float:
        with torch.no_grad():
            return model(rows).square().mean().item()

    return step


def threads(torch):
    """Eight threads with a stream each, 20 products of 2048 x 4096 x 4096 in each."""
    from concurrent.futures import ThreadPoolExecutor

    pool = ThreadPoolExecutor(8)
    streams = [torch.cuda.Stream() for _ in range(8)]
    weights = torch.randn(4096, 4096, device="cuda") / 64
    rows = [torch.randn(2048, 4096, device="cuda") for _ in range(8)]
    torch.cuda.synchronize()

    def work(number: int) -> float:
        with torch.cuda.stream(streams[number]):
            x = rows[number]
            for _ in range(20):
                x = x @ weights
            return x.square().mean().item()

    return lambda: sum(pool.map(work, range(8))) / 8


def gp(torch):
    """An exact Gaussian process over 16000 points of 20 numbers: a step of training."""
    import gpytorch

    class Process(gpytorch.models.ExactGP):
        def __init__(self, x, y, likelihood):
            super().__init__(x, y, likelihood)
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x):
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    x = torch.rand(16000, 20, device="cuda")
    y = x.sum(1).sin()
    likelihood = gpytorch.likelihoods.GaussianLikelihood().cuda()
    model = Process(x, y, likelihood).cuda().train()
    likelihood.train()
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
    return training(torch, model, lambda model: -marginal(model(x), y))


PROGRAMS = {function.__name__: function for function in (llama, bert, convnext, compiled, threads, gp)}


def serve(mode: str) -> int:
    """The process of a mode. Each line of standard input is a request: a program, and how many steps of it to time.
    The answer is a line of JSON: seconds of the steps and the last value, or what is missing or failed."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # what programs print is no answer
    torch = need("torch", "torch")
    if mode in ENABLED:
        import sgemm.torch

        sgemm.torch.enable(ENABLED[mode])
    name, step = None, None
    for line in sys.stdin:
        wanted, steps = line.split()
        try:
            if wanted != name:
                step = None
                torch._dynamo.reset()
                torch.cuda.empty_cache()
                torch.manual_seed(1)
                name, step = wanted, PROGRAMS[wanted](torch)
            seconds, value = [], None
            for _ in range(int(steps)):
                torch.cuda.synchronize()
                start = time.perf_counter()
                value = step()
                torch.cuda.synchronize()
                seconds.append(time.perf_counter() - start)
            answer = {"seconds": seconds, "value": value}
        except ImportError as error:
            name, answer = None, {"missing": str(error)}
        except Exception as error:
            name, answer = None, {"failed": repr(error)}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


class Ended(Exception):
    """The process of a mode is gone."""


class Mode:
    """A process that steps when it is asked to."""

    def __init__(self, mode: str, preload: Path):
        command = [sys.executable, __file__, "--serve", mode]
        variables = environment(mode, preload, Path("/dev/null"))
        variables.pop("SGEMM_LOG", None)
        self.mode = mode
        self.process = subprocess.Popen(
            command, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def steps(self, program: str, number: int) -> dict:
        with contextlib.suppress(BrokenPipeError):  # what it says of its end follows
            print(program, number, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise Ended(f"{program} with {self.mode} ended with status {self.process.wait()}")
        answer = json.loads(line)
        if "failed" in answer:
            raise RuntimeError(f"{program} with {self.mode}: {answer['failed']}")
        return answer

    def end(self) -> None:
        self.process.communicate()


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Times programs that use PyTorch, in all modes, in turns.")
    names = ", ".join(PROGRAMS)
    default = "cublas,componentwise,componentwise.enable,normwise,normwise.enable"
    parser.add_argument("--programs", default=",".join(PROGRAMS), help=f"between commas: {names}")
    parser.add_argument("--modes", type=modes_of, default=default.split(","), help=default)
    parser.add_argument("--rounds", type=positive, default=6, help="of all modes (6)")
    parser.add_argument("--steps", type=positive, default=4, help="of each mode in a round (4)")
    parser.add_argument("--preload", type=Path, default=EXAMPLES.parent / "build" / "library" / "libsgemm_cublas.so",
                        help="the drop-in (build/library/libsgemm_cublas.so)")  # fmt: skip
    parser.add_argument("--out", type=Path, help="the JSON file")
    parser.add_argument("--serve", help=argparse.SUPPRESS)  # the mode of this process
    options = parser.parse_args(arguments)
    options.programs = options.programs.split(",")
    for name in options.programs:
        if name not in PROGRAMS:
            parser.error(f"{name!r} is none of {names}")
    if not options.serve and set(options.modes) - {"cublas"} and not options.preload.is_file():
        parser.error(f"there is no {options.preload}: build the target sgemm_cublas, or name it with --preload")
    return options


def time_program(name: str, modes: list[Mode], options: argparse.Namespace) -> dict:
    """Seconds of all steps and the last value, by mode."""
    results = {}
    for mode in modes:  # the first steps compile, choose and remember
        first = mode.steps(name, 3)
        if "missing" in first:
            return first
        results[mode.mode] = {"seconds": [], "value": None}
    for number in range(options.rounds):
        for mode in modes if number % 2 == 0 else reversed(modes):
            answer = mode.steps(name, options.steps)
            results[mode.mode]["seconds"] += answer["seconds"]
            results[mode.mode]["value"] = answer["value"]
    return results


def main(arguments: list[str] | None = None) -> int:
    options = parse(arguments)
    if options.serve:
        return serve(options.serve)
    modes = [Mode(mode, options.preload) for mode in options.modes]
    results = {"commit": commit(), "rounds": options.rounds, "steps": options.steps, "programs": {}}
    failed = False
    print(f"{'ms a step':12}" + "".join(f"{mode:>22}" for mode in options.modes))
    for name in options.programs:
        try:
            program = time_program(name, modes, options)
        except (RuntimeError, Ended) as error:
            print(f"torch_programs: {error}", file=sys.stderr)
            failed = True
            if isinstance(error, Ended):
                break
            continue
        results["programs"][name] = program
        if "missing" in program:
            print(f"{name:12} left out: {program['missing']}")
        else:
            times = [1e3 * statistics.median(program[mode]["seconds"]) for mode in options.modes]
            print(f"{name:12}" + "".join(f"{time:22.2f}" for time in times), flush=True)
        if options.out:
            write_json(options.out, results)
    for mode in modes:
        mode.end()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
