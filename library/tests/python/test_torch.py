"""sgemm.torch without a GPU: what it redirects, and which accuracy holds where. Skipped without PyTorch.

In place of products there are operations that note the accuracy that a product of their thread would have.
"""

import asyncio
import contextlib
import contextvars
import copy
import ctypes
import dataclasses
import functools
import gc
import io
import os
import pickle
import subprocess
import sys
import threading
import types
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if torch.version.cuda is None:
    pytest.skip("this PyTorch was built without CUDA", allow_module_level=True)

import sgemm.torch  # noqa: E402
from sgemm import drop_in, packed  # noqa: E402

pytest_plugins = ("fakes",)
FP32, COMPONENTWISE, NORMWISE, ROWWISE, CUBLAS = 0, 1, 2, 3, -1


@pytest.fixture(autouse=True)
def library(fake_drop_in, monkeypatch):
    sgemm.torch._follow_backward.cache_clear()
    for of in (torch.autograd, torch.autograd.graph):  # which it replaces
        monkeypatch.setattr(of, "_engine_run_backward", torch.autograd.graph._engine_run_backward)
    seen.clear()
    yield fake_drop_in
    sgemm.torch.disable()


seen: list[tuple[str, int]] = []


@torch.compiler.disable
def note(what: str) -> None:
    seen.append((what, drop_in.load().sgemm_drop_in_accuracy()))


class Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(x, w)
        note("forward")
        return x @ w

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        note("backward")
        return gradient @ w.T, x.T @ gradient


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(3, 3))

    def forward(self, x):
        return Product.apply(x, self.weight)


class Fails(torch.autograd.Function):
    """Its backward pass does."""

    @staticmethod
    def forward(ctx, x, error):
        ctx.error = error
        return x.clone()

    @staticmethod
    def backward(ctx, gradient):
        raise ctx.error


def accuracies(what: str) -> list[int]:
    return [accuracy for kind, accuracy in seen if kind == what]


def here() -> int:
    return drop_in.load().sgemm_drop_in_accuracy()


def x():
    return torch.randn(3, 3, requires_grad=True)


def test_the_products_of_pytorch_are_redirected_and_back(library):
    # PyTorch 2.15 calls neither cublasSgemm nor cublasSgemmStridedBatched any more.
    assert library.sgemm_drop_in_attach(b"libtorch_cuda.so") in (3, 5)
    library.sgemm_drop_in_detach(b"libtorch_cuda.so")
    sgemm.torch.enable("normwise")
    assert here() == NORMWISE
    sgemm.torch.enable("rowwise")
    assert here() == ROWWISE
    sgemm.torch.disable()
    sgemm.torch.disable()
    assert here() == CUBLAS


def test_what_is_no_module_is_named():
    for wrong in (torch.nn.Linear, "head", None):
        with pytest.raises(TypeError, match=r"is no torch\.nn\.Module"):
            sgemm.torch.module(wrong, "fp32")


def test_wrong_accuracies_are_named():
    for function in (sgemm.torch.enable, sgemm.torch.use, lambda name: sgemm.torch.module(Layer(), name)):
        with pytest.raises(ValueError, match="accuracy is 'tf32': give one of fp32"):
            function("tf32")


def test_what_has_no_cublas_is_named(monkeypatch):
    monkeypatch.setattr(sgemm.torch, "OBJECT", b"libtorch_none.so")
    with pytest.raises(RuntimeError, match=r"libtorch_none\.so of this PyTorch calls no function of a shared cuBLAS"):
        sgemm.torch.enable()
    assert here() == CUBLAS
    monkeypatch.setattr(torch.version, "cuda", None)
    with pytest.raises(RuntimeError, match="built without CUDA"):
        sgemm.torch.enable()
    with pytest.raises(RuntimeError, match="built without CUDA"), sgemm.torch.use("fp32"):
        pass


def test_calls_are_timed_on_demand(library):
    level = ctypes.c_int.in_dll(library, "fake_log_level")
    sgemm.torch.enable()
    assert level.value == 1
    sgemm.torch.enable(timed=True)
    assert level.value == 2
    sgemm.torch.disable()
    assert level.value == 0


def test_deterministic_programs_get_the_same_bits_in_every_run(library, monkeypatch):
    repeatable, environment = ctypes.c_int.in_dll(library, "fake_repeatable"), dict(os.environ)
    sgemm.torch.enable()
    assert repeatable.value == drop_in.UNSET
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: True)
    sgemm.torch.enable()
    assert repeatable.value == 1
    sgemm.torch.disable()
    assert repeatable.value == drop_in.UNSET
    with sgemm.torch.use("normwise"):  # without enable()
        assert repeatable.value == 1
    sgemm.torch.disable()
    sgemm.torch.module(torch.nn.Linear(2, 2), "normwise")
    assert repeatable.value == 1
    sgemm.torch.disable()
    assert dict(os.environ) == environment


