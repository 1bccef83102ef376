"""torch.fx.Tracer: runs a function or a module with proxies, and gives the graph of what it did."""

import functools
import math
import threading
import types

from .. import _C
from .._absent import absent_names as _absent_names
from .._lock import process_lock
from ..nn import Module
from ..nn.module import Module as _ModuleClass
from ..nn.parameter import Parameter
from .call_forms import recording_calls
from .graph import Graph
from .node import has_side_effect
from .patches import Patches, public_functions
from .placeholders import place_arguments
from .proxy import ParameterProxy, Scope, ScopeContextManager, TracerBase

__all__ = ["Tracer"]
_is_tracing = 0
_lock = process_lock()  # one thread traces at a time: what is patched must be put back in order


def is_fx_tracing():
    """True while a Tracer traces."""
    return _is_tracing > 0


def _assert_is_none(value, msg):
    """Part of graphs that were traced with None for an input."""
    if value is not None:
        raise AssertionError(msg)


has_side_effect(_assert_is_none)


class Tracer(TracerBase):
    """Makes graphs by running what is traced with a Proxy for every input.

    `autowrap_modules` are modules whose functions are recorded rather than run (by default math), as are
    `autowrap_functions`. With `param_shapes_constant`, sizes of parameters are the numbers they are now.
    """

    def __init__(self, autowrap_modules=(math,), autowrap_functions=(), param_shapes_constant=False):
        super().__init__()
        self._autowrap_search = list(autowrap_modules)
        self._autowrap_function_ids = public_functions(autowrap_modules) | {id(f) for f in autowrap_functions}
        self.submodule_paths = None
        self.root = None
        self.root_module_name = ""
        self.param_shapes_constant = param_shapes_constant
        self.scope = Scope("", None)
        self.module_stack = {}
        self.num_calls = {}
        self.node_name_to_scope = {}
        self.tensor_attrs = {}
        self._used_names = {}

    # --- questions that subclasses answer in their own way

    def is_leaf_module(self, m, module_qualified_name):
        """True for modules whose calls are single nodes: those of this package's nn, save Sequential."""
        from ..nn import Sequential

        return m.__module__.startswith(f"{__package__.partition('.')[0]}.nn") and not isinstance(m, Sequential)

    def path_of_module(self, mod):
        """The path of a module below the root; NameError if it is not there."""
        if self.submodule_paths:
            path = self.submodule_paths.get(mod)
            if path is not None:
                return path
        else:
            for path, module in self.root.named_modules():
                if module is mod:
                    return path
        raise NameError(f"module {type(mod).__name__} is called, but it is not a submodule of what is traced")

    def call_module(self, m, forward, args, kwargs):
        """Called for every call of a module: a node for a leaf, else what `forward(*args, **kwargs)` gives."""
        path = self.path_of_module(m)
        with ScopeContextManager(self.scope, Scope(path, type(m))):
            count = self.num_calls.get(path, 0)
            self.num_calls[path] = count + 1
            key = path if count == 0 else f"{path}@{count}"
            self.module_stack[key] = (path, type(m))
            try:
                if self.is_leaf_module(m, path):
                    return self.create_proxy("call_module", path, args, kwargs)
                return forward(*args, **kwargs)
            finally:
                self.module_stack.pop(key, None)

    def getattr(self, attr, attr_val, parameter_proxy_cache):
        """Called for every attribute of a module that is in its tables: parameters become get_attr nodes, and buffers
        where `proxy_buffer_attributes` is true."""
        if isinstance(attr_val, Parameter):
            return self._known(
                attr_val, self.root.named_parameters(), parameter_proxy_cache, self.param_shapes_constant
            )
        if self.proxy_buffer_attributes and isinstance(attr_val, _C.Tensor):
            return self._known(attr_val, self.root.named_buffers(), parameter_proxy_cache, False)
        return attr_val

    def _known(self, value, members, cache, fixed_shape):
        for path, member in members:
            if member is value:
                if path not in cache:
                    fixed = functools.partial(ParameterProxy, self, name=path, param=value)
                    factory = (lambda node, fixed=fixed: fixed(node=node)) if fixed_shape else None
                    cache[path] = self.create_proxy("get_attr", path, (), {}, proxy_factory_fn=factory)
                return cache[path]
        return value

    def create_arg(self, a):
        """Parameters, buffers and tensors among the arguments become get_attr nodes, tensors of nobody's constants of
        the root named `_tensor_constant0` and so on, modules get_attr nodes of their paths."""
        if isinstance(a, Parameter):
            for path, parameter in self.root.named_parameters():
                if parameter is a:
                    return self.create_node("get_attr", path, (), {})
            raise NameError("a parameter is used that is not one of what is traced")
        if isinstance(a, _C.Tensor):
            for path, buffer in self.root.named_buffers():
                if buffer is a:
                    return self.create_node("get_attr", path, (), {})
            return self.create_node("get_attr", self._constant_name(a), (), {})
        if isinstance(a, Module):
            for path, module in self.root.named_modules():
                if module is a:
                    return self.create_node("get_attr", path, (), {})
        return super().create_arg(a)

    def _constant_name(self, tensor):
        name = self.tensor_attrs.get(tensor)
        if name is None:
            name = self.get_fresh_qualname("_tensor_constant")
            self.tensor_attrs[tensor] = name
            setattr(self.root, name, tensor)
        return name

    def get_fresh_qualname(self, prefix):
        """`prefix` and a number that make a name the root has not."""
        number = self._used_names.get(prefix, 0)
        while hasattr(self.root, f"{prefix}{number}"):
            number += 1
        self._used_names[prefix] = number + 1
        return f"{prefix}{number}"

    # --- tracing

    def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
        node = super().create_node(kind, target, args, kwargs, name, type_expr)
        self.node_name_to_scope[node.name] = (self.scope.module_path, self.scope.module_type)
        if self.module_stack:
            node.meta["nn_module_stack"] = dict(self.module_stack)
        return node

    def create_args_for_root(self, root_fn, is_module, concrete_args=None):
        """(function, arguments): proxies for the inputs, and constants where `concrete_args` has them."""
        return place_arguments(self, root_fn, is_module, concrete_args, _assert_is_none)

    def trace(self, root, concrete_args=None):
        """The Graph of a Module's `forward` or of a function.

        `concrete_args` maps names of inputs to constants, for which the graph is specialised; a name's value may hold
        PH in nested lists, tuples and dicts, whose leaves are inputs then.
        """
        global _is_tracing
        if self.trace_asserts:
            raise NotImplementedError("Tracer.trace_asserts is not part of minidynamo: call torch._assert(value, text)")
        function = self._begin(root)
        is_module = isinstance(root, Module)
        if not isinstance(function, types.FunctionType):
            raise AssertionError(f"a function or a Module can be traced, not a {type(function).__name__}")
        _is_tracing += 1
        try:
            with _lock, Patches() as patches, recording_calls():
                called, args = self.create_args_for_root(function, is_module, concrete_args)
                self._patch(patches, function.__globals__)
                result = called(*args)
                kind = getattr(called, "__annotations__", {}).get("return", None)
                self.create_node("output", "output", (self.create_arg(result),), {}, type_expr=kind)
        finally:
            _is_tracing -= 1
            self.submodule_paths = None
        return self.graph

    def _begin(self, root):
        if isinstance(root, Module):
            self.root = root
            self.root_module_name = root._get_name()
            self.submodule_paths = {module: path for path, module in root.named_modules()}
            if not hasattr(type(root), self.traced_func_name):
                raise AssertionError(f"{type(root).__name__} has no method {self.traced_func_name}() to trace")
            function = getattr(type(root), self.traced_func_name)
        else:
            self.root = Module()
            function = root
            self.traced_func_name = getattr(root, "__name__", "forward")
        self.graph = Graph(tracer_cls=getattr(self, "__class__", None))
        self.graph._tracer_extras = None
        self.tensor_attrs = _tensor_attributes(self.root)
        self.scope = Scope("", None)
        return function

    def _patch(self, patches, function_globals):
        cache = {}
        original_getattr, original_call = _ModuleClass.__getattr__, _ModuleClass.__call__
        tracer, thread = self, threading.get_ident()

        def module_getattr(module, name):
            if threading.get_ident() != thread:
                return original_getattr(module, name)
            return tracer.getattr(name, original_getattr(module, name), cache)

        def module_call(module, *args, **kwargs):
            if threading.get_ident() != thread:
                return original_call(module, *args, **kwargs)

            def forward(*args, **kwargs):
                return original_call(module, *args, **kwargs)

            patches.autowrap(vars_of_forward(module), tracer._autowrap_function_ids)
            return tracer.call_module(module, forward, args, kwargs)

        patches.set_method(_ModuleClass, "__getattr__", module_getattr)
        patches.set_method(_ModuleClass, "__call__", module_call)
        patches.wrap_all()
        patches.autowrap(function_globals, self._autowrap_function_ids)
        for module in self._autowrap_search:
            patches.autowrap(vars(module), self._autowrap_function_ids)

    def __deepcopy__(self, memo):
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made


def vars_of_forward(module):
    """The globals of a module's `forward`, where functions may have to be wrapped."""
    return getattr(getattr(module, "forward", None), "__globals__", {})


def _tensor_attributes(root):
    """Tensor to path, of plain attributes of a tree of modules."""
    found = {}
    for prefix, module in root.named_modules():
        for name, value in vars(module).items():
            if isinstance(value, _C.Tensor):
                found[value] = f"{prefix}.{name}" if prefix else name
    return found


__getattr__ = _absent_names(__name__)
