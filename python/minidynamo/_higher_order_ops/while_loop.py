"""while_loop: a loop that stays one in the graph."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..utils import _pytree
from .compiled_calls import call as _call


def while_loop(cond_fn, body_fn, carried_inputs):
    """carried = body_fn(*carried) again and again while cond_fn(*carried) holds, beginning with `carried_inputs`.

    `carried_inputs` is a list or tuple of tensors, ints and containers of them. body_fn returns the same structure,
    dtypes and sizes; cond_fn a bool tensor without dimensions, or a bool. Both may not write to what is carried or
    captured, return it, or change Python objects from outside. The results share no memory with the inputs.

    In compiled code the loop is one node of the graph; outside, the call is compiled by itself. Raises RuntimeError for
    arguments that are no functions, AssertionError for others that do not fit, UncapturedHigherOrderOpError where the
    rules are broken.
    """
    if not callable(cond_fn) or not callable(body_fn):
        raise RuntimeError("while_loop(): cond_fn and body_fn should be functions")
    if not isinstance(carried_inputs, (tuple, list)):
        raise AssertionError(f"while_loop(): carried_inputs should be a list or tuple, not {carried_inputs}")
    for leaf in _pytree.tree_leaves(carried_inputs):
        if not isinstance(leaf, _C.Tensor) and (not isinstance(leaf, int) or isinstance(leaf, bool)):
            raise AssertionError(f"while_loop(): carried_inputs may hold tensors and ints, not {leaf!r}")
    return _call(while_loop, _plain, (cond_fn, body_fn), (cond_fn, body_fn, carried_inputs))


def while_loop_op(cond_fn, body_fn, carried_inputs, additional_inputs):
    """while_loop() as graphs call it: both functions take `additional_inputs`, a tuple, behind what is carried."""

    def holds(*carried):
        return cond_fn(*carried, *additional_inputs)

    def step(*carried):
        return body_fn(*carried, *additional_inputs)

    return while_loop(holds, step, carried_inputs)


def _plain(cond_fn, body_fn, carried):
    while cond_fn(*carried):
        carried = body_fn(*carried)
        if isinstance(carried, _C.Tensor):
            carried = (carried,)
    return carried


__getattr__ = _absent_names(__name__)