def test_report(library):
    sgemm.torch.enable()
    library.fake_note(b"3\t0\t0\t100\t270\tcublasSgemm\tNT\t9\t8\t7\t1\t11_bf16x6\tpredicted\n")
    text = io.StringIO()
    sgemm.torch.report(text, clear=True)
    assert "3 of 3 calls by libsgemm, which saved some 1 ms" in text.getvalue()
    sgemm.torch.report(text)
    assert text.getvalue().endswith("No products yet.\n")


def test_use_is_a_context_and_a_decorator():
    with sgemm.torch.use("normwise"):  # without enable()
        assert here() == NORMWISE
    assert here() == CUBLAS
    sgemm.torch.enable("componentwise")

    @sgemm.torch.use("rowwise")
    def decorated(deep: int) -> list[int]:
        return [here(), *(decorated(deep - 1) if deep else [])]

    with sgemm.torch.use("normwise") as entered:
        assert entered is None
        assert here() == NORMWISE
        assert decorated(2) == [ROWWISE] * 3
        with sgemm.torch.use("cublas"):
            assert here() == CUBLAS
        assert here() == NORMWISE
    assert here() == COMPONENTWISE
    with pytest.raises(KeyError), sgemm.torch.use("normwise"):
        raise KeyError
    assert here() == COMPONENTWISE
    again = sgemm.torch.use("fp32")
    with again, again:
        assert here() == FP32
    assert here() == COMPONENTWISE


def test_threads_may_leave_one_use_at_the_same_time(monkeypatch):
    shared = sgemm.torch.use("fp32")

    def enter_in_a_thread():
        def run():
            with shared:
                inside.set()
                may_leave.wait(10)

        inside, may_leave, thread = threading.Event(), threading.Event(), threading.Thread(target=run)
        thread.start()
        inside.wait(10)
        return lambda: (may_leave.set(), thread.join())

    first_leaves = enter_in_a_thread()
    shared.__enter__()
    last_leaves = enter_in_a_thread()
    with monkeypatch.context() as patch:

        def is_here(entry):
            patch.undo()
            first_leaves()
            return entry.is_here()

        patch.setattr(sgemm.torch._OfThread, "is_here", is_here)
        shared.__exit__()
    assert here() == CUBLAS
    last_leaves()


def test_generators_and_coroutines_are_refused():
    def generator():
        yield

    async def coroutine():
        pass

    for function in (generator, coroutine):
        with pytest.raises(TypeError, match="enter it inside"):
            sgemm.torch.use("fp32")(function)


def test_backward_has_the_accuracy_of_its_caller():
    sgemm.torch.enable("componentwise")
    Product.apply(x(), x()).sum().backward()
    with sgemm.torch.use("normwise"):
        result = Product.apply(x(), x()).sum()
    result.backward()
    result = Product.apply(x(), x()).sum()
    with sgemm.torch.use("normwise"):
        result.backward()
    a = x()
    result = Product.apply(a, x()).sum()
    with sgemm.torch.use("rowwise"):
        torch.autograd.grad(result, a)
    assert accuracies("forward") == [COMPONENTWISE, NORMWISE, COMPONENTWISE, COMPONENTWISE]
    assert accuracies("backward") == [COMPONENTWISE, COMPONENTWISE, NORMWISE, ROWWISE]


@pytest.mark.parametrize("error", [ArithmeticError, KeyboardInterrupt])
def test_a_backward_pass_that_fails_leaves_nothing(error):
    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(torch.nn.Sequential(Layer()), "fp32")
    layer[0].register_forward_hook(lambda *arguments: Fails.apply(arguments[2], error))
    with sgemm.torch.use("normwise"):
        with pytest.raises(error):
            layer(x()).sum().backward()
        assert here() == NORMWISE
    assert here() == COMPONENTWISE
    assert sgemm.torch._thread.entries == []
    result = Product.apply(x(), x()).sum()
    with sgemm.torch.use("rowwise"):
        result.backward(retain_graph=True)
        assert here() == ROWWISE
    result.backward()  # a retained graph has the accuracy of each pass
    assert accuracies("backward")[-2:] == [ROWWISE, COMPONENTWISE]


def test_backward_without_a_graph_fails_as_before():
    sgemm.torch.enable()
    with sgemm.torch.use("fp32"), pytest.raises(RuntimeError, match="does not require grad"):
        torch.ones(1).backward()
    leaf = torch.ones(1, requires_grad=True)
    with sgemm.torch.use("fp32"):
        leaf.backward()
    assert leaf.grad.item() == 1


