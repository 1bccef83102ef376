"""torch.nn.parameter: tensors that a Module takes for its own when they are assigned to it."""

from .. import _C
from .._absent import absent_names as _absent_names


class Parameter(_C.Tensor):
    """A tensor that is a parameter of the Modules it is an attribute of. It shares the memory of `data`."""

    __torch_function__ = None  # results of operations are plain tensors

    def __new__(cls, data=None, requires_grad=True):
        data = _C.empty(0) if data is None else data.detach()
        return data.as_subclass(cls).requires_grad_(requires_grad)

    def __repr__(self):
        plain = self.detach().requires_grad_(self.requires_grad)
        return f"Parameter containing:\n{plain!r}"


_C._set_parameter_type(Parameter)


class _BufferType(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, _C.Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(metaclass=_BufferType):
    """`Buffer(data, persistent=True)`: a plain tensor that becomes a buffer of the Module it is assigned to."""

    def __new__(cls, data=None, *, persistent=True):
        made = _C.empty(0) if data is None else data.detach()
        made._is_buffer = True
        made.persistent = persistent
        return made


__getattr__ = _absent_names(__name__)
