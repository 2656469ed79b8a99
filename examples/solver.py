#!/usr/bin/env python3
"""Two computations that need the digits of FP32: the eigenvalues of a Gram matrix, and the inverse of a matrix.

Needs PyTorch and an NVIDIA GPU.

- The columns of X have singular values from 1 down to 2^-11. The eigenvalues of X^T X are their squares, down to 2^-22.
  TF32 keeps 11 bits of an operand, and that error drowns the small ones. The eigenvalues are computed in FP64, so that
  only the product differs.
- Newton's iteration Y <- Y (2 I - A Y) doubles the digits of an inverse in each step, until the products' errors stop
  it.

    examples/solver.py
    examples/solver.py --tf32
    LD_PRELOAD=build/library/libsgemm_cublas.so examples/solver.py
"""

from example_results import need_torch, parser, write_results

parse = parser(
    __doc__,
    "the errors",
    ("tf32", "let PyTorch use TF32"),
    size=(4096, "rows of the matrices"),
    steps=(20, "of Newton's iteration"),
).parse_args


def orthogonal(torch, rows: int, columns: int):
    return torch.linalg.qr(torch.randn(rows, columns, device="cuda", dtype=torch.float64))[0]


def gram(torch, size: int) -> dict:
    """The eigenvalues of a Gram matrix whose product is in FP32."""
    columns = size // 4
    singular = torch.logspace(0, -11, columns, base=2.0, device="cuda", dtype=torch.float64)
    x = (orthogonal(torch, size, columns) * singular @ orthogonal(torch, columns, columns).T).float()
    exact = torch.linalg.eigvalsh(x.double().T @ x.double())
    values = torch.linalg.eigvalsh((x.T @ x).double())
    return {
        "negative_eigenvalues": int((values < 0).sum()),
        "largest_relative_error": ((values - exact).abs() / exact).max().item(),
        "smallest_exact": exact.min().item(),
        "smallest": values.min().item(),
    }


def newton(torch, size: int, steps: int) -> dict:
    """The relative residual of the inverse after each step."""
    singular = torch.logspace(0, -5, size, base=2.0, device="cuda", dtype=torch.float64)
    a = (orthogonal(torch, size, size) * singular @ orthogonal(torch, size, size).T).float()
    identity = torch.eye(size, device="cuda")
    y = a.T.contiguous()  # its residual is below 1, since the largest singular value is 1
    residuals = []
    for _ in range(steps):
        y = y @ (2 * identity - a @ y)
        residual = identity.double() - a.double() @ y.double()
        residuals.append((residual.norm() / size**0.5).item())
    return {"residuals": residuals}


def main() -> None:
    options = parse()
    torch = need_torch(options.tf32)
    torch.manual_seed(1)
    result = {"gram": gram(torch, options.size), "newton": newton(torch, options.size, options.steps)}
    print(
        f"Gram matrix: {result['gram']['negative_eigenvalues']} negative eigenvalues, relative error up to "
        f"{result['gram']['largest_relative_error']:.2e}"
    )
    print(f"Newton's iteration: residual {min(result['newton']['residuals']):.2e}")
    write_results(options.out, torch, result)


if __name__ == "__main__":
    main()
