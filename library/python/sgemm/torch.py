"""FP32 matrix products of PyTorch by libsgemm.

    import sgemm.torch
    sgemm.torch.enable()              # all products of the process, gradients included
    sgemm.torch.enable("normwise")
    with sgemm.torch.use("fp32"): ... # those of this thread, and of backward() in it
    sgemm.torch.module(model.head, "componentwise")
    sgemm.torch.pack(model)           # for inference: weights are split once
    sgemm.torch.report()

PyTorch's library calls cuBLAS through addresses that the loader has written. They are replaced by those of the drop-in,
so that nothing of PyTorch above cuBLAS notices.
"""

import contextlib
import ctypes
import functools
import inspect
import os
import sys
import threading
from pathlib import Path
from typing import Any, TextIO

import torch

from . import drop_in, packed

__all__ = ["disable", "enable", "module", "pack", "report", "use"]

OBJECT = b"libtorch_cuda.so"
# int torch::autograd::get_current_graph_task_id(): the backward pass that a thread works for, or -1.
CURRENT_TASK = "_ZN5torch8autograd25get_current_graph_task_idEv"

_lock = threading.Lock()
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
        if torch.are_deterministic_algorithms_enabled():
            os.environ["SGEMM_REPEATABLE"] = "1"  # read by the first product
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
        library.sgemm_drop_in_set_accuracy(drop_in.UNSET if drop_in.is_preloaded() else drop_in.OFF)
        library.sgemm_drop_in_detach(OBJECT)
        _process_accuracy = None


class use(contextlib.ContextDecorator):
    """A context, or a decorator of a function, in which this thread's products have another accuracy. So have those of
    gradients if backward() or torch.autograd.grad() is called in it. What enable() says holds for the rest; without
    enable() that is cuBLAS's.

    Under torch.compile it belongs around the compiled function: inside, it breaks the graph.
    """

    def __init__(self, accuracy: str):
        self.accuracy = accuracy
        self.number = drop_in.number_of(accuracy)
        self.before = threading.local()

    def __call__(self, function: Any) -> Any:
        if inspect.isgeneratorfunction(function) or inspect.iscoroutinefunction(function):
            raise TypeError("use() can not decorate a generator or a coroutine: enter it inside")
        return super().__call__(function)

    @torch.compiler.disable
    def __enter__(self) -> None:
        _prepare()
        if not hasattr(self.before, "numbers"):
            self.before.numbers = []
        self.before.numbers.append(drop_in.load().sgemm_drop_in_enter(self.number))

    @torch.compiler.disable
    def __exit__(self, *_: Any) -> None:
        drop_in.load().sgemm_drop_in_leave(self.before.numbers.pop())


def module(of: torch.nn.Module, accuracy: str | None) -> torch.nn.Module:
    """Gives the products of a module and of its gradients an accuracy of their own, whoever calls backward() and where.
    A module inside with an accuracy of its own keeps it. None takes it away again. Returns the module.

    Under torch.compile the graph breaks at such a module, which is compiled by itself.
    """
    if accuracy is not None:
        drop_in.number_of(accuracy)
    for hooks in (of._forward_pre_hooks, of._forward_hooks):
        for key in [key for key, hook in hooks.items() if isinstance(hook, (_Begin, _End))]:
            del hooks[key]
            of._forward_hooks_always_called.pop(key, None)
    if accuracy is not None:
        _prepare()
        of.register_forward_pre_hook(_Begin(accuracy), prepend=True)
        of.register_forward_hook(_End(accuracy), always_call=True)
    return of


def pack(of: torch.nn.Module, on: bool = True, *, limit: int | None = None) -> torch.nn.Module:
    """Has products in calls of a module read weights that were split once: those of torch.nn.Linear, and the input
    projections of torch.nn.MultiheadAttention, where no gradient of them is needed. Returns the module.

    A packed weight takes memory besides: 1.5 times its bytes with "componentwise", as many with "normwise", and 0.75
    times as many with "rowwise". All together take at most `limit` bytes, and no more than SGEMM_MEMORY says. Without a
    limit each takes at most half of the memory that is free. Other weights are multiplied as ever, and so are products
    in CUDA graphs.

    A weight is packed anew in the first call after a change. A change through `.data`, or inside of the module's
    forward(), is not seen: call pack() again after it. `on` = False frees the memory.

    Under torch.compile the graph breaks at such a module, which is compiled by itself.
    """
    for hooks in (of._forward_pre_hooks, of._forward_hooks):
        for key in [key for key, hook in hooks.items() if isinstance(hook, (_EnterPacked, _LeavePacked))]:
            del hooks[key]
            of._forward_hooks_always_called.pop(key, None)
    packed.forget(of)
    if on:
        _prepare()
        of.register_forward_pre_hook(_EnterPacked(limit))  # behind that of an accuracy
        of.register_forward_hook(_LeavePacked(), always_call=True)
    return of


def report(file: TextIO | None = None, *, clear: bool = False) -> None:
    """Prints the products since enable(): shapes, how often, who computed them and why, and the time that it saved.
    Products in a replayed CUDA graph count once, when the graph is captured. `clear` begins a new table.
    """
    print(drop_in.table(drop_in.calls()), file=file or sys.stdout)
    if clear:
        drop_in.load().sgemm_drop_in_clear_table()


