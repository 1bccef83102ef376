"""Methods of Tensor that are about layouts other than strided, and those that call a function for each element."""

from . import _C


def _to_compressed(name):
    def method(self, blocksize=None, dense_dim=None):
        from .sparse import compressed, coo

        layout = getattr(compressed, name.removeprefix("to_"))
        if isinstance(self, coo.SparseTensor):
            return compressed.from_coordinates(self, layout, blocksize)
        return compressed.from_dense(self, layout, blocksize)

    method.__name__, method.__doc__ = name, f"The same elements in the layout torch.{name.removeprefix('to_')}."
    return method


def _to_unblocked(name):
    of_blocks = _to_compressed(name)

    def method(self, dense_dim=None):
        return of_blocks(self)

    method.__name__, method.__doc__ = name, of_blocks.__doc__
    return method


def _of_others(name, kind):
    def method(self, *args, **kwargs):
        raise (NotImplementedError if kind == "quantised" else RuntimeError)(
            f"{name}() is for {kind} tensors, and this one is not"
        )

    method.__name__, method.__doc__ = name, f"Of {kind} tensors; others raise."
    return method


def dequantize(self):
    """The tensor as float32: it is not quantised."""
    return self.to(_C.float32)


def _numbers(function, count):
    def value(*elements):
        result = function(*elements)
        if not isinstance(result, (int, float, complex)):
            raise TypeError(f"the function gives a number for each of {count} elements, not {type(result).__name__}")
        return result

    return value


def _write(tensor, function, others):
    if not callable(function):
        raise TypeError(f"a callable is needed, not {type(function).__name__}")
    if tensor.requires_grad:
        raise RuntimeError("a tensor that requires grad cannot be written by a function in Python; see detach()")
    for other in others:
        if other.dtype != tensor.dtype:
            raise TypeError(f"tensors of one dtype are needed, got {tensor.dtype} and {other.dtype}")
    if tensor.is_meta:
        return tensor
    value = _numbers(function, 1 + len(others))
    columns = [t.expand(tensor.shape).reshape(-1).tolist() for t in (tensor, *others)]
    made = [value(*elements) for elements in zip(*columns)]
    tensor.copy_(_C.tensor(made, dtype=tensor.dtype).reshape(tensor.shape))
    return tensor


def apply_(self, callable):
    """Each element becomes what `callable` gives for it. Slow: a call for each."""
    return _write(self, callable, ())


def map_(self, tensor, callable):
    """Each element becomes what `callable` gives for it and that of `tensor`."""
    return _write(self, callable, (tensor,))


def map2_(self, x, y, callable):
    """Each element becomes what `callable` gives for it and those of `x` and `y`."""
    return _write(self, callable, (x, y))


METHODS = [apply_, map_, map2_, dequantize]
METHODS += [_to_unblocked("to_sparse_csr"), _to_unblocked("to_sparse_csc")]
METHODS += [_to_compressed("to_sparse_bsr"), _to_compressed("to_sparse_bsc")]
METHODS += [_of_others(n, "compressed sparse") for n in ("crow_indices", "col_indices", "ccol_indices", "row_indices")]
METHODS += [
    _of_others(name, "quantised")
    for name in (
        "int_repr q_scale q_zero_point qscheme q_per_channel_scales q_per_channel_zero_points q_per_channel_axis"
    ).split()
]
METHODS += [_of_others(name, "nested") for name in ("to_padded_tensor", "offsets", "lengths")]
