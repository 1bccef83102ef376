"""Gradients of outputs with respect to leaves or to chosen tensors."""

import threading

from .. import _C
from .edge import GradientEdge

_underway = threading.local()


class Pass:
    """One backward pass under way: what it goes back from, for which tensors, and what is done at its end.

    `inputs` is empty where every leaf gets its gradient. `added` holds, by index into `inputs`, what reached an input
    on ways that the record of operations does not show.
    """

    def __init__(self, outputs, inputs, keep_graph, create_graph):
        self.outputs, self.inputs = outputs, inputs
        self.keep_graph, self.create_graph = keep_graph, create_graph
        self.callbacks, self.added = [], {}

    def add(self, index, gradient):
        """Counts `gradient`, or None, towards the one of input number `index`."""
        if gradient is not None:
            have = self.added.get(index)
            self.added[index] = gradient if have is None else have + gradient


def passes():
    """The passes of this thread that are under way: each but the first runs within a step of the one before."""
    if not hasattr(_underway, "passes"):
        _underway.passes = []
    return _underway.passes


# Leaves on which nothing depends, of steps that have to be gone through whatever gradients are asked for: weak.
detours = set()


def run_pass(outputs, grads, keep_graph, create_graph, inputs, accumulate):
    """The gradients of `inputs`, or what is added to the leaves. The record has no examples of vmap: nor have these."""
    here = Pass(outputs, inputs, keep_graph, create_graph)
    wanted = inputs
    if inputs and detours:
        wanted = (*inputs, *(leaf for ref in tuple(detours) if (leaf := ref()) is not None))
    running = passes()
    running.append(here)
    try:
        found = _C._run_backward(outputs, grads, keep_graph, create_graph, wanted, accumulate)
    finally:
        running.pop()
    if here.added:
        found = _with_added(here, found, accumulate)
    for callback in here.callbacks:
        callback()
    return found[: len(inputs)]


def _run(outputs, grads, keep_graph, create_graph, inputs, accumulate):
    if not _C._transforms():
        return run_pass(outputs, grads, keep_graph, create_graph, inputs, accumulate)
    if accumulate:
        raise RuntimeError(
            "backward() cannot run inside a transform of torch.func: use grad() or vjp() of torch.func there, or call "
            "backward() outside of it"
        )
    levels = _C._vmap_levels()

    def whole(x):
        return _C._without_levels(x, levels) if isinstance(x, _C.Tensor) else x

    grads = [
        None if g is None and y.dim() else whole(_C.ones_like(y) if g is None else g) for g, y in zip(grads, outputs)
    ]
    found = run_pass([whole(y) for y in outputs], grads, keep_graph, create_graph, tuple(map(whole, inputs)), False)
    return tuple(None if g is None else _C._with_levels(g, levels) for g in found)


def _with_added(here, found, accumulate):
    if not accumulate:
        added = [here.added.get(i) for i in range(len(found))]
        return tuple(g if a is None else a if g is None else g + a for g, a in zip(found, added))
    for i, gradient in here.added.items():
        x = here.inputs[i]
        x = x.node.variable if isinstance(x, GradientEdge) else x
        x.grad = gradient if x.grad is None else x.grad + gradient
    return found


def _several(given):
    return (given,) if isinstance(given, (_C.Tensor, GradientEdge)) else tuple(given)


def _tensors(given, what, error=RuntimeError):
    """Tensors and edges as a tuple; `error` for anything else."""
    found = _several(given)
    for each in found:
        if not isinstance(each, (_C.Tensor, GradientEdge)):
            raise error(f"{what} have to be Tensors or GradientEdges, not {type(each).__name__}")
    return found


def _sizes_of(root):
    if isinstance(root, _C.Tensor):
        return tuple(root.shape)
    like = root.node._input_metadata[root.output_nr]
    return None if like is None else tuple(like.shape)


def _zeros_like(tensor):
    if isinstance(tensor, GradientEdge):
        raise RuntimeError("zeros can take the place of a gradient for a Tensor, but not for a GradientEdge")
    return _C.zeros_like(tensor)


