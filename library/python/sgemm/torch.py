"""FP32 matrix products of PyTorch by libsgemm.

    import sgemm.torch
    sgemm.torch.enable()              # all products of the process, gradients included
    sgemm.torch.enable("normwise")
    with sgemm.torch.use("fp32"): ... # those of this thread, and of backward() in it
    sgemm.torch.module(model.head, "componentwise")
    layer = sgemm.torch.PackedLinear(layer, "normwise")  # for inference: the weight is split once
    sgemm.torch.report()

PyTorch's library calls cuBLAS through addresses that the loader has written. They are replaced by those of the drop-in,
so that nothing of PyTorch above cuBLAS notices.
"""

import contextlib
import contextvars
import ctypes
import functools
import inspect
import itertools
import sys
import threading
import types
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any, TextIO

import torch

from . import drop_in
from .packed import PackedLinear, replace_linears

__all__ = ["PackedLinear", "disable", "enable", "module", "replace_linears", "report", "use"]

OBJECT = b"libtorch_cuda.so"
# int torch::autograd::get_current_graph_task_id(): the backward pass that a thread works for, or -1.
CURRENT_TASK = "_ZN5torch8autograd25get_current_graph_task_idEv"

_lock = threading.RLock()  # the collector may end a coroutine, and with it a block, while a thread has it
_process_accuracy: int | None = None  # None: nothing is redirected


def enable(accuracy: str = "componentwise", *, timed: bool = False) -> None:
    """Has the FP32 products of all threads computed by libsgemm where it is predicted to be faster than cuBLAS.

    `accuracy` is "fp32", "componentwise", "normwise", "rowwise" or "reproducible" (docs/accuracy.md), or
    "cublas". With "reproducible" cuBLAS never gets an FP32 product: where the library can not compute it, PyTorch
    raises an error. `timed` adds measured times to report(), which costs the host some microseconds a call.

    Raises ValueError for another accuracy, LibraryNotFound, and RuntimeError if this PyTorch calls no cuBLAS.
    """
    number = drop_in.number_of(accuracy)
    with _lock:
        _redirect(number)
        drop_in.load().sgemm_drop_in_set_log(2 if timed else 1)


def disable() -> None:
    """Gives all products back to cuBLAS. Under LD_PRELOAD SGEMM_ACCURACY holds again."""
    global _process_accuracy
    with _lock:
        if _process_accuracy is None:
            return
        library = drop_in.load()
        library.sgemm_drop_in_set_log(0)
        _reset(library)
        library.sgemm_drop_in_detach(OBJECT)
        _process_accuracy = None


class use(contextlib.ContextDecorator):
    """A context, or a decorator of a function, in which this thread's products have another accuracy. So have those of
    gradients if backward() or torch.autograd.grad() is called in it. What enable() says holds for the rest; without
    enable() that is cuBLAS's.

    In a coroutine it is of the coroutine's task, and of those that begin inside. In a generator it is of the thread,
    also while the generator waits for its next step.

    Under torch.compile it belongs around the compiled function: inside, it breaks the graph.
    """

    def __init__(self, accuracy: str):
        self.accuracy = accuracy
        self.number = drop_in.number_of(accuracy)
        self.entered: list[_OfThread | _OfContext] = []

    def __call__(self, function: Any) -> Any:
        if any(of(function) for of in _SUSPENDED):
            raise TypeError("use() can not decorate a generator or a coroutine: enter it inside")
        return super().__call__(function)

    @torch.compiler.disable
    def __enter__(self) -> None:
        _prepare()
        kind = _OfContext if _is_in_coroutine(sys._getframe(1)) else _OfThread
        self.entered.append(kind(self.number))

    @torch.compiler.disable
    def __exit__(self, *_: Any) -> None:
        here = [entry for entry in tuple(self.entered) if entry.is_here()]  # other threads leave theirs meanwhile
        entry = (here or self.entered)[-1]
        entry.leave()
        self.entered.remove(entry)


def module(of: torch.nn.Module, accuracy: str | None) -> torch.nn.Module:
    """Gives the products of a module and of its gradients an accuracy of their own, whoever calls backward() and where.
    So have gradients of these gradients. A module inside with an accuracy of its own keeps it. None takes it away
    again. Returns the module, which has a class of its own then, derived from the one that it had.

    The gradients are those of tensors that the module returns, in containers and attributes (docs/pytorch.md). A module
    that returns a generator or a coroutine raises TypeError when it is called.

    Under torch.compile the graph breaks at such a module, which is compiled by itself.
    """
    if not isinstance(of, torch.nn.Module):
        raise TypeError(f"a {type(of).__name__} is no torch.nn.Module")
    if accuracy is not None:
        drop_in.number_of(accuracy)
        _prepare()
        if not isinstance(of, _WithAccuracy):
            of.__class__ = _class_with_accuracy(type(of))
        of._sgemm_accuracy = accuracy
    elif isinstance(of, _WithAccuracy):
        of._sgemm_accuracy = None
    return of


