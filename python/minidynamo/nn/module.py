"""torch.nn.Module: named parameters, buffers and submodules, and a call that runs `forward`."""

from collections import OrderedDict
from types import FunctionType, MappingProxyType

from .. import _C
from .hooks import HOOK_TABLES, Hooks, global_hooks
from .module_changes import ModuleChanges
from .module_devices import ModuleDevices
from .module_state import ModuleState
from .module_walks import ModuleWalks
from .parameter import Parameter

_NOT_YET = MappingProxyType({})  # what the tables are before Module.__init__


def _indented(text):
    return text.replace("\n", "\n  ")


class Module(ModuleWalks, ModuleChanges, ModuleDevices, ModuleState, Hooks):
    """Base class of layers and models.

    `call_super_init` of a subclass: whether Module.__init__ goes on to the next class, with the arguments it was given.
    """

    _version = 1
    _parameters = _buffers = _modules = _NOT_YET
    _compiled_call_impl = None
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if not self.call_super_init and (args or kwargs):
            given = f"{len(args)} arguments and {sorted(kwargs)}"
            raise TypeError(f"{type(self).__name__}: Module.__init__() takes none but self, and was given {given}")
        put = super().__setattr__
        put("training", True)
        put("_parameters", {})
        put("_buffers", {})
        put("_non_persistent_buffers_set", set())
        put("_is_full_backward_hook", None)
        for table in HOOK_TABLES:
            put(table, OrderedDict())
        put("_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    # --- calls

    def forward(self, *input):
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if self._compiled_call_impl is not None:
            return self._compiled_call_impl(self, *args, **kwargs)
        return self._call_impl(*args, **kwargs)

    def _call_impl(self, *args, **kwargs):
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or global_hooks
        ):
            return self._call_with_hooks(args, kwargs)
        return self.forward(*args, **kwargs)

    def compile(self, *args, **kwargs):
        """Calls of this module run compiled from now on; arguments are those of minidynamo.compile."""
        from .._dynamo import compile
        from .._dynamo.callables import own_copy

        self._compiled_call_impl = compile(own_copy(type(self)._call_impl), *args, **kwargs)

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_compiled_call_impl"}

    def __setstate__(self, state):
        self.__dict__.update(state)
        for table in HOOK_TABLES:  # of a module that was saved before there were such hooks
            self.__dict__.setdefault(table, OrderedDict())

    # --- attributes

    def __getattr__(self, name):
        if name in self._parameters:
            return self._parameters[name]
        if name in self._buffers:
            return self._buffers[name]
        if name in self._modules:
            return self._modules[name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name, value):
        if isinstance(value, Parameter):
            self._require_init("parameters")
            if name not in self._parameters:  # whose place among the others stays
                self._forget(name)
            self.register_parameter(name, value)
        elif name in self._parameters:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_text(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self._parameters[name] = None
        elif isinstance(value, Module):
            self._require_init("module")
            if name not in self._modules:
                self._forget(name)
            self._modules[name] = value
        elif name in self._modules:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{_type_text(value)}' as child module '{name}' (torch.nn.Module or None expected)"
                )
            self._modules[name] = None
        elif name in self._buffers:
            if value is not None and not isinstance(value, _C.Tensor):
                raise TypeError(
                    f"cannot assign '{_type_text(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)"
                )
            self._buffers[name] = value
        elif isinstance(value, _C.Tensor) and getattr(value, "_is_buffer", False):
            self._require_init("buffers")
            self._forget(name)
            self.register_buffer(name, value, value.persistent)
        else:
            super().__setattr__(name, value)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            super().__delattr__(name)

    def __dir__(self):
        names = {*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers}
        return sorted(name for name in names if not name[:1].isdigit())

    def _require_init(self, what):
        if self._modules is _NOT_YET:
            raise AttributeError(f"cannot assign {what} before Module.__init__() call")

    def _forget(self, name):
        self.__dict__.pop(name, None)
        self._parameters.pop(name, None)
        self._buffers.pop(name, None)
        self._modules.pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def _check_name(self, kind, name, table):
        self._require_init(kind)
        if not isinstance(name, str):
            raise TypeError(f"{kind} name should be a string. Got {_type_text(name)}")
        if "." in name:
            shown = f", got: {name}" if kind == "module" else ""
            raise KeyError(f'{kind} name can\'t contain "."{shown}')
        if name == "":
            raise KeyError(f'{kind} name can\'t be empty string ""')
        if hasattr(self, name) and name not in table:
            raise KeyError(f"attribute '{name}' already exists")

    def register_buffer(self, name, tensor, persistent=True):
        """A tensor that is part of the module but no parameter; in the state_dict unless `persistent` is False."""
        self._check_name("buffer", name, self._buffers)
        if tensor is not None and not isinstance(tensor, _C.Tensor):
            raise TypeError(
                f"cannot assign '{_type_text(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = tensor
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        """What assigning a Parameter does; None keeps the name free."""
        self._check_name("parameter", name, self._parameters)
        if param is not None and not isinstance(param, Parameter):
            raise TypeError(
                f"cannot assign '{_type_text(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)"
            )
        self._parameters[name] = param

    def add_module(self, name, module):
        """What assigning a Module does, for names that are no identifiers too."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{_type_text(module)} is not a Module subclass")
        self._check_name("module", name, self._modules)
        self._modules[name] = module

    def register_module(self, name, module):
        """Another name of add_module."""
        self.add_module(name, module)

    # --- text

    def _get_name(self):
        return type(self).__name__

    def extra_repr(self):
        """What stands between the parentheses; layers say their settings."""
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = [f"({name}): {_indented(repr(module))}" for name, module in self._modules.items()]
        if len(lines) <= 1 and not children:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines + children) + "\n)"


# Errors about arguments name the class that programs know.
for _base in Module.__mro__[1:-1]:
    for _name, _method in vars(_base).items():
        if isinstance(_method, FunctionType):
            _method.__qualname__ = f"Module.{_name}"


def _type_text(value):
    """A value's type as error messages of the mirrored library name it."""
    if isinstance(value, _C.Tensor):
        kinds = {"float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16", "int8": "Char",
                 "int16": "Short", "int32": "Int", "int64": "Long", "uint8": "Byte", "bool": "Bool"}  # fmt: skip
        return f"torch.{kinds[str(value.dtype).partition('.')[2]]}Tensor"
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
