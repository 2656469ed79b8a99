"""sgemm.jax on a GPU. Skipped without JAX, a GPU, and the built libraries."""

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
if jax.default_backend() != "gpu":
    pytest.skip("JAX finds no GPU", allow_module_level=True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import sgemm  # noqa: E402
import sgemm.jax  # noqa: E402

try:
    sgemm.jax._load()
except sgemm.LibraryNotFound as missing:
    pytest.skip(str(missing), allow_module_level=True)

EPS = 2.0**-24
HIGHEST = jax.lax.Precision.HIGHEST
random = np.random.default_rng(4)


def normal(*shape):
    return jnp.asarray(random.standard_normal(shape, dtype=np.float32))


def expect_accurate(result, a, b):
    a, b = np.asarray(a, np.float64), np.asarray(b, np.float64)
    error = abs(np.asarray(result, np.float64) - a @ b)
    assert (error <= (180 + 2 * a.shape[-1] ** 0.5) * EPS * (abs(a) @ abs(b))).all()


@pytest.mark.parametrize("accuracy", ["fp32", "componentwise", "normwise", "rowwise"])
def test_products(accuracy):
    for shape_a, shape_b in [((700, 600), (600, 500)), ((3, 512, 512), (512, 640)), ((3, 512, 512), (3, 512, 512)),
                             ((3, 1, 300, 300), (2, 300, 300)), ((0, 5), (5, 3))]:  # fmt: skip
        a, b = normal(*shape_a), normal(*shape_b)
        product = jax.jit(lambda a, b: sgemm.jax.matmul(a, b, accuracy))
        for _ in range(2):
            expect_accurate(product(a, b), a, b)


def test_enable_serves_fp32_alone():
    a, b = normal(2048, 2048), normal(2048, 2048)

    def text(precision, a=a):
        return jax.jit(lambda a, b: jnp.matmul(a, b, precision=precision)).lower(a, b).as_text()

    sgemm.jax.enable("normwise")
    try:
        assert "sgemm_dot" in text(HIGHEST)
        assert "sgemm_dot" not in text(None)
        assert "sgemm_dot" not in text(HIGHEST, a[:16])
        expect_accurate(jnp.matmul(a, b, precision=HIGHEST), a, b)
        expect_accurate(jnp.einsum("ji,kj->ik", a, b, precision=HIGHEST), a.T, b.T)
        gradient = jax.jit(jax.grad(lambda a: (jnp.matmul(a, b, precision=HIGHEST) ** 2).sum() / 2))
        expect_accurate(gradient(a), jnp.matmul(a, b, precision=HIGHEST), b.T)
    finally:
        sgemm.jax.disable()
    assert "sgemm_dot" not in text(HIGHEST)
