"""torch.autograd.functional: Jacobians and Hessians of functions of tensors, and their products with vectors.

Products with a Jacobian from the right use that J^T u is linear in u: its own derivative, applied to v, is J v.
"""

from .. import _C
from .._absent import absent_names as _absent_names
from .backward import grad as _grad
from .grad_mode import enable_grad as _enable_grad

__all__ = ["vjp", "jvp", "jacobian", "hessian", "hvp", "vhp"]

_STRATEGIES = ("forward-mode", "reverse-mode")


def _tensors(given, what, function):
    """Whether a tuple was given, and the tensors as one. TypeError for anything else."""
    found = given if isinstance(given, tuple) else (given,)
    for i, each in enumerate(found):
        if not isinstance(each, _C.Tensor):
            where = f"the value at index {i} has" if isinstance(given, tuple) else f"the given {what} has"
            raise TypeError(
                f"The {what} of {function} must be a Tensor or a tuple of Tensors, but {where} {type(each)}"
            )
    return isinstance(given, tuple), found


def _fresh_inputs(inputs, create_graph):
    """Inputs that require grad: views of those given if gradients have to reach them, else apart from them."""
    return tuple(x.view_as(x) if create_graph and x.requires_grad else x.detach().requires_grad_() for x in inputs)


def _vectors(v, like, function):
    """The vectors of a product, of the sizes of `like`, apart from any graph; without any, 1 for a single element."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise RuntimeError(f"{function} needs v, unless there is one tensor of one element that v belongs to")
        return (_C.ones_like(like[0]),)
    found = _tensors(v, "v", function)[1]
    if len(found) != len(like):
        raise RuntimeError(f"v of {function} has {len(found)} tensors where {len(like)} are needed")
    for i, (have, want) in enumerate(zip(found, like)):
        if have.shape != want.shape:
            raise RuntimeError(f"v of {function} has invalid size at {i}: {have.shape} instead of {want.shape}")
    return found


def _call(func, inputs, function, strict):
    """Whether the outputs are a tuple, and the outputs."""
    is_tuple, outputs = _tensors(func(*inputs), "outputs of the user-provided function", function)
    if strict:
        for i, y in enumerate(outputs):
            if not y.requires_grad:
                raise RuntimeError(f"strict mode: output {i} of the user-provided function does not require gradients")
    return is_tuple, outputs


def _products(outputs, inputs, vectors, create_graph, keep_graph=True):
    """For each input the sum over outputs of J^T v; None where no output depends on it."""
    flowing = [(y, v) for y, v in zip(outputs, vectors) if y is not None and y.requires_grad]
    if not flowing:
        return (None,) * len(inputs)
    outputs, vectors = zip(*flowing)
    return _grad(outputs, inputs, vectors, keep_graph, create_graph, allow_unused=True)


def _filled(found, like, strict, what):
    """Zeros for what does not depend, an error in strict mode; `what` says of input i that it is independent."""
    for i, each in enumerate(found):
        if strict and each is None:
            raise RuntimeError(f"strict mode: {what.format(i)}")
    return tuple(_C.zeros_like(x) if g is None else g for g, x in zip(found, like))


def _check_differentiable(found):
    for i, each in enumerate(found):
        if not each.requires_grad:
            raise RuntimeError(
                f"strict mode with create_graph=True: the jacobian of the user-provided function is independent of "
                f"input {i}"
            )


def _finished(tensors, is_tuple, create_graph):
    if not create_graph:
        tensors = tuple(t.detach() for t in tensors)
    return tensors if is_tuple else tensors[0]


_NO_OUTPUT = "the output of the user-provided function is independent of input {}"
_NO_FIRST = "the jacobian of the user-provided function with respect to input {} is independent of the input"


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)` and, of the sizes of the inputs, the products v^T J with its Jacobian.

    `inputs`, `v` and what `func` returns are a Tensor or a tuple of Tensors; `v` is like the outputs, and 1 if not
    given for one of one element. `create_graph` makes both results differentiable. `strict` raises RuntimeError where
    an output does not depend on an input, which otherwise gives zeros.
    """
    with _enable_grad():
        is_tuple, given = _tensors(inputs, "inputs", "vjp")
        given = _fresh_inputs(given, create_graph)
        outputs_tuple, outputs = _call(func, given, "vjp", strict)
        vectors = _vectors(v, outputs, "vjp")
        found = _products(outputs, given, vectors, create_graph, create_graph)
        found = _filled(found, given, strict, _NO_OUTPUT)
        if strict and create_graph:
            _check_differentiable(found)
    return _finished(outputs, outputs_tuple, create_graph), _finished(found, is_tuple, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)` and, of the sizes of the outputs, the products J v with its Jacobian: derivatives along v.

    Arguments as of vjp(), but `v` is like the inputs.
    """
    with _enable_grad():
        given = _fresh_inputs(_tensors(inputs, "inputs", "jvp")[1], create_graph)
        vectors = _vectors(v, given, "jvp")
        is_tuple, outputs = _call(func, given, "jvp", strict)
        weights = tuple(_C.zeros_like(y).requires_grad_() for y in outputs)
        back = _products(outputs, given, weights, True)
        _filled(back, given, strict, _NO_OUTPUT)
        found = _filled(_products(back, weights, vectors, create_graph, create_graph), outputs, False, "")
        if strict and create_graph:
            _check_differentiable(found)
    return _finished(outputs, is_tuple, create_graph), _finished(found, is_tuple, create_graph)


def _rows(output, index, inputs, create_graph, strict):
    """For each input the derivatives of all elements of `output`, of its sizes followed by the input's."""
    flat, rows = output.reshape(-1), []
    what = f"output {index} of the user-provided function is independent of input {{}}"
    for j in range(output.numel()):
        found = _products((flat[j],), inputs, (None,), create_graph)
        found = _filled(found, inputs, strict, what)
        if strict and create_graph:
            _check_differentiable(found)
        rows.append(found)
    if not rows:
        return tuple(output.new_zeros(output.shape + x.shape) for x in inputs)
    return tuple(_C.stack(of_input).reshape(output.shape + x.shape) for of_input, x in zip(zip(*rows), inputs))


def _rows_at_once(output, inputs, create_graph):
    """As _rows(), all in one pass."""
    count = output.numel()
    if not (count and output.requires_grad):
        return tuple(output.new_zeros(output.shape + x.shape) for x in inputs)
    basis = _C.eye(count, dtype=output.dtype, device=output.device).reshape((count, *output.shape))
    found = _grad((output,), inputs, (basis,), True, create_graph, allow_unused=True, is_grads_batched=True)
    return tuple(
        output.new_zeros(output.shape + x.shape) if g is None else g.reshape(output.shape + x.shape)
        for g, x in zip(found, inputs)
    )


def _check_strategy(strategy, create_graph, strict, vectorize):
    if strategy not in _STRATEGIES:
        raise AssertionError(f"Expected strategy to be one of {_STRATEGIES}, got {strategy!r}")
    if strategy == "forward-mode":
        if create_graph:
            raise NotImplementedError('create_graph=True is not supported with strategy="forward-mode"')
        if strict:
            raise RuntimeError('strict=True is not supported with strategy="forward-mode"')
        if not vectorize:
            raise NotImplementedError('strategy="forward-mode" is only implemented with vectorize=True')
    if strict and vectorize:
        raise RuntimeError("strict=True and vectorize=True are not supported together")


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    """The Jacobian of `func` at `inputs`: derivatives of the sizes of an output followed by those of an input.

    A Tensor for one input and one output that are no tuples, else a tuple over inputs or outputs, or a tuple over
    outputs of tuples over inputs. `create_graph` makes it differentiable; `strict` raises RuntimeError where an output
    does not depend on an input, which otherwise gives zeros. With `vectorize` all rows are worked out at once;
    `strategy` changes neither values nor time.

    Raises AssertionError for another strategy than "reverse-mode" and "forward-mode", NotImplementedError for the
    latter with `create_graph` or without `vectorize`, RuntimeError for `strict` with `vectorize`.
    """
    _check_strategy(strategy, create_graph, strict, vectorize)
    with _enable_grad():
        is_tuple, given = _tensors(inputs, "inputs", "jacobian")
        given = _fresh_inputs(given, create_graph)
        outputs_tuple, outputs = _call(func, given, "jacobian", strict)
        if vectorize:
            found = [_rows_at_once(y, given, create_graph) for y in outputs]
        else:
            found = [_rows(y, i, given, create_graph, strict) for i, y in enumerate(outputs)]
    found = tuple(_finished(of_output, is_tuple, create_graph) for of_output in found)
    return found if outputs_tuple else found[0]


def _first(func, inputs, function, strict):
    """The output of `func`, of one element, and its differentiable gradients."""
    is_tuple, outputs = _call(func, inputs, function, strict)
    if is_tuple:
        raise RuntimeError(f"The function given to {function} should return a single Tensor, not a tuple")
    if outputs[0].numel() != 1:
        raise RuntimeError(f"The Tensor returned by the function given to {function} should contain a single element")
    found = _filled(_products(outputs, inputs, (None,), True), inputs, strict, _NO_OUTPUT)
    for i, each in enumerate(found):
        if strict and not each.requires_grad:
            raise RuntimeError(f"strict mode: {_NO_FIRST.format(i)}")
    return outputs[0], found


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    """The second derivatives of `func` at `inputs`, whose result has one element: of one input's sizes twice.

    A Tensor, or for a tuple of inputs a tuple of tuples over pairs of them. Options and errors as of jacobian().
    """
    if outer_jacobian_strategy not in _STRATEGIES:
        raise AssertionError(f"Expected strategy to be one of {_STRATEGIES}, got {outer_jacobian_strategy!r}")
    is_tuple, given = _tensors(inputs, "inputs", "hessian")

    def first(*args):
        return _first(func, args, "hessian", strict)[1]

    found = jacobian(first, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if is_tuple else found[0][0]


def vhp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, of one element, and, of the sizes of the inputs, the product v^T H with its Hessian.

    Arguments as of vjp(), but `v` is like the inputs.
    """
    with _enable_grad():
        is_tuple, given = _tensors(inputs, "inputs", "vhp")
        given = _fresh_inputs(given, create_graph)
        vectors = _vectors(v, given, "vhp")
        output, first = _first(func, given, "vhp", strict)
        found = _filled(_products(first, given, vectors, create_graph, create_graph), given, strict, _NO_FIRST)
        if strict and create_graph:
            _check_differentiable(found)
    return _finished((output,), False, create_graph), _finished(found, is_tuple, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    """`func(*inputs)`, of one element, and, of the sizes of the inputs, the product H v with its Hessian.

    Arguments as of vhp(), which gives the same where the second derivatives are continuous, and is faster.
    """
    with _enable_grad():
        is_tuple, given = _tensors(inputs, "inputs", "hvp")
        given = _fresh_inputs(given, create_graph)
        vectors = _vectors(v, given, "hvp")
        output, first = _first(func, given, "hvp", strict)
        weights = tuple(_C.zeros_like(x).requires_grad_() for x in given)
        second = _filled(_products(first, given, weights, True), given, strict, _NO_FIRST)
        found = _filled(_products(second, weights, vectors, create_graph, create_graph), given, False, "")
        if strict and create_graph:
            _check_differentiable(found)
    return _finished((output,), False, create_graph), _finished(found, is_tuple, create_graph)


__getattr__ = _absent_names(__name__)