# ---- How it is done ----


def _redirect(number: int) -> None:
    global _process_accuracy
    if torch.version.cuda is None:
        raise RuntimeError("this PyTorch was built without CUDA: it calls no cuBLAS")
    library = drop_in.load()
    library.sgemm_drop_in_set_accuracy(number)
    if _process_accuracy is None:
        functions = library.sgemm_drop_in_attach(OBJECT)
        if functions == 0:
            raise RuntimeError(f"{OBJECT.decode()} of this PyTorch calls no function of a shared cuBLAS")
        if functions < 0:
            raise RuntimeError(f"the memory of {OBJECT.decode()} can not be made writable")
    _process_accuracy = number


def _prepare() -> None:
    """Without enable() the products outside stay as they are."""
    with _lock:
        if _process_accuracy is None:
            preloaded = drop_in.is_preloaded()
            _redirect(drop_in.load().sgemm_drop_in_accuracy() if preloaded else drop_in.OFF)
            drop_in.load().sgemm_drop_in_set_log(1)
        _follow_backward()


@functools.cache
def _follow_backward() -> None:
    """The engine of autograd has threads of its own. They learn what holds for the thread that called it from the
    number of the backward pass that they work for."""
    libtorch = ctypes.CDLL(str(Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"))
    current_task = ctypes.cast(getattr(libtorch, CURRENT_TASK), drop_in.CURRENT_TASK)
    drop_in.load().sgemm_drop_in_set_tasks(current_task)
    run_backward = torch.autograd.graph._engine_run_backward

    @functools.wraps(run_backward)
    def run_backward_as_here(outputs: Any, *arguments: Any, **named: Any) -> Any:
        number = drop_in.load().sgemm_drop_in_accuracy()
        if number == _process_accuracy:
            return run_backward(outputs, *arguments, **named)
        tasks = set()

        def begin(_: Any) -> None:
            task = torch._C._current_graph_task_id()
            tasks.add(task)
            drop_in.load().sgemm_drop_in_set_task_accuracy(task, number)

        # No node runs before those that the pass begins with.
        nodes = {out.grad_fn if isinstance(out, torch.Tensor) else out.node for out in outputs}
        hooks = [node.register_prehook(begin) for node in nodes if node is not None]
        try:
            return run_backward(outputs, *arguments, **named)
        finally:
            for hook in hooks:
                hook.remove()
            for task in tasks:
                drop_in.load().sgemm_drop_in_set_task_accuracy(task, drop_in.UNSET)

    torch.autograd.graph._engine_run_backward = run_backward_as_here
    torch.autograd._engine_run_backward = run_backward_as_here


class _OfThread(threading.local):
    def __init__(self):
        self.forward: list[tuple[int, int]] = []  # of modules that are being called
        self.backward: list[int] = []  # of nodes that are being run


_of_thread = _OfThread()


class _Begin:
    """What a module does before its forward()."""

    def __init__(self, accuracy: str):
        self.accuracy = accuracy

    @torch.compiler.disable
    def __call__(self, *_: Any) -> None:
        _prepare()
        before = drop_in.load().sgemm_drop_in_enter(drop_in.number_of(self.accuracy))
        _of_thread.forward.append((before, torch.autograd._get_sequence_nr()))


class _End:
    """What a module does after its forward(), also if that has failed."""

    def __init__(self, accuracy: str):
        self.accuracy = accuracy

    @torch.compiler.disable
    def __call__(self, module: Any, arguments: Any, output: Any) -> None:
        before, first = _of_thread.forward.pop()
        drop_in.load().sgemm_drop_in_leave(before)
        if torch.is_grad_enabled():
            _mark(output, first, drop_in.number_of(self.accuracy))


class _EnterPacked:
    """What a module with packed weights does before its forward()."""

    def __init__(self, limit: int | None):
        self.limit = limit

    @torch.compiler.disable
    def __call__(self, module: Any, *_: Any) -> None:
        _prepare()
        packed.enter(module, self.limit)


class _LeavePacked:
    """What it does after its forward(), also if that has failed."""

    @torch.compiler.disable
    def __call__(self, *_: Any) -> None:
        packed.leave()


def _mark(output: Any, first: int, number: int) -> None:
    """Has the nodes behind an output that this thread made since the number `first` run with an accuracy."""

    def begin(_: Any) -> None:
        _of_thread.backward.append(drop_in.load().sgemm_drop_in_enter(number))

    def end(*_: Any) -> None:
        drop_in.load().sgemm_drop_in_leave(_of_thread.backward.pop())

    leaves = torch.utils._pytree.tree_leaves(output)
    pending = [leaf.grad_fn for leaf in leaves if isinstance(leaf, torch.Tensor)]
    seen = set()
    while pending:
        node = pending.pop()
        # Those that add to .grad belong to the parameter, and serve later passes too.
        if node is None or node in seen or node.name() == "torch::autograd::AccumulateGrad":
            continue
        seen.add(node)
        if node._sequence_nr() < first:
            continue
        if "sgemm" not in node.metadata:  # or a module inside has marked it
            node.metadata["sgemm"] = number
            node.register_prehook(begin)
            node.register_hook(end)
        pending.extend(following for following, _ in node.next_functions)
