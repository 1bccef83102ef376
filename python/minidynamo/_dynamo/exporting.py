"""export: one graph of a function, callable like the function."""

import collections
import contextlib
import inspect
import threading
from types import FunctionType, MethodType

from .. import _C
from ..fx.captured import CapturedModule
from ..utils.tree_nodes import SUPPORTED_NODES
from .exc import TorchDynamoException
from .marked_callables import dont_skip_tracing

ExportResult = collections.namedtuple("ExportResult", "graph_module guards")


_exports = threading.local()  # .under_way: this thread's export runs its function


def under_way():
    """Whether what this thread compiles is for an export."""
    return getattr(_exports, "under_way", False)


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
            if sizes is not None and not _fits(tensor.shape, sizes):
                raise RuntimeError(
                    f"the exported graph takes a tensor of sizes {sizes} at {_path_text(leaf.place)}, but "
                    f"{tuple(tensor.shape)} were given; export with that argument"
                )
        if self._conditions:
            self._check_sizes(arguments)
        outputs = self.forward(*given)
        return _mapped(
            self._result,
            lambda leaf: outputs[leaf.place] if leaf.kind == "output" else self._find(leaf, arguments),
        )

    def _check_sizes(self, arguments):
        from ..export.constraints import path_text

        found = {path_text(path): tensor for path, tensor in _tensors(dict(arguments))}
        for guard in self._conditions:
            if not guard.holds(lambda path, dim: found[path].shape[dim]):
                raise RuntimeError(f"the exported graph is for {guard.text}; export with that argument")

    def show_operators(self):
        """Makes the graph one of operators of torch.ops.aten."""
        from ..export.aten_graph import lifted

        names = [node.target for node in self.graph.nodes if node.op == "placeholder"]
        if names:
            self.__dict__["_graph"] = lifted(self.graph, names)[0]

    def _find(self, leaf, arguments):
        if leaf.kind == "constant":
            return leaf.place
        return at_path(arguments, leaf.place)


def _fits(shape, sizes):
    return len(shape) == len(sizes) and all(n is None or n == size for n, size in zip(sizes, shape))


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
    pre_dispatch decomposition_table specialize_float constraints
    prefer_deferred_runtime_asserts_over_guards allow_complex_guards_as_runtime_asserts disable_constraint_solver
    _log_export_usage
    """.split()
)  # say how the graph is to be shown or checked; its results are the same


def export(
    f, *extra_args, assume_static_by_default=False, same_signature=True, dynamic_shapes=None, aten_graph=False,
    tracing_mode="symbolic", **extra_kwargs,
):  # fmt: skip
    """`export(f)(*args)` runs `f` once on these arguments and gives (graph_module, guards).

    The graph module is called like `f` and returns what it returns; tensors `f` takes from outside (globals, closures,
    parameters) are held by it, Python values among the arguments are those of the export. Raises Unsupported for a
    graph break: there is exactly one graph, which is empty if `f` computes nothing.

    `dynamic_shapes` says, by the names of arguments, which sizes may differ later. With `aten_graph` the nodes are
    operators of torch.ops.aten. Sizes may differ as far as the function did not ask,
    but not with `assume_static_by_default`.
    """

    extra_kwargs = {name: value for name, value in extra_kwargs.items() if name not in _ACCEPTED}

    def inner(*args, **kwargs):
        result = _export(f, args, kwargs, assume_static_by_default, dynamic_shapes)
        if aten_graph:
            result.graph_module.show_operators()
        return result

    if extra_args or extra_kwargs:
        return inner(*extra_args, **extra_kwargs)
    return inner


@contextlib.contextmanager
def _marked(bound, given, static, dynamic_shapes):
    """{path: dimensions that may differ}, marked on the tensors meanwhile."""
    from ..export.dims import of_arguments
    from .dynamic_marks import maybe_mark_dynamic

    tensors = dict(_tensors(dict(bound.arguments)))
    found = of_arguments(dynamic_shapes, given)
    if dynamic_shapes is None and not static:
        found = {path: range(t.dim()) for path, t in tensors.items()}
    before = {path: dict(tensors[path].__dict__) for path in found}
    try:
        for path, dims in found.items():
            for dim in dims:
                maybe_mark_dynamic(tensors[path], dim)
        yield found
    finally:
        for path, attributes in before.items():
            tensors[path].__dict__.clear()
            tensors[path].__dict__.update(attributes)


def with_code_of_its_own(function):
    """The same function: guards of what is compiled for it are those of this trace alone."""
    plain = getattr(function, "__func__", function)
    if not isinstance(plain, FunctionType):
        return function
    copied = FunctionType(
        plain.__code__.replace(), plain.__globals__, plain.__name__, plain.__defaults__, plain.__closure__
    )
    copied.__kwdefaults__, copied.__qualname__ = plain.__kwdefaults__, plain.__qualname__
    dont_skip_tracing(copied)
    return copied if plain is function else MethodType(copied, function.__self__)


@contextlib.contextmanager
def _going_on():
    before, _exports.under_way = under_way(), True
    try:
        yield
    finally:
        _exports.under_way = before


def _export(f, args, kwargs, static, dynamic_shapes):
    from ..export.constraints import guards_of, path_text
    from .eval_frame import compile
    from .recording import recording

    original = _C._original(f) or f
    signature = inspect.signature(original)
    bound = signature.bind(*args, **kwargs)
    given = dict(bound.arguments)
    bound.apply_defaults()
    capture = _Capture()
    with _going_on(), _marked(bound, given, static, dynamic_shapes) as marked, recording(exports=True) as record:
        dynamic = None if marked else False
        compiled = compile(with_code_of_its_own(original), backend=capture, fullgraph=True, dynamic=dynamic)
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

    def fixed(leaf, t):
        free = marked.get(leaf.place, ()) if leaf.kind == "argument" else ()
        return tuple([None if d in free else n for d, n in enumerate(t.shape)])

    sizes = [fixed(leaf, t) if hasattr(t, "shape") else None for leaf, t in zip(inputs, capture.inputs)]
    guards = record.guards()
    paths = [path_text(path) for path, _ in _tensors(dict(bound.arguments))]
    native = capture.graphs[0]._native if capture.graphs else _C._Graph.empty()
    module = ExportedModule(native, signature, inputs, _mapped(result, result_place), sizes)
    module.__dict__["_conditions"] = guards_of(guards, paths)
    return ExportResult(module, guards)
