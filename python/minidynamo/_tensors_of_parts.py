"""Tensors that are made of others: quantised, nested and compressed sparse ones.

Such a tensor is a Tensor of the device `meta` that carries dense ones, its parts. What an op does with them is a rule
of its class; other ops refuse.
"""

from . import _C

_WIDTH = 80  # columns of a text
_METADATA = (
    "size dim ndimension numel nelement is_floating_point is_complex is_signed element_size __len__ is_inference"
).split()


class TensorOfParts(_C.Tensor):
    """A tensor whose elements are said by `_parts`, the first of which is on its device and has its gradients."""

    _kind = "such"
    _rules = {}

    dtype = property(lambda self: self._parts[0].dtype)
    device = property(lambda self: self._parts[0].device)
    is_meta = property(lambda self: self._parts[0].is_meta)
    is_cpu = property(lambda self: self._parts[0].is_cpu)
    is_leaf = property(lambda self: self._parts[0].is_leaf)
    grad_fn = property(lambda self: self._parts[0].grad_fn)

    @property
    def requires_grad(self):
        return self._parts[0].requires_grad

    @requires_grad.setter
    def requires_grad(self, value):
        self._parts[0].requires_grad_(value)

    def numpy(self, *args, **kwargs):
        raise TypeError(f"a {self._kind} tensor is no array of NumPy")

    __array__ = numpy

    def as_subclass(self, cls):
        raise NotImplementedError(f"{self._kind} tensors have no subclasses, and cannot be parameters")

    def data_ptr(self):
        raise RuntimeError(f"a {self._kind} tensor has no one memory")

    def __bool__(self):
        raise RuntimeError(f"the truth of a {self._kind} tensor is ambiguous")

    def __hash__(self):
        return id(self)

    def __repr__(self, *, tensor_contents=None):
        return self._text()

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        rule = cls._rules.get(name)
        if rule is not None:
            return rule(*args, **(kwargs or {}))
        if hasattr(func, "__wrapped__"):  # a method in Python, made of others
            return func.__wrapped__(*args, **(kwargs or {}))
        if name in _METADATA or type(func).__name__ == "method-wrapper":  # the latter: an attribute is read
            with _C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        return cls._otherwise(func, name, args, kwargs or {})

    @classmethod
    def _otherwise(cls, func, name, args, kwargs):
        raise NotImplementedError(f"{name}() does not take {cls._kind} tensors")


def of_parts(cls, parts, sizes, dtype=_C.float32):
    """The tensor of a class of TensorOfParts with these parts."""
    tensor = _C.empty(tuple(sizes), dtype=dtype, device="meta").as_subclass(cls)
    tensor._parts = parts
    return tensor


def with_facts(text, facts, indent=7):
    """`text`, a tensor's without its end, with facts behind, which go to new lines where one gets too long."""
    column = len(text) - text.rfind("\n") + 1
    for fact in facts:
        if column + len(fact) + 2 > _WIDTH:
            text, column = text + ",\n" + " " * indent + fact, indent + len(fact)
        else:
            text, column = text + ", " + fact, column + len(fact) + 2
    return text + ")"


def part_text(name, value, outer="tensor("):
    """`name=tensor(...)`, as it stands in the text of the whole."""
    if value.numel() == 0:
        return f"{name}=tensor([], size={tuple(value.shape)})"
    return f"{name}=tensor({_C._values_text(value.detach(), len(f'{outer}{name}=tensor('))})"


def gradient_facts(tensor):
    """What the text says of gradients."""
    if tensor.grad_fn is not None:
        return [f"grad_fn=<{tensor.grad_fn.name()}>"]
    return ["requires_grad=True"] if tensor.requires_grad else []
