"""sgemm.torch without a GPU: what it redirects, and which accuracy holds where. Skipped without PyTorch.

In place of products there are operations that note the accuracy that a product of their thread would have.
"""

import contextlib
import copy
import ctypes
import io
import os
import pickle
import subprocess
import sys
import threading

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


def accuracies(what: str) -> list[int]:
    return [accuracy for kind, accuracy in seen if kind == what]


def here() -> int:
    return drop_in.load().sgemm_drop_in_accuracy()


def x():
    return torch.randn(3, 3, requires_grad=True)


def test_the_products_of_pytorch_are_redirected_and_back(library):
    assert library.sgemm_drop_in_attach(b"libtorch_cuda.so") == 5
    library.sgemm_drop_in_detach(b"libtorch_cuda.so")
    sgemm.torch.enable("normwise")
    assert here() == NORMWISE
    sgemm.torch.enable("rowwise")
    assert here() == ROWWISE
    sgemm.torch.disable()
    sgemm.torch.disable()
    assert here() == CUBLAS


def test_wrong_accuracies_are_named():
    for function in (sgemm.torch.enable, sgemm.torch.use, lambda name: sgemm.torch.module(Layer(), name)):
        with pytest.raises(ValueError, match="accuracy is 'tf32': give one of fp32"):
            function("tf32")


def test_what_has_no_cublas_is_named(monkeypatch):
    monkeypatch.setattr(sgemm.torch, "OBJECT", b"libtorch_none.so")
    with pytest.raises(RuntimeError, match=r"libtorch_none\.so of this PyTorch calls no function of a shared cuBLAS"):
        sgemm.torch.enable()
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


def test_deterministic_programs_get_the_same_bits_in_every_run(monkeypatch):
    monkeypatch.setenv("SGEMM_REPEATABLE", "")
    sgemm.torch.enable()
    assert os.environ["SGEMM_REPEATABLE"] == ""
    monkeypatch.setattr(torch, "are_deterministic_algorithms_enabled", lambda: True)
    sgemm.torch.enable()
    assert os.environ["SGEMM_REPEATABLE"] == "1"


def test_report(library):
    sgemm.torch.enable()
    library.fake_note(b"3\t0\t0\t100\t270\tcublasSgemm\tNT\t9\t8\t7\t1\t11_bf16x6\tpredicted\n")
    text = io.StringIO()
    sgemm.torch.report(text, clear=True)
    assert "3 of 3 calls by libsgemm, which saved some 1 ms" in text.getvalue()
    sgemm.torch.report(text)
    assert text.getvalue().endswith("No products yet.\n")


def test_use_is_a_context_and_a_decorator():
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


def test_generators_and_coroutines_are_refused():
    def generator():
        yield

    async def coroutine():
        pass

    for function in (generator, coroutine):
        with pytest.raises(TypeError, match="enter it inside"):
            sgemm.torch.use("fp32")(function)


def test_use_is_of_one_thread():
    sgemm.torch.enable("componentwise")
    found = []
    with sgemm.torch.use("rowwise"):
        thread = threading.Thread(target=lambda: found.append(here()))
        thread.start()
        thread.join()
    assert found == [COMPONENTWISE]


def test_without_enable_the_rest_is_cublas():
    with sgemm.torch.use("normwise"):
        assert here() == NORMWISE
    assert here() == CUBLAS
    sgemm.torch.enable("rowwise")
    assert here() == ROWWISE


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


def test_a_backward_pass_that_fails_leaves_nothing():
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, gradient):
            raise ArithmeticError

    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(torch.nn.Sequential(Layer()), "fp32")
    layer[0].register_forward_hook(lambda *arguments: Fails.apply(arguments[2]))
    with sgemm.torch.use("normwise"), pytest.raises(ArithmeticError):
        layer(x()).sum().backward()
    assert here() == COMPONENTWISE
    result = Product.apply(x(), x()).sum()
    with sgemm.torch.use("rowwise"):
        result.backward()
        assert here() == ROWWISE
    result = Product.apply(x(), x()).sum()
    result.backward()
    assert accuracies("backward")[-2:] == [ROWWISE, COMPONENTWISE]


def test_a_retained_graph_has_the_accuracy_of_each_pass():
    sgemm.torch.enable("componentwise")
    result = Product.apply(x(), x()).sum()
    with sgemm.torch.use("normwise"):
        result.backward(retain_graph=True)
    result.backward()
    assert accuracies("backward") == [NORMWISE, COMPONENTWISE]


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


def test_a_module_that_fails_is_left():
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise ArithmeticError

    sgemm.torch.enable("componentwise")
    with pytest.raises(ArithmeticError):
        sgemm.torch.module(torch.nn.Sequential(Layer(), Fails()), "fp32")(x())
    assert here() == COMPONENTWISE
    assert sgemm.torch._of_thread.forward == []


def test_hooks_of_a_module_are_inside_of_it():
    sgemm.torch.enable("componentwise")
    layer = Layer()
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


def test_a_module_marks_only_its_own_nodes():
    sgemm.torch.enable("componentwise")
    layer = sgemm.torch.module(Layer(), "fp32")
    accumulation = layer.weight.view(9).grad_fn.next_functions[0][0]
    before = Product.apply(x(), x())
    for _ in range(3):  # parameters live on: nothing may gather at them
        seen.clear()
        layer(before).sum().backward(retain_graph=True)
        assert accuracies("backward") == [FP32, COMPONENTWISE]
    assert accumulation.name() == "torch::autograd::AccumulateGrad"
    assert not accumulation.metadata
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


