"""torch.autograd.graph: the record of operations as programs see it, and hooks on several gradients together."""

import threading
import weakref

from .. import _C
from .._absent import absent_names as _absent_names
from ..nn.hooks import RemovableHandle as _RemovableHandle
from .backward import passes as _passes
from .edge import GradientEdge as GradientEdge
from .edge import get_gradient_edge as get_gradient_edge
from .saved_tensors import allow_mutation_on_saved_tensors as allow_mutation_on_saved_tensors
from .saved_tensors import disable_saved_tensors_hooks as disable_saved_tensors_hooks
from .saved_tensors import save_on_cpu as save_on_cpu
from .saved_tensors import saved_tensors_hooks as saved_tensors_hooks

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]

Node = _C._GradNode


def increment_version(tensor):
    """Counts a write to a tensor, or to each of several, that nobody saw: what was saved of it is out of date."""
    for each in (tensor,) if isinstance(tensor, _C.Tensor) else tensor:
        each.detach().as_strided((0,), (1,)).zero_()


def _reached(ends):
    """Nodes from which those in `ends` get their gradients, and for each the nodes it goes on to."""
    found, open_ends = {}, list(ends)
    while open_ends:
        node = open_ends.pop()
        if node not in found:
            found[node] = [next_node for next_node, _ in node.next_functions if next_node is not None]
            open_ends += found[node]
    return found


def _nodes_run(running):
    """The nodes that a backward pass goes through: those on a way from its outputs to its inputs, or to any leaf."""
    onwards = _reached(get_gradient_edge(y).node for y in running.outputs)
    if not running.inputs:
        return set(onwards)
    back = {}
    for node, following in onwards.items():
        for each in following:
            back.setdefault(each, []).append(node)
    needed, open_ends = set(), [get_gradient_edge(x).node for x in running.inputs]
    while open_ends:
        node = open_ends.pop()
        if node not in needed and node in onwards:
            needed.add(node)
            open_ends += back.get(node, ())
    return needed


class _Place:
    """Which node a tensor's gradient goes to, without holding on to either."""

    def __init__(self, tensor):
        self._leaf = weakref.ref(tensor) if tensor.is_leaf else None
        self._key = None if tensor.is_leaf else hash(get_gradient_edge(tensor).node)

    def is_in(self, keys):
        if self._leaf is None:
            return self._key in keys
        leaf = self._leaf()
        return leaf is not None and hash(get_gradient_edge(leaf).node) in keys


class _AllGradients:
    """Waits in each backward pass for the gradients that it will bring, and hands them on together."""

    def __init__(self, tensors, function):
        self._places = [_Place(t) for t in tensors]
        self._function = function
        self._waiting = weakref.WeakKeyDictionary()  # from the pass to [how many are missing, gradients]
        self._lock = threading.Lock()

    def arrived(self, index, gradient):
        running = _passes()[-1]
        with self._lock:
            state = self._waiting.get(running)
            if state is None:
                keys = {hash(node) for node in _nodes_run(running)}
                state = [sum(place.is_in(keys) for place in self._places), [None] * len(self._places)]
                self._waiting[running] = state
            state[0] -= 1
            state[1][index] = gradient
            complete = state[0] == 0
        if complete:
            self._function(state[1])


class _AnyGradient:
    """Hands on the first gradient of each backward pass."""

    def __init__(self, function):
        self._function = function
        self._seen = weakref.WeakSet()

    def arrived(self, index, gradient):
        running = _passes()[-1]
        if running not in self._seen:
            self._seen.add(running)
            self._function(gradient)


class _Handles(_RemovableHandle):
    """Takes several hooks away together."""

    def __init__(self, handles):
        self._handles = handles

    def remove(self):
        for handle in self._handles:
            handle.remove()


def register_multi_grad_hook(tensors, fn, *, mode="all"):
    """Calls `fn` in backward passes that bring gradients of `tensors`. Gives a handle with remove().

    mode "all": `fn(grads)` once they all are there, with None for tensors that the pass brings none of. "any":
    `fn(grad)` with the first one. Raises ValueError for another mode, RuntimeError for a tensor that requires no grad.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"mode has to be 'all' or 'any', not {mode!r}")
    tensors = tuple(tensors)
    for each in tensors:
        if not each.requires_grad:
            raise RuntimeError("register_multi_grad_hook() takes tensors that require grad")
    state = _AllGradients(tensors, fn) if mode == "all" else _AnyGradient(fn)

    def hook(index):
        return lambda gradient: state.arrived(index, gradient)

    return _Handles([t.register_hook(hook(i)) for i, t in enumerate(tensors)])


__getattr__ = _absent_names(__name__)
