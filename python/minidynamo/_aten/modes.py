"""The stack of modes with `__torch_dispatch__`, one for each thread."""

import contextlib
import threading

from .. import _C


class _Here(threading.local):
    def __init__(self):
        self.stack = []


_here = _Here()


def stack():
    """The modes of this thread, the outermost first."""
    return _here.stack


def push(mode):
    _here.stack.append(mode)
    _C._set_dispatch_modes(len(_here.stack))


def pop():
    """Takes the innermost mode off the stack and returns it."""
    if not _here.stack:
        raise RuntimeError("no mode with __torch_dispatch__ is active in this thread")
    mode = _here.stack.pop()
    _C._set_dispatch_modes(len(_here.stack))
    return mode


@contextlib.contextmanager
def popped():
    """Within the block, the innermost mode is off the stack."""
    mode = pop()
    try:
        yield mode
    finally:
        push(mode)


@contextlib.contextmanager
def none_active():
    """Within the block, no mode is active; gives those that were."""
    before = list(_here.stack)
    _here.stack.clear()
    _C._set_dispatch_modes(0)
    try:
        yield before
    finally:
        _here.stack[:] = before
        _C._set_dispatch_modes(len(before))


def for_graphs_only():
    """Within the block modes see nothing, unless one writes a graph, which has to know where each tensor comes from."""
    writes = any(getattr(mode, "writes_graph", False) for mode in _here.stack)
    return contextlib.nullcontext() if writes else none_active()


def refuse_to_compile():
    """RuntimeError if a mode of the program's is active, under which compiled functions run as plain Python."""
    for mode in _here.stack:
        if not mode.is_infra_mode() and not mode.ignore_compile_internals():
            raise RuntimeError(
                f"a function compiled with fullgraph=True is called under {type(mode).__name__}, a mode with "
                "__torch_dispatch__, and would run as plain Python. Leave the mode before the call, or leave "
                "fullgraph=True away"
            )
