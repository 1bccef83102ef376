"""export: one graph of a function, callable like the function."""

import collections
import inspect

from .. import _C
from ..fx.captured import CapturedModule
from ..utils.tree_nodes import SUPPORTED_NODES
from .exc import TorchDynamoException

ExportResult = collections.namedtuple("ExportResult", "graph_module guards")


class _Leaf:
    """Where a tensor goes or comes from: ("argument", path), ("constant", value), ("output", index)."""

    def __init__(self, kind, place):
        self.kind = kind
        self.place = place


class _Part(int):
    """A step of a path: the number of a part of an object whose class is registered with _pytree."""

    __str__ = int.__repr__


def _registered(value):
    return None if isinstance(value, (tuple, list, dict)) else SUPPORTED_NODES.get(type(value))


def at_path(value, path):
    """What is there in nested containers."""
    for step in path:
        value = _registered(value).flatten_fn(value)[0][step] if isinstance(step, _Part) else value[step]
    return value


def _tensors(value, path=()):
    """(path, tensor) of every tensor in nested tuples, lists, dicts and classes registered with _pytree."""
    if isinstance(value, _C.Tensor):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            yield from _tensors(item, (*path, k))
    elif isinstance(value, dict):
        for k, item in value.items():
            yield from _tensors(item, (*path, k))
    elif (node := _registered(value)) is not None:
        for k, item in enumerate(node.flatten_fn(value)[0]):
            yield from _tensors(item, (*path, _Part(k)))


def _mapped(value, change):
    """The same structure with tensors replaced."""
    if isinstance(value, (_C.Tensor, _Leaf)):
        return change(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_mapped(v, change) for v in value))
    if isinstance(value, (tuple, list)):
        return type(value)(_mapped(v, change) for v in value)
    if isinstance(value, dict):
        return {k: _mapped(v, change) for k, v in value.items()}
    if (node := _registered(value)) is not None:
        parts, context = node.flatten_fn(value)
        return node.unflatten_fn([_mapped(v, change) for v in parts], context)
    return value


class ExportedModule(CapturedModule):
    """The graph with the signature of the function it comes from; results have the function's structure."""

    def __init__(self, native, signature, inputs, result, sizes):
        super().__init__(native)
        self._signature = signature
        self._inputs = inputs
        self._result = result
        self._sizes = sizes

    def __call__(self, *args, **kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments
        given = [self._find(leaf, arguments) for leaf in self._inputs]
        for leaf, tensor, sizes in zip(self._inputs, given, self._sizes):
            if sizes is not None and tuple(tensor.shape) != sizes:
                raise RuntimeError(
                    f"the exported graph takes a tensor of sizes {sizes} at {_path_text(leaf.place)}, but "
                    f"{tuple(tensor.shape)} were given; export with that argument"
                )
        outputs = self.forward(*given)
        return _mapped(
            self._result,
            lambda leaf: outputs[leaf.place] if leaf.kind == "output" else self._find(leaf, arguments),
        )

    def _find(self, leaf, arguments):
        if leaf.kind == "constant":
            return leaf.place
        return at_path(arguments, leaf.place)


def _path_text(path):
    if not isinstance(path, tuple):
        return "a constant"
    return str(path[0]) + "".join(f"[{step!r}]" for step in path[1:])


class _Capture:
    """Backend that keeps the one graph, what it was called with and what it gave."""

    def __init__(self):
        self.graphs = []
        self.inputs = self.outputs = ()

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        self.inputs = example_inputs

        def run(*inputs):
            self.outputs = gm.forward(*inputs)
            return self.outputs

        return run


_ACCEPTED = frozenset(
    """
    aten_graph pre_dispatch decomposition_table tracing_mode dynamic_shapes specialize_float constraints
    prefer_deferred_runtime_asserts_over_guards allow_complex_guards_as_runtime_asserts disable_constraint_solver
    _log_export_usage
    """.split()
)  # say how the graph is to be shown or checked; its results are the same


def export(f, *extra_args, assume_static_by_default=True, same_signature=True, **extra_kwargs):
    """`export(f)(*args)` runs `f` once on these arguments and gives (graph_module, guards).

    The graph module is called like `f` and returns what it returns; tensors `f` takes from outside (globals, closures,
    parameters) are held by it, Python values among the arguments are those of the export. Raises Unsupported for a
    graph break: there is exactly one graph, which is empty if `f` computes nothing.
    """

    extra_kwargs = {name: value for name, value in extra_kwargs.items() if name not in _ACCEPTED}

    def inner(*args, **kwargs):
        return _export(f, args, kwargs, assume_static_by_default)

    if extra_args or extra_kwargs:
        return inner(*extra_args, **extra_kwargs)
    return inner


def _export(f, args, kwargs, static):
    from .eval_frame import compile
    from .recording import recording

    original = _C._original(f) or f
    signature = inspect.signature(original)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    capture = _Capture()
    with recording() as record:
        compiled = compile(original, backend=capture, fullgraph=True, dynamic=False if static else None)
        result = compiled(*args, **kwargs)
    if len(capture.graphs) > 1:
        raise TorchDynamoException(
            f"export() needs a function that is one graph; {getattr(f, '__qualname__', f)} gave {len(capture.graphs)}"
        )
    named = {_C._tensor_id(t): path for path, t in reversed(list(_tensors(dict(bound.arguments))))}
    outputs = {_C._tensor_id(t): k for k, t in reversed(list(enumerate(capture.outputs)))}

    def place(tensor):
        number = _C._tensor_id(tensor)
        return _Leaf("argument", named[number]) if number in named else _Leaf("constant", tensor)

    def result_place(tensor):
        number = _C._tensor_id(tensor)
        return _Leaf("output", outputs[number]) if number in outputs else place(tensor)

    inputs = [place(t) if hasattr(t, "shape") else _Leaf("constant", t) for t in capture.inputs]

    sizes = [tuple(t.shape) if static and hasattr(t, "shape") else None for t in capture.inputs]
    native = capture.graphs[0]._native if capture.graphs else _C._Graph.empty()
    module = ExportedModule(native, signature, inputs, _mapped(result, result_place), sizes)
    return ExportResult(module, record.guards())