def test_modules_have_accuracies_of_their_own():
    sgemm.torch.enable("componentwise")
    model = torch.nn.Sequential(Layer(), Layer(), Layer())
    assert sgemm.torch.module(model[1], "fp32") is model[1]
    sgemm.torch.module(model[2], "rowwise")
    model(x()).sum().backward()
    assert accuracies("forward") == [COMPONENTWISE, FP32, ROWWISE]
    assert accuracies("backward") == [ROWWISE, FP32, COMPONENTWISE]

    seen.clear()
    sgemm.torch.module(model, "normwise")  # those inside keep theirs
    with sgemm.torch.use("cublas"):
        model(x()).sum().backward()
    assert accuracies("forward") == [NORMWISE, FP32, ROWWISE]
    assert accuracies("backward") == [ROWWISE, FP32, NORMWISE]

    seen.clear()
    sgemm.torch.module(model, None)
    sgemm.torch.module(model[2], "cublas")  # in place of the other
    model(x()).sum().backward()
    assert accuracies("forward") == [COMPONENTWISE, FP32, CUBLAS]
    assert accuracies("backward") == [CUBLAS, FP32, COMPONENTWISE]


def test_hooks_of_a_module_are_inside_of_it():
    sgemm.torch.enable("componentwise")

    class Registered(Layer):
        def __init_subclass__(cls, *, name):
            pass

    layer = types.new_class("Named", (Registered,), {"name": "named"})()
    layer.register_forward_pre_hook(lambda *_: note("hook"))
    sgemm.torch.module(layer, "fp32")
    layer.register_forward_pre_hook(lambda *_: note("hook"))
    layer(x())
    assert accuracies("hook") == [FP32, FP32]


def test_backward_passes_that_ended_are_forgotten(library, monkeypatch):
    set_task, entered = library.sgemm_drop_in_set_task_accuracy, {}

    def noted(task, accuracy):
        entered[task] = accuracy
        set_task(task, accuracy)

    monkeypatch.setattr(library, "sgemm_drop_in_set_task_accuracy", noted)
    for _ in range(3):
        with sgemm.torch.use("normwise"):
            Product.apply(x(), x()).sum().backward()
    assert list(entered.values()) == [drop_in.UNSET] * 3


def in_a_thread(function, *arguments):
    with ThreadPoolExecutor() as pool:
        return pool.submit(function, *arguments).result()


def test_a_module_has_the_nodes_between_what_it_is_given_and_returns():
    """Whichever thread has made them: the numbers of nodes count per thread."""

    class Adds(Layer):
        def forward(self, y):
            y.mul_(2)
            return in_a_thread(super().forward, y) + self.held

    def late():
        for _ in range(50):
            x().clone()
        return Product.apply(x(), x())

    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(Adds(), "fp32")
    layer.held, given = in_a_thread(late), in_a_thread(late)
    accumulation = layer.weight.view(9).grad_fn.next_functions[0][0]
    for _ in range(3):  # parameters live on: nothing may gather at them
        seen.clear()
        layer(given[:]).sum().backward(retain_graph=True)
        assert sorted(accuracies("backward")) == [FP32, COMPONENTWISE, COMPONENTWISE]
    assert accumulation.name() == "torch::autograd::AccumulateGrad"
    assert not accumulation.metadata
    given = Noted.apply(x(), x())
    result = sgemm.torch.module(torch.nn.Tanh(), "fp32")(Noted.apply(given, x()))
    [gradient] = in_a_thread(lambda: torch.autograd.grad(result.sum(), given, create_graph=True))
    assert gradient.requires_grad
    assert not given.grad_fn.metadata
    with torch.no_grad():
        assert layer(x()).grad_fn is None


def test_modules_are_copied_and_stored_with_their_accuracy():
    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(Layer(), "fp32")

    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        seen.clear()
        other(x()).sum().backward()
        assert accuracies("forward") == accuracies("backward") == [FP32]
        sgemm.torch.module(other, None)
        other(x())
        assert accuracies("forward") == [FP32, COMPONENTWISE]


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_recompute_with_the_accuracy_of_the_module(reentrant):
    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(Layer(), "fp32")
    torch.utils.checkpoint.checkpoint(layer, x(), use_reentrant=reentrant).sum().backward()
    assert accuracies("forward") == [FP32] * 2
    assert accuracies("backward") == [FP32]


def test_func_transforms():
    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(torch.nn.Linear(3, 3), "fp32")
    layer.register_forward_hook(lambda *_: note("forward"))
    parameters = dict(layer.named_parameters())
    operand = torch.randn(3, 3)

    def loss(parameters, operand):
        return torch.func.functional_call(layer, parameters, operand).sum()

    gradients = torch.func.grad(loss)(parameters, operand)
    expected = torch.autograd.grad(loss(parameters, operand), list(parameters.values()))
    for found, wanted in zip(gradients.values(), expected, strict=True):
        torch.testing.assert_close(found, wanted)
    torch.func.vmap(loss, (None, 0))(parameters, torch.randn(4, 3, 3))
    assert here() == COMPONENTWISE


