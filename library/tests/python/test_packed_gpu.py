"""sgemm.torch.PackedLinear and sgemm.matmul() on a GPU. Skipped without PyTorch, a GPU, and a built drop-in."""

import copy
import gc
import threading

import pytest

from torch_on_gpu import N, drop_in, normal, sgemm, switch, torch  # noqa: F401

if torch.cuda.get_device_capability() != (9, 0):
    pytest.skip("no kernel of this GPU reads packed operands", allow_module_level=True)

OUTPUTS = N + 64
functional = torch.nn.functional


def made(accuracy="normwise", **options):
    layer = torch.nn.Linear(N, OUTPUTS, device="cuda", **options)
    return layer, sgemm.torch.PackedLinear(layer, accuracy)


def expect_accurate(found, x, weight, bias=None, scale=1):
    exact = scale * functional.linear(x.double(), weight.double(), None if bias is None else bias.double())
    assert (found.double() - exact).norm() < 1e-6 * exact.norm()


@pytest.mark.parametrize("accuracy", ["componentwise", "normwise", "rowwise"])
@pytest.mark.parametrize("rows", [1, 100, 4 * N])
def test_products_and_gradients(accuracy, rows):
    layer, of = made(accuracy)
    x = normal(rows, N, requires_grad=True)
    found = of(x)
    expect_accurate(found.detach(), x.detach(), layer.weight.detach(), layer.bias.detach())
    weights = normal(rows, OUTPUTS)
    [gradient] = torch.autograd.grad(found, x, weights)
    expect_accurate(gradient, weights, layer.weight.detach().T)
    assert 0.7 < of._terms.memory.nbytes / layer.weight.nbytes < 1.6


def test_nothing_that_is_done_to_the_layer_matters():
    layer, of = made()
    x = normal(100, N)
    expected = of(x)
    step = torch.cuda.CUDAGraph()
    with torch.no_grad():
        with torch.cuda.graph(step):
            layer.weight.mul_(2)
        step.replay()
        layer.weight.data.mul_(2)
        sgemm.matmul(normal(OUTPUTS, 64), normal(64, N), out=layer.weight)
    del layer
    assert torch.equal(of(x), expected)


def test_graphs_and_streams():
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
    expect_accurate(captured, x, layer.weight.detach(), layer.bias.detach())
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        made_there = copy.deepcopy(of)
    found = made_there(x)  # on a stream that did not wait
    assert torch.equal(found, of(x))
    results = []
    threads = [threading.Thread(target=lambda: results.append(of(x))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert all(torch.equal(result, found) for result in results)


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


# ---- sgemm.matmul() ----


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
