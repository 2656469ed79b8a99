"""A layer of PyTorch whose weight libsgemm has split once, for inference."""

import contextlib
import sys
from collections.abc import Iterator
from ctypes import byref, c_size_t, c_void_p, pointer
from typing import Any

import torch

from . import library
from .arrays import Array, array_of, refuse_traces

ACCURACIES = ("componentwise", "normwise", "rowwise")
SIDE_A = 1
BIAS_OF_COLUMNS = 1
DEVICE = "cuda"
ALIGNMENT = 256  # SGEMM_WORKSPACE_ALIGNMENT
FEWEST_NUMBERS = 1 << 20  # of a smaller weight the splitting takes some microseconds


class PackedLinear(torch.nn.Module):
    """y = x W^T + b with a W that was split into terms once. The layer owns a copy of W and its terms: what becomes of
    the torch.nn.Linear that it is made of does not matter.

    The terms take memory besides: 1.5 times that of W with "componentwise", and as much with "normwise" and "rowwise".
    They are made when the layer gets to a GPU or loads a state, which waits for them. Elsewhere
    the layer is a torch.nn.Linear. There are gradients of x, and none of W and b.

    `weight` is a copy at each access, and none of the layer's buffers, so that nothing that is written there can differ
    from the terms. State dictionaries are those of a torch.nn.Linear, and are copied. `x` is FP32, or of 16 bits under
    torch.autocast, and y is FP32. Under torch.compile the graph breaks at the layer. Where PyTorch is deterministic,
    the same call has the same bits.

    Raises TypeError for what is no plain torch.nn.Linear in FP32, ValueError for another accuracy, and SgemmError where
    the GPU has no kernel that reads terms.
    """

    bias: torch.Tensor | None

    def __init__(self, linear: torch.nn.Linear, accuracy: str = "componentwise"):
        super().__init__()
        _check(linear, accuracy)
        self.accuracy = accuracy
        self.out_features, self.in_features = linear.weight.shape
        self._terms: _Terms | None = None
        self._matrix = _copy(linear.weight)
        self.register_buffer("bias", None if linear.bias is None else _copy(linear.bias))
        self.train(linear.training)
        self._pack()

    @property
    def weight(self) -> torch.Tensor:
        return self._matrix.clone()

    @contextlib.contextmanager
    def _weight_as_buffer(self) -> Iterator[None]:
        """For PyTorch's machinery, and not longer: no version tells what else would be written through `.data`, by the
        replay of a graph or by another library."""
        self._buffers = {"weight": self._matrix, **self._buffers}
        try:
            yield
        finally:
            self._matrix = self._buffers.pop("weight")

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "weight" or (name == "accuracy" and name in vars(self)):
            raise AttributeError(f"the {name} of a PackedLinear can not be replaced: make another layer")
        super().__setattr__(name, value)

    def extra_repr(self) -> str:
        sizes = f"in_features={self.in_features}, out_features={self.out_features}"
        return f"{sizes}, bias={self.bias is not None}, accuracy={self.accuracy!r}"

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self._matrix.device.type != DEVICE:
            return torch.nn.functional.linear(x, self._matrix, self.bias)
        if self.bias is not None and self.bias.requires_grad and torch.is_grad_enabled():
            raise ValueError("the bias requires a gradient, and there is none here")
        if x.dtype in (torch.float16, torch.bfloat16) and torch.is_autocast_enabled(DEVICE):
            x = x.float()  # of another layer
        return _Product.apply(x, self._matrix, self)

    def _pack(self) -> "_Terms | None":
        matrix = self._matrix
        if matrix.device.type != DEVICE:
            self._terms = None
            return None
        if matrix.dtype != torch.float32:
            raise TypeError(f"the weight holds {matrix.dtype}: a PackedLinear is of float32")
        before, self._terms = self._terms, None  # so that none are left that an interrupt has spoilt
        self._terms = terms = _Terms(matrix, self.accuracy, before)
        return terms

    def _apply(self, fn: Any, recurse: bool = True) -> "PackedLinear":
        before, bias = self._matrix, self.bias
        try:
            with self._weight_as_buffer(), torch.inference_mode(False):
                super()._apply(fn, recurse)
            if self._matrix is not before:
                self._pack()
        except BaseException:
            self._matrix, self.bias = before, bias  # the layer is as it was
            raise
        return self

    def _save_to_state_dict(self, state: Any, prefix: str, keep_vars: bool) -> None:
        state[f"{prefix}weight"] = self.weight
        super()._save_to_state_dict(state, prefix, keep_vars)

    def _load_from_state_dict(self, state: Any, prefix: str, metadata: Any, *arguments: Any) -> None:
        metadata = {**metadata, "assign_to_params_buffers": False}
        with self._weight_as_buffer():
            super()._load_from_state_dict(state, prefix, metadata, *arguments)
        self._pack()

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_terms": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if self._matrix.is_inference():  # of deepcopy and pickle in that mode
            self._matrix, self.bias = (of if of is None else _copy(of) for of in (self._matrix, self.bias))
        self._pack()

    def _replicate_for_data_parallel(self) -> "PackedLinear":
        raise RuntimeError("a PackedLinear has its terms on one GPU: take a process for each GPU, not DataParallel")

    @torch.compiler.disable
    def _multiply(self, x: torch.Tensor) -> torch.Tensor:
        if x.dim() == 0 or x.shape[-1] != self.in_features:
            raise ValueError(f"x has the shape {tuple(x.shape)}: its last size has to be {self.in_features}")
        refuse_traces("x")
        rows = x.detach().reshape(-1, self.in_features)
        if rows.stride(1) != 1 or rows.stride(0) < self.in_features:
            rows = rows.contiguous()
        if rows.device != self._matrix.device:
            raise ValueError(f"x is on {rows.device}, and the layer on {self._matrix.device}")
        if self.bias is not None and self.bias.device != rows.device:
            raise ValueError(f"x is on {rows.device}, and the layer's bias on {self.bias.device}")
        bias = None if self.bias is None else array_of("bias", self.bias.detach())
        if bias is not None and (bias.shape, bias.strides) != ((self.out_features,), (1,)):
            raise ValueError(
                f"the bias has the shape {tuple(bias.shape)}: it has to be {self.out_features} contiguous numbers"
            )
        terms = self._terms  # of another matrix, or none, where an interrupt came, or somebody wrote into the buffer
        if terms is None or terms.matrix is not self._matrix or terms.version != self._matrix._version:
            terms = self._pack()
        result = torch.empty(*x.shape[:-1], self.out_features, dtype=torch.float32, device=x.device)
        if result.numel() > 0:
            with torch.cuda.device(x.device):
                terms.multiply(array_of("x", rows), bias, result)
        return result


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, matrix: torch.Tensor, layer: PackedLinear) -> torch.Tensor:
        ctx.save_for_backward(matrix)
        return layer._multiply(x)

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        with torch.autocast(gradient.device.type, enabled=False):  # where the backward pass may be begun
            return gradient @ ctx.saved_tensors[0], None, None


