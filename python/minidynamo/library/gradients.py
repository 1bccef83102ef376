"""Gradients of operators: a call that needs them is recorded as one of an autograd.Function is.

What register_autograd() was given is called with the arguments and results as the schema nests them: a list of tensors
is one argument, and its gradient one list.
"""

import warnings

from .. import _C
from ..autograd.function import Function


def leaves(value):
    """What lists and tuples hold, from left to right; any other value itself."""
    return [leaf for part in value for leaf in leaves(part)] if isinstance(value, (list, tuple)) else [value]


def tensors_in(value):
    """The tensors among the leaves."""
    return [leaf for leaf in leaves(value) if isinstance(leaf, _C.Tensor)]


def mapped(function, value):
    """The same lists and tuples around `function` of each leaf."""
    if not isinstance(value, (list, tuple)):
        return function(value)
    return (list if isinstance(value, list) else tuple)([mapped(function, v) for v in value])


def _filled(shape, items):
    """Lists and tuples like those of `shape` around the next of `items`."""
    remaining = iter(items)
    return mapped(lambda _: next(remaining), shape)


def _same_nesting(a, b):
    if not isinstance(a, (list, tuple)) or not isinstance(b, (list, tuple)):
        return not isinstance(a, (list, tuple)) and not isinstance(b, (list, tuple))
    return type(a) is type(b) and len(a) == len(b) and all(map(_same_nesting, a, b))


class _Call:
    """One recorded call of an operator. It keeps no argument alive: that is up to setup_context."""

    def __init__(self, operator, values):
        self.operator = operator
        self.values = values
        given = [(p, values[p.name]) for p in operator.schema.parameters if not p.keyword_only]
        inputs = tuple([list(v) if p.type.rstrip("?").endswith("[]") and v is not None else v for p, v in given])
        self.are_tensors = mapped(lambda leaf: isinstance(leaf, _C.Tensor), inputs)
        self.wants = mapped(lambda leaf: isinstance(leaf, _C.Tensor) and leaf.requires_grad, inputs)
        # Trailing arguments left at their defaults need no gradient, not even None.
        passed = [i for i, (p, v) in enumerate(given) if tensors_in(v) or v != p.default]
        self.needed = passed[-1] + 1 if passed else 0
        self.inputs = inputs
        self.results = None

    def run(self, ctx):
        """Computes the results, and lets setup_context leave what backward needs."""
        result = self.operator.compute(self.values)
        self.results = mapped(lambda leaf: None, result)
        formula = self.operator.autograd
        if formula is not None and formula[1] is not None:
            ctx.needs_input_grad = tuple(leaves(self.wants))
            keyword_only = {p.name: self.values[p.name] for p in self.operator.schema.parameters if p.keyword_only}
            named = {"keyword_only_inputs": keyword_only} if keyword_only else {}
            formula[1](ctx=ctx, inputs=self.inputs, output=result, **named)
        ctx.needs_input_grad = self.wants
        self.inputs = self.values = None
        return tuple(leaves(result))

    def gradients(self, ctx, grads):
        """Of the leaves of the arguments, from those of the leaves of the results."""
        formula = self.operator.autograd
        if formula is None:
            raise RuntimeError(
                f"{self.operator.dotted_name} has no formula for its gradient, and backward() came through it: "
                f"register one with register_autograd()"
            )
        grads = _filled(self.results, grads)
        found = formula[0](ctx, *(grads if isinstance(grads, tuple) else (grads,)))
        return self._checked(found if isinstance(found, tuple) else (found,))

    def _checked(self, found):
        """The leaves of what backward returned. RuntimeError if it is not nested as the arguments are."""
        name, count = self.operator.dotted_name, len(self.are_tensors)
        if len(found) < self.needed:
            raise RuntimeError(
                f"the backward of {name} returned an incorrect number of gradients (expected {count}, got {len(found)})"
            )
        found += (None,) * (count - len(found))
        for position, extra in enumerate(found[count:], count):
            if extra is not None:
                raise RuntimeError(
                    f"the backward of {name} returned a gradient different than None at position {position + 1}, and "
                    f"the operator has {count} arguments"
                )
        for position, (gradient, tensor) in enumerate(zip(found, self.are_tensors), 1):
            if not _same_nesting(gradient, tensor):
                raise RuntimeError(
                    f"the backward of {name} has to return for argument {position} what is of the same structure as "
                    f"the argument, a {'list of ' + str(len(tensor)) if isinstance(tensor, list) else 'single'} "
                    f"gradient(s), and returned {_text(gradient)}"
                )
            self._check_leaves(position, leaves(gradient), leaves(tensor))
        return tuple(leaves(found[:count]))

    def _check_leaves(self, position, gradients, are_tensors):
        for gradient, is_tensor in zip(gradients, are_tensors):
            if gradient is not None and not isinstance(gradient, _C.Tensor):
                raise RuntimeError(
                    f"the backward of {self.operator.dotted_name} has to return Tensors or None, and returned a "
                    f"{type(gradient).__name__} for argument {position}"
                )
            if gradient is not None and not is_tensor:
                raise RuntimeError(
                    f"the backward of {self.operator.dotted_name} returned a gradient different than None at position "
                    f"{position}, but the corresponding argument is no Tensor"
                )