def report(file: TextIO | None = None, *, clear: bool = False) -> None:
    """Prints the products since enable(): shapes, how often, who computed them and why, and the time that it saved.
    Products in a replayed CUDA graph count once, when the graph is captured. `clear` begins a new table.
    """
    print(drop_in.table(drop_in.calls()), file=file or sys.stdout)
    if clear:
        drop_in.load().sgemm_drop_in_clear_table()


# ---- How it is done ----


def _reset(library: ctypes.CDLL) -> None:
    library.sgemm_drop_in_set_repeatable(drop_in.UNSET)
    library.sgemm_drop_in_set_accuracy(drop_in.UNSET if drop_in.is_preloaded() else drop_in.OFF)


def _redirect(number: int) -> None:
    global _process_accuracy
    if torch.version.cuda is None:
        raise RuntimeError("this PyTorch was built without CUDA: it calls no cuBLAS")
    library = drop_in.load()
    deterministic = torch.are_deterministic_algorithms_enabled()
    library.sgemm_drop_in_set_repeatable(1 if deterministic else drop_in.UNSET)
    library.sgemm_drop_in_set_accuracy(number)
    if _process_accuracy is None:
        functions = library.sgemm_drop_in_attach(OBJECT)
        if functions <= 0:  # others may call cuBLAS through LD_PRELOAD
            _reset(library)
        if functions == 0:
            raise RuntimeError(f"{OBJECT.decode()} of this PyTorch calls no function of a shared cuBLAS")
        if functions < 0:
            raise RuntimeError(f"the memory of {OBJECT.decode()} can not be made writable")
    _process_accuracy = number


@torch.compiler.disable
def _prepare() -> None:
    """Without enable() the products outside stay as they are."""
    with _lock:
        if _process_accuracy is None:
            preloaded = drop_in.is_preloaded()
            _redirect(drop_in.load().sgemm_drop_in_accuracy() if preloaded else drop_in.OFF)
            drop_in.load().sgemm_drop_in_set_log(1)
        _follow_backward()


@functools.cache
def _current_task() -> Any:
    libtorch = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    return ctypes.cast(getattr(libtorch, CURRENT_TASK), drop_in.CURRENT_TASK)


@functools.cache
def _follow_backward() -> None:
    """The engine of autograd has threads of its own. They learn what holds for the thread that called it from the
    number of the backward pass that they work for."""
    drop_in.load().sgemm_drop_in_set_tasks(_current_task())
    run_backward = torch.autograd.graph._engine_run_backward

    @functools.wraps(run_backward)
    def run_backward_as_here(outputs: Any, *arguments: Any, **named: Any) -> Any:
        number = drop_in.load().sgemm_drop_in_accuracy()
        if len(arguments) > 2 and arguments[2]:  # create_graph: gradients of all nodes outside may join what is inside
            for entry in _thread.entries:
                entry.outside |= _behind(entry.outside)
        with _entered():  # nodes that fail leave what they entered
            if number == _process_accuracy:
                return run_backward(outputs, *arguments, **named)
            return _run_with(number, run_backward, outputs, *arguments, **named)

    torch.autograd.graph._engine_run_backward = run_backward_as_here
    torch.autograd._engine_run_backward = run_backward_as_here


def _run_with(number: int, run_backward: Any, outputs: Any, *arguments: Any, **named: Any) -> Any:
    tasks = set()

    def begin(_: Any) -> None:
        task = torch._C._current_graph_task_id()
        tasks.add(task)
        drop_in.load().sgemm_drop_in_set_task_accuracy(task, number)

    # No node runs before those that the pass begins with.
    nodes = {out.grad_fn if isinstance(out, torch.Tensor) else out.node for out in outputs} - {None}
    hooks = [node.register_prehook(begin) for node in nodes]
    try:
        return run_backward(outputs, *arguments, **named)
    finally:
        for hook in hooks:
            hook.remove()
        for task in tasks:
            drop_in.load().sgemm_drop_in_set_task_accuracy(task, drop_in.UNSET)


