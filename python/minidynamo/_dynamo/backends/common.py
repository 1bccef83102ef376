"""What backends ask of their example inputs."""

from ... import _C
from ..._absent import absent_names as _absent_names


def device_from_inputs(example_inputs):
    """The device of the first tensor; the CPU if there is none."""
    return next((x.device for x in example_inputs if hasattr(x, "device")), _C.device("cpu"))


def dtype_from_inputs(example_inputs):
    """The dtype of the first tensor; float32 if there is none."""
    return next((x.dtype for x in example_inputs if hasattr(x, "dtype")), _C.float32)


def fake_tensor_unsupported(fn):
    """Decorator of a backend that needs real tensors as example inputs: they get zeros of the same kind."""
    import functools

    @functools.wraps(fn)
    def backend(gm, example_inputs, **kwargs):
        real = [_C.zeros_like(x) if isinstance(x, _C.Tensor) else x for x in example_inputs]
        return fn(gm, real, **kwargs)

    return backend


class AotAutograd:
    """A backend that gives a forward and a backward graph of operators to compilers of one's own."""

    def __init__(self, **kwargs):
        self.__name__ = "compiler_fn"
        self.kwargs = kwargs

    def __call__(self, gm, example_inputs, **kwargs):
        from ..._functorch.aot_autograd import aot_module_simplified

        return aot_module_simplified(gm, example_inputs, **{**self.kwargs, **kwargs})


def aot_autograd(**kwargs):
    """A backend of fw_compiler, bw_compiler, inference_compiler, partition_fn and decompositions."""
    return AotAutograd(**kwargs)


__getattr__ = _absent_names(__name__)
