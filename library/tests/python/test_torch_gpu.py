"""sgemm.torch, its PackedLinear and sgemm.matmul() on a GPU. Skipped without PyTorch, a GPU, and a built drop-in."""

import copy
import gc
import warnings
from concurrent.futures import ThreadPoolExecutor

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)

import sgemm  # noqa: E402
from sgemm import drop_in  # noqa: E402

try:
    drop_in.load()
except sgemm.LibraryNotFound as missing:
    pytest.skip(str(missing), allow_module_level=True)

import sgemm.torch  # noqa: E402

N = 1536  # products of this size are faster in the library by every prediction
functional = torch.nn.functional
EPS = 2.0**-24


@pytest.fixture(autouse=True)
def switch():
    """The switch is on during a test, with an empty log."""
    torch.manual_seed(3)
    sgemm.torch.enable()
    drop_in.load().sgemm_drop_in_clear_table()
    yield
    sgemm.torch.disable()


def normal(*shape, **options):
    """Normally distributed numbers on the GPU."""
    return torch.randn(*shape, device="cuda", **options)


def computed_by() -> dict[str, int]:
    """How many calls libsgemm and cuBLAS computed since this was asked last."""
    counts = {"libsgemm": 0, "cublas": 0}
    for line in drop_in.calls():
        counts["cublas" if line.by == "cublas" else "libsgemm"] += line.calls
    drop_in.load().sgemm_drop_in_clear_table()
    return counts


def expect_accurate(result, function, operands, terms: int):
    """Holds a result against FP64, with the bound of componentwise and normwise on operands of one scale."""
    exact = function(*(x.detach().double() for x in operands))
    size = function(*(x.detach().double().abs() for x in operands)).abs()
    error = (result.detach().double() - exact).abs()
    assert result.shape == exact.shape
    assert (error <= (148 + 2 * terms**0.5 + 32) * EPS * size + 1e-30).all(), (error / (EPS * size)).max().item()


OPERATORS = {
    "mm": (torch.mm, [(N, N), (N, N)]),
    "mm NT": (lambda a, b: torch.mm(a, b.T), [(N, N), (N, N)]),
    "mm TN": (lambda a, b: torch.mm(a.T, b), [(N, N), (N, N)]),
    "mm TT": (lambda a, b: torch.mm(a.T, b.T), [(N, N), (N, N)]),
    "mm of parts": (lambda a, b: torch.mm(a[1:, 3:], b[3:, 5:]), [(N, N), (N, N)]),
    "mm odd": (torch.mm, [(N + 1, N + 3), (N + 3, N + 7)]),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), [(N, N), (N, N), (N, N)]),
    "addmm of a vector": (torch.addmm, [(N,), (N, N), (N, N)]),
    "bmm": (torch.bmm, [(4, N, N), (4, N, N)]),
    "baddbmm": (lambda c, a, b: torch.baddbmm(c, a, b, beta=2), [(4, N, N), (4, N, N), (4, N, N)]),
    "linear": (functional.linear, [(2, N, N), (N, N), (N,)]),
    "linear without bias": (functional.linear, [(2, N, N), (N, N)]),
    "matmul": (torch.matmul, [(3, N, N), (N, N)]),
    "matmul broadcast": (torch.matmul, [(3, 1, N, N), (2, N, N)]),
    "einsum": (lambda a, b: torch.einsum("bij,kj->bik", a, b), [(3, N, N), (N, N)]),
    "einsum of batches": (lambda a, b: torch.einsum("ibj,bjk->bik", a, b), [(N, 3, N), (3, N, N)]),
}


