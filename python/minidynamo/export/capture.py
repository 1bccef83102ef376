"""One run of a module that writes down what it does to tensors."""

import copy
from types import SimpleNamespace

from .. import _C
from .._dynamo import config, exc
from .._dynamo.exporting import _Capture, _tensors, with_code_of_its_own
from .._dynamo.marked_callables import dont_skip_tracing
from ..utils import _pytree
from .dims import DimHint


class _Untouched:
    """What running a program may not change for good: elements of tensors, and the stream of random numbers."""

    def __init__(self, tensors):
        self._tensors = [(t, t._version, t.detach().clone()) for t in tensors if t.layout == _C.strided]
        self._stream = _C.default_generator.get_state()

    def restore(self):
        for tensor, version, elements in self._tensors:
            if tensor._version != version:
                tensor.detach().copy_(elements)
        _C.default_generator.set_state(self._stream)


@dont_skip_tracing
def ints_of(value):
    """The ints in nested results, in order."""
    if isinstance(value, int) and not isinstance(value, bool):
        return [value]
    found = []
    if isinstance(value, (tuple, list)):
        for item in value:
            found += ints_of(item)
    elif isinstance(value, dict):
        for item in value.values():
            found += ints_of(item)
    return found


def _with_sizes(forward):
    """The same; ints of its results are given as tensors as well, so that the graph computes them."""

    @dont_skip_tracing
    def with_sizes(*args, **kwargs):
        result = forward(*args, **kwargs)
        sizes = []
        for size in ints_of(result):  # no comprehension: until 3.12 that is a function of its own, not traced here
            sizes.append(_C.zeros((), dtype=_C.int64) + size)
        return result, sizes

    return with_sizes


def captured(mod, args, kwargs, arguments, marked, strict):
    """(what the backend was given, result, guards, sizes among the results as tensors)."""
    tensors = dict(_tensors(arguments))
    untouched = _Untouched([*mod.parameters(), *mod.buffers(), *tensors.values()])
    try:
        try:
            capture, result, guards = _traced(mod.forward, args, kwargs, tensors, marked)
            if not marked or not ints_of(result):
                return capture, result, guards, []
            untouched.restore()
            capture, (result, sizes), guards = _traced(_with_sizes(mod.forward), args, kwargs, tensors, marked)
            return capture, result, guards, sizes
        except exc.Unsupported as error:
            if strict:
                raise
            if "Data-dependent" in str(error):
                from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

                raise GuardOnDataDependentSymNode(str(error)) from None
            if marked:
                raise
            untouched.restore()
            try:
                return *_run(mod, args, kwargs), [], []
            except RuntimeError:  # an element is asked for
                raise error from None
    finally:
        untouched.restore()


def _traced(function, args, kwargs, tensors, marked):
    from .._dynamo.dynamic_marks import mark_dynamic, maybe_mark_dynamic
    from .._dynamo.eval_frame import compile
    from .._dynamo.recording import recording
    from ..fx.experimental.symbolic_shapes import ConstraintViolationError

    before = {path: copy.copy(tensors[path].__dict__) for path in marked}
    for path, spec in marked.items():
        for dim, each in spec.items():
            if isinstance(each, DimHint) and each._kind == "AUTO":
                maybe_mark_dynamic(tensors[path], dim)
            else:
                mark_dynamic(tensors[path], dim, max=getattr(each, "max", None))
    capture = _Capture()
    try:
        with recording(exports=True) as record, config.patch(capture_scalar_outputs=True):
            compiled = compile(
                with_code_of_its_own(function), backend=capture, fullgraph=True, dynamic=None if marked else False
            )
            result = compiled(*args, **kwargs)
            return capture, result, record.guards()
    except ConstraintViolationError as error:
        raise exc.UserError(None, str(error)) from None
    finally:
        for path, attributes in before.items():
            tensors[path].__dict__.clear()
            tensors[path].__dict__.update(attributes)


def _run(mod, args, kwargs):
    """The same by running the module as plain Python, whose effects happen, and noting the operators."""
    from ..func import functional_call
    from ..fx.experimental.proxy_tensor import make_fx

    held = dict(mod.named_parameters()) | dict(mod.named_buffers())
    leaves, spec = _pytree.tree_flatten((args, kwargs))
    places = [k for k, x in enumerate(leaves) if isinstance(x, _C.Tensor)]
    results = []

    def flat(*inputs):
        filled = list(leaves)
        for k, x in zip(places, inputs[len(held) :]):
            filled[k] = x
        args, kwargs = _pytree.tree_unflatten(filled, spec)
        results[:] = [functional_call(mod, dict(zip(held, inputs)), args, kwargs)]
        return tuple([x for _, x in _tensors(results[0])])

    inputs = [*held.values(), *[leaves[k] for k in places]]
    graph_module = make_fx(flat)(*inputs)
    outputs = [x for _, x in _tensors(results[0])]
    return SimpleNamespace(graphs=[graph_module], inputs=inputs, outputs=outputs), results[0]
