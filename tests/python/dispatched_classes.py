"""Classes and modes with __torch_dispatch__ that tests of them share."""

import minidynamo as torch
from minidynamo.utils import _pytree as pytree
from minidynamo.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing

asked = []  # the operators that handlers were asked about


class Two(torch.Tensor):
    """Two tensors that go through everything side by side."""

    @staticmethod
    def __new__(cls, a, b, outer_size=None, outer_stride=None):
        return torch.Tensor._make_wrapper_subclass(
            cls,
            a.size() if outer_size is None else outer_size,
            strides=a.stride() if outer_stride is None else outer_stride,
            dtype=a.dtype,
            device=a.device,
            requires_grad=a.requires_grad,
        )

    def __init__(self, a, b, outer_size=None, outer_stride=None):
        self.a, self.b = a, b

    def __tensor_flatten__(self):
        return ["a", "b"], None

    @staticmethod
    def __tensor_unflatten__(inner, context, outer_size, outer_stride):
        return Two(inner["a"], inner["b"], outer_size, outer_stride)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        asked.append(str(func))
        sides = []
        for side in ("a", "b"):
            part = [pytree.tree_map_only(Two, lambda x, side=side: getattr(x, side), v) for v in (args, kwargs)]
            sides.append(pytree.tree_flatten(func(*part[0], **part[1])))
        (left, spec), (right, _) = sides
        both = [cls(x, y) if isinstance(x, torch.Tensor) else x for x, y in zip(left, right)]
        return return_and_correct_aliasing(func, args, kwargs, pytree.tree_unflatten(both, spec))


class Scaled(torch.Tensor):
    """A tensor and a number it is multiplied by, which most operators multiply out."""

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, elem, scale):
        return torch.Tensor._make_wrapper_subclass(cls, elem.shape, dtype=elem.dtype, device=elem.device)

    def __init__(self, elem, scale):
        self.elem, self.scale = elem, scale

    def __tensor_flatten__(self):
        return ["elem"], {"scale": self.scale}

    @classmethod
    def __tensor_unflatten__(cls, inner, context, size, stride):
        return cls(inner["elem"], context["scale"])

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.mul.Tensor and not isinstance(args[1], torch.Tensor):
            return cls(args[0].elem, args[0].scale * args[1])
        plain = pytree.tree_map_only(cls, lambda x: x.elem * x.scale, (args, kwargs or {}))
        return func(*plain[0], **plain[1])


class Slotted(torch.Tensor):
    """Keeps its tensor in a slot, and cannot be taken apart."""

    __slots__ = ["elem"]

    @staticmethod
    def __new__(cls, elem, requires_grad=False):
        made = torch.Tensor._make_wrapper_subclass(cls, elem.size(), dtype=elem.dtype, requires_grad=requires_grad)
        made.elem = elem
        return made

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        asked.append(func.__name__)
        plain = pytree.tree_map_only(cls, lambda x: x.elem, (args, kwargs or {}))
        return pytree.tree_map_only(torch.Tensor, cls, func(*plain[0], **plain[1]))


class Log(TorchDispatchMode):
    """Lists the operators with their arguments."""

    def __init__(self):
        super().__init__()
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        shown = pytree.tree_map_only(torch.Tensor, lambda x: "T", (list(args), kwargs or {}))
        self.calls.append(f"{func} {shown[0]}" + (f" {shown[1]}" if shown[1] else ""))
        return func(*args, **(kwargs or {}))


def seen(value):
    """A value as lists, to be compared."""
    if isinstance(value, Two):
        return ["Two", seen(value.a), seen(value.b), value.requires_grad]
    if isinstance(value, Scaled):
        return ["Scaled", seen(value.elem), value.scale]
    if isinstance(value, Slotted):
        return ["Slotted", seen(value.elem), value.requires_grad]
    if isinstance(value, torch.Tensor):
        return [type(value).__name__, str(value.dtype), value.requires_grad, value.detach().tolist()]
    if isinstance(value, (list, tuple)):
        return [seen(v) for v in value]
    if isinstance(value, dict):
        return {k: seen(v) for k, v in value.items()}
    return value