@pytest.mark.parametrize("name", OPERATORS)
def test_products_and_gradients_are_the_librarys(name):
    function, shapes = OPERATORS[name]
    operands = [normal(*shape, requires_grad=True) for shape in shapes]
    result = function(*operands)
    assert computed_by() == {"libsgemm": 1, "cublas": 0}
    expect_accurate(result, function, operands, N + 7)
    computed_by()  # products in FP64 are noted as well
    weight = torch.rand_like(result) + 0.5
    gradients = torch.autograd.grad(result, operands, weight)
    assert computed_by() == {"libsgemm": 2, "cublas": 0}
    for index, gradient in enumerate(gradients):

        def of_gradient(w, *others, index=index):
            given = [x.clone().requires_grad_() for x in others]
            return torch.autograd.grad(function(*given), given[index], w)[0]

        expect_accurate(gradient, of_gradient, [weight, *operands], 4 * N)


FLOATS, INTEGERS = "FP16 or BF16", "INT8"  # what tensor cores multiply: rowwise alone takes INT8


def kinds() -> list[str]:
    """What each call since this was asked last multiplied."""
    of = {"11": FLOATS, "12": FLOATS, "13": INTEGERS, "15": INTEGERS}
    found = sorted(of[line.by[:2]] for line in drop_in.calls() for _ in range(line.calls))
    drop_in.load().sgemm_drop_in_clear_table()
    return found


@pytest.mark.parametrize("accuracy", ["componentwise", "normwise", "rowwise", "cublas"])
def test_the_accuracy_counts(accuracy):
    sgemm.torch.enable(accuracy)
    torch.mm(wide(), wide())
    assert kinds() == ([] if accuracy == "cublas" else [INTEGERS if accuracy == "rowwise" else FLOATS])


def test_out():
    a, b, c = normal(N, N), normal(N, N), normal(N, N)
    out = torch.full((N, N), torch.nan, device="cuda")
    assert torch.mm(a, b, out=out) is out
    expect_accurate(out, torch.mm, [a, b], N)
    columns = torch.full((N, N), torch.nan, device="cuda").T
    torch.mm(a, b, out=columns)
    expect_accurate(columns, torch.mm, [a, b], N)
    scattered = torch.full((N, 2 * N), torch.nan, device="cuda")[:, ::2]
    torch.mm(a, b, out=scattered)
    expect_accurate(scattered, torch.mm, [a, b], N)
    expected = c.clone()
    c.addmm_(a, b, beta=2)
    expect_accurate(c, lambda c, a, b: torch.addmm(c, a, b, beta=2), [expected, a, b], N)
    assert computed_by()["libsgemm"] == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = torch.empty(0, device="cuda")
        torch.mm(a, b, out=empty)
    expect_accurate(empty, torch.mm, [a, b], N)


def test_autocast_and_tf32_stay_with_cublas(monkeypatch):
    with torch.autocast("cuda", torch.bfloat16):
        assert torch.mm(normal(N, N), normal(N, N)).dtype == torch.bfloat16
    assert computed_by()["libsgemm"] == 0
    monkeypatch.setattr(torch.backends.cuda.matmul, "allow_tf32", True)
    torch.mm(normal(2048, 2048), normal(2048, 2048))
    assert computed_by() == {"libsgemm": 0, "cublas": 1}


def mlp():
    return torch.nn.Sequential(torch.nn.Linear(N, 2 * N), torch.nn.GELU(), torch.nn.Linear(2 * N, N)).cuda()


@pytest.mark.parametrize("mode", ["default", "reduce-overhead"])
def test_compile_has_no_graph_breaks_and_uses_the_library(mode):
    model, x = mlp(), normal(512, N)
    compiled = torch.compile(model, mode=mode, fullgraph=True)
    for _ in range(4):  # the third call replays the graph
        model.zero_grad()
        torch.compiler.cudagraph_mark_step_begin()
        loss = compiled(x).square().mean()
        loss.backward()
    counts = computed_by()
    assert counts["cublas"] == 0
    assert counts["libsgemm"] >= 5  # two forward; two weights and one input backward
    on = [parameter.grad.clone() for parameter in model.parameters()]
    sgemm.torch.disable()
    model.zero_grad()
    model(x).square().mean().backward()
    for parameter, gradient in zip(model.parameters(), on, strict=True):
        torch.testing.assert_close(parameter.grad, gradient, rtol=1e-4, atol=1e-6)