def replace_linears(module: torch.nn.Module, accuracy: str = "componentwise") -> torch.nn.Module:
    """Puts a PackedLinear in the place of each torch.nn.Linear inside of a module whose weight has a million numbers or
    more. Those that torch.nn.TransformerEncoderLayer and torch.nn.MultiheadAttention read themselves stay, and so do
    classes that are derived from torch.nn.Linear. Returns the module, or its packed layer if it is a Linear itself."""
    made: dict[torch.nn.Module, PackedLinear] = {}

    def is_large(part: torch.nn.Module | None) -> bool:
        return type(part) is torch.nn.Linear and part.weight.numel() >= FEWEST_NUMBERS

    def packed(part: torch.nn.Module) -> torch.nn.Module:
        if part not in made:  # which may stand in several places
            made[part] = PackedLinear(part, accuracy)
        return made[part]

    if is_large(module):
        return packed(module)
    places = [
        (parent, name, part)
        for parent in module.modules()
        if not isinstance(parent, (torch.nn.TransformerEncoderLayer, torch.nn.MultiheadAttention))
        for name, part in parent._modules.items()
        if is_large(part)
    ]
    for _, _, part in places:
        _check(part, accuracy)  # before the first is replaced
    for parent, name, part in places:
        parent._modules[name] = packed(part)
    return module


