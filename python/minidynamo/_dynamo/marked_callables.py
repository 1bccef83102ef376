"""How a program says that a callable is to be treated in its own way: kept whole, left out, replaced, or entered.

Marks live in native code, by object: `_C._mark_callable(object, kind, payload)`.
"""

import contextlib
import functools
import sys
import types

from .. import _C
from .marked_report import break_policy as _break_policy


class NoFakeImplementation(RuntimeError):
    """Nothing computes the shape of an operator's result without running it."""


class DynamicShape(RuntimeError):
    """The size of a result depends on the contents of an argument, and such sizes are not captured."""


class DynamicShapeWithoutRule(RuntimeError):
    """The same, and no fake implementation describes the size."""


class DataDependentValue(RuntimeError):
    """A function kept whole, or a fake implementation, asks for an element while only shapes are known."""


def _mark_all(fn, kind, who):
    if isinstance(fn, (list, tuple)):
        return [_mark_all(f, kind, who) for f in fn]
    if not callable(fn):
        raise AssertionError(f"{who} expects a callable, but {type(fn)} is provided.")
    _C._mark_callable(fn, kind)
    return fn


def allow_in_graph(fn):
    """In compiled code a call of `fn` is one node of the graph, which runs `fn` as it is.

    Tensors, numbers, strings, dtypes, None and lists and tuples of them go in; tensors and containers of them come out.
    Shapes of results are found by calling `fn` once on tensors of zeros while tracing. Also takes a list of callables.
    AssertionError for what is not callable.
    """
    return _mark_all(fn, "allow_in_graph", "allow_in_graph")


def disallow_in_graph(fn):
    """In compiled code a call of `fn` is a graph break, even if `fn` is an op. Also takes a list.

    AssertionError for what is not callable.
    """
    return _mark_all(fn, "disallow", "disallow_in_graph")


def forbid_in_graph(fn):
    """In compiled code a call of `fn` is an error, ForbiddenCallable. Also takes a list.

    AssertionError for what is not callable.
    """
    return _mark_all(fn, "forbid", "forbid_in_graph")


def assume_constant_result(fn):
    """`fn` is called while tracing, with constant arguments; its result is a constant of the compiled code.

    Nothing checks later that it would still be the same. AssertionError for what is not callable.
    """
    return _mark_all(fn, "constant", "assume_constant_result")


def dont_skip_tracing(fn=None):
    """`fn` is traced although it belongs to a module whose functions are called as they are."""
    if fn is None:
        return dont_skip_tracing
    return _mark_all(fn, "dont_skip", "dont_skip_tracing")


def nonstrict_trace(traceable_fn):
    """A function like `traceable_fn` that compiled code keeps whole: one node (`flat_apply`) of the graph calls it.

    What happens inside, graph breaks included, does not matter to the trace. Arguments and results as for
    allow_in_graph(). AssertionError for what is not callable.
    """
    fn = traceable_fn
    if not callable(fn):
        raise AssertionError(f"nonstrict_trace expects a callable, but {type(fn)} is provided.")

    @functools.wraps(fn)
    def kept_whole(*args, **kwargs):
        return fn(*args, **kwargs)

    _C._mark_callable(kept_whole, "nonstrict_trace", fn)
    return kept_whole


def nested_compile_region(fn=None, *, options=None, max_reuse_entries=8, reuse_hash_fn=None):
    """Decorator for a function (or module) that a program calls often: torch compiles it once for all calls.

    Here it is traced in place at each call, and the options change nothing; what can be decorated is the same. In
    compiled code a break in the function (with its code), results that are inputs (GB0040) and other callables than
    functions and modules (GB0042) are an UncapturedHigherOrderOpError in every mode.
    """
    if fn is None:
        return functools.partial(
            nested_compile_region,
            options=options,
            max_reuse_entries=max_reuse_entries,
            reuse_hash_fn=reuse_hash_fn,
        )
    if not callable(fn):
        raise AssertionError(f"nested_compile_region expects a callable, but {type(fn)} is provided.")

    @functools.wraps(fn, updated=())
    def region(*args, **kwargs):
        return fn(*args, **kwargs)

    _C._mark_callable(region, "compile_region", fn)
    return region


def substitute_in_graph(original_fn, *, can_constant_fold_through=False, skip_signature_check=False):
    """A decorator: compiled code that calls `original_fn` traces the decorated Python function instead.

    Raises TypeError if either is no function, or if they take different arguments.
    """
    if not callable(original_fn) or isinstance(original_fn, type):
        raise TypeError(f"substitute_in_graph expects a function but got {type(original_fn)}")

    def decorate(traceable_fn):
        if not isinstance(traceable_fn, types.FunctionType):
            raise TypeError(f"@substitute_in_graph(...) expects a Python function but got {type(traceable_fn)}")
        if not skip_signature_check:
            _check_same_arguments(original_fn, traceable_fn)
        _C._mark_callable(original_fn, "substitute", traceable_fn)
        return traceable_fn

    return decorate