class _Thread(threading.local):
    def __init__(self):
        self.entries: list[_OfThread] = []


_thread = _Thread()


class _OfThread:
    """An accuracy that holds on this thread from here on, until leave(). Entries may be left in any order."""

    @torch.compiler.disable
    def __init__(self, number: int):
        self.before = drop_in.load().sgemm_drop_in_enter(number)
        self.outside: set[Any] = set()  # in the call of a module: nodes that its own graph ends at
        _thread.entries.append(self)

    def is_here(self) -> bool:
        return self in _thread.entries

    @torch.compiler.disable
    def leave(self) -> None:
        if not self.is_here():
            raise RuntimeError("use() was entered in another thread, where it still holds")
        entries, i = _thread.entries, _thread.entries.index(self)
        del entries[i]
        if i == len(entries):
            drop_in.load().sgemm_drop_in_leave(self.before)
        else:
            entries[i].before = self.before


@contextlib.contextmanager
def _entered(number: int | None = None) -> Iterator[Any]:
    """An accuracy on this thread, or none, and what was entered inside is left with it."""
    depth = len(_thread.entries)
    try:
        yield None if number is None else _OfThread(number)
    finally:
        for entry in reversed(_thread.entries[depth:]):
            entry.leave()


# ---- Coroutines: their threads run others while they wait. So the drop-in asks which accuracy holds in the context of
# Python that a thread is in, as it asks for the backward pass. It does so while such a block is open. ----

_SUSPENDED = (
    inspect.isgeneratorfunction, inspect.iscoroutinefunction, inspect.isasyncgenfunction, inspect.isgenerator,
    inspect.iscoroutine, inspect.isasyncgen,
)  # fmt: skip
_FIRST_TASK = 1 << 30  # beyond the numbers of backward passes
_numbers = itertools.count()
_task: contextvars.ContextVar[int] = contextvars.ContextVar("sgemm", default=-1)  # that of the last block here
_blocks: dict[int, "_OfContext"] = {}  # by their tasks: copies of a context live on when its block is left


class _OfContext:
    """An accuracy that holds in the present context and in copies of it, until leave(). It is that of a task."""

    def __init__(self, number: int):
        self.number, self.task, self.is_open = number, _FIRST_TASK + next(_numbers) % _FIRST_TASK, True
        self.around = _opened(_blocks.get(_task.get()))
        with _lock:
            _blocks[self.task] = self
            _tell_what_holds()
        _task.set(self.task)

    def is_here(self) -> bool:
        block = _blocks.get(_task.get())
        while block not in (None, self):
            block = block.around
        return block is self

    def leave(self) -> None:
        self.is_open = False
        if _task.get() == self.task:
            _task.set(self.around.task if self.around else -1)
        with _lock:
            _tell_what_holds()


def _opened(block: _OfContext | None) -> _OfContext | None:
    """The block, or the first around it, that is open."""
    while block is not None and not block.is_open:
        block = block.around
    return block


def _tell_what_holds() -> None:
    for task, block in tuple(_blocks.items()):
        holds = _opened(block)
        drop_in.load().sgemm_drop_in_set_task_accuracy(task, drop_in.UNSET if holds is None else holds.number)
        if holds is None:
            _blocks.pop(task, None)
    drop_in.load().sgemm_drop_in_set_tasks(_block_or_task if _blocks else _current_task())


class _Tasks:
    """That of autograd and that of a block, or -1. No step of Python's runs here, in which a signal's handler could
    raise an error: ctypes would drop that, and take 0 for the answer."""

    asked = functools.partial(torch._C._current_graph_task_id), functools.partial(_task.get)
    __iter__ = staticmethod(functools.partial(map, functools.partial.__call__, asked))


_block_or_task = drop_in.CURRENT_TASK(functools.partial(max, _Tasks()))


def _is_in_coroutine(frame: types.FrameType | None) -> bool:
    """Whether the block that a frame opens can be left to others in the middle, by a coroutine."""
    while frame is not None:
        flags = frame.f_code.co_flags
        if flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR | inspect.CO_ITERABLE_COROUTINE):
            return True
        package = frame.f_globals.get("__name__", "").partition(".")[0]
        if package not in ("torch", "contextlib") and not flags & inspect.CO_GENERATOR:
            return False
        frame = frame.f_back
    return False


# ---- Modules ----