def compiled(function, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend="aot_eager", **options)


def test_enable_breaks_no_graph():
    sgemm.torch.enable("normwise")
    layer = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 3))
    compiled(layer, fullgraph=True)(x()).sum().backward()
    with sgemm.torch.use("fp32"):
        compiled(layer, fullgraph=True)(x()).sum().backward()


def test_a_module_breaks_the_graph_and_keeps_its_accuracy():
    sgemm.torch.enable("componentwise")

    class Noted(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(3, 3)

        def forward(self, x):
            note("forward")
            return self.inner(x)

    model = torch.nn.Sequential(torch.nn.Linear(3, 3), sgemm.torch.module(Noted(), "fp32"))
    operand = x()
    result = compiled(model)(operand)
    torch.testing.assert_close(result, model(operand))
    assert set(accuracies("forward")) == {FP32}
    whole = sgemm.torch.module(compiled(Noted()), "rowwise")
    seen.clear()
    whole(operand)
    assert accuracies("forward") == [ROWWISE]
    assert here() == COMPONENTWISE


def test_importing_it_changes_nothing():
    code = "import torch, sgemm.torch; print(torch.autograd.graph._engine_run_backward.__module__)"
    environment = {"PYTHONPATH": ":".join(sys.path)}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert shown.stdout == "torch.autograd.graph\n"


# ---- What cannot become unbalanced ----


def fail(error):
    raise error


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit, ArithmeticError])
def test_no_error_leaves_an_accuracy_behind(error):
    sgemm.torch.enable("normwise")
    failing = torch.nn.Identity()
    failing.forward = lambda _: fail(error)
    with pytest.raises(error):
        sgemm.torch.module(torch.nn.Sequential(Layer(), sgemm.torch.module(failing, "rowwise")), "fp32")(x())
    assert here() == NORMWISE
    assert sgemm.torch._thread.entries == []
    inner = sgemm.torch.module(torch.nn.Identity(), "fp32")
    inner.register_forward_pre_hook(lambda *_: fail(ValueError), prepend=True)

    class Outer(torch.nn.Module):
        def forward(self, x):
            with contextlib.suppress(ValueError):
                inner(x)
            return here()

    assert sgemm.torch.module(Outer(), "componentwise")(x()) == COMPONENTWISE
    assert here() == NORMWISE


def test_uses_that_end_in_another_order():
    sgemm.torch.enable("componentwise")

    def steps():
        with sgemm.torch.use("fp32"):
            yield

    generator = steps()
    next(generator)
    with sgemm.torch.use("rowwise"):
        generator.close()
        assert here() == ROWWISE
    assert here() == COMPONENTWISE
    first, second = sgemm.torch.use("fp32"), sgemm.torch.use("normwise")
    first.__enter__()
    second.__enter__()
    first.__exit__()
    assert here() == NORMWISE
    with ThreadPoolExecutor() as pool, pytest.raises(RuntimeError, match="entered in another thread"):
        pool.submit(second.__exit__).result()
    second.__exit__()
    assert here() == COMPONENTWISE


