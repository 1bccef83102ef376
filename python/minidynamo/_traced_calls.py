"""What torch.jit.trace records: the tensor functions one run of a function calls, as a graph with its sizes open.

While it runs, tensors are real. Whoever asks a tensor for its sizes gets numbers that know where they come from and
note what is computed from them; what Python decides by elements is decided for good, with a TracerWarning.
"""

import operator
import warnings

from . import _C, fx
from .nn import Module, Parameter
from .overrides import TorchFunctionMode
from .utils import _pytree

_READ = ("__bool__", "__float__", "__int__", "__index__", "__complex__", "item", "tolist", "numpy", "__array__")
_SIZES = ("shape", "size", "__len__", "numel", "nelement")
_NOT_COMPUTED = ("requires_grad_", "grad", "__set__")


@_C._overridable
def put(x, key, value):
    """x[key] = value, as a function that graphs can name."""
    x[key] = value


_OPERATORS = {"__getitem__": operator.getitem, "__setitem__": put}


class TracerWarning(Warning):
    """What a trace takes for constant although it may be another one in another call."""


def _binary(name):
    plain, swapped = getattr(operator, name), name

    def forward(self, other):
        return self._trace.of_number(plain, (self, other), getattr(int, f"__{swapped.strip('_')}__")(self, other))

    def backward(self, other):
        return self._trace.of_number(plain, (other, self), getattr(int, f"__r{swapped.strip('_')}__")(self, other))

    return forward, backward


class TracedSize(int):
    """A size as an int, with the node that gives it."""

    def __new__(cls, value, trace, node):
        made = int.__new__(cls, value)
        made._trace, made._node = trace, node
        return made

    def __neg__(self):
        return self._trace.of_number(operator.neg, (self,), int.__neg__(self))

    def __int__(self):
        return self

    def __index__(self):
        return int.__index__(self)

    def __reduce__(self):
        return int, (int.__int__(self),)

    def __deepcopy__(self, memo):
        return self


for _name in ("add", "sub", "mul", "floordiv", "mod", "truediv", "pow"):
    _forward, _backward = _binary(_name)
    setattr(TracedSize, f"__{_name}__", _forward)
    setattr(TracedSize, f"__r{_name}__", _backward)


class _Sizes(tuple):
    """What stands for a torch.Size while a trace runs."""

    def numel(self):
        total = 1
        for size in self:
            total = total * size
        return total


class Recorder(TorchFunctionMode):
    """While active, each call of a tensor function becomes a node."""

    def __init__(self, root):
        super().__init__()
        self.graph, self.root = fx.Graph(), Module()
        self._nodes, self._held, self._depth = {}, [], 0
        self._names, self._constants = {}, 0
        if isinstance(root, Module):
            for name, tensor in [*root.named_parameters(), *root.named_buffers()]:
                self._names.setdefault(_C._tensor_id(tensor), name)
            _take_over(root, self.root)

    def name(self, tensor, node):
        """`node` gives this tensor from now on; it is held, so that no other gets its number."""
        self._held.append(tensor)
        self._nodes[_C._tensor_id(tensor)] = node

    def node_of(self, x):
        if isinstance(x, TracedSize):
            return x._node if x._trace is self else int.__int__(x)
        if isinstance(x, slice):
            return slice(*map(self.node_of, (x.start, x.stop, x.step)))
        if not isinstance(x, _C.Tensor):
            return x
        found = self._nodes.get(_C._tensor_id(x))
        return self._constant(x) if found is None else found

    def _constant(self, tensor):
        name = self._names.get(_C._tensor_id(tensor))
        if name is None:
            if tensor.requires_grad and not isinstance(tensor, Parameter):
                raise RuntimeError(
                    "Cannot insert a Tensor that requires grad as a constant. Consider making it a parameter or input, "
                    "or detaching the gradient"
                )
            name = f"_tensor_constant{self._constants}"
            self._constants += 1
            self.root.register_buffer(name, tensor)
            self._names[_C._tensor_id(tensor)] = name
        node = self.graph.get_attr(name)
        self.name(tensor, node)
        return node

    def of_number(self, function, args, value):
        """The result of arithmetic with sizes: a number that is known by its node."""
        if value is NotImplemented:
            return value
        node = self.graph.call_function(function, self._given(args))
        return TracedSize(value, self, node) if type(value) is int else value

    def _given(self, args):
        return _pytree.tree_map(self.node_of, args)

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        owner = getattr(func, "__self__", None)
        attribute = func.__name__ == "__get__" and hasattr(owner, "__name__")
        name = owner.__name__ if attribute else func.__name__
        if name in _NOT_COMPUTED:
            return func(*args, **kwargs)
        if name in _READ:
            self._warn(f"{name}() of a tensor: what is done with the number is part of the trace as a constant")
            return func(*args, **kwargs)
        result = func(*args, **kwargs)
        if name in _SIZES:
            return self._sizes(name, args, kwargs, result)
        if _any_tensor(result) or name == "__setitem__" or name.endswith("_") and not name.endswith("__"):
            self._note(func, name, attribute, args, kwargs, result)
        return result

    def _note(self, func, name, attribute, args, kwargs, result):
        given, named = self._given(tuple(args)), self._given(dict(kwargs))
        if attribute:
            node = self.graph.call_function(getattr, (given[0], name))
        elif name in _OPERATORS:
            node = self.graph.call_function(_OPERATORS[name], given)
        elif getattr(_C.Tensor, name, None) is func:
            node = self.graph.call_method(name, given, named)
        else:
            node = self.graph.call_function(func, given, named)
        self._place(result, node)

    def _place(self, result, node):
        if isinstance(result, _C.Tensor):
            self.name(result, node)
        elif isinstance(result, dict):
            for key, part in result.items():
                self._place_part(part, node, key)
        elif isinstance(result, (tuple, list)):
            for key, part in enumerate(result):
                self._place_part(part, node, key)

    def _place_part(self, part, node, key):
        if _any_tensor(part):
            self._place(part, self.graph.call_function(operator.getitem, (node, key)))

    def _sizes(self, name, args, kwargs, result):
        tensor = self.node_of(args[0])
        if name in ("numel", "nelement"):
            return TracedSize(result, self, self.graph.call_method("numel", (tensor,)))
        if name == "__len__":
            return result  # len() takes exact numbers
        if isinstance(result, int):
            rest = self._given((*args[1:], *kwargs.values()))
            return TracedSize(result, self, self.graph.call_method("size", (tensor, *rest)))
        return _Sizes(
            TracedSize(size, self, self.graph.call_method("size", (tensor, dim))) for dim, size in enumerate(result)
        )

    def _warn(self, text):
        warnings.warn(f"{text}, and other inputs may need another one", TracerWarning, stacklevel=4)


