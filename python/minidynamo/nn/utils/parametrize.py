"""torch.nn.utils.parametrize: a parameter or buffer that is computed of others each time it is read.

The module's class becomes a subclass with a property of the tensor's name; what it is computed of, and the modules that
do it, are in `module.parametrizations[name]`.
"""

import contextlib
import copy
from collections.abc import Sequence

from ... import _C
from ..._absent import absent_names as _absent_names
from ...autograd.grad_mode import no_grad
from ..containers import ModuleDict, ModuleList
from ..parameter import Parameter

_cached = 0  # depth of `with cached()`
_cache = {}  # (id of module, name): tensor


@contextlib.contextmanager
def cached():
    """Within, each parametrized tensor is computed once only; its second reading gives the same object."""
    global _cached
    _cached += 1
    try:
        yield
    finally:
        _cached -= 1
        if not _cached:
            _cache.clear()


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _require_tensor(value, what):
    if not isinstance(value, _C.Tensor):
        raise ValueError(f"{what} has to give a tensor, not {type(value).__name__}")


def _require_alike(value, tensor, what):
    _require_tensor(value, what)
    for about in ("dtype", "shape"):
        before, after = getattr(tensor, about), getattr(value, about)
        if before != after:
            raise ValueError(f"{what} makes {about} {before} a {after}, which only `unsafe=True` allows")


def _inverted(modules, value):
    """What the parametrizations compute `value` of; one without a right_inverse is passed over."""
    for module in reversed(list(modules)):
        if hasattr(module, "right_inverse"):
            with contextlib.suppress(NotImplementedError):
                value = module.right_inverse(value)
    return value


class ParametrizationList(ModuleList):
    """The modules that compute one tensor, one after the other, and what they begin with: `original`, or `original0`,
    `original1`, ... where the first module takes several.

    ValueError for no modules, and unless `unsafe` for a result of another dtype or shape than the tensor had.
    """

    def __init__(self, modules, original, unsafe=False):
        if not modules:
            raise ValueError("one parametrization or more is needed, got none")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with no_grad():
            begun = _inverted(self, original)
        if not isinstance(begun, (_C.Tensor, Sequence)):
            raise ValueError(f"right_inverse has to give a tensor or several, not {type(begun).__name__}")
        self.is_tensor = isinstance(begun, _C.Tensor)
        self.ntensors = 1 if self.is_tensor else len(begun)
        if self.is_tensor:
            if begun.dtype != dtype:
                raise ValueError(f"right_inverse makes dtype {dtype} a {begun.dtype}")
            if begun is not original:
                original.data = begun.detach()  # the Parameter an optimizer may know already
            _register(self, "original", original)
        else:
            self._register_parts(begun, original)
        if not unsafe:
            found = self()
            _require_alike(found, _C.empty(shape, dtype=dtype, device="meta"), "a parametrization")

    def _register_parts(self, parts, original):
        for i, part in enumerate(parts):
            _require_tensor(part, f"right_inverse, as its value {i},")
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad and part.is_floating_point())
            _register(self, f"original{i}", part)

    def _originals(self):
        return [self.original] if self.is_tensor else [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Assigning to the tensor: the originals get values that `value` is computed of.

        RuntimeError if a parametrization has no right_inverse; ValueError if it gives other tensors than it did.
        """
        for module in self:
            if not hasattr(module, "right_inverse"):
                raise RuntimeError(f"{type(module).__name__} has no right_inverse: the tensor can not be assigned to")
        with no_grad():
            for module in reversed(list(self)):
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else list(value)
            if len(values) != self.ntensors:
                raise ValueError(f"right_inverse gave {len(values)} tensors, there are {self.ntensors} originals")
            for value, original in zip(values, self._originals()):
                _require_tensor(value, "right_inverse")
                if value.dtype != original.dtype:
                    raise ValueError(f"right_inverse gave dtype {value.dtype} for an original of {original.dtype}")
                original.data = value.detach()

    def forward(self):
        """The tensor."""
        first, *others = self
        value = first(*self._originals())
        for module in others:
            value = module(value)
        return value


def _property(name):
    def get(self):
        if not _cached:
            return self.parametrizations[name]()
        key = id(self), name
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def put(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _copied(self, memo):
    """A copy has a class of its own: parametrizations may be removed from one of both."""
    replica = self.__new__(type(self).__base__)
    memo[id(self)] = replica
    replica.__dict__.update(copy.deepcopy(self.__dict__, memo))
    _change_class(replica)
    for name in replica.parametrizations:
        setattr(type(replica), name, _property(name))
    return replica


def _not_pickled(self):
    raise RuntimeError("a parametrized module can not be pickled: save its state_dict()")


def _change_class(module):
    base = type(module)
    members = {"__getstate__": _not_pickled, "__module__": __name__, "__doc__": base.__doc__}
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _copied
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), members)


def is_parametrized(module, tensor_name=None):
    """Whether this tensor of the module, or any, is parametrized."""
    lists = module.__dict__.get("_modules", {}).get("parametrizations")
    if not isinstance(lists, ModuleDict):
        return False
    return len(lists) > 0 if tensor_name is None else tensor_name in lists


def type_before_parametrizations(module):
    """The module's class as it was written."""
    return type(module).__base__ if is_parametrized(module) else type(module)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """The module, its tensor X now given by `parametrization(X)`, after those it has already.

    A `right_inverse(value)` of the parametrization, where there is one, says what the value that is there now is
    computed of, and values that are assigned; it may give several tensors. ValueError for a name that is no parameter
    or buffer, and unless `unsafe` for a result of another dtype or shape.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        lists = module.parametrizations[tensor_name]
        if not unsafe:
            value = getattr(module, tensor_name)
            _require_alike(parametrization(value), value, "a parametrization")
        if hasattr(parametrization, "right_inverse"):
            _append_inverted(lists, parametrization, getattr(module, tensor_name), unsafe)
        lists.append(parametrization)
        lists.unsafe |= unsafe
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(f"{tensor_name!r} of {module} is no parameter or buffer")
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _change_class(module)
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def _append_inverted(lists, parametrization, value, unsafe):
    """The new last one's inverse has to fit, as torch asks; the originals stay what they are."""
    with no_grad():
        inverted = parametrization.right_inverse(value)
    if not unsafe:
        _require_alike(inverted, value, "right_inverse")


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """The module, the tensor a parameter or buffer again: with its present value, or else the original one.

    ValueError where it is not parametrized, and where the original one would be several tensors.
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"{tensor_name!r} of {module} is not parametrized")
    lists = module.parametrizations[tensor_name]
    if not lists.is_tensor and not leave_parametrized:
        raise ValueError(f"{tensor_name!r} is computed of {lists.ntensors} tensors: none of them can take its place")
    if not lists.is_tensor:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        original = lists.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name).detach()
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not len(module.parametrizations):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__base__
    _register(module, tensor_name, original)
    return module


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """`to_module`, with the parametrizations of `from_module`'s tensors of that name, or all, and their originals."""
    names = [tensor_name] if tensor_name is not None else list(getattr(from_module, "parametrizations", ()))
    for name in names:
        if not hasattr(to_module, name):
            _register(to_module, name, copy.deepcopy(getattr(from_module, name)))
        source = from_module.parametrizations[name]
        for parametrization in source:
            register_parametrization(to_module, name, parametrization, unsafe=True)
        target = to_module.parametrizations[name]
        with no_grad():
            for theirs, ours in zip(source._originals(), target._originals()):
                ours.data = theirs.detach().clone()
    return to_module


__getattr__ = _absent_names(__name__)
