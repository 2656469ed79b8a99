"""sgemm.torch.pack() on a GPU. Skipped without PyTorch, a GPU, and a built drop-in."""

import pytest

from torch_on_gpu import N, drop_in, normal, sgemm, switch, torch  # noqa: F401

functional = torch.nn.functional


def reads_packed() -> int:
    """How many calls read packed operands since this was asked last."""
    count = sum(line.calls for line in drop_in.calls() if "packed" in line.why)
    drop_in.load().sgemm_drop_in_clear_table()
    return count


@pytest.fixture
def layer():
    """A layer whose weight needs no gradient, with what it makes of its inputs without packed weights."""
    sgemm.torch.enable("normwise")
    of = torch.nn.Linear(N, N + 64, device="cuda").requires_grad_(False)
    of.inputs = normal(2, N, N)
    of.plain = of(of.inputs)
    assert reads_packed() == 0
    yield sgemm.torch.pack(of)
    sgemm.torch.pack(of, False)
    assert sgemm.packed.packed_bytes() == 0


@pytest.mark.parametrize("accuracy", ["componentwise", "normwise", "rowwise"])
def test_packed_weights_have_the_same_bits(layer, accuracy):
    with sgemm.torch.use(accuracy):
        sgemm.torch.pack(layer, False)
        plain = layer(layer.inputs)
        assert reads_packed() == 0
        sgemm.torch.pack(layer)
        for _ in range(2):
            assert torch.equal(layer(layer.inputs), plain)
        assert reads_packed() == 2
    assert 0.7 < sgemm.packed.packed_bytes() / layer.weight.nbytes < 1.6
    functional.linear(layer.inputs, layer.weight)
    assert reads_packed() == 0, "outside of its calls a weight may be written"


def test_packed_weights_follow_changes(layer):
    with torch.inference_mode():
        assert torch.equal(layer(layer.inputs), layer.plain)
        layer.weight.mul_(2)
        layer.bias.mul_(2)
        assert torch.equal(layer(layer.inputs), 2 * layer.plain)
    layer.weight.data = layer.weight.data / 2  # another storage
    layer.bias.data = layer.bias.data / 2
    assert torch.equal(layer(layer.inputs), layer.plain)
    layer.weight = torch.nn.Parameter(layer.weight.detach() * 2, requires_grad=False)
    layer.bias.mul_(2)
    assert torch.equal(layer(layer.inputs), 2 * layer.plain)
    assert reads_packed() == 4


def test_what_is_written_through_data_is_not_seen(layer):
    layer(layer.inputs)
    layer.weight.data.mul_(2)
    layer.bias.data.mul_(2)
    late = layer(layer.inputs)
    assert (late - (layer.plain + layer.bias / 2)).abs().max() < 1e-4, "the weight as it was, with the bias as it is"
    sgemm.torch.pack(layer)
    assert torch.equal(layer(layer.inputs), 2 * layer.plain)


def test_the_memory_of_packed_weights_goes_with_them():
    sgemm.torch.enable("normwise")
    before = torch.cuda.memory_allocated()
    of = sgemm.torch.pack(torch.nn.Linear(N, N, bias=False, device="cuda").requires_grad_(False))
    of(normal(N, N))
    weight = of.weight.nbytes
    assert sgemm.packed.packed_bytes() >= weight
    assert torch.cuda.memory_allocated() - before >= 2 * weight
    del of
    assert sgemm.packed.packed_bytes() == 0
    assert torch.cuda.memory_allocated() - before < weight


def test_a_limit_leaves_weights_as_they_are(layer, monkeypatch):
    for limit, of_environment, expected in ((1000, "", 0), (None, "1K", 0), (1 << 30, "1G", 1)):
        monkeypatch.setenv("SGEMM_MEMORY", of_environment)
        sgemm.torch.pack(layer, limit=limit)
        assert torch.equal(layer(layer.inputs), layer.plain)
        assert reads_packed() == expected


def test_weights_that_need_gradients_are_not_packed(layer):
    layer(layer.inputs)
    layer.weight.requires_grad_(True)
    reads_packed()
    layer(layer.inputs).sum().backward()
    assert layer.weight.grad is not None
    assert reads_packed() == 0
    assert sgemm.packed.packed_bytes() == 0
    with torch.no_grad():
        layer(layer.inputs)
    assert reads_packed() == 1


def test_packed_weights_on_other_streams_and_in_graphs(layer):
    layer(layer.inputs)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        assert torch.equal(layer(layer.inputs), layer.plain)
    torch.cuda.current_stream().wait_stream(stream)
    assert reads_packed() == 2
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = layer(layer.inputs)
    assert reads_packed() == 0
    layer.weight.mul_(2)
    layer.bias.mul_(2)
    graph.replay()
    assert torch.equal(captured, 2 * layer.plain)


def test_few_rows_and_attention_with_packed_weights():
    sgemm.torch.enable("normwise")
    of = torch.nn.TransformerEncoderLayer(1024, 16, 4096, 0.0, batch_first=True, device="cuda").eval()
    one = torch.nn.Linear(4096, 4096, device="cuda")
    inputs = normal(64, 196, 1024)
    with torch.inference_mode():
        plain = of(inputs)
        reads_packed()
        sgemm.torch.pack(of)
        assert (of(inputs) - plain).norm() < 1e-5 * plain.norm()
        assert reads_packed() >= 3
        x = normal(100, 4096)
        expected = functional.linear(x.double(), one.weight.double(), one.bias.double())
        assert (sgemm.torch.pack(one)(x) - expected).norm() < 1e-6 * expected.norm()
        assert reads_packed() == 1