def _copied(tensor):
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)


def _any_tensor(x):
    return isinstance(x, _C.Tensor) or any(isinstance(leaf, _C.Tensor) for leaf in _pytree.tree_leaves(x))


def _take_over(source, target):
    """Gives an empty module the parameters, buffers and modules of another one, and its mode."""
    target.training = source.training
    for name, param in source._parameters.items():
        target.register_parameter(name, param)
    for name, buffer in source._buffers.items():
        target.register_buffer(name, buffer, name not in source._non_persistent_buffers_set)
    for name, child in source._modules.items():
        if child is not None:
            made = Module()
            target.register_module(name, made)
            _take_over(child, made)


def _check_result(result, strict, top=True):
    if isinstance(result, _C.Tensor):
        return
    if top and result is None:
        raise RuntimeError("The traced function didn't return any values! Side-effects are not captured in traces")
    if isinstance(result, dict) and strict:
        raise RuntimeError(
            "Encountering a dict at the output of the tracer might cause the trace to be incorrect: it is right only "
            "if its keys do not depend on the inputs. Pass strict=False to allow it, or give a tuple"
        )
    if not isinstance(result, (tuple, list, dict)):
        raise RuntimeError(
            "Only tensors, lists, tuples of tensors, or dictionary of tensors can be output from traced functions, not "
            f"{type(result).__name__}"
        )
    for part in result.values() if isinstance(result, dict) else result:
        _check_result(part, strict, False)


def record(func, names, args, kwargs, root, strict):
    """(module of what a run of func(*args, **kwargs) called, its result); inputs are called `names` and as `kwargs`."""
    trace = Recorder(root)
    fresh = _pytree.tree_map_only(
        _C.Tensor, lambda t: t.detach().clone().requires_grad_(t.requires_grad), (args, kwargs)
    )
    for name, value in [*zip(names, fresh[0]), *fresh[1].items()]:
        trace._place(value, trace.graph.placeholder(name))
    with trace:
        result = func(*fresh[0], **fresh[1])
    _check_result(result, strict)
    trace.graph.output(_pytree.tree_map(trace.node_of, result))
    _without_unused(trace.graph)
    return fx.GraphModule(trace.root, trace.graph, "Traced"), result


def _without_unused(graph):
    """Sizes that nothing needs are not computed; calls may have effects and stay."""
    for node in reversed(list(graph.nodes)):
        of_sizes = node.op == "call_method" and node.target in ("size", "numel")
        if not node.users and (of_sizes or node.op == "get_attr"):
            graph.erase_node(node)
