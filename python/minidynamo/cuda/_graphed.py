"""make_graphed_callables(): functions whose work on a device, forward and backward, is captured once and replayed."""

from .. import _C
from .. import autograd as _autograd
from . import streams


def _tensors(values):
    from ..utils import _pytree

    leaves, spec = _pytree.tree_flatten(values)
    if not all(isinstance(leaf, _C.Tensor) for leaf in leaves):
        raise TypeError("make_graphed_callables(): arguments and results have to be tensors, and containers of them")
    return leaves, spec


def _gradients(outputs, inputs, given, allow_unused):
    wanted = [x for x in inputs if x.requires_grad]
    flowing = [(out, grad) for out, grad in zip(outputs, given) if out.requires_grad]
    if not wanted or not flowing:
        return [None] * len(inputs)
    outs, grads = zip(*flowing)
    found = iter(_autograd.grad(outs, wanted, grads, allow_unused=allow_unused))
    return [next(found) if x.requires_grad else None for x in inputs]


class _Captured:
    """One function, its work and the memory that work reads and writes."""

    def __init__(self, capture, function, sample, warmup, allow_unused):
        self.inputs, self.spec = _tensors(sample)
        self.parameters = [*function.parameters()] if hasattr(function, "parameters") else []
        self.all_inputs = [*self.inputs, *self.parameters]
        self.allow_unused = allow_unused
        self._warm_up(function, sample, warmup)
        self.backward = None
        with capture() as self.forward:
            self.outputs, self.made = _tensors(function(*sample))
        if not any(out.requires_grad for out in self.outputs):
            return
        self.grads = [_C.empty_like(out) for out in self.outputs]
        with capture() as self.backward:
            self.found = _gradients(self.outputs, self.all_inputs, self.grads, allow_unused)

    def _warm_up(self, function, sample, rounds):
        side = streams.Stream()
        _C._cuda.synchronize(side.device_index)  # the sample and the parameters may still be made
        with streams.StreamContext(side):
            for _ in range(rounds):
                outputs, _spec = _tensors(function(*sample))
                _gradients(outputs, self.all_inputs, [_C.ones_like(out) for out in outputs], self.allow_unused)
        _C._cuda.synchronize(side.device_index)

    def function(self):
        captured = self

        class Graphed(_autograd.Function):
            @staticmethod
            def forward(ctx, *inputs):
                for held, given in zip(captured.inputs, inputs):
                    if held.data_ptr() != given.data_ptr():
                        held.data.copy_(given)
                captured.forward.replay()
                return tuple(out.detach() for out in captured.outputs)

            @staticmethod
            @_autograd.function.once_differentiable
            def backward(ctx, *grads):
                for held, given in zip(captured.grads, grads):
                    if given is not None:
                        held.copy_(given)
                    else:
                        held.zero_()
                captured.backward.replay()
                return tuple(None if grad is None else grad.detach() for grad in captured.found)

        def call(*args):
            from ..utils import _pytree

            inputs, spec = _tensors(args)
            if spec != captured.spec:
                raise RuntimeError("a graphed callable takes arguments as those it was captured with")
            made = Graphed.apply(*inputs, *captured.parameters)
            return _pytree.tree_unflatten(list(made), captured.made)

        return call


def make_graphed_callables(capture, callables, sample_args, num_warmup_iters, allow_unused_input):
    """`capture()` is a `with` block whose work becomes a graph, which it gives."""
    several = isinstance(callables, tuple)
    functions, samples = (callables, sample_args) if several else ((callables,), (sample_args,))
    graphed = []
    for function, sample in zip(functions, samples):
        if hasattr(function, "named_buffers") and any(b.requires_grad for b in function.buffers()):
            raise RuntimeError("make_graphed_callables(): buffers of a module must not require grad")
        made = _Captured(capture, function, sample, num_warmup_iters, allow_unused_input).function()
        if not hasattr(function, "parameters"):
            graphed.append(made)
            continue
        plain, training = function.forward, function.training
        function.forward = lambda *args, _f=function, _m=made, _p=plain, _t=training: (
            _m(*args) if _f.training == _t else _p(*args)
        )
        graphed.append(function)
    return tuple(graphed) if several else graphed[0]
