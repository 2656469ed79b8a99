"""sgemm.torch on a GPU: PyTorch's products with the switch on. Skipped without PyTorch, a GPU, and a built drop-in."""

import threading
import warnings

import pytest

from torch_on_gpu import N, drop_in, normal, sgemm, switch, torch  # noqa: F401

functional = torch.nn.functional
EPS = 2.0**-24


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


@pytest.mark.parametrize("sizes", [(0, N, N), (N, 0, N), (N, N, 0), (0, 0, 0)])
def test_zero_sizes(sizes):
    m, n, k = sizes
    assert torch.mm(normal(m, k), normal(k, n)).equal(torch.zeros(m, n, device="cuda"))
    assert torch.bmm(normal(3, m, k), normal(3, k, n)).equal(torch.zeros(3, m, n, device="cuda"))
    c = normal(m, n)
    assert torch.addmm(c, normal(m, k), normal(k, n), beta=2).equal(2 * c if k == 0 else c)


def test_inf_and_nan_are_as_in_cublas():
    a, b = normal(N, N + 64), normal(N + 64, N)  # the next calls of this shape are cuBLAS's
    a[3, 5], a[7, 9], b[11, 13] = torch.inf, torch.nan, -torch.inf
    result = torch.mm(a, b)
    with sgemm.torch.use("cublas"):
        expected = torch.mm(a, b)
    assert result.isnan().equal(expected.isnan())
    assert result.isinf().equal(expected.isinf())
    assert computed_by()["libsgemm"] == 1


def test_tf32_stays_with_cublas():
    a, b = normal(2048, 2048), normal(2048, 2048)
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        torch.mm(a, b)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = False
    assert computed_by() == {"libsgemm": 0, "cublas": 1}


def test_autocast_stays_with_cublas():
    with torch.autocast("cuda", torch.bfloat16):
        assert torch.mm(normal(N, N), normal(N, N)).dtype == torch.bfloat16
    assert computed_by()["libsgemm"] == 0


def test_deterministic(monkeypatch):
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    a, b = normal(N, 4 * N), normal(4 * N, N)
    torch.use_deterministic_algorithms(True)
    try:
        results = [torch.mm(a, b) for _ in range(4)]
    finally:
        torch.use_deterministic_algorithms(False)
    assert all(result.equal(results[0]) for result in results)
    assert computed_by()["libsgemm"] == 4


def test_error_messages_are_pytorchs():
    def message(function, *operands):
        with pytest.raises((RuntimeError, TypeError)) as caught:
            function(*operands)
        return str(caught.value)

    wrong = [
        (torch.mm, normal(N, 3), normal(4, N)),
        (torch.mm, normal(N, N), normal(N, N).double()),
        (torch.bmm, normal(2, N, N), normal(3, N, N)),
        (torch.addmm, normal(3, 5), normal(N, N), normal(N, N)),
        (torch.mm, normal(N, N), torch.randn(N, N)),
    ]
    on = [message(*case) for case in wrong]
    sgemm.torch.disable()
    assert on == [message(*case) for case in wrong]


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


def test_func_transforms():
    a, b, batch = normal(N, N), normal(N, N), normal(3, N, N)
    expect_accurate(torch.func.vmap(torch.mm, (0, None))(batch, b), torch.matmul, [batch, b], N)
    gradient = torch.func.grad(lambda a: torch.mm(a, b).sum())(a)
    expect_accurate(gradient, lambda b: b.sum(1).expand(N, N), [b], N)
    _, tangent = torch.func.jvp(lambda a: torch.mm(a, b), (a,), (b,))
    expect_accurate(tangent, torch.mm, [b, b], N)
    assert computed_by()["libsgemm"] >= 4


def test_meta_and_fake_tensors_compute_nothing():
    assert torch.mm(torch.empty(N, N, device="meta"), torch.empty(N, 3, device="meta")).shape == (N, 3)
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        assert torch.mm(torch.empty(N, N, device="cuda"), torch.empty(N, 3, device="cuda")).shape == (N, 3)
    assert computed_by() == {"libsgemm": 0, "cublas": 0}


def test_data_parallel(tmp_path):
    distributed = torch.distributed
    distributed.init_process_group("nccl", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    try:
        model = torch.nn.parallel.DistributedDataParallel(mlp(), device_ids=[0])
        model(normal(512, N)).sum().backward()
    finally:
        distributed.destroy_process_group()
    assert computed_by() == {"libsgemm": 5, "cublas": 0}


# ---- Accuracies of threads, backward passes and modules ----


def wide():
    """From this size on, six products of INT8 are faster than three of FP16 on an H100."""
    return normal(4096, 4096, requires_grad=True)


def test_backward_has_the_accuracy_of_its_caller():
    a = wide()
    with sgemm.torch.use("rowwise"):
        result = torch.mm(a, a).sum()
        result.backward()
    assert kinds() == [INTEGERS] * 3
    torch.mm(a, a).sum().backward()
    assert kinds() == [FLOATS] * 3
    result = torch.mm(a, a).sum()
    kinds()
    with sgemm.torch.use("rowwise"):
        result.backward()
    assert kinds() == [INTEGERS] * 2


def test_backward_passes_of_several_threads_do_not_mix():
    sgemm.torch.enable("componentwise")
    operands = {"rowwise": wide(), "componentwise": wide()}
    failures = []

    def train(accuracy):
        try:
            for _ in range(20):
                with sgemm.torch.use(accuracy):
                    torch.mm(operands[accuracy], operands[accuracy]).sum().backward()
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=train, args=(accuracy,)) for accuracy in operands]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
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

