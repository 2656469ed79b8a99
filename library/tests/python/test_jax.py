"""sgemm.jax with a libsgemm whose GPU is the host. Skipped without JAX."""

import pytest

jax = pytest.importorskip("jax", reason="JAX is not installed")
if jax.default_backend() != "cpu":
    pytest.skip("JAX would run on a GPU: test_jax_gpu.py is for it", allow_module_level=True)

import types  # noqa: E402
from pathlib import Path  # noqa: E402

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

import sgemm  # noqa: E402
import sgemm.jax  # noqa: E402
from fakes import ROOT, compile_cpp  # noqa: E402

pytest_plugins = ("fakes",)
CUBLAS, LIBRARY = b"cublas", b"11_bf16x6"  # what the fake plans
HIGHEST = jax.lax.Precision.HIGHEST
random = np.random.default_rng(7)


@pytest.fixture(scope="session")
def library_for_jax(fake_library):
    library = Path(fake_library).with_name(sgemm.jax.NAME)
    folder = ROOT / "library" / "jax"
    exports = f"-Wl,--version-script={folder / 'exports.map'}"
    headers = f"-isystem{jax.ffi.include_dir()}"
    compile_cpp(library, "-DSGEMM_JAX_ON_HOST", headers, exports, folder / "sgemm_jax.cpp")


@pytest.fixture(autouse=True)
def on_host(fake, library_for_jax, monkeypatch):
    fake.kernel = LIBRARY
    monkeypatch.setattr(sgemm.jax, "_platform", lambda: "cpu")
    monkeypatch.setattr(sgemm.jax, "FEWEST", 1)
    yield
    sgemm.jax.disable()


def numbers(*shape):
    return jnp.asarray(random.integers(-4, 5, shape).astype(np.float32))


def square(product):
    return lambda *operands: (product(*operands) ** 2).sum()


def gradients(product):
    return jax.grad(square(product), (0, 1))


def expect_equal(found, expected):
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_array_equal(x, y)


SHAPES = [
    ((5, 3), (3, 4)), ((2, 5, 3), (3, 4)), ((2, 5, 3), (2, 3, 4)), ((5, 3), (2, 3, 4)), ((2, 1, 5, 3), (4, 3, 6)),
    ((2, 3, 5, 3), (2, 1, 3, 4)), ((1, 3, 5, 3), (2, 1, 3, 4)), ((3,), (3, 4)), ((5, 3), (3,)), ((3,), (3,)),
    ((0, 3), (3, 4)), ((5, 0), (0, 4)), ((2, 0, 3), (2, 3, 4)), ((0, 5, 3), (3, 4)),
]  # fmt: skip


@pytest.mark.parametrize("shapes", SHAPES)
def test_products_and_gradients_are_those_of_jnp(fake, shapes):
    a, b = (numbers(*shape) for shape in shapes)
    np.testing.assert_array_equal(sgemm.jax.matmul(a, b), jnp.matmul(a, b))
    for jit in (lambda f: f, jax.jit):
        expect_equal(jit(gradients(sgemm.jax.matmul))(a, b), gradients(jnp.matmul)(a, b))


def test_a_batch_is_one_call(fake):
    sgemm.jax.matmul(numbers(2, 5, 3), numbers(3, 4))
    assert (fake.products, fake.m, fake.batch_count) == (1, 10, 1)
    sgemm.jax.matmul(numbers(6, 2, 5, 3), numbers(6, 2, 3, 4))
    assert (fake.products, fake.m, fake.batch_count, fake.a.stride, fake.b.stride) == (2, 5, 12, 15, 12)
    sgemm.jax.matmul(numbers(5, 3), numbers(2, 3, 4))
    assert (fake.products, fake.m, fake.batch_count, fake.a.stride, fake.b.stride) == (3, 5, 2, 0, 12)
    sgemm.jax.matmul(numbers(6, 1, 5, 3), numbers(1, 2, 3, 4))  # no one stride goes through these
    assert fake.products == 9


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0), (1, 2)])
def test_vmap(fake, axes):
    a = numbers(7, 5, 3) if axes[0] == 0 else numbers(5, 7, 3) if axes[0] == 1 else numbers(5, 3)
    b = numbers(7, 3, 4) if axes[1] == 0 else numbers(3, 4, 7) if axes[1] == 2 else numbers(3, 4)
    product, expected = jax.vmap(sgemm.jax.matmul, axes), jax.vmap(jnp.matmul, axes)
    np.testing.assert_array_equal(jax.jit(product)(a, b), expected(a, b))
    assert fake.products == 1
    expect_equal(gradients(product)(a, b), gradients(expected)(a, b))
    twice = jax.vmap(product, (None, 0))(a, jnp.stack([b, b + 1]))
    np.testing.assert_array_equal(twice, jnp.stack([expected(a, b), expected(a, b + 1)]))