def test_a_module_that_works_later_is_refused():
    class Generates(torch.nn.Module):
        def forward(self, x):
            yield x

    class Waits(torch.nn.Module):
        async def forward(self, x):
            return x

    for of in (Generates(), Waits()):
        with pytest.raises(TypeError, match="returns a generator or a coroutine"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a coroutine that nobody waits for
            sgemm.torch.module(of, "fp32")(x())


def test_coroutines_have_accuracies_of_their_own():
    sgemm.torch.enable("componentwise")
    found = {}

    def product():
        return here()

    async def work(name):
        with sgemm.torch.use(name):
            for _ in range(3):
                await asyncio.sleep(0)
                found.setdefault(name, set()).add(product())
            with sgemm.torch.use("cublas"):
                await asyncio.sleep(0)
                assert here() == CUBLAS
                sgemm.torch.module(torch.nn.Identity(), "fp32")(x())
                layer = sgemm.torch.module(Layer(), "normwise")
                seen.clear()
                layer(x()).sum().backward()
                assert accuracies("forward") == accuracies("backward") == [NORMWISE]
            seen.clear()
            Product.apply(x(), x()).sum().backward()
            assert accuracies("backward") == [drop_in.ACCURACIES[name]]

    async def plain():
        for _ in range(6):
            found.setdefault("", set()).add(here())
            await asyncio.sleep(0)

    async def generates():
        with sgemm.torch.use("normwise"):
            yield here()

    @contextlib.contextmanager
    def managed():
        with sgemm.torch.use("rowwise"):
            yield

    async def through_a_manager():
        with managed():
            await asyncio.sleep(0)
            found["managed"] = {here()}

    async def main():
        await asyncio.gather(work("fp32"), plain(), work("rowwise"), plain(), through_a_manager())
        iterator = generates()
        assert await anext(iterator) == NORMWISE
        del iterator  # it ends in a task of the loop's
        for _ in range(3):
            await asyncio.sleep(0)
        assert here() == COMPONENTWISE

    asyncio.run(main())
    assert found == {"fp32": {FP32}, "rowwise": {ROWWISE}, "": {COMPONENTWISE}, "managed": {ROWWISE}}
    assert here() == COMPONENTWISE
    assert sgemm.torch._blocks == {}
    with sgemm.torch.use("fp32"):
        asyncio.run(plain())
    assert found[""] == {COMPONENTWISE, FP32}


def test_a_coroutine_that_is_collected_in_the_midst_of_another_ends_its_own(library, monkeypatch):
    @types.coroutine
    def pause():
        yield

    async def waits():
        with sgemm.torch.use("fp32"):
            await pause()

    def run():
        left = [waits(), waits()]
        for coroutine in left:
            contextvars.copy_context().run(coroutine.send, None)

        def collects(task, accuracy):
            if left:
                left.pop().close()  # as the collector does, wherever it runs
            set_task(task, accuracy)

        monkeypatch.setattr(library, "sgemm_drop_in_set_task_accuracy", collects)
        left.pop().close()

    set_task = library.sgemm_drop_in_set_task_accuracy
    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(10)
    assert not thread.is_alive()
    assert sgemm.torch._blocks == {}


def test_an_interrupt_is_raised_behind_the_product_that_it_comes_in(library):
    """ctypes would drop it while the drop-in asks for the context."""

    async def interrupted():
        with sgemm.torch.use("fp32"):
            library.fake_interrupt()

    sgemm.torch.enable("normwise")
    with pytest.raises(KeyboardInterrupt):
        asyncio.new_event_loop().run_until_complete(interrupted())
    assert ctypes.c_int.in_dll(library, "fake_accuracy_of_interrupted").value == FP32
    assert here() == NORMWISE


# ---- Gradients of modules ----


class Noted(Product):
    """A product with gradients of any order, which are such products as well."""

    @staticmethod
    def backward(ctx, gradient):
        x, w = ctx.saved_tensors
        return Noted.apply(gradient, w.T), Noted.apply(x.T, gradient)


def test_gradients_of_gradients_have_the_accuracy_of_the_module():
    class Twice(torch.nn.Module):
        def forward(self, a, b):
            return Noted.apply(a, b).tanh()

    class Inside(torch.nn.Module):
        """Its output is a gradient."""

        def forward(self, a, b):
            [gradient] = torch.autograd.grad(Noted.apply(a, b).tanh().sum(), a, create_graph=True)
            return gradient

    sgemm.torch.enable("componentwise")
    a, b = x(), x()
    result = sgemm.torch.module(Twice(), "fp32")(a, b)
    for _ in range(3):
        [result] = torch.autograd.grad(result.pow(2).sum(), a, create_graph=True)
    result.sum().backward()
    assert len(seen) > 12
    assert set(accuracies("forward")) == {FP32}
    seen.clear()
    sgemm.torch.module(Inside(), "rowwise")(a, b).pow(2).sum().backward()
    assert len(seen) > 4
    assert set(accuracies("forward")) == {ROWWISE}
    assert sgemm.torch._thread.entries == []


@dataclasses.dataclass
class Output:
    logits: torch.Tensor


class Slots:
    __slots__ = ("__private", "unset")

    def __init__(self, inner):
        self.__private = inner


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda y: Output(y),
        lambda y: {"a": [Output(y)]},
        lambda y: Slots((types.SimpleNamespace(deep=Output(y)),)),
        lambda y: {y},
        lambda y: functools.partial(torch.add, y),
        lambda y: types.MappingProxyType({1: y}),
        lambda y: torch.distributions.Normal(y, 1.0, validate_args=False),
    ],
)
def test_gradients_of_what_is_in_an_object_have_the_accuracy_of_the_module(wrapped):
    class Returns(Layer):
        def forward(self, x):
            self.result = super().forward(x)
            return wrapped(self.result)

    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(Returns(), "fp32")
    layer(x())
    layer.result.sum().backward()
    assert accuracies("backward") == [FP32]


# ---- Packed layers, and sgemm.matmul() on tensors: the host is the GPU ----


@pytest.fixture
def gpu(fake, cuda, monkeypatch):
    """Tensors of the host are taken for those of a GPU."""
    stream = types.SimpleNamespace(cuda_stream=7, synchronize=lambda: None)
    monkeypatch.setattr(sgemm.arrays, "CUDA", 1)
    monkeypatch.setattr(packed, "DEVICE", "cpu")
    monkeypatch.setattr(packed, "FEWEST_NUMBERS", 12)
    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda *_: stream)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda _: stream.cuda_stream, raising=False)
    return fake


