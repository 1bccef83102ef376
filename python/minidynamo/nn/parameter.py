"""torch.nn.parameter: tensors that a Module takes for its own when they are assigned to it."""

from .. import _C
from .._absent import absent_names as _absent_names
from .._aten import modes
from .._dynamo.eval_frame import is_compiling


class _ParameterType(type(_C.Tensor)):
    """A tensor of another class stays of that class; it is a parameter all the same."""

    def __instancecheck__(cls, instance):
        if issubclass(type(instance), cls):
            return True
        return cls is Parameter and isinstance(instance, _C.Tensor) and getattr(instance, "_is_param", False)


class Parameter(_C.Tensor, metaclass=_ParameterType):
    """A tensor that is a parameter of the Modules it is an attribute of. It shares the memory of `data`."""

    __torch_function__ = _C._disabled_torch_function_impl  # results of operations are plain tensors

    def __new__(cls, data=None, requires_grad=True):
        data = _C.empty(0) if data is None else data
        if type(data) is not _C.Tensor and type(data) is not Parameter:
            made = data.detach().requires_grad_(requires_grad)
            if type(made) is not type(data):
                raise RuntimeError(
                    f"Parameter(): detach() of a {type(data).__name__} gives a {type(made).__name__}; its "
                    "__torch_function__ and __torch_dispatch__ have to give one of its own class"
                )
            made._is_param = True
            return made
        if not is_compiling() and modes.stack():  # are not shown how a parameter is made; no trace is made under them
            with modes.none_active():
                return data.detach().as_subclass(cls).requires_grad_(requires_grad)
        data = data.detach()
        return data.as_subclass(cls).requires_grad_(requires_grad)

    def __repr__(self):
        plain = self.detach().requires_grad_(self.requires_grad)
        return f"Parameter containing:\n{plain!r}"

    def __deepcopy__(self, memo):
        """A parameter with elements of its own and nothing else: no gradient, no hooks, no further attributes."""
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.detach().clone(), self.requires_grad)
        return memo[id(self)]


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


# What a tensor without elements answers like others: what it is, and conversions.
_OF_UNINITIALIZED = frozenset(
    getattr(_C.Tensor, name)
    for name in "__hash__ size copy_ is_complex is_floating_point half float double char short int long cpu to "
    "get_device __repr__ detach requires_grad_".split()
)


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet: it has dtype and device, and becomes an ordinary one by materialize()."""

    cls_to_become = None

    def materialize(self, shape, device=None, dtype=None):
        """Gives the tensor this shape, with elements that are not set."""
        device = self.data.device if device is None else device
        dtype = self.data.dtype if dtype is None else dtype
        self.data = _C.empty(shape, device=device, dtype=dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError("a tensor that is not initialized has no shape: call the module, or materialize()")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in _OF_UNINITIALIZED or type(func).__name__ == "method-wrapper":  # the latter: an attribute is read
            return super().__torch_function__(func, types, args, kwargs)
        raise ValueError(
            f"{getattr(func, '__name__', func)}: a tensor that is not initialized has no elements; call the module it "
            "is of, or materialize()"
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo):
        if id(self) in memo:
            return memo[id(self)]
        made = type(self)(requires_grad=self.requires_grad, device=self.data.device, dtype=self.data.dtype)
        memo[id(self)] = made
        return made

    def __reduce_ex__(self, protocol):
        return type(self), (self.requires_grad, self.data.device, self.data.dtype)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet; lazy modules set it by their first input."""

    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        with _C.DisableTorchFunctionSubclass():
            return _C.empty(0, device=device, dtype=dtype).as_subclass(cls).requires_grad_(requires_grad)


class UninitializedBuffer(UninitializedTensorMixin, _C.Tensor):
    """A buffer whose shape is not known yet."""

    cls_to_become = _C.Tensor

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        with _C.DisableTorchFunctionSubclass():
            made = _C.empty(0, device=device, dtype=dtype).as_subclass(cls).requires_grad_(requires_grad)
        made._is_buffer = True
        made.persistent = persistent
        return made


def is_lazy(param):
    """Whether the shape is not known yet."""
    return isinstance(param, UninitializedTensorMixin)


__getattr__ = _absent_names(__name__)