def test_cuda_graphs():
    a, b, out = normal(N, N), normal(N, N), normal(N, N)
    torch.mm(a, b, out=out)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        torch.mm(a, b, out=out)
    for _ in range(3):
        a.normal_()
        graph.replay()
        expect_accurate(out, torch.mm, [a, b], N)
    assert computed_by() == {"libsgemm": 2, "cublas": 0}


# ---- Accuracies of threads, backward passes and modules ----


def wide():
    """From this size on, six products of INT8 are faster than three of FP16 on an H100."""
    return normal(4096, 4096, requires_grad=True)


def test_backward_passes_of_several_threads_do_not_mix():
    sgemm.torch.enable("componentwise")
    operands = {"rowwise": wide(), "componentwise": wide()}

    def train(accuracy):
        for _ in range(20):
            with sgemm.torch.use(accuracy):
                torch.mm(operands[accuracy], operands[accuracy]).sum().backward()

    with ThreadPoolExecutor() as pool:
        assert list(pool.map(train, operands)) == [None, None]
    assert kinds() == [FLOATS] * 60 + [INTEGERS] * 60


def test_gradients_of_gradients_have_the_accuracy_of_the_module():
    class Inside(torch.nn.Linear):
        """Its output is a gradient, whose nodes a thread of autograd's engine has made."""

        def forward(self, x):
            [gradient] = torch.autograd.grad(super().forward(x).tanh().sum(), x, create_graph=True)
            return {"gradient": gradient}

    a = wide()
    layer = sgemm.torch.module(torch.nn.Linear(4096, 4096, bias=False, device="cuda"), "rowwise")
    [gradient] = torch.autograd.grad(layer(a).tanh().sum(), a, create_graph=True)
    gradient.square().sum().backward()
    assert len(found := kinds()) >= 6
    assert set(found) == {INTEGERS}
    inside = sgemm.torch.module(Inside(4096, 4096, bias=False, device="cuda"), "rowwise")
    inside(a)["gradient"].square().sum().backward()
    assert len(found := kinds()) >= 6
    assert set(found) == {INTEGERS}


# ---- Packed layers and sgemm.matmul() ----

reads_terms = pytest.mark.skipif(
    torch.cuda.get_device_capability() != (9, 0), reason="no kernel of this GPU reads packed operands"
)
OUTPUTS = N + 64


def made(accuracy="normwise", **options):
    layer = torch.nn.Linear(N, OUTPUTS, device="cuda", **options)
    return layer, sgemm.torch.PackedLinear(layer, accuracy)


def expect_product(found, x, weight, bias=None, scale=1):
    exact = scale * functional.linear(x.double(), weight.double(), None if bias is None else bias.double())
    assert (found.double() - exact).norm() < 1e-6 * exact.norm()


@reads_terms
@pytest.mark.parametrize("accuracy", ["componentwise", "normwise", "rowwise"])
@pytest.mark.parametrize("rows", [1, 100, 4 * N])
def test_products_and_gradients_of_packed_layers(accuracy, rows):
    layer, of = made(accuracy)
    x = normal(rows, N, requires_grad=True)
    found = of(x)
    expect_product(found.detach(), x.detach(), layer.weight.detach(), layer.bias.detach())
    weights = normal(rows, OUTPUTS)
    [gradient] = torch.autograd.grad(found, x, weights)
    expect_product(gradient, weights, layer.weight.detach().T)
    assert 0.7 < of._terms.memory.nbytes / layer.weight.nbytes < 1.6