def linear(inputs=4, outputs=3, **options):
    return torch.nn.Linear(inputs, outputs, **options)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("shape", [(4,), (5, 4), (2, 5, 4), (0, 4), (3, 0, 4)])
def test_a_packed_layer_computes_and_derives_as_its_layer(gpu, bias, shape):
    layer = linear(bias=bias)
    of = sgemm.torch.PackedLinear(layer, "rowwise")
    operands = torch.randn(shape, requires_grad=True), torch.randn(shape, requires_grad=True)
    operands[1].data.copy_(operands[0].data)
    expected, found = layer(operands[0]), of(operands[1])
    torch.testing.assert_close(found, expected)
    for result in (expected, found):
        result.pow(2).sum().backward()
    torch.testing.assert_close(operands[1].grad, operands[0].grad)
    if found.numel():
        assert (gpu.accuracy, gpu.stream) == (ROWWISE, 7)
    assert list(of.parameters()) == []


def test_gradients_of_a_packed_layer_are_fp32_wherever_they_are_asked_for(gpu):
    of, operand, gradient = sgemm.torch.PackedLinear(linear()), torch.randn(5, 4, requires_grad=True), torch.randn(5, 3)
    found = of(operand)
    with torch.autocast("cpu", torch.bfloat16):
        found.backward(gradient)
        rounded = operand.detach().bfloat16()
        assert torch.equal(of(rounded), of(rounded.float())), "as another layer may have made it there"
    torch.testing.assert_close(operand.grad, gradient @ of.weight)


def test_a_packed_layer_is_none_of_its_layers_changes(gpu):
    layer = linear()
    of, operand = sgemm.torch.PackedLinear(layer), torch.randn(5, 4)
    expected = layer(operand)
    with torch.no_grad():
        layer.weight.mul_(2)
        layer.weight.data.mul_(2)
        layer.bias.zero_()
        of.weight.mul_(2)  # a copy, as each of these
        of.state_dict()["weight"].data.mul_(2)
        copy.deepcopy(of)._matrix.mul_(2)
    assert torch.equal(of.weight * 4, layer.weight)
    torch.testing.assert_close(of(operand), expected)
    for change in (("weight", torch.ones(3, 4)), ("weight", layer.weight), ("accuracy", "rowwise")):
        with pytest.raises(AttributeError, match=f"the {change[0]} of a PackedLinear can not be replaced"):
            setattr(of, *change)
    assert [name for name, _ in of.named_buffers()] == ["bias"], "no version tells what comes through .data or a graph"
    of._matrix.mul_(2)  # as a load does that is interrupted
    torch.testing.assert_close(of(operand) - of.bias, 2 * (expected - of.bias))


def test_another_thread_may_take_the_terms_meanwhile(gpu, monkeypatch):
    layer, operand, empty = linear(), torch.randn(5, 4), torch.empty
    of = sgemm.torch.PackedLinear(layer)

    def taking(*sizes, **options):
        of._terms = None  # to split a weight that was loaded
        return empty(*sizes, **options)

    monkeypatch.setattr(torch, "empty", taking)
    torch.testing.assert_close(of(operand), layer(operand))


def test_a_packed_layer_is_stored_copied_and_moved(gpu, monkeypatch):
    layer, other, operand = linear(), linear(), torch.randn(5, 4)
    of = sgemm.torch.PackedLinear(layer)
    assert of.state_dict().keys() == layer.state_dict().keys()
    memory = of._terms.memory
    of.load_state_dict(other.state_dict())
    assert of._terms.memory is memory, "a captured graph reads it"
    layer.load_state_dict(of.state_dict())
    with torch.inference_mode():
        inferred = copy.deepcopy(of), pickle.loads(pickle.dumps(of))
    for copied in (of, copy.deepcopy(of), pickle.loads(pickle.dumps(of)), *inferred, layer):
        copied.load_state_dict(other.state_dict())
        torch.testing.assert_close(copied(operand), other(operand))
    with torch.inference_mode():
        made = sgemm.torch.PackedLinear(linear()).load_state_dict(other.state_dict())
        assert not made.missing_keys
    with pytest.raises(RuntimeError, match="size mismatch"):
        of.load_state_dict(linear(4, 5).state_dict())
    expected = other(operand)
    with pytest.raises(TypeError, match=r"float16: a PackedLinear is of float32"):
        of.half()
    torch.testing.assert_close(of(operand), expected)
    gpu.context += 1  # the device was reset, or the thread took another context
    torch.testing.assert_close(of(operand), expected)
    of.load_state_dict(other.state_dict(), assign=True)
    other.weight.data.zero_()  # the state was copied all the same
    torch.testing.assert_close(of(operand), expected)
    with monkeypatch.context() as broken, pytest.raises(KeyboardInterrupt):
        broken.setattr(packed, "_Terms", lambda *_: fail(KeyboardInterrupt))
        of.load_state_dict(other.state_dict())
    torch.testing.assert_close(of(operand), other(operand))
    meta = of.to("meta")
    assert meta._terms is None


