"""Modules and functions that torch.jit.trace gives: they run the calls that one run has made."""

import inspect
import io
import warnings

from . import _C
from ._scripted import ScriptFunction, tracing
from ._traced_calls import TracerWarning, _take_over, record
from .nn import Module
from .random import get_rng_state, set_rng_state
from .utils import _pytree

_KIND = "torch.jit.trace of minidynamo"


def _recorded(func, args, kwargs, root, strict):
    tracing[0] += 1
    try:
        return record(func, _names(func, len(args)), args, kwargs, root, strict)
    finally:
        tracing[0] -= 1


def _names(func, count):
    try:
        parameters = inspect.signature(func.forward if isinstance(func, Module) else func).parameters.values()
    except (TypeError, ValueError):
        parameters = ()
    found = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)][:count]
    return found + [f"argument_{k}" for k in range(len(found) + 1, count + 1)]


class Traced:
    """What traced modules and functions share: their graph, code and files."""

    @property
    def graph(self):
        """The calls, a torch.fx.Graph."""
        return self._traces["forward"].graph

    inlined_graph = graph

    @property
    def code(self):
        """The calls as Python."""
        return self._traces["forward"].code

    def save(self, f, _extra_files=None):
        """Writes it to a file that torch.jit.load reads."""
        save(self, f, _extra_files)

    def save_to_buffer(self):
        """The bytes of such a file."""
        file = io.BytesIO()
        save(self, file)
        return file.getvalue()


class TracedFunction(Traced, ScriptFunction):
    """A function as one run of it."""

    __qualname__ = "ScriptFunction"

    def __init__(self, trace, name):
        self._traces, self.__name__, self.name = {"forward": trace}, name, name

    def __call__(self, *args, **kwargs):
        return self._traces["forward"](*args, **kwargs)


def fill(made, root, traces, original_name):
    """`made`, an empty module, becomes what `traces`, {method: GraphModule}, do to the attributes of `root`."""
    Module.__init__(made)
    _take_over(root, made)
    for trace in traces.values():
        for name, buffer in trace._buffers.items():
            if name.startswith("_tensor_constant"):
                made.register_buffer(name, buffer, persistent=False)
    made.__dict__.update(_traces=traces, original_name=original_name)
    for name, trace in traces.items():
        made.__dict__[name] = _Method(made, type(trace).forward)
    return made


class _Method:
    """A method of one module."""

    def __init__(self, owner, function):
        self.owner, self.function = owner, function

    def __call__(self, *args, **kwargs):
        return self.function(self.owner, *args, **kwargs)


def trace(make, func, args, kwargs, strict, check, tolerance):
    """torch.jit.trace: `make()` gives an empty module for those of modules."""
    if isinstance(func, Module):
        return trace_module(make, func, {"forward": args}, kwargs, strict, check, tolerance)
    owner = getattr(func, "__self__", None)
    made, _ = _recorded(func, args, kwargs, owner if isinstance(owner, Module) else None, strict)
    traced = TracedFunction(made, getattr(func, "__name__", type(func).__name__))
    if check:
        _check(func, traced, args, kwargs, tolerance)
    return traced


def trace_module(make, module, inputs, kwargs, strict, check, tolerance):
    """torch.jit.trace_module: one trace for each method that `inputs` names."""
    traces = {}
    for name, args in inputs.items():
        func = module if name == "forward" else getattr(module, name)
        traces[name], _ = _recorded(func, args, kwargs, module, strict)
    made = fill(make(), module, traces, type(module).__name__)
    if check:
        for name, args in inputs.items():
            _check(module if name == "forward" else getattr(module, name), getattr(made, name), args, kwargs, tolerance)
    return made


def _check(func, traced, args, kwargs, tolerance):
    """Warns where another run of the function gives something else than its trace."""
    state, found = get_rng_state(), []
    for each in (func, traced):
        given = _pytree.tree_map_only(_C.Tensor, lambda t: t.detach().clone(), (args, kwargs))
        found.append(_pytree.tree_leaves(each(*given[0], **given[1])))
        set_rng_state(state)
    from .testing import assert_close

    for number, (wanted, got) in enumerate(zip(*found), 1):
        try:
            assert_close(got.double(), wanted.double(), rtol=tolerance, atol=tolerance, equal_nan=True)
        except (AssertionError, RuntimeError) as error:
            warnings.warn(
                f"Output nr {number}. of the traced function does not match the corresponding output of the Python "
                f"function. Detailed error:\n{error}",
                TracerWarning,
                stacklevel=5,
            )


def save(traced, f, _extra_files=None):
    """Writes a trace and its tensors to a file."""
    from .serialization import save as write

    if not isinstance(traced, Traced):
        raise NotImplementedError(
            "torch.jit.save: minidynamo writes what torch.jit.trace gave; torch.save keeps a model's state_dict()"
        )
    root = None
    if isinstance(traced, Module):
        _take_over(traced, root := Module())
    extra = dict(_extra_files or {})
    name = traced.original_name if root is not None else traced.name
    write({"kind": _KIND, "root": root, "traces": traced._traces, "name": name, "extra": extra}, f)


def load(make, f, map_location, _extra_files):
    """What save() wrote."""
    from .serialization import load as read

    try:
        held = read(f, map_location=map_location, weights_only=False)
    except (RuntimeError, KeyError, ValueError) as error:
        raise NotImplementedError(f"torch.jit.load: {f!r} is no file of torch.jit.save() of minidynamo") from error
    if not isinstance(held, dict) or held.get("kind") != _KIND:
        raise NotImplementedError(f"torch.jit.load: {f!r} is no file of torch.jit.save() of minidynamo")
    for name in _extra_files or ():
        _extra_files[name] = held["extra"].get(name, "")
    if held["root"] is None:
        return TracedFunction(held["traces"]["forward"], held["name"])
    return fill(make(), held["root"], held["traces"], held["name"])
