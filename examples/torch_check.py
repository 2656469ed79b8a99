#!/usr/bin/env python3
"""Compares PyTorch's FP32 products with FP64, in the ways in which programs call them.

Needs PyTorch and an NVIDIA GPU. Without the drop-in it shows the errors of cuBLAS, with it those of libsgemm:

    examples/torch_check.py
    LD_PRELOAD=build/library/libsgemm_cublas.so SGEMM_LOG=1 examples/torch_check.py

Prints each error, and exits with 1 if one is wrong: the norm of a product's error is more than 2^-21 of that of its
terms, |A| |B|. That is some ten times what cuBLAS has in FP32, and a twentieth of what it has in TF32.
"""

import sys
import time

from example_results import need_torch, parser, write_results

LIMIT = 2.0**-21
SOLVE_LIMIT = 1e-4  # residuals of linalg, whose matrices have condition numbers up to some thousands


TF32 = ("tf32", "let PyTorch use TF32: the check has to fail then")
parse = parser(__doc__, "the errors", TF32, size=(2048, "rows and columns of the matrices")).parse_args


def cases(torch, size: int) -> dict:
    """Names of calls, and functions that make the call from operands of any type: (operands, call)."""
    functional = torch.nn.functional
    odd = size + 13

    def normal(*shape):
        return torch.randn(*shape, device="cuda")

    square, other = normal(size, size), normal(size, size)
    tall, wide = normal(odd, size // 2), normal(size // 2, odd)
    batch_a, batch_b = normal(16, size // 4, 64), normal(16, 64, size // 4)
    squares, heads = normal(32, size // 4, size // 4), normal(96, size // 2, 64)
    bias = normal(size)
    spread = square * torch.exp(4 * normal(size, 1))
    # Two halves of a sum that cancel: what is left shows rounding errors most.
    half = normal(size, size // 2)
    cancelling = torch.cat([half, half * (1 + 2**-12)], 1), torch.cat([other[: size // 2], -other[: size // 2]], 0)
    return {
        "mm NN": ((square, other), torch.mm),
        "mm NT": ((square, other), lambda a, b: torch.mm(a, b.T)),
        "mm TN": ((square, other), lambda a, b: torch.mm(a.T, b)),
        "mm TT": ((square, other), lambda a, b: torch.mm(a.T, b.T)),
        "mm odd": ((tall, wide), torch.mm),
        "mm slice": ((square, other), lambda a, b: torch.mm(a[1:, 3:], b[3:, 5:])),
        "mm rows of many sizes": ((spread, other), torch.mm),
        "mm cancelling": (cancelling, torch.mm),
        "addmm": ((square, other, normal(size, size)), lambda a, b, c: torch.addmm(c, a, b, beta=0.5, alpha=-2)),
        "bmm": ((batch_a, batch_b), torch.bmm),
        "bmm broadcast": ((batch_a, batch_b[:1]), torch.matmul),
        "bmm of squares": ((squares, squares), torch.bmm),
        "bmm scores": ((heads, heads), lambda a, b: torch.bmm(a, b.transpose(1, 2))),
        "linear": ((square, other, bias), functional.linear),
        "linear relu": ((square, other, bias), lambda x, w, b: activated(torch, x, w, b, use_gelu=False)),
        "linear gelu": ((square, other, bias), lambda x, w, b: activated(torch, x, w, b, use_gelu=True)),
        "linear gradient of input": ((square, other), lambda x, w: gradient(torch, x, w, 0)),
        "linear gradient of weight": ((square, other), lambda x, w: gradient(torch, x, w, 1)),
    }


def activated(torch, x, w, b, use_gelu: bool):
    """An activation of a linear layer. In FP32 PyTorch leaves it to cuBLASLt's epilogue."""
    if x.dtype == torch.float32:
        return torch._addmm_activation(b, x, w.T, use_gelu=use_gelu)
    functional = torch.nn.functional
    result = functional.linear(x, w, b)
    return functional.gelu(result, approximate="tanh") if use_gelu else functional.relu(result)


def gradient(torch, x, w, which: int):
    operands = [x.clone().requires_grad_(), w.clone().requires_grad_()]
    result = torch.nn.functional.linear(*operands)
    result.backward(torch.ones_like(result) + x[: result.shape[0], : result.shape[1]])
    return operands[which].grad


def check(torch, operands, call) -> dict:
    """The errors of a call, and the least time of six that are waited for."""
    exact = call(*(operand.double() for operand in operands))
    terms = call(*(operand.double().abs() for operand in operands)).abs()
    seconds = []
    for _ in range(6):
        torch.cuda.synchronize()
        start = time.perf_counter()
        result = call(*operands)
        torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    difference = result.double() - exact
    return {
        "relative": (difference.norm() / exact.norm()).item(),
        "of_terms": (difference.norm() / terms.norm()).item(),
        "us": min(seconds) * 1e6,
    }


def solves(torch, size: int) -> dict:
    """Functions of torch.linalg, which reach cuBLAS through cuSOLVER and MAGMA: the relative residuals."""
    matrix = torch.randn(size, size, device="cuda")
    spd = matrix @ matrix.T / size + torch.eye(size, device="cuda")
    right = torch.randn(size, 64, device="cuda")
    identity = torch.eye(size, device="cuda", dtype=torch.float64)
    q, r = torch.linalg.qr(matrix)
    factor = torch.linalg.cholesky(spd)
    solution = torch.linalg.solve(spd, right)
    values = {
        "linalg.solve": (spd.double() @ solution.double() - right, right),
        "linalg.cholesky": (factor.double() @ factor.double().T - spd, spd),
        "linalg.qr": (q.double() @ r.double() - matrix, matrix),
        "linalg.qr orthogonality": (q.double().T @ q.double() - identity, identity),
        "linalg.inv": (spd.double() @ torch.linalg.inv(spd).double() - identity, identity),
    }
    return {name: {"relative": (rest.norm() / whole.double().norm()).item()} for name, (rest, whole) in values.items()}


def main() -> int:
    options = parse()
    torch = need_torch(options.tf32)
    torch.manual_seed(1)
    checked = {name: check(torch, *case) for name, case in cases(torch, options.size).items()}
    solved = solves(torch, options.size)
    wrong = [name for name, errors in checked.items() if not errors["of_terms"] <= LIMIT]
    wrong += [name for name, errors in solved.items() if not errors["relative"] <= SOLVE_LIMIT]
    for name, errors in (checked | solved).items():
        verdict = "WRONG" if name in wrong else "right"
        time_text = f"{errors['us']:9.0f} us" if "us" in errors else ""
        print(f"{name:28} relative error {errors['relative']:.2e}  {verdict} {time_text}")
    write_results(options.out, torch, {"size": options.size, "wrong": wrong, "errors": checked | solved})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
