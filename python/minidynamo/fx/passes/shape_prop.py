"""torch.fx.passes.shape_prop: runs a graph and notes the sizes and dtypes of all values in its nodes."""

from collections import namedtuple

from ... import _C
from ..._absent import absent_names as _absent_names
from ..interpreter import Interpreter
from ..node import map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]
_FORMATS = (_C.contiguous_format, _C.channels_last, _C.channels_last_3d)


class TensorMetadata(
    namedtuple("TensorMetadata", "shape dtype requires_grad stride memory_format is_quantized qparams")
):
    """What is known of a tensor: Size, dtype, whether it requires a gradient, strides in elements, memory format.

    `memory_format` is None where the elements lie otherwise. `is_quantized` is False here.
    """

    __slots__ = ()


def _extract_tensor_metadata(result, include_contiguity=True):
    """The TensorMetadata of a tensor."""
    stride, memory_format = (), None
    if include_contiguity:
        stride = tuple(result.stride())
        memory_format = next((f for f in _FORMATS if result.is_contiguous(memory_format=f)), None)
    return TensorMetadata(result.shape, result.dtype, result.requires_grad, stride, memory_format, False, {})


class ShapeProp(Interpreter):
    """`ShapeProp(gm).propagate(*args)` runs the graph; nodes of tensors then have `meta["tensor_meta"]`, a
    TensorMetadata, or nested ones, and all `meta["type"]`."""

    def __init__(self, gm, fake_mode=None):
        if fake_mode is not None:
            raise NotImplementedError("ShapeProp: fake_mode is not part of minidynamo; run it with tensors on 'meta'")
        super().__init__(gm)

    def run_node(self, n):
        result = super().run_node(n)
        found = False

        def described(value):
            nonlocal found
            if isinstance(value, _C.Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, described)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args):
        """What the graph returns for these inputs."""
        return super().run(*args)


__getattr__ = _absent_names(__name__)