def test_gradients_of_gradients():
    a, b = numbers(5, 3), numbers(3, 4)

    def second(product):
        return jax.grad(jax.grad(lambda s: square(product)(s * a, b)))(2.0)

    assert second(sgemm.jax.matmul) == second(jnp.matmul)


@pytest.mark.parametrize(
    ("name", "number"), [("fp32", 0), ("componentwise", 1), ("normwise", 2), ("rowwise", 3), ("reproducible", 4)]
)
def test_accuracy_of_products_and_gradients(fake, name, number):
    product = jax.jit(lambda a, b: sgemm.jax.matmul(a, b, name))
    product(numbers(5, 3), numbers(3, 4))
    assert fake.accuracy == number
    fake.accuracy = -1
    jax.grad(square(product))(numbers(5, 3), numbers(3, 4))
    assert fake.accuracy == number


@pytest.mark.parametrize(
    ("a", "b", "accuracy", "error", "text"),
    [
        (numbers(5, 3), numbers(3, 4), "tf32", ValueError, "accuracy is 'tf32': give one of fp32"),
        (numbers(5, 3), numbers(4, 4), "fp32", ValueError, "a has 3 columns and b has 4 rows"),
        (numbers(2, 5, 3), numbers(3, 3, 4), "fp32", ValueError, "[Ii]ncompatible shapes"),
        (numbers(5, 3).astype("bfloat16"), numbers(3, 4), "fp32", TypeError, "a holds bfloat16, not float32"),
        (numbers(5, 3), numbers(3, 4).astype(int), "fp32", TypeError, "b holds int32, not float32"),
        (np.ones((5, 3)), numbers(3, 4), "fp32", TypeError, "a holds float64, not float32"),
        (numbers(5, 3), 2.0, "fp32", ValueError, "b is a number"),
    ],
)
def test_wrong_arguments_are_named(fake, a, b, accuracy, error, text):
    with pytest.raises(error, match=text):
        sgemm.jax.matmul(a, b, accuracy)
    assert fake.products == 0


def test_errors_of_the_library(fake):
    fake.status = 3
    with pytest.raises((ValueError, RuntimeError), match="libsgemm: the fake refuses"):
        sgemm.jax.matmul(numbers(5, 3), numbers(3, 4)).block_until_ready()


