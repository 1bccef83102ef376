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


__getattr__ = _absent_names(__name__)
