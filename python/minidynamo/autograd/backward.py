"""Gradients of outputs with respect to leaves or to chosen tensors."""

from .. import _C


def _outputs(tensors):
    return (tensors,) if isinstance(tensors, _C.Tensor) else tuple(tensors)


def _gradients(grads, count):
    given = (grads,) if grads is None or isinstance(grads, _C.Tensor) else tuple(grads)
    if len(given) == 1 and count > 1 and given[0] is None:
        given *= count
    if len(given) != count:
        raise RuntimeError(f"got {count} tensors and {len(given)} gradients")
    return given


def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    """Adds the gradients of `tensors` to the `grad` of the leaves they were computed from.

    `grad_tensors`: for each tensor that which flows into it, of its sizes; None for a tensor of one element means 1.
    `retain_graph` keeps what is needed to do it again, `create_graph` makes the gradients differentiable themselves,
    `inputs` names the tensors whose `grad` is added to. Errors: RuntimeError, as the messages say.
    """
    outputs = _outputs(tensors)
    grads = _gradients(grad_variables if grad_tensors is None else grad_tensors, len(outputs))
    wanted = () if inputs is None else _outputs(inputs)
    if inputs is not None and not wanted:
        raise RuntimeError("`inputs` argument to `backward` cannot be empty")
    _C._run_backward(outputs, grads, create_graph if retain_graph is None else retain_graph, create_graph, wanted, True)


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

    An input that the outputs do not depend on is an error (RuntimeError) unless `allow_unused` (None for it) or
    `materialize_grads` (zeros).
    """
    if is_grads_batched:
        raise NotImplementedError("is_grads_batched needs vmap")
    if materialize_grads and allow_unused is False:
        raise ValueError("Expected allow_unused to be True or not passed when materialize_grads=True")
    allow_unused = materialize_grads if allow_unused is None else allow_unused
    outputs, inputs = _outputs(outputs), _outputs(inputs)
    if not inputs:
        raise ValueError("grad requires non-empty inputs.")
    grads = _gradients(grad_outputs, len(outputs))
    keep = create_graph if retain_graph is None else retain_graph
    found = _C._run_backward(outputs, grads, keep, create_graph, inputs, False)
    if not allow_unused and any(g is None for g in found):
        raise RuntimeError(
            "One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if "
            "this is the desired behavior."
        )
    if materialize_grads:
        found = tuple(_C.zeros_like(x) if g is None else g for g, x in zip(found, inputs))
    return found