class Stacked(torch.nn.Module):
    """A module whose parts are those that have packed weights."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 3)
        self.attention = torch.nn.MultiheadAttention(4, 2)

    def forward(self, fails):
        if fails:
            raise ZeroDivisionError
        return self.linear.weight.sum()


def test_weights_on_the_host_are_not_packed(library):
    count = ctypes.c_int.in_dll(library, "fake_packed")
    of = sgemm.torch.pack(sgemm.torch.pack(Stacked()))
    assert (len(of._forward_pre_hooks), len(of._forward_hooks)) == (1, 1)
    weights = packed._weights_of(of)
    assert {id(weight) for weight in weights} == {
        id(of.linear.weight), id(of.attention.in_proj_weight), id(of.attention.out_proj.weight),
    }  # fmt: skip
    assert not any(packed._is_eligible(weight) for weight in weights)
    for fails in (False, True):
        count.value = -1
        with contextlib.suppress(ZeroDivisionError):
            of(fails)
        assert count.value == 0
        assert packed._of_thread.calls == []
    for other in (copy.deepcopy(of), pickle.loads(pickle.dumps(of))):
        assert len(other._forward_pre_hooks) == 1
        assert packed._weights_of(other)[0] is not of.linear.weight
    of.linear.weight = None  # a part may lose its weight, or its place
    del of.attention
    assert packed._weights_of(of) == []
    sgemm.torch.pack(of, False)
    assert not of._forward_pre_hooks
    assert not of._forward_hooks
    assert not of._forward_hooks_always_called


@pytest.fixture
def packing(monkeypatch):
    """Has weights of any size packed on the host: the list of those that were."""
    weights = []

    def pack(self, weight, accuracy, limit):
        weights.append(weight.detach().clone())
        self.memory = torch.empty(1)
        self.matrices[7] = drop_in.Packed(None, weight.data_ptr(), 3, *weight.shape, 1, accuracy, 7)

    monkeypatch.setattr(packed._Packed, "_pack", pack)
    monkeypatch.setattr(packed, "DEVICE", "cpu")
    monkeypatch.setattr(packed, "FEWEST_NUMBERS", 0)
    monkeypatch.setattr(torch.cuda, "device", lambda _: contextlib.nullcontext())
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    stream = type("Stream", (), {"cuda_stream": 7})
    monkeypatch.setattr(torch.cuda, "current_stream", lambda *_: stream)
    return weights


class Applied(torch.nn.Module):
    """A layer that tells how many packed weights there are while it is called."""

    def __init__(self, library):
        super().__init__()
        self.linear = torch.nn.Linear(3, 5).requires_grad_(False)
        self.count = ctypes.c_int.in_dll(library, "fake_packed")

    def forward(self):
        return self.count.value


def test_packed_weights_follow_their_parameters(library, packing):
    sgemm.torch.enable("normwise")
    of = sgemm.torch.pack(Applied(library))

    def expect_packed_anew(times: int):
        before = len(packing)
        assert of() == 1
        assert of() == 1
        assert of.count.value == 0
        assert len(packing) == before + times
        assert torch.equal(packing[-1], of.linear.weight)

    expect_packed_anew(1)
    of.linear.weight.add_(1)
    expect_packed_anew(1)
    with torch.inference_mode():
        of.linear.weight.add_(1)
        expect_packed_anew(1)
    of.linear.weight.data = of.linear.weight.data + 1
    expect_packed_anew(1)
    of.linear.weight = torch.nn.Parameter(of.linear.weight + 1, requires_grad=False)
    expect_packed_anew(1)
    of.linear.weight.data = of.linear.weight.data.T.contiguous().T  # its lines are not contiguous
    assert of() == 0
    of.linear.weight.data = of.linear.weight.data.contiguous()
    expect_packed_anew(1)
    with sgemm.torch.use("componentwise"):
        expect_packed_anew(1)
    with sgemm.torch.use("fp32"):
        assert of() == 0
    assert [len(packed._table), len(packing)] == [1, 7]
    del of.linear.weight
    assert len(packed._table) == 0, "a packed weight goes with its parameter"


def test_a_write_through_data_is_seen_by_nobody(library, packing):
    sgemm.torch.enable("normwise")
    of = sgemm.torch.pack(Applied(library))
    of()
    of.linear.weight.data.add_(1)
    of()
    assert len(packing) == 1
    sgemm.torch.pack(of)
    of()
    assert len(packing) == 2


def test_weights_are_packed_where_they_need_no_gradient(library, packing):
    sgemm.torch.enable("normwise")
    of = sgemm.torch.pack(Applied(library))
    assert of() == 1
    of.linear.weight.requires_grad_(True)
    assert of() == 0
    assert len(packed._table) == 0
    with torch.no_grad():
        assert of() == 1
    assert torch.func.functional_call(of, {"linear.weight": torch.ones(5, 3)}, ()) == 0
    with torch.inference_mode():
        of.linear.weight = torch.nn.Parameter(torch.ones(5, 3), requires_grad=False)
        assert of() == 0, "it has no version"


@pytest.mark.parametrize(
    ("text", "limit"),
    [("", None), ("0", 0), ("512", 512), ("2K", 2048), ("1GiB", 1 << 30), ("3TB", 3 << 40), ("1X", None), ("2B", None)],
)
def test_the_limit_of_the_environment_is_that_of_the_library(monkeypatch, text, limit):
    monkeypatch.setenv("SGEMM_MEMORY", text)
    assert packed.limit_of_environment() == limit