def _text(gradient):
    if isinstance(gradient, (list, tuple)):
        return f"a {type(gradient).__name__} of {len(gradient)}"
    return "None" if gradient is None else f"a single {type(gradient).__name__}"


class _Recorded(Function):
    _runs_in_transforms = True  # an operator has taken the examples apart before

    @staticmethod
    def forward(ctx, *given):
        ctx._operator_call = given[-1]
        return given[-1].run(ctx)

    @staticmethod
    def backward(ctx, *grads):
        return *ctx._operator_call.gradients(ctx, grads), None


class _NoFormula(Function):
    """Behind results of an operator whose kernel records nothing: no gradient comes through it."""

    _runs_in_transforms = True

    @staticmethod
    def forward(ctx, name, results, *tensors):
        ctx._operator_name = name
        return tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        _warn(ctx._operator_name)
        return (None,) * len(ctx.needs_input_grad)


def _warn(name):
    warnings.warn(
        f"{name}: backward() comes through an operator without a formula for its gradient, which may be silently wrong "
        f"then; give it one with torch.library.register_autograd(), or a kernel for the key Autograd",
        UserWarning,
        stacklevel=2,
    )


def recorded(operator, values):
    """The results of a call whose gradients are the operator's formula's."""
    call = _Call(operator, values)
    made = operator.recorded_as.apply(*leaves(call.inputs), call)
    return _filled(call.results, made)


def function_class(name):
    """The class whose name the autograd nodes of an operator bear."""
    return type(f"GeneratedBackwardFor_{name.replace('::', '_')}_default", (_Recorded,), {})


def passed_through(operator, values, result):
    """The results of a kernel that computes with gradients on, which are then those of what it calls.

    backward() warns of that, for the kernel is not said to be differentiable; where it is not, nothing comes through.
    """
    made = tensors_in(result)
    for tensor in made:
        if tensor.requires_grad and not tensor.is_leaf:
            tensor.register_hook(lambda grad, name=operator.name: _warn(name))
    lost = [t for t in made if not t.requires_grad and (t.is_floating_point() or t.is_complex())]
    if not lost:
        return result
    inputs = [t for t in tensors_in(list(values.values())) if t.requires_grad]
    marked = dict(zip(map(id, lost), _NoFormula.apply(operator.name, lost, *inputs)))
    return mapped(lambda leaf: marked.get(id(leaf), leaf), result)


def check_can_be_given(operator, described):
    """RuntimeError for operators that write to arguments, return views of them or return nothing."""
    schema = operator.schema
    if schema.views or not schema.returns or any(p.written for p in schema.parameters):
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {described} with schema {schema}: it writes "
            f"to an argument, returns a view of one or returns nothing. Make an operator that returns new tensors."
        )
    if any(p.keyword_only and p.type.startswith("Tensor") for p in schema.parameters):
        raise NotImplementedError(
            f"register_autograd: tensors by keyword only have no gradient, make them positional. Got {schema}"
        )