def test_deterministic_programs_have_a_repeatable_layer(gpu, monkeypatch):
    of = sgemm.torch.PackedLinear(linear())
    for deterministic in (True, False):
        monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda is_so=deterministic: is_so)
        of(torch.randn(5, 4))
        assert gpu.repeatable == deterministic


def test_what_would_need_other_terms_is_refused(gpu):
    layer, operand = linear(), torch.randn(5, 4)
    of = sgemm.torch.PackedLinear(layer)
    with pytest.raises(AttributeError, match="make another layer"):
        torch.func.functional_call(of, {"weight": torch.ones(3, 4)}, (operand,))
    unbiased = torch.func.functional_call(of, {"bias": torch.zeros(3)}, (operand,))
    torch.testing.assert_close(unbiased + layer.bias, layer(operand))
    with pytest.raises(ValueError, match="the bias requires a gradient"):
        torch.func.functional_call(of, {"bias": torch.zeros(3, requires_grad=True)}, (operand,))
    for transform in (torch.func.vmap, torch.func.jacrev):
        with pytest.raises(RuntimeError, match="functorch"):
            transform(of)(torch.randn(2, 5, 4))
    with pytest.raises(RuntimeError, match="DataParallel"):
        of._replicate_for_data_parallel()
    torch.testing.assert_close(of(operand), layer(operand))


def test_terms_go_with_the_layer(gpu):
    of = sgemm.torch.PackedLinear(linear())
    copied = copy.deepcopy(of)
    of.load_state_dict(linear().state_dict())
    assert gpu.packed == 2
    del of, copied
    gc.collect()
    assert gpu.packed == 0


def test_a_layer_is_not_packed_while_a_graph_is_captured(gpu, monkeypatch):
    of = sgemm.torch.PackedLinear(linear())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    of(torch.randn(5, 4))
    with pytest.raises(RuntimeError, match="while a CUDA graph is captured"):
        sgemm.torch.PackedLinear(linear())
    of._matrix.mul_(2)
    with pytest.raises(RuntimeError, match="while a CUDA graph is captured"):
        of(torch.randn(5, 4))


def test_what_is_no_plain_layer_is_not_packed(gpu):
    class Derived(torch.nn.Linear):
        def forward(self, x):
            return super().forward(x) + 1

    hooked = {kind: linear() for kind in ("forward", "full_backward", "state_dict_pre")}
    for kind, layer in hooked.items():
        getattr(layer, f"register_{kind}_hook")(lambda *_: None)
    patched = linear()
    patched.forward = lambda x: x
    for wrong, text in (
        (Derived(3, 4), "a Derived does more"),
        (torch.nn.Conv1d(3, 4, 1), "a Conv1d does more"),
        *((layer, "the layer has hooks") for layer in hooked.values()),
        (patched, "does more"),
        (linear().half(), "float16"),
    ):
        with pytest.raises(TypeError, match=text):
            sgemm.torch.PackedLinear(wrong)
    for accuracy in ("fp32", "reproducible", "tf32"):
        with pytest.raises(ValueError, match="give one of componentwise, normwise, rowwise"):
            sgemm.torch.PackedLinear(linear(), accuracy)
    of = sgemm.torch.PackedLinear(linear())
    for wrong in (torch.ones(2, 8), torch.ones(()), torch.ones(4, 5)):
        with pytest.raises(ValueError, match="its last size has to be 4"):
            of(wrong)
    with pytest.raises(TypeError, match="float16"):
        of(torch.ones(5, 4).half())
    for bias, text in ((torch.ones(2), "the bias has the shape"), (of.bias.to("meta"), "the layer's bias on meta")):
        of.bias = bias
        with pytest.raises(ValueError, match=text):
            of(torch.ones(5, 4))


def test_layers_inside_are_replaced(gpu):
    shared = linear(4, 4)
    encoder = torch.nn.TransformerEncoderLayer(4, 2, 8, batch_first=True).eval()
    model = torch.nn.Sequential(shared, torch.nn.ReLU(), shared, linear(4, 2), encoder.linear1, encoder).eval()
    operand = torch.randn(5, 4)
    expected = model[:4](operand)
    assert sgemm.torch.replace_linears(model, "normwise") is model
    kinds = [type(part).__name__ for part in model]
    assert kinds == ["PackedLinear", "ReLU", "PackedLinear", "Linear", "PackedLinear", "TransformerEncoderLayer"]
    assert model[0] is model[2] and not model[0].training
    assert type(encoder.linear1) is torch.nn.Linear
    torch.testing.assert_close(model[:4](operand), expected)
    assert isinstance(sgemm.torch.replace_linears(linear()), sgemm.torch.PackedLinear)
    torch.testing.assert_close(compiled(model[:4])(operand), expected)
    refused = torch.nn.Sequential(linear(), linear(3, 4))
    refused[1].register_forward_hook(lambda *_: None)
    with pytest.raises(TypeError, match="the layer has hooks"):
        sgemm.torch.replace_linears(refused)
    assert type(refused[0]) is torch.nn.Linear, "a module is replaced whole or not at all"


