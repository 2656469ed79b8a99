#!/usr/bin/env python3
"""Trains a GPT-style model in FP32 on synthetic text, and writes the losses and the times of its steps.

Needs PyTorch and an NVIDIA GPU with 40 GB. The default model has 369 million parameters. The text is a Markov chain:
each of 2048 words has four successors, which are equally likely. A model that has learnt it has a loss of ln 4 = 1.386.

    examples/train_gpt.py --steps 300 --out cublas.json
    LD_PRELOAD=build/library/libsgemm_cublas.so examples/train_gpt.py --steps 300 --out componentwise.json
"""

import argparse
import itertools

from example_results import need_torch, parser, write_results

SUCCESSORS = 4


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    made = parser(
        __doc__,
        "the losses and times",
        steps=(300, "steps of the optimiser"),
        batch=(8, "sequences a step"),
        length=(1024, "words of a sequence"),
        width=(1024, "of the model, a multiple of 64"),
        layers=(24, "of the model"),
        vocabulary=(32000, "words that the model has"),
        words=(2048, "words that the text has"),
    )
    made.add_argument("--seed", type=int, default=1, help="of the model's parameters (1)")
    made.add_argument("--data-seed", type=int, default=1, help="of the text (1)")
    made.add_argument("--rate", type=float, default=3e-4, help="learning rate after the warm-up (3e-4)")
    options = made.parse_args(arguments)
    if options.width % 64:
        made.error(f"--width {options.width} is no multiple of 64, the width of a head")
    if options.words > options.vocabulary:
        made.error(f"--words {options.words} are more than the model has: --vocabulary {options.vocabulary}")
    return options


def text(torch, options: argparse.Namespace):
    """All sequences of the training: words of shape (steps, batch, length + 1)."""
    generator = torch.Generator("cuda").manual_seed(options.data_seed)

    def random(high, *shape):
        return torch.randint(high, shape, generator=generator, device="cuda")

    successors = random(options.words, options.words, SUCCESSORS)
    sequences = options.steps * options.batch
    words = torch.empty(options.length + 1, sequences, dtype=torch.long, device="cuda")
    words[0] = random(options.words, sequences)
    for i in range(options.length):
        words[i + 1] = successors[words[i], random(SUCCESSORS, sequences)]
    return words.T.reshape(options.steps, options.batch, options.length + 1)


def make_model(torch, options: argparse.Namespace):
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width: int):
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention_in, self.attention_out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

        def forward(self, x):
            batch, length, width = x.shape
            heads = self.attention_in(self.norm1(x)).view(batch, length, 3, width // 64, 64).transpose(1, 3)
            attended = nn.functional.scaled_dot_product_attention(*heads.unbind(2), is_causal=True)
            x = x + self.attention_out(attended.transpose(1, 2).reshape(batch, length, width))
            return x + self.narrow(nn.functional.gelu(self.wide(self.norm2(x)), approximate="tanh"))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(options.vocabulary, options.width)
            self.places = nn.Embedding(options.length, options.width)
            self.blocks = nn.ModuleList(Block(options.width) for _ in range(options.layers))
            self.norm = nn.LayerNorm(options.width)
            self.head = nn.Linear(options.width, options.vocabulary, bias=False)
            for parameter in self.parameters():
                if parameter.dim() == 2:
                    nn.init.normal_(parameter, std=0.02)

        def forward(self, words):
            x = self.words(words) + self.places.weight
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    torch.manual_seed(options.seed)
    with torch.device("cuda"):  # the parameters are drawn there, which takes the CPU seconds
        return Gpt()


def train(torch, options: argparse.Namespace) -> dict:
    sequences = text(torch, options)
    model = make_model(torch, options)
    optimizer = torch.optim.AdamW(model.parameters(), lr=options.rate, betas=(0.9, 0.95), fused=True)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 20))
    losses, events = [], [torch.cuda.Event(enable_timing=True) for _ in range(options.steps + 1)]
    events[0].record()
    for step in range(options.steps):
        words = sequences[step]
        scores = model(words[:, :-1])
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), words[:, 1:].flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        warm_up.step()
        losses.append(loss.detach())
        events[step + 1].record()
        if (step + 1) % 10 == 0:
            print(f"step {step + 1}: loss {loss.item():.4f}", flush=True)
    torch.cuda.synchronize()
    times = [before.elapsed_time(after) for before, after in itertools.pairwise(events)]
    # Memory that libraries take beside PyTorch counts in what the device has left.
    free, total = torch.cuda.mem_get_info()
    return {
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "loss": [loss.item() for loss in losses],
        "step_ms": times,
        "torch_peak_bytes": torch.cuda.max_memory_allocated(),
        "device_used_bytes": total - free,
    }


def main() -> None:
    options = parse()
    torch = need_torch()
    result = train(torch, options)
    settled = sorted(result["step_ms"][len(result["step_ms"]) // 4 :])
    print(
        f"{result['parameters'] / 1e6:.0f} million parameters, loss {result['loss'][-1]:.4f}, "
        f"median step {settled[len(settled) // 2]:.1f} ms"
    )
    settings = {name: value for name, value in vars(options).items() if name != "out"}
    write_results(options.out, torch, settings | result)


if __name__ == "__main__":
    main()
