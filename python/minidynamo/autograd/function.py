"""Functions of the user's: `apply` runs forward, and gradients go back through backward."""

import contextlib
import functools

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from .backward import passes as _passes
from .grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]


class _NodeHook:
    """A hook that forward asks for, before there is the node it belongs to."""

    def __init__(self, kind, hook):
        self._kind, self._hook, self._handle, self._removed = kind, hook, None, False

    def _put_on(self, node):
        if not self._removed:
            self._handle = getattr(node, self._kind)(self._hook)

    def remove(self):
        self._removed = True
        if self._handle is not None:
            self._handle.remove()


class FunctionCtx:
    """What forward leaves for backward: any attributes, and tensors by `save_for_backward`."""

    needs_input_grad = ()
    materialize_grads = True
    _saved_for_forward = None
    _saved = ()  # tensors and None; once recorded also _C._SavedTensor, for results and where there are hooks
    _versions = ()
    _dirty = ()
    _non_differentiable = ()
    _hooks = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None). TypeError for anything else."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, _C.Tensor):
                raise TypeError(f"save_for_backward can only save variables, but got a {type(tensor).__name__}")
        self._saved = tensors

    def register_hook(self, fn):
        """`fn(grad_inputs, grad_outputs)` runs after backward, as hooks of nodes do. Only in forward."""
        return self._hook_of_node("register_hook", fn)

    def register_prehook(self, fn):
        """`fn(grad_outputs)` runs before backward, as hooks of nodes do. Only in forward."""
        return self._hook_of_node("register_prehook", fn)

    def _hook_of_node(self, kind, fn):
        if "_versions" in self.__dict__:
            raise RuntimeError(f"{kind}(): the call is recorded; ask the grad_fn of its result")
        made = _NodeHook(kind, fn)
        self._hooks = (*self._hooks, made)
        return made

    def save_for_forward(self, *tensors):
        """Keeps tensors for jvp, which sees them as saved_tensors."""
        self._saved_for_forward = tensors

    @property
    def saved_tensors(self):
        """What `save_for_backward` kept. RuntimeError if one was written to since, or if they have been freed."""
        if self._saved is None:
            raise RuntimeError(
                "Trying to backward through the graph a second time: what was saved for it was freed by the first "
                "backward(). Pass retain_graph=True to the first one, or compute the loss again."
            )
        if not self._versions:
            return self._saved
        return tuple([self._unpacked(*each) for each in zip(self._saved, self._versions)])

    @staticmethod
    def _unpacked(saved, version):
        if isinstance(saved, _C._SavedTensor):
            return saved.unpack()
        if saved is not None and saved._version != version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace operation: "
                f"it is at version {saved._version}; expected version {version} instead"
            )
        return saved

    @property
    def saved_variables(self):
        return self.saved_tensors

    def mark_dirty(self, *tensors):
        """Says which inputs forward changes in place."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors):
        """Says which outputs never require grad."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value):
        """Whether backward gets zeros instead of None."""
        self.materialize_grads = value

    def name(self):
        """What the node of the graph of gradients is called."""
        return f"{self._function.__name__}Backward"

    def _free(self):
        if self._saved:
            self._saved = None

    def maybe_clear_saved_tensors(self):
        """Forgets the saved tensors."""
        self._saved = ()


def _require_grad(tensor):
    """The tensor, which requires grad from now on. Traced, it is a fact about the value, not a node."""
    _C._mark_computed(tensor)
    return tensor


def _handed_out(ctx, output, inputs, recorded):
    """One output of forward as apply() gives it."""
    if not isinstance(output, _C.Tensor):
        return output
    dirty = any(output is t for t in ctx._dirty)
    if recorded and dirty and output.requires_grad and output.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    differentiable = (
        recorded
        and (output.is_floating_point() or output.is_complex())
        and not any(output is t for t in ctx._non_differentiable)
    )
    if any(output is t for t in inputs) and not dirty:
        output = output.view_as(output)  # an input that is handed back is another tensor
    return _require_grad(output) if differentiable else output


def _check_dirty(ctx, outputs):
    for t in ctx._dirty:
        if not any(t is each for each in outputs):
            raise RuntimeError("every tensor given to mark_dirty() has to be an output of forward, and one is not")