def _gradients(grads, outputs, batched=False):
    """One gradient for each output, None for 1."""
    given = (grads,) if isinstance(grads, _C.Tensor) else (None,) * len(outputs) if grads is None else tuple(grads)
    if len(given) == 1 and len(outputs) > 1 and given[0] is None:
        given *= len(outputs)
    if len(given) < len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(given)} gradients")
    for i, (g, y) in enumerate(zip(given, outputs)):
        if g is not None and not isinstance(g, _C.Tensor):
            raise TypeError(f"gradients can be Tensors or None, not {type(g).__name__}")
        if batched and g is not None and (g.dim() == 0 or _sizes_of(y) not in (None, tuple(g.shape[1:]))):
            raise RuntimeError(
                f"is_grads_batched=True: grad_outputs[{i}] of {g.shape} needs the sizes {_sizes_of(y)} of its output "
                f"after a first dimension, the batch"
            )
    return given[: len(outputs)]


def _warn(text, kind):
    import warnings

    warnings.warn(text, kind, stacklevel=3)


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds the gradients of `tensors` to the `grad` of the leaves they were computed from.

    `grad_tensors`: for each tensor that which flows into it, of its sizes; None for a tensor of one element means 1.
    `retain_graph` keeps what is needed to do it again, `create_graph` makes the gradients differentiable themselves,
    `inputs` names the tensors whose `grad` is added to. Errors: RuntimeError and TypeError, as the messages say.
    """
    if grad_variables is not None:
        _warn("`grad_variables` is the old name of `grad_tensors`", FutureWarning)
        if grad_tensors is not None:
            raise RuntimeError("`grad_tensors` and `grad_variables` were both given: pass the former only")
        grad_tensors = grad_variables
    if create_graph:
        _warn(
            "backward() with create_graph=True makes a cycle of a leaf and its grad: set grad to None when it is no "
            "longer needed, or use autograd.grad()",
            UserWarning,
        )
    wanted = () if inputs is None else _tensors(inputs, "inputs")
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward` cannot be empty")
    outputs = _tensors(tensors, "tensors", AssertionError)
    grads = _gradients(grad_tensors, outputs)
    if outputs:
        _run(outputs, grads, create_graph if retain_graph is None else retain_graph, create_graph, wanted, True)


def _batched(outputs, grads, keep_graph, create_graph, inputs):
    """grad() for each element of the batch, all at once; None where it is so for all."""
    count = next((len(g) for g in grads if g is not None), 0)
    outer = _C._vmap_levels()
    level = _C._begin_vmap(count, 0)
    try:
        rows = [None if g is None else _C._with_levels(g, (level,)) for g in grads]
        if outer:
            found = _run(outputs, rows, keep_graph, create_graph, inputs, False)
        else:
            found = run_pass(outputs, rows, keep_graph, create_graph, inputs, False)
        return tuple(None if g is None else _C._without_levels(g, (level,)) for g in found)
    finally:
        _C._end_transform(level)


def grad(
    outputs,
    inputs,
    grad_outputs=None,
    retain_graph=None,
    create_graph=False,
    only_inputs=True,
    allow_unused=None,
    is_grads_batched=False,
    materialize_grads=False,
):
    """The gradients of the sum of `outputs` with respect to `inputs`, as a tuple; nothing is added to any `grad`.

    `grad_outputs` is what flows into the outputs, as of backward(); with `is_grads_batched` each has a further first
    dimension, and so have the results: one pass for each. A dict of `inputs` gives a dict. An input that the outputs
    do not depend on is an error (RuntimeError) unless `allow_unused` (None for it) or `materialize_grads` (zeros).
    """
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True")
    if isinstance(inputs, dict):
        found = grad(
            outputs,
            tuple(inputs.values()),
            grad_outputs,
            retain_graph,
            create_graph,
            only_inputs,
            allow_unused,
            is_grads_batched,
            materialize_grads,
        )
        return dict(zip(inputs, found))
    if not only_inputs:
        _warn("only_inputs=False has no effect: call backward() for all leaves", FutureWarning)
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs, inputs = _tensors(outputs, "outputs", AssertionError), _tensors(inputs, "inputs")
    if not inputs:
        raise RuntimeError("`inputs` argument to `grad` cannot be empty")
    grads = _gradients(grad_outputs, outputs, is_grads_batched)
    keep = create_graph if retain_graph is None else retain_graph
    if is_grads_batched:
        found = _batched(outputs, grads, keep, create_graph, inputs)
    else:
        found = _run(outputs, grads, keep, create_graph, inputs, False)
    for i, each in enumerate(found):
        if each is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {i} appears to not have been used in the graph. Set "
                f"allow_unused=True if None is wanted for it."
            )
    if materialize_grads:
        found = tuple(_zeros_like(x) if g is None else g for g, x in zip(found, inputs))
    return found
