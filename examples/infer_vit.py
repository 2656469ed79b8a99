#!/usr/bin/env python3
"""Runs a vision transformer in FP32, and compares its scores with those of FP64.

Needs PyTorch and an NVIDIA GPU. The default model has the sizes of ViT-L/16 (304 million parameters), with random
parameters and images.

    examples/infer_vit.py
    LD_PRELOAD=build/library/libsgemm_cublas.so examples/infer_vit.py

With --pack, libsgemm splits weights once, but for those that torch.nn.TransformerEncoderLayer reads itself: that takes
its Python package as well.
"""

import argparse
import copy
import itertools
import statistics

from example_results import need, need_torch, parser, write_results

PATCH, IMAGE, CLASSES = 16, 224, 1000


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    made = parser(
        __doc__,
        "times and errors",
        ("tf32", "let PyTorch use TF32"),
        batch=(64, "images at a time"),
        batches=(20, "that are timed"),
        width=(1024, "of the model, a multiple of 64"),
        layers=(24, "of the model"),
    )
    made.add_argument("--pack", metavar="ACCURACY", help="let libsgemm split weights once, for componentwise, ...")
    options = made.parse_args(arguments)
    if options.width % 64:
        made.error(f"--width {options.width} is no multiple of 64, the width of a head")
    return options


def make_model(torch, options: argparse.Namespace):
    nn = torch.nn

    class Vit(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches = nn.Linear(3 * PATCH * PATCH, options.width)
            self.places = nn.Parameter(torch.randn((IMAGE // PATCH) ** 2, options.width) * 0.02)
            layer = nn.TransformerEncoderLayer(
                options.width, options.width // 64, 4 * options.width, 0.0, "gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, options.layers, enable_nested_tensor=False)
            self.head = nn.Linear(options.width, CLASSES)

        def forward(self, images):
            rows = images.unfold(2, PATCH, PATCH).unfold(3, PATCH, PATCH)  # batch, 3, 14, 14, 16, 16
            patches = rows.permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
            return self.head(self.encoder(self.patches(patches) + self.places).mean(1))

    torch.manual_seed(1)
    return Vit().cuda().eval()


def main() -> None:
    options = parse()
    torch = need_torch(options.tf32)
    model = make_model(torch, options)
    in_fp64 = copy.deepcopy(model).double()
    if options.pack:
        need("sgemm.torch", "the package sgemm").replace_linears(model, options.pack)
    images = torch.randn(options.batch, 3, IMAGE, IMAGE, device="cuda")
    events = [torch.cuda.Event(enable_timing=True) for _ in range(options.batches + 1)]
    with torch.inference_mode():
        for _ in range(3):
            scores = model(images)
        events[0].record()
        for event in events[1:]:
            scores = model(images)
            event.record()
        torch.cuda.synchronize()
        exact = in_fp64(images[:4].double())
        error = ((scores[:4] - exact).norm() / exact.norm()).item()
    times = [before.elapsed_time(after) for before, after in itertools.pairwise(events)]
    print(f"median batch {statistics.median(times):.1f} ms, relative error of the scores {error:.2e}")
    write_results(options.out, torch, {"batch_ms": times, "error": error})


if __name__ == "__main__":
    main()