def _run(cls, args, kwargs):
    """forward with a fresh context; behind Function.apply, and traced in its place."""
    ctx = FunctionCtx()
    if not _is_compiling():
        ctx._function = cls
        if kwargs:
            args, kwargs = _positional(cls, args, kwargs), {}
    if cls._own_setup():
        args = _with_defaults(cls.forward, args)
    wants = [isinstance(a, _C.Tensor) and a.requires_grad for a in args]
    ctx.needs_input_grad = tuple(wants)
    recorded = _C.is_grad_enabled() and any(wants)
    noted = _C._function_arguments(args) if recorded and not _is_compiling() else None
    # A graph without gradients has nothing to switch off.
    with no_grad() if recorded or not _is_compiling() else contextlib.nullcontext():
        result = _forward(cls, ctx, args, kwargs)
        outputs = result if isinstance(result, tuple) else (result,)
        _check_dirty(ctx, outputs)
        given = tuple([_handed_out(ctx, each, args, recorded) for each in outputs])
    if recorded and _is_compiling():
        _look_at_backward(cls, ctx, given)
    elif recorded:
        _record(cls, ctx, noted, given)
    return given if isinstance(result, tuple) else given[0]


def _look_at_backward(cls, ctx, outputs):
    """Traced: the graph breaks if backward asks a gradient for what it may not ask in compiled code."""


def _with_defaults(forward, args):
    """The arguments of forward with those that it has defaults for: setup_context sees them all."""
    defaults = getattr(forward, "__defaults__", None)
    if not defaults:
        return args
    missing = forward.__code__.co_argcount - len(args)
    return (*args, *defaults[-missing:]) if 0 < missing <= len(defaults) else args


def _positional(cls, args, kwargs):
    """The arguments of forward in order: each of them has a gradient. TypeError for those that only have a name."""
    import inspect

    leading = () if cls._own_setup() else (None,)
    bound = inspect.signature(cls.forward).bind(*leading, *args, **kwargs)
    if bound.kwargs:
        raise TypeError(f"apply() cannot pass {', '.join(bound.kwargs)} of {cls.__name__}.forward by name")
    return bound.args[len(leading) :]


def _record(cls, ctx, noted, outputs):
    dirty = [i for i, each in enumerate(outputs) if any(each is t for t in ctx._dirty)]
    _C._record_function(_Call(cls, outputs), ctx, noted, outputs, dirty)
    if ctx._hooks:
        node = next((o.grad_fn for o in outputs if isinstance(o, _C.Tensor) and o.requires_grad), None)
        for hook in ctx._hooks if node is not None else ():
            hook._put_on(node)
    ctx._saved = tuple([_kept(t, outputs) for t in ctx._saved])
    ctx._versions = tuple([t._version if isinstance(t, _C.Tensor) else None for t in ctx._saved])


def _kept(tensor, outputs):
    if tensor is None:
        return None
    # A context that held an output would keep it, and itself, alive.
    is_output = any(tensor is o for o in outputs)
    return _C._save_tensor(tensor, is_output) if is_output or _C._has_saved_tensor_hooks() else tensor


class _Call:
    """What is recorded of a call of apply(): how gradients go back through it."""

    def __init__(self, cls, outputs):
        self.__name__ = cls.__name__
        self._cls = cls
        self._like = [(o.shape, o.dtype, o.device) if isinstance(o, _C.Tensor) else None for o in outputs]

    def backward(self, ctx, keep, *grads):
        """The gradients of the arguments from those of the outputs. The latter are None where nothing flows."""
        if ctx.materialize_grads:
            grads = [self._zeros(like) if g is None and like else g for g, like in zip(grads, self._like)]
        found = self._cls._backward_function()(ctx, *grads)
        found = found if isinstance(found, tuple) else (found,)
        for each in found:
            if each is not None and not isinstance(each, _C.Tensor):
                raise RuntimeError(f"{self.__name__}.backward has to return Tensors or None, not {type(each).__name__}")
        if not keep:
            ctx._free()
        return found

    @staticmethod
    def _zeros(like):
        shape, dtype, device = like
        return _C.zeros(shape, dtype=dtype, device=device)


def _forward(cls, ctx, args, kwargs):
    if not cls._own_setup():
        return cls.forward(ctx, *args, **kwargs)
    output = cls.forward(*args, **kwargs)
    cls.setup_context(ctx, args, output)
    return output