def test_matmul_raises_the_version_of_its_result(gpu):
    a, b, w = (torch.randn(4, 4) for _ in range(3))
    result = x().new_ones(4, 4, requires_grad=True) * w
    view = w[:]
    assert sgemm.matmul(a, b, out=view) is view
    torch.testing.assert_close(w, a @ b)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        result.sum().backward()
    version = w._version
    with pytest.raises(ValueError, match="out overlaps a"):
        sgemm.matmul(w, b, out=w)
    assert w._version == version


def test_matmul_refuses_gradients(gpu):
    plain, leaf = torch.ones(3, 3), x()
    for operands, named in (((leaf, plain), {}), ((plain, leaf), {}), ((plain, plain), {"out": leaf})):
        with pytest.raises(ValueError, match="requires a gradient"):
            sgemm.matmul(*operands, **named)
        with torch.no_grad():
            sgemm.matmul(*operands, **named)
    with pytest.raises(TypeError, match="a forward-mode derivative"), torch.autograd.forward_ad.dual_level():
        sgemm.matmul(torch.autograd.forward_ad.make_dual(plain, plain), plain)
    with pytest.raises(TypeError, match=r"torch\.func"):
        torch.func.vmap(lambda a: sgemm.matmul(a, plain))(torch.ones(2, 3, 3))
    with pytest.raises(TypeError, match=r"torch\.func"):
        torch.func.functionalize(lambda a: sgemm.matmul(a[1:], plain))(plain)
    with torch.inference_mode():
        made = sgemm.matmul(plain, plain)
        sgemm.matmul(plain, plain, out=made)
    with pytest.raises(ValueError, match="made in inference mode"):
        sgemm.matmul(plain, plain, out=made)


def test_matmul_reads_lazily_negated_numbers(gpu):
    a, b = torch.randn(3, 3), torch.randn(3, 3)
    torch.testing.assert_close(sgemm.matmul(torch._neg_view(a), b), -(a @ b))
    torch.testing.assert_close(sgemm.matmul(b, torch._neg_view(a)), -(b @ a))
    column = torch.randn(3, 1, dtype=torch.complex64).conj().imag
    assert column.is_neg()
    torch.testing.assert_close(sgemm.matmul(a, column), a @ column)
    with pytest.raises(ValueError, match="out is a view whose numbers PyTorch negates"):
        sgemm.matmul(a, b, out=torch._neg_view(a))
    of = sgemm.torch.PackedLinear(linear(3, 3))
    torch.testing.assert_close(of(torch._neg_view(a)), of(-a))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_what_is_traced_is_refused(gpu):
    """No trace would have the product, and its result would be memory that nobody writes."""
    of, plain = sgemm.torch.PackedLinear(linear(3, 3)), torch.ones(3, 3)
    for product in (of, lambda a: sgemm.matmul(a, plain)):
        with pytest.raises(TypeError, match="is traced"):
            torch.jit.trace(product, (plain,))
        with pytest.raises(TypeError, match="is traced"):
            torch.fx.experimental.proxy_tensor.make_fx(product)(plain)
        product(plain)
    del of, product
    gc.collect()


def test_matmul_refuses_what_has_no_ordinary_memory(gpu):
    plain = torch.ones(3, 3)
    quantized = torch.quantize_per_tensor(plain, 0.1, 0, torch.quint8)
    for wrong in (plain.to_sparse(), plain.double(), quantized, plain.to_sparse_csr()):
        with pytest.raises(TypeError, match="not float32 in a strided one"):
            sgemm.matmul(wrong, plain)
    with torch._subclasses.fake_tensor.FakeTensorMode() as mode:
        standing = mode.from_tensor(plain)
    with pytest.raises(TypeError, match=r"a is a torch\.nn\..*Linear, which has neither"):
        sgemm.matmul(linear(), plain)
    for wrong in (standing, standing[1:], plain.to("meta")):  # whose address is its offset
        with pytest.raises(TypeError, match="without memory of its own"):
            sgemm.matmul(wrong, plain)

    class Derived(torch.Tensor):
        pass

    sgemm.matmul(plain.as_subclass(Derived), plain)
    assert gpu.stream == 7, "its stream is PyTorch's"
