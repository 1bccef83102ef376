"""Functions of the user's with a forward and a backward: `apply` runs forward, gradients go back through backward."""

import functools

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from .grad_mode import no_grad

__all__ = ["Function", "FunctionCtx", "once_differentiable"]


class FunctionCtx:
    """What forward leaves for backward: any attributes, and tensors by `save_for_backward`."""

    needs_input_grad = ()
    materialize_grads = True
    _saved = ()
    _versions = ()
    _dirty = ()
    _non_differentiable = ()

    def save_for_backward(self, *tensors):
        """Keeps tensors (or None). TypeError for anything else."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, _C.Tensor):
                raise TypeError(f"save_for_backward can only save variables, but got a {type(tensor).__name__}")
        self._saved = tensors

    def save_for_forward(self, *tensors):
        """Keeps tensors for jvp, which nothing calls here."""
        self._saved = tensors

    @property
    def saved_tensors(self):
        """What `save_for_backward` kept. RuntimeError if one was written to since."""
        for tensor, version in zip(self._saved, self._versions):
            if tensor is not None and tensor._version != version:
                raise RuntimeError(
                    "one of the variables needed for gradient computation has been modified by an inplace operation: "
                    f"it is at version {tensor._version}; expected version {version} instead"
                )
        return self._saved

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

    def maybe_clear_saved_tensors(self):
        """Forgets the saved tensors."""
        self._saved = ()


def _require_grad(tensor):
    """The tensor, which requires grad from now on. Traced, it is a fact about the value, not a node."""
    _C._mark_computed(tensor)
    return tensor


def _differentiable(ctx, output, inputs):
    """One output of forward as apply() hands it out while gradients are on."""
    if not isinstance(output, _C.Tensor) or not output.is_floating_point():
        return output
    if any(output is t for t in ctx._non_differentiable):
        return output
    dirty = any(output is t for t in ctx._dirty)
    if dirty and output.requires_grad and output.is_leaf:
        raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")
    if any(output is t for t in inputs) and not dirty:
        output = output.view_as(output)  # an input that is handed back is another tensor
    return _require_grad(output)


def _run(cls, args, kwargs):
    """forward with a fresh context; behind Function.apply, and traced in its place."""
    ctx = FunctionCtx()
    wants = [isinstance(a, _C.Tensor) and a.requires_grad for a in args]
    ctx.needs_input_grad = tuple(wants)
    if not (_C.is_grad_enabled() and any(wants)):
        return _forward(cls, ctx, args, kwargs)
    with no_grad():
        output = _forward(cls, ctx, args, kwargs)
        if isinstance(output, tuple):
            output = tuple([_differentiable(ctx, each, args) for each in output])
        else:
            output = _differentiable(ctx, output, args)
    if not _is_compiling():
        _record(cls, ctx, args, output)
    return output


def _record(cls, ctx, args, output):
    outputs = output if isinstance(output, tuple) else (output,)
    # A context that held an output would keep it, and itself, alive.
    ctx._saved = tuple([_detached_output(t, outputs) for t in ctx._saved])
    ctx._versions = tuple([None if t is None else t._version for t in ctx._saved])
    _C._record_function(cls, ctx, args, outputs)


def _detached_output(tensor, outputs):
    return tensor.detach() if tensor is not None and any(tensor is o for o in outputs) else tensor


def _forward(cls, ctx, args, kwargs):
    if not cls._own_setup():
        return cls.forward(ctx, *args, **kwargs)
    output = cls.forward(*args, **kwargs)
    cls.setup_context(ctx, args, output)
    return output


class Function:
    """Base of functions with static methods `forward(ctx, ...)` and `backward(ctx, ...)`, called by `apply(...)`."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(f"{type(self).__name__} is not instantiated: call {type(self).__name__}.apply(...)")

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

    @staticmethod
    def jvp(ctx, *grad_inputs):
        raise NotImplementedError("jvp is not defined")

    @classmethod
    def _own_setup(cls):
        return cls.setup_context is not Function.setup_context

    @classmethod
    def apply(cls, *args, **kwargs):
        """forward(ctx, *args) with gradients off; a floating result requires grad if an argument does."""
        return _run(cls, args, kwargs)


def once_differentiable(function):
    """Decorator for a backward whose gradients are not differentiable themselves: it runs with gradients off."""

    @functools.wraps(function)
    def backward(ctx, *grads):
        with no_grad():
            return function(ctx, *grads)

    return backward


class _ImperativeEngine:
    """Stands for the engine that would run backward passes: none is ever under way."""

    def is_checkpoint_valid(self):
        return True

    def queue_callback(self, callback):
        raise RuntimeError("queue_callback() is for the time of a backward pass, and none is under way")


class Variable:
    """The old name of tensors: `Variable(x)` is a tensor over x's memory."""

    _execution_engine = _ImperativeEngine()

    def __new__(cls, data, requires_grad=False):
        return data.detach().requires_grad_(requires_grad)


__getattr__ = _absent_names(__name__)