class Function:
    """Base of functions with static methods `forward(ctx, ...)` and `backward(ctx, ...)`, called by `apply(...)`."""

    def __init__(self, *args, **kwargs):
        import warnings

        name = type(self).__name__
        warnings.warn(f"{name} is not instantiated: call {name}.apply(...)", DeprecationWarning, stacklevel=2)

    def __call__(self, *args, **kwargs):
        raise RuntimeError(f"forward and backward are static methods: call {type(self).__name__}.apply(...)")

    @staticmethod
    def forward(*args, **kwargs):
        raise NotImplementedError("a subclass of torch.autograd.Function has to define forward(ctx, ...)")

    @staticmethod
    def setup_context(ctx, inputs, output):
        raise NotImplementedError("setup_context is not defined")

    @staticmethod
    def backward(ctx, *grad_outputs):
        raise NotImplementedError("a subclass of torch.autograd.Function has to define backward(ctx, ...)")

    vjp = backward
    generate_vmap_rule = False  # True: vmap runs forward, setup_context and backward on all examples at once

    @staticmethod
    def vmap(info, in_dims, *args):
        """(outputs, out_dims) of all examples: `info` has their number, `in_dims` says where `args` have them."""
        raise NotImplementedError("vmap is not defined")

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError("jvp is not defined")

    _by_jvp = False  # made of another one, by its jvp: minidynamo/_transforms/functions.py
    _runs_in_transforms = False  # apply() does there what it does outside
    _in_transform = None  # apply() inside function transforms: minidynamo/_transforms/functions.py

    @classmethod
    def _own_setup(cls):
        return cls.setup_context is not Function.setup_context

    @classmethod
    def _backward_function(cls):
        own_backward, own_vjp = cls.backward is not Function.backward, cls.vjp is not Function.vjp
        if own_backward and own_vjp:
            raise RuntimeError(f"{cls.__name__} has both backward and vjp, which are two names of one method")
        return cls.vjp if own_vjp else cls.backward

    @classmethod
    def apply(cls, *args, **kwargs):
        """forward(ctx, *args) with gradients off; a floating result requires grad if an argument does."""
        if not _C._transforms() or cls._runs_in_transforms:
            return _run(cls, args, kwargs)
        given = _positional(cls, args, kwargs) if kwargs else args
        return Function._in_transform(cls, given, lambda cls, args: _run(cls, args, {}))


def once_differentiable(function):
    """Decorator for a backward whose gradients are not differentiable themselves: it runs with gradients off."""

    @functools.wraps(function)
    def backward(ctx, *grads):
        with no_grad():
            return function(ctx, *grads)

    return backward


class InplaceFunction(Function):
    """A Function that keeps whether it works in place."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


class _ImperativeEngine:
    """Stands for what runs backward passes."""

    def is_checkpoint_valid(self):
        """Whether all passes under way bring gradients to every leaf, not to chosen tensors."""
        return not any(running.inputs for running in _passes())

    def run_backward(
        self,
        tensors,
        grad_tensors,
        keep_graph,
        create_graph,
        inputs=(),
        allow_unreachable=False,
        accumulate_grad=False,
    ):
        """A backward pass: gradients of `inputs`, or into leaves with `accumulate_grad` or without inputs."""
        from .backward import backward, grad

        if inputs and not accumulate_grad:
            return grad(tensors, inputs, grad_tensors or None, keep_graph, create_graph, allow_unused=allow_unreachable)
        backward(tensors, grad_tensors or None, keep_graph, create_graph, inputs or None)
        return ()

    def queue_callback(self, callback):
        """`callback()` is called at the end of the backward pass under way. RuntimeError if there is none."""
        running = _passes()
        if not running:
            raise RuntimeError("queue_callback() is for the time of a backward pass, and none is under way")
        running[-1].callbacks.append(callback)


class _unsafe_preserve_version_counter:  # noqa: N801  torch's name
    """Within the block, what is written to the tensors does not count as a change of them."""

    def __init__(self, tensors):
        self.tensors = (tensors,) if isinstance(tensors, _C.Tensor) else tuple(tensors)
        # A trace has no versions: what it makes may only be thrown away.
        self.versions = () if _is_compiling() else self._current()

    def _current(self):
        return tuple([t._version for t in self.tensors])

    def __enter__(self):
        self.versions = self.versions or self._current()

    def __exit__(self, *exc):
        for tensor, version in zip(self.tensors, self.versions):
            _C._set_version(tensor, version)


class _VariableType(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, _C.Tensor)


class Variable(metaclass=_VariableType):
    """The old name of tensors: `Variable(x)` is a tensor over x's memory, and every tensor is a Variable."""

    _execution_engine = _ImperativeEngine()

    def __new__(cls, data=None, requires_grad=False, volatile=None):
        if volatile is not None:
            import warnings

            warnings.warn("volatile has no effect: use `with torch.no_grad():`", UserWarning, stacklevel=2)
        if data is None:
            data = _C.empty(0)
        if not isinstance(data, _C.Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        return data.detach().requires_grad_(requires_grad)


__getattr__ = _absent_names(__name__)