class _WithAccuracy:
    """What a module's own class is derived from besides the one that it had: hooks could not be left by all errors."""

    _sgemm_accuracy: str | None

    def __init_subclass__(cls, **_: Any) -> None:
        """Classes may want arguments here, and know of those that programs derive alone."""

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        if self._sgemm_accuracy is None:
            return super().__call__(*arguments, **named)
        return _call(self, super().__call__, arguments, named)

    def __reduce_ex__(self, protocol: Any) -> Any:
        make, arguments, *state = super().__reduce_ex__(protocol)
        own = next(of for of in type(self).__mro__ if _WithAccuracy in of.__bases__)
        return _made, (make, *(own.__bases__[1] if of is own else of for of in arguments)), *state


def _made(make: Any, *arguments: Any) -> torch.nn.Module:
    of = make(*arguments)
    of.__class__ = _class_with_accuracy(type(of))
    return of


@functools.cache
def _class_with_accuracy(base: type) -> type:
    made = types.new_class(base.__name__, (_WithAccuracy, base))
    made.__module__, made.__qualname__ = base.__module__, base.__qualname__
    return made


@functools.partial(torch.compiler.disable, recursive=False)
def _call(of: Any, call: Any, arguments: tuple, named: dict) -> Any:
    _prepare()
    number = drop_in.number_of(of._sgemm_accuracy)
    with _entered(number) as entry:
        if torch.is_grad_enabled():
            entry.outside = _nodes_around(of, arguments, named)
        output = call(*arguments, **named)
    if any(of(output) for of in _SUSPENDED):
        raise TypeError("a module with an accuracy returns a generator or a coroutine: enter use() in that instead")
    if torch.is_grad_enabled():
        _mark((tensor.grad_fn for tensor in _tensors(output)), entry.outside, number)
    return output


def _nodes_around(of: torch.nn.Module, *given: Any) -> set[Any]:
    """Those that have made what a module is given, or has as an attribute of itself or of modules inside."""
    attributes = (each.values() for part in of.modules() for each in (vars(part), part._parameters, part._buffers))
    held = (value for values in attributes for value in values if isinstance(value, torch.Tensor))
    # A change in place inside gives a view another node, behind one of its base's.
    both = (each for tensor in (*_tensors(given), *held) for each in (tensor, tensor._base))
    return {tensor.grad_fn for tensor in both if tensor is not None}


def _tensors(output: Any) -> Iterator[torch.Tensor]:
    """Those in an object: in containers, in what PyTorch knows as a tree, in attributes and in slots."""
    pending, seen = [output], {}
    while pending:
        value = pending.pop()
        if id(value) in seen:
            continue
        seen[id(value)] = value  # which keeps its number
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, Mapping):
            pending.extend(value.values())
        elif isinstance(value, (list, tuple, Set)):
            pending.extend(value)
        elif not isinstance(value, _WITHOUT_TENSORS):
            pending.extend(leaf for leaf in torch.utils._pytree.tree_leaves(value) if leaf is not value)
            pending.extend(getattr(value, "__dict__", {}).values())
            attributes = (item for of in type(value).__mro__ for item in vars(of).items())
            slots = (name for name, of in attributes if isinstance(of, types.MemberDescriptorType))
            pending.extend(getattr(value, name, None) for name in slots)


_WITHOUT_TENSORS = (
    str, bytes, int, float, types.NoneType, type, torch.nn.Module, types.ModuleType, types.FunctionType,
)  # fmt: skip


@torch.compiler.disable
def _mark(nodes: Any, outside: set[Any], number: int) -> None:
    """Has nodes, and those behind them up to those outside, run with an accuracy."""

    def begin(_: Any) -> None:
        _OfThread(number)

    def end(gradients: Any, of_outputs: Any) -> None:
        _thread.entries[-1].leave()
        if torch.is_grad_enabled():  # there may be gradients of these gradients
            node = torch._C._current_autograd_node()
            new, given = ({each.grad_fn for each in of if each is not None} for of in (gradients, of_outputs))
            _mark(new, {node, *given, *(following for following, _ in node.next_functions)}, number)

    for node in _behind(nodes, outside):
        if "sgemm" not in node.metadata:  # or a module inside has marked it
            node.register_prehook(begin)
            node.register_hook(end)
            node.metadata["sgemm"] = number


def _behind(nodes: Any, outside: Any = ()) -> set[Any]:
    """Nodes, and those that they lead to. Those that add to .grad belong to the parameter, and serve later passes."""
    pending, seen = list(nodes), set()
    while pending:
        node = pending.pop()
        if node is None or node in seen or node in outside or node.name() == "torch::autograd::AccumulateGrad":
            continue
        seen.add(node)
        pending.extend(following for following, _ in node.next_functions)
    return seen