def _check_same_arguments(original_fn, traceable_fn):
    import inspect  # here: it takes milliseconds

    try:
        wanted = inspect.signature(original_fn)
    except ValueError:
        return  # a builtin that does not say
    given = inspect.signature(traceable_fn)
    shape = [[(p.name, p.kind) for p in s.parameters.values()] for s in (wanted, given)]
    if shape[0] != shape[1]:
        raise TypeError(
            f"the signatures of {original_fn} {wanted} and of its substitute {traceable_fn.__name__} {given} differ; "
            "skip_signature_check=True allows that"
        )


class _Spread:
    """A function called with the tensors inside of its arguments, which have `hole` in their places."""

    def __init__(self, function, args, kwargs, hole):
        self._function = function
        self._args = args
        self._kwargs = kwargs
        self._hole = hole

    def __call__(self, *tensors):
        rest = iter(tensors)
        args = _filled(self._args, self._hole, rest)
        return self._function(*args, **_filled(self._kwargs, self._hole, rest))


def _filled(shape, hole, tensors):
    """`shape` with the next of `tensors` in the place of each hole."""
    if shape is hole:
        return next(tensors)
    if isinstance(shape, _Tree):
        return shape.unflatten(_filled(shape.parts, hole, tensors), shape.context)
    if isinstance(shape, dict):
        return {k: _filled(v, hole, tensors) for k, v in shape.items()}
    if isinstance(shape, (list, tuple)):
        return type(shape)(_filled(v, hole, tensors) for v in shape)
    return shape


class _Tree:
    """An object of a class that is registered in torch.utils._pytree, as parts."""

    def __init__(self, cls, context, parts):
        self.unflatten = _tree_functions(cls)[1]
        self.context, self.parts = context, parts


def _trees():
    """What classes are registered with, once the module for it is loaded; that of the library's own aside."""
    module = sys.modules.get(f"{__package__.rpartition('.')[0]}.utils._pytree")
    return {} if module is None else module.SUPPORTED_NODES


def _own_tree(cls):
    return cls in (list, tuple, dict) or cls.__module__ in ("collections", "builtins")


def _has_tree_classes():
    return any(not _own_tree(cls) for cls in _trees())


def _tree_functions(cls):
    """(flatten, unflatten) of a class of the program's that is registered; None for others."""
    found = None if _own_tree(cls) else _trees().get(cls)
    return None if found is None else (found.flatten_fn, found.unflatten_fn)


def _alike(a, b):
    if type(a) is not type(b):
        return False
    if isinstance(a, _Tree):
        return a.unflatten is b.unflatten and a.context == b.context and _alike(a.parts, b.parts)
    if isinstance(a, dict):
        return list(a) == list(b) and all(_alike(a[k], b[k]) for k in a)
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(_alike, a, b))
    return a is b or a == b


class _TakenApart:
    """A function that gives the tensors inside of its result as a list; what was around them stands in `structure`."""

    def __init__(self, function, hole):
        functools.update_wrapper(self, function, updated=())
        self._function, self._hole = function, hole
        self.structure, self.has_trees = None, False

    def __call__(self, *args, **kwargs):
        tensors = []
        structure = self._apart(self._function(*args, **kwargs), tensors)
        if self.structure is not None and not _alike(structure, self.structure):
            raise RuntimeError(f"{self.__name__}() returned something else than a result like that it was traced with")
        self.structure = structure
        return tensors

    def _apart(self, value, tensors):
        if isinstance(value, _C.Tensor):
            tensors.append(value)
            return self._hole
        functions = _tree_functions(type(value))
        if functions is not None:
            self.has_trees = True
            parts, context = functions[0](value)
            return _Tree(type(value), context, [self._apart(part, tensors) for part in parts])
        if type(value) is dict:
            return {key: self._apart(part, tensors) for key, part in value.items()}
        if type(value) in (list, tuple):
            return type(value)(self._apart(part, tensors) for part in value)
        return value


class _PolicyFunction:
    """A function decorated with error_on_graph_break."""

    def __init__(self, function, error):
        functools.update_wrapper(self, function)
        self.function = function
        self.error = error

    def __call__(self, *args, **kwargs):
        with error_on_graph_break(self.error):
            return self.function(*args, **kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)


class error_on_graph_break(contextlib.ContextDecorator):
    """Context manager and decorator: graph breaks of compiled code inside are errors (True), or not (False).

    The innermost one decides. Under `fullgraph=True` breaks are errors anyway. In plain Python it holds for functions
    that are compiled inside.
    """

    def __init__(self, error):
        self.error = bool(error)
        self._before = []

    def __enter__(self):
        self._before.append(_break_policy.set(self.error))

    def __exit__(self, *exc):
        _break_policy.reset(self._before.pop())
        return False

    def __call__(self, fn):
        return _PolicyFunction(fn, self.error)


_C._mark_callable(_PolicyFunction, "break_policy")