# ---- How it is done ----


def _check(linear: torch.nn.Module, accuracy: str) -> None:
    """Raises what PackedLinear does not take."""
    if accuracy not in ACCURACIES:
        raise ValueError(f"accuracy is {accuracy!r}: give one of {', '.join(ACCURACIES)}")
    if getattr(type(linear), "forward", None) is not torch.nn.Linear.forward or "forward" in vars(linear):
        raise TypeError(f"a {type(linear).__name__} does more than a torch.nn.Linear, or something else")
    if any(value for name, value in vars(linear).items() if name.endswith("_hooks")):  # also of state dictionaries
        raise TypeError("the layer has hooks, which its packed one would not call: remove them first")
    for name in ("weight", "bias"):
        tensor = getattr(linear, name)
        if tensor is not None and tensor.dtype != torch.float32:
            raise TypeError(f"the {name} holds {tensor.dtype}, not float32")


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode(False):  # a change of what is made in it shows no version
        return tensor.detach().clone(memory_format=torch.contiguous_format)


class _Terms:
    """The terms of a matrix. They take the memory of those before, which a captured graph may read."""

    def __init__(self, matrix: torch.Tensor, accuracy: str, before: "_Terms | None"):
        self.object = c_void_p()
        if torch.cuda.is_current_stream_capturing():
            raise RuntimeError("a weight is packed while a CUDA graph is captured: load or move the layer before")
        self.version = matrix._version
        self.matrix = matrix  # which some products read as well
        self.accuracy = accuracy
        functions = library.load()
        (lines, k), ld = matrix.shape, matrix.stride(0)
        with torch.cuda.device(matrix.device), torch.inference_mode(False):
            self.stream = torch.cuda.current_stream(matrix.device)
            size = c_size_t()
            self.call(self.stream, lambda handle: functions.sgemm_packed_size(handle, lines, k, byref(size)))
            memory = getattr(before, "memory", None)
            if memory is None or memory.device != matrix.device or memory.nbytes != size.value + ALIGNMENT:
                memory = torch.empty(size.value + ALIGNMENT, dtype=torch.uint8, device=matrix.device)
            self.memory = memory
            place = (memory.data_ptr() + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT
            layout = library.ROW_MAJOR, SIDE_A, library.NO_TRANSPOSE, lines, k
            at = matrix.data_ptr(), ld, place, size.value
            self.call(self.stream, lambda handle: functions.sgemm_pack(handle, *layout, *at, byref(self.object)))
            self.stream.synchronize()  # so that every stream may read them

    def call(self, stream: Any, function: Any) -> None:
        repeatable = True if torch.are_deterministic_algorithms_enabled() else None
        settings = stream.cuda_stream, library.ACCURACIES[self.accuracy], repeatable
        library.with_handle(max(self.matrix.get_device(), 0), settings, lambda handle: library.check(function(handle)))

    def multiply(self, rows: Array, bias: Array | None, result: torch.Tensor) -> None:
        stream = torch.cuda.current_stream(result.device)
        if stream != self.stream:
            for tensor in (self.memory, self.matrix, *([] if bias is None else [bias.owner])):
                tensor.record_stream(stream)
        (m, k), n = rows.shape, self.matrix.shape[0]
        x = library.Operand(None, library.NO_TRANSPOSE, rows.pointer, max(rows.strides[0], k))
        weight = library.Operand(self.object)
        epilogue = None if bias is None else pointer(library.Epilogue(0, BIAS_OF_COLUMNS, bias.pointer))
        d = result.data_ptr(), n, 0
        product = library.product(library.ROW_MAJOR, (m, n, k), x, weight, d, epilogue=epilogue)
        self.call(stream, lambda handle: library.load().sgemm_run(handle, byref(product)))

    def __del__(self):
        if self.object and not sys.is_finalizing():
            library.load().sgemm_packed_destroy(self.object)
