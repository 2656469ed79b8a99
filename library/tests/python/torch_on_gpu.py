"""What tests of sgemm.torch on a GPU begin with.

A module that imports from here is skipped without PyTorch, a GPU, and a built drop-in. It takes sgemm from here, too,
so that nothing is imported before that is known.
"""

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
