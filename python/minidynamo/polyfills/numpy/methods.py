"""Attributes and methods of arrays that are more than the function of the same name."""

import math

import minidynamo as torch

from ..bridge import array_of, is_number, is_scalar, scalar_of, tensor_of
from . import facts, layout
from .operands import check_number, result, tensor, view, viewable, writeable_tensor
from .shaping import reshape, transpose


def shape(self):
    return tuple(tensor_of(self).shape)


def ndim(self):
    return tensor_of(self).dim()


def size(self):
    return tensor_of(self).numel()


def dtype(self):
    return facts.numpy_dtype(tensor_of(self).dtype)


def itemsize(self):
    return tensor_of(self).dtype.itemsize


def nbytes(self):
    return tensor_of(self).numel() * tensor_of(self).dtype.itemsize


def strides(self):
    value = tensor_of(self)
    return tuple([s * value.dtype.itemsize for s in value.stride()])


def transposed(self):
    return transpose(self)


def matrix_transposed(self):
    value = viewable(self)
    if value.dim() < 2:
        raise ValueError("matrix transpose with ndim < 2 is undefined")
    return view(value.transpose(-2, -1), self)


def real(self):
    return view(viewable(self).real, self) if tensor_of(self).is_complex() else self


def imag(self):
    value = tensor_of(self)
    return view(viewable(self).imag, self) if value.is_complex() else result(torch.zeros_like(value))


def angle(z, deg=False):
    """numpy.angle."""
    value = torch.angle(tensor(z))
    return result(value * (180 / math.pi) if deg else value)


def conjugated(self):
    value = tensor_of(self)
    return result(value.conj() if value.is_complex() else value.clone())


def astype(self, dtype, order="K", casting="unsafe", subok=True, copy=True):
    """A copy in another dtype, or the array itself where it has the dtype and `copy` is False."""
    wanted = facts.tensor_dtype(dtype)
    value = tensor_of(self)
    if not facts.can_cast(value.dtype, wanted, casting):
        raise TypeError("Cannot cast the array by this rule")
    axes = layout.ordered_axes(value, order)
    if value.dtype == wanted and copy is False and (order != "C" or layout.lies(value, axes)):
        return self
    made = layout.copied(value, order, wanted)
    return scalar_of(made) if is_scalar(self) else array_of(made)


def copied(self, order="C"):
    made = layout.copied(tensor_of(self), order)
    return scalar_of(made) if is_scalar(self) else array_of(made)


def fill(self, value):
    target = writeable_tensor(self)
    if not is_number(value):
        raise NotImplementedError("a value that is no Python number")
    check_number(value, target.dtype)
    target.fill_(value)


def flatten(self, order="C"):
    """A copy, other than ravel."""
    if order != "C":
        raise NotImplementedError("an order other than C")
    return array_of(tensor_of(self).reshape((-1,)).clone())


def reshaped(self, *shape, order="C", copy=None):
    return reshape(self, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def transposed_by(self, *axes):
    if len(axes) == 1:
        return transpose(self, axes[0])
    return transpose(self, axes if axes else None)


ATTRIBUTES = {
    "shape": (shape,),
    "ndim": (ndim,),
    "size": (size,),
    "dtype": (dtype,),
    "itemsize": (itemsize,),
    "nbytes": (nbytes,),
    "strides": (strides,),
    "T": (transposed,),
    "mT": (matrix_transposed,),
    "real": (real,),
    "imag": (imag,),
}