@reads_terms
def test_graphs_and_streams_of_packed_layers():
    layer, of = made()
    x = normal(100, N)
    expected = of(x)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = of(x)
    graph.replay()
    assert torch.equal(captured, expected)
    layer.weight.data.mul_(2)
    layer.bias.data.mul_(2)
    of.load_state_dict(layer.state_dict())
    graph.replay()
    expect_product(captured, x, layer.weight.detach(), layer.bias.detach())
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        made_there = copy.deepcopy(of)
    found = made_there(x)  # on a stream that did not wait
    assert torch.equal(found, of(x))
    with ThreadPoolExecutor() as pool:
        results = list(pool.map(of, [x] * 4))
    torch.cuda.synchronize()
    assert all(torch.equal(result, found) for result in results)


@reads_terms
def test_the_memory_goes_with_the_layer():
    gc.collect()
    before = torch.cuda.memory_allocated()
    layer, of = made(bias=False)
    of.to("cpu")
    x = torch.randn(5, N)
    assert torch.equal(of(x), functional.linear(x, layer.weight.detach().cpu()))
    assert of._terms is None
    of.cuda()
    assert torch.cuda.memory_allocated() - before >= 3 * layer.weight.nbytes
    del layer, of
    gc.collect()
    assert torch.cuda.memory_allocated() - before < 1 << 20


@reads_terms
def test_a_model():
    sgemm.torch.enable("normwise")
    model = torch.nn.Sequential(torch.nn.Linear(1024, 4096), torch.nn.GELU(), torch.nn.Linear(4096, 1024)).cuda()
    x = normal(64, 196, 1024)
    with torch.inference_mode():
        plain = model(x)
        drop_in.load().sgemm_drop_in_clear_table()
        packed = sgemm.torch.replace_linears(model, "normwise")(x)
    assert (packed - plain).norm() < 1e-5 * plain.norm()
    assert drop_in.calls() == [], "its products are none of cuBLAS's"


@reads_terms
def test_matmul_keeps_memory_that_another_stream_still_reads():
    n = 4096
    stream = torch.cuda.Stream()
    a, b = normal(n, n), normal(n, n)
    expected = sgemm.matmul(a, b)
    torch.cuda.synchronize()
    for _ in range(4):
        out = sgemm.matmul(a.clone(), b.clone(), stream=stream)
        torch.full((n, n), 9.0, device="cuda")  # takes the place of the copies, if their memory is free
        stream.synchronize()
        assert torch.equal(out, expected)


# ---- The operators as PyTorch's own suites sample them ----

try:
    from torch.testing._internal.common_methods_invocations import op_db
except ImportError:  # of expecttest, which only these need
    op_db = []
SAMPLED = {"mm", "addmm", "bmm", "baddbmm", "matmul", "nn.functional.linear", "einsum", "addbmm", "__rmatmul__",
           "linalg.multi_dot", "nn.functional.bilinear", "inner", "tensordot", "chain_matmul"}  # fmt: skip


@pytest.mark.skipif(not op_db, reason="expecttest is missing")
@pytest.mark.parametrize("op", [op for op in op_db if op.name in SAMPLED], ids=lambda op: op.full_name)
@pytest.mark.parametrize("accuracy", ["componentwise", "normwise"])
def test_samples(op, accuracy):
    for sample in op.sample_inputs("cuda", torch.float32, requires_grad=True):
        results = []
        for how in ("cublas", accuracy):
            sgemm.torch.enable(how)
            for noncontiguous in (False, True):
                given = sample.noncontiguous() if noncontiguous else sample
                result = op(given.input, *given.args, **given.kwargs)
                leaves = [x for x in torch.utils._pytree.tree_leaves([given.input, given.args, given.kwargs])
                          if isinstance(x, torch.Tensor) and x.requires_grad]  # fmt: skip
                gradients = torch.autograd.grad(result.sum(), leaves, allow_unused=True) if result.requires_grad else ()
                results.append([result, *gradients])
        for other in results[1:]:
            for expected, found in zip(results[0], other, strict=True):
                assert (expected is None) == (found is None)
                if expected is not None:
                    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