EINSUMS = [
    ("ij,jk->ik", (5, 3), (3, 4)), ("bij,bjk->bik", (2, 5, 3), (2, 3, 4)), ("ibj,bjk->bik", (5, 2, 3), (2, 3, 4)),
    ("ij,kj->ki", (5, 3), (4, 3)), ("ji,jk->ik", (3, 5), (3, 4)), ("abij,jic->abc", (2, 2, 5, 3), (3, 5, 4)),
    ("i,i->", (5,), (5,)), ("i,j->ij", (5,), (4,)), ("bi,bj->bij", (2, 5), (2, 4)), ("bi,bi->b", (2, 5), (2, 5)),
    ("abij,abjk->abik", (2, 3, 5, 3), (2, 3, 3, 4)), ("ji,kj->ik", (3, 5), (4, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("text", "shape_a", "shape_b"), EINSUMS)
def test_enabled_products_and_gradients(fake, text, shape_a, shape_b):
    a, b = numbers(*shape_a), numbers(*shape_b)

    def product(a, b):
        return jnp.einsum(text, a, b, precision=HIGHEST)

    expected = product(a, b), gradients(product)(a, b)
    assert fake.products == 0
    sgemm.jax.enable("normwise")
    found = product(a, b), gradients(product)(a, b)
    assert (fake.products, fake.accuracy) == (4, 2)
    expect_equal(found, expected)


def test_only_fp32_that_is_asked_for_is_served(fake):
    sgemm.jax.enable()
    a, b = numbers(5, 3), numbers(3, 4)
    for precision in (None, "default", "high", "tensorfloat32", ("highest", "default")):
        jnp.matmul(a, b, precision=precision)
    for dtype in ("bfloat16", "int32"):
        jnp.matmul(a.astype(dtype), b.astype(dtype), precision=HIGHEST)
    jnp.matmul(a.astype("bfloat16"), b.astype("bfloat16"), precision=HIGHEST, preferred_element_type="float32")
    assert fake.products == 0
    jnp.matmul(a, b, precision="float32")
    with jax.default_matmul_precision("highest"):
        jnp.matmul(a, b)
    assert fake.products == 2


def test_what_cublas_is_faster_at_stays_with_xla(fake, monkeypatch):
    fake.kernel = CUBLAS
    sgemm.jax.enable()
    a, b = numbers(5, 3), numbers(3, 4)
    jnp.matmul(a, b, precision=HIGHEST)
    fake.kernel = LIBRARY
    monkeypatch.setattr(sgemm.jax, "FEWEST", 5 * 3 * 4 + 1)
    jax.clear_caches()
    jnp.matmul(a, b, precision=HIGHEST)
    assert fake.products == 0


def test_plans_are_those_of_the_device_that_is_compiled_for(fake, cuda):
    others, ours = (types.SimpleNamespace(process_index=i, local_hardware_id=5, platform="gpu") for i in (1, 0))
    assert sgemm.jax._device(types.SimpleNamespace(device_assignment=(others, ours))) == 5
    assert sgemm.jax._device(None) is None, "this process has no GPU"
    for context in (1, 1, 2):  # after a reset of the device
        fake.context = context
        assert sgemm.jax._is_faster(4, 4, 4, 1, 1, 0)
        assert fake.handles == 1


def test_programs_of_several_devices_stay_with_xla():
    manual = types.SimpleNamespace(manual_axes=frozenset("x"), mesh=types.SimpleNamespace(axis_names=("x",)))
    assert not sgemm.jax._is_undivided(types.SimpleNamespace(num_devices=2))
    assert sgemm.jax._is_undivided(manual)
    manual.mesh.axis_names = ("x", "y")
    assert not sgemm.jax._is_undivided(manual)


def test_disable_gives_products_back(fake):
    a, b = numbers(5, 3), numbers(3, 4)
    for _ in range(2):
        sgemm.jax.enable("fp32")
        sgemm.jax.enable("rowwise")
        calls = fake.products
        jnp.matmul(a, b, precision=HIGHEST)
        assert (fake.products, fake.accuracy) == (calls + 1, 3)
        sgemm.jax.disable()
        sgemm.jax.disable()
        jnp.matmul(a, b, precision=HIGHEST)
        assert fake.products == calls + 1


def test_memory_is_planned_for_each_stride(fake):
    one, many, others = numbers(1, 7, 9), numbers(3, 7, 9), numbers(3, 9, 8)
    for a in (one, many, one, many):
        sgemm.jax.matmul(a, others).block_until_ready()
    assert fake.plans == 2, "strides decide on kernels, and these on the memory"


def test_each_context_keeps_its_handle(fake):
    a, b = numbers(4, 4), numbers(4, 4)
    handles = fake.handles
    for context in (71, 72) * 3:
        fake.context = context
        np.testing.assert_array_equal(sgemm.jax.matmul(a, b), a @ b)
    assert (fake.products, fake.handles - handles) == (6, 2)
