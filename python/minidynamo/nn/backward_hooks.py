"""Hooks on the gradients of a module: gates that its inputs and results pass, and that call them on the way back."""

import warnings

from .. import _C
from ..autograd.function import Function


class _Gate(Function):
    """Hands tensors through; their gradients go through `passed`, which may give others."""

    @staticmethod
    def forward(ctx, passed, *tensors):
        ctx.passed = passed
        passed_on = tuple([t.view_as(t) for t in tensors])
        ctx.mark_non_differentiable(*[out for out, t in zip(passed_on, tensors) if not t.requires_grad])
        ctx.set_materialize_grads(False)
        return passed_on

    @staticmethod
    def backward(ctx, *grads):
        return None, *ctx.passed(grads)


def _gated(values, passed):
    """`values` with its tensors behind a gate, and their places; unchanged and None if none of them requires grad."""
    places = [i for i, value in enumerate(values) if isinstance(value, _C.Tensor)]
    if not (_C.is_grad_enabled() and any(values[i].requires_grad for i in places)):
        return values, None
    changed = list(values)
    for i, tensor in zip(places, _Gate.apply(passed, *[values[i] for i in places])):
        changed[i] = tensor
    return tuple(changed), places


def _spread(places, grads, length):
    """A tuple of `length` with each gradient at the place of its tensor and None elsewhere."""
    found = [None] * length
    for place, grad in zip(places, grads):
        found[place] = grad
    return tuple(found)


def _checked(answer, name, expected):
    if len(answer) != expected:
        raise RuntimeError(
            f"{name} returned {len(answer)} gradients in place of {expected}: give one for each, or None"
        )
    return answer


class BackwardGates:
    """One call of a module: `hooks` get (module, grad_input, grad_output), `pre_hooks` (module, grad_output)."""

    def __init__(self, module, hooks, pre_hooks):
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs = None
        self.input_places = None
        self.inputs = self.results = 0
        self.input_kinds = ()
        self.result_places = None

    def enter(self, args):
        """The arguments, as the module shall get them."""
        self.inputs = len(args)
        self.input_kinds = [(a.shape, a.dtype, a.device) for a in args if isinstance(a, _C.Tensor)]
        args, self.input_places = _gated(args, self._leave_inputs)
        return args

    def leave(self, result):
        """The result, as the caller shall get it: a tensor or a tuple of some; other results stay as they are."""
        results = result if isinstance(result, tuple) else (result,)
        self.results = len(results)
        gated, self.result_places = _gated(results, self._enter_results)
        return gated if isinstance(result, tuple) else gated[0]

    def _enter_results(self, grads):
        places, self.grad_outputs = self.result_places, _spread(self.result_places, grads, self.results)
        for hook in self.pre_hooks:
            answer = hook(self.module, self.grad_outputs)
            if answer is not None:
                self.grad_outputs = tuple(_checked(answer, "a full backward pre-hook", self.results))
        passed = tuple([self.grad_outputs[place] for place in places])
        if self.input_places is None and self.hooks:
            self._without_inputs()
        return passed

    def _without_inputs(self):
        warnings.warn(
            "a full backward hook runs when the gradients of the module's results are there, for none of its inputs "
            "requires grad",
            stacklevel=2,
        )
        nothing = (None,) * self.inputs
        for hook in self.hooks:
            answer = hook(self.module, nothing, self.grad_outputs)
            if answer is not None and not (isinstance(answer, tuple) and all(each is None for each in answer)):
                raise RuntimeError("a full backward hook gave a gradient, but no input of the module requires grad")
        self.grad_outputs = None

    def _leave_inputs(self, grads):
        # The results did not take part: there are no gradients to tell of.
        if self.grad_outputs is None:
            return grads
        zeros = [
            _C.zeros(shape, dtype=dtype, device=device) if g is None else g
            for g, (shape, dtype, device) in zip(grads, self.input_kinds)
        ]
        found = _spread(self.input_places, zeros, self.inputs)
        for hook in self.hooks:
            answer = hook(self.module, found, self.grad_outputs)
            if answer is not None:
                found = tuple(_checked(answer, "a full backward hook", self.inputs))
        self.grad_outputs = None
        return tuple([found[place] for place in self.input_places])


def _untraced(function):
    """Gradients do not flow through a Function of a trace: the trace ends before the gate and goes on behind it."""
    function._torchdynamo_disable = True
    function._torchdynamo_disable_msg = "the module has backward hooks"
    _C._mark_skip(function.__code__, False)
    return function


@_untraced
def enter_module(module, hooks, pre_hooks, args):
    """(gates, arguments behind them) for a call of `module`."""
    gates = BackwardGates(module, hooks, pre_hooks)
    return gates, gates.enter(args)


@_untraced
def leave_module(gates, result):
    """The result behind its gate."""
    return gates.leave(result)
