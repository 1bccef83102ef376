"""Methods of Tensor written in Python: legacy types, other devices, memory shared between processes, sparse layouts.

What takes more than a line stands in the modules they load, so that programs without need do not wait for them.
"""

import builtins

from . import _C, _layout_methods
from ._no_device import is_present, refuse
from ._on_demand import HOMES


def type(self, dtype=None, non_blocking=False, *, memory_format=None, **kwargs):
    """The type as text, 'torch.FloatTensor'; with a dtype, tensor type or the name of one, the tensor converted to it.

    A tensor that is of the dtype is returned itself. RuntimeError for types of other devices, ValueError for unknown
    names, TypeError for other objects.
    """
    if kwargs.keys() - {"async"}:
        raise TypeError(f"type() got an unexpected keyword argument {min(kwargs)!r}")
    if dtype is None:
        return _loaded("_tensor_types", "name_of")(self)
    wanted = _loaded("_tensor_types", "dtype_of")(dtype)
    if is_present() and not isinstance(dtype, _C.dtype) and (kind := _loaded("_tensor_types", "device_of")(dtype)):
        place = self.device if self.device.type == kind else kind
        return self.to(place, wanted, non_blocking=non_blocking, memory_format=memory_format)
    return self.to(wanted, memory_format=memory_format)


def cuda(self, device=None, non_blocking=False, memory_format=None):
    """The tensor on a CUDA device, the current one unless it is named by a device or index; itself if it is there.

    AssertionError where there are none. RuntimeError for a device of another kind.
    """
    if not is_present():
        _needs(self, device, "cuda")
    place = _C.device("cuda", device) if isinstance(device, int) else _C.device("cuda" if device is None else device)
    if place.type != "cuda":
        raise RuntimeError("Invalid device, must be cuda device")
    return self.to(place, non_blocking=non_blocking, memory_format=memory_format)


def xpu(self, device=None, non_blocking=False, memory_format=None):
    """AssertionError: there are no XPU devices. RuntimeError for a device of another kind, or an index."""
    _needs(self, device, "xpu")


def mtia(self, device=None, non_blocking=False, memory_format=None):
    """AssertionError: there are no MTIA devices. RuntimeError for a device of another kind, or an index."""
    _needs(self, device, "mtia")


def ipu(self, device=None, non_blocking=False, memory_format=None):
    """RuntimeError: there are no such devices."""
    raise RuntimeError("minidynamo has no ipu devices: it holds tensors on the CPU")


def _needs(tensor, device, kind):
    if isinstance(device, int):
        raise RuntimeError(f"{kind}({device}): there is no accelerator; minidynamo holds tensors on the CPU")
    if device is not None and _C.device(device).type != kind:
        raise RuntimeError(f"{kind}(): not a {kind} device: {device}")
    refuse(kind.upper())


def pin_memory(self, device=None):
    """The tensor in memory that copies to a device need not wait for; itself if it is there.

    RuntimeError where there is no accelerator, and for tensors that are on one.
    """
    if not is_present():
        raise RuntimeError("pin_memory(): there is no accelerator to copy to; minidynamo holds tensors on the CPU")
    if self.device.type != "cpu":
        raise RuntimeError(f"cannot pin '{self.type()}' only dense CPU tensors can be pinned")
    return self if _C._cuda.is_pinned(self) else _C._cuda.pinned_copy(self)


def is_pinned(self, device=None):
    """Whether copies to a device need not wait for the memory. False where there is no accelerator."""
    return is_present() and _C._cuda.is_pinned(self)


def record_stream(self, stream):
    """The memory is not used again before `stream`, a torch.cuda.Stream, has done what it was given up to now.

    RuntimeError for tensors that are not on a CUDA device.
    """
    if not self.is_cuda:
        raise RuntimeError(f"record_stream(): the tensor is on {self.device}, which has no streams")
    _C._cuda.record_stream(self, stream.stream_id)


def _cuda_array_interface(self):
    if not self.is_cuda:
        raise AttributeError(
            f"Can't get __cuda_array_interface__ on non-CUDA tensor type: {self.type()} If CUDA data is required use "
            "tensor.cuda() to copy tensor to device memory."
        )
    return _loaded("cuda._array_interface", "of_tensor")(self)


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    """`data`, copied, in the dtype of this tensor unless another one is given."""
    dtype = self.dtype if dtype is None else dtype
    device = self.device if device is None else device
    if isinstance(data, _C.Tensor):
        import warnings

        warnings.warn(
            "new_tensor() of a tensor copies it; tensor.detach().clone() says so, with requires_grad_() where needed",
            stacklevel=2,
        )
        return data.detach().to(device, dtype, copy=True).requires_grad_(requires_grad)
    if isinstance(data, (str, bytes)):
        raise TypeError(f"new(): invalid data type '{data.__class__.__name__}'")
    return _C.tensor(data, dtype=dtype, device=device, requires_grad=requires_grad)


def new(self, *args, device=None, **kwargs):
    """As the tensor type of this dtype makes them: torch.FloatTensor(...) of float32."""
    made = _loaded("_tensor_types", "_made")
    return made(self.dtype, *args, device=self.device if device is None else device, **kwargs)


def __reversed__(self):
    """The tensor with its first dimension reversed, for reversed(tensor): flip(0). One of no dimensions is itself."""
    return self.flip(0) if self.dim() else self


def __rdiv__(self, other):
    """other / self."""
    return other / self


def _make_subclass(cls, data, require_grad=False):
    """The elements of `data` as an instance of `cls`, a class below Tensor, without its gradient history."""
    if not isinstance(data, _C.Tensor):
        raise TypeError(f"_make_subclass(): data must be a Tensor, not {builtins.type(data).__name__}")
    return data.detach().as_subclass(cls).requires_grad_(require_grad)


def _make_wrapper_subclass(
    cls,
    size,
    strides=None,
    storage_offset=None,
    memory_format=None,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    dispatch_sizes_strides_policy=None,
    dispatch_device=False,
    dispatch_layout=False,
    _extra_dispatch_keys=None,
    storage_size=None,
):
    """A tensor of `cls` without elements: what is computed with it, `cls.__torch_dispatch__` answers.

    Sizes, dtype and device are those given, strides row-major ones unless they are named. TypeError for a class without
    `__torch_dispatch__` of its own. The questions `dispatch_...` are for are answered from what is given here.
    """
    size = (size,) if isinstance(size, int) else tuple(size)
    if strides is None and memory_format not in (None, _C.contiguous_format, _C.preserve_format):
        strides = _C.empty(size, device="meta", memory_format=memory_format).stride()
    dtype = _C.get_default_dtype() if dtype is None else dtype
    device = _C.device("cpu" if device is None else device)
    return _C._make_wrapper(cls, size, strides, storage_offset or 0, dtype, device, requires_grad)


def share_memory_(self):
    """Moves the elements to memory that processes share: what one writes, all see. Gives the tensor.

    Views made of the tensor before keep the old memory. Tensors in shared memory stay where they are.
    """
    from .multiprocessing import shared_memory

    return shared_memory.move(self)


def is_set_to(self, tensor):
    """Whether both are the same elements of the same memory, in the same order."""
    mine, other = self.untyped_storage(), tensor.untyped_storage()
    return (
        mine.data_ptr() == other.data_ptr()
        and self.storage_offset() == tensor.storage_offset()
        and self.shape == tensor.shape
        and self.stride() == tensor.stride()
    )


def is_shared(self):
    """Whether the elements lie in memory that processes share, see share_memory_()."""
    from .multiprocessing import shared_memory

    return shared_memory.holds(self)


def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """The entries that differ from 0 as a tensor of the layout torch.sparse_coo; gradients flow back to them.

    The first `sparse_dim` dimensions, all by default, are given by indices. `layout` names a compressed one instead.
    """
    from .sparse import compressed, coo

    if layout not in (None, coo.sparse_coo):
        return compressed.from_dense(self, layout, blocksize)
    if blocksize is not None or dense_dim is not None:
        raise RuntimeError("to_sparse(): blocksize and dense_dim are for compressed layouts")
    return coo.from_dense(self, sparse_dim)


def to_sparse_coo(self):
    """to_sparse()."""
    return to_sparse(self)


def to_dense(self, dtype=None, *, masked_grad=None):
    """The tensor itself, which is dense; converted to `dtype`."""
    return self if dtype is None else self.to(dtype)


def sparse_mask(self, mask):
    """The elements in the places where the sparse tensor `mask` has entries, of the same sizes."""
    from .sparse import coo

    if tuple(mask.shape) != tuple(self.shape):
        raise RuntimeError(f"sparse_mask(): a mask of sizes {tuple(self.shape)} is needed, got {tuple(mask.shape)}")
    mask = mask.coalesce()
    return coo.made(mask.indices(), self[tuple(mask.indices())], tuple(self.shape), True)


def sparse_dim(self):
    """0: no dimension is given by indices."""
    return 0


def dense_dim(self):
    """All dimensions."""
    return self.dim()


def of_sparse_tensors(name):
    """A method of sparse tensors: RuntimeError for dense ones."""

    def method(self):
        raise RuntimeError(f"{name}() is for sparse tensors, and this one is dense; see to_sparse()")

    method.__name__, method.__doc__ = name, "RuntimeError: the tensor is dense."
    return method


def untyped_storage(self):
    """The memory behind the tensor, as bytes: a torch.UntypedStorage."""
    return _loaded("storage", "UntypedStorage")._of(self)


def storage(self):
    """The memory behind the tensor, as elements: a torch.TypedStorage. UserWarning: untyped_storage() is meant."""
    from .storage import typed_of

    return typed_of(self)


def new_empty_strided(self, size, stride, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False):
    """An uninitialized tensor of these sizes and strides, of this one's dtype and device unless others are given."""
    return _C.empty_strided(
        size,
        stride,
        dtype=self.dtype if dtype is None else dtype,
        device=self.device if device is None else device,
        requires_grad=requires_grad,
    )


# Functions that are methods too, by the module they are loaded from.
FUNCTIONS = {
    "linalg.older_names": HOMES["linalg.older_names"],
    "functional": "renorm renorm_",
    "scatter_functions": "as_strided_scatter slice_scatter select_scatter diagonal_scatter index_reduce index_reduce_",
    "histograms": "histogram",
    "numerical_functions": "cov corrcoef frexp nonzero_static",
    "spectrograms": "stft istft",
    "shape_functions": """
        unsafe_chunk unsafe_split unsafe_split_with_sizes split_with_sizes narrow_copy sum_to_size is_nonzero
        is_same_size
    """,
    "real_tensors": "resolve_conj resolve_neg adjoint cfloat cdouble",
}


def _loaded(module, name):
    from importlib import import_module

    return getattr(import_module("." + module, __package__), name)


_C._mark_callable(_loaded, "constant")  # compiled code finds the function while it is traced


def _of_function(module, name):
    def method(self, *args, **kwargs):
        return _loaded(module, name)(self, *args, **kwargs)

    method.__name__, method.__doc__ = name, f"torch.{name}() of this tensor."
    return method


def H(self):  # noqa: N802  torch's name
    """A matrix transposed, its elements conjugate. RuntimeError for other numbers of dimensions."""
    if self.dim() not in (0, 2):
        raise RuntimeError(
            f"tensor.H is only supported on matrices (2-D tensors). Got {self.dim()}-D tensor."
            + (" For batches of matrices, consider using tensor.mH" if self.dim() > 2 else "")
        )
    return self.T.conj()


def mH(self):  # noqa: N802  torch's name
    """The last two dimensions swapped, the elements conjugate. RuntimeError for fewer dimensions."""
    if self.dim() == 0:
        return self.conj()
    if self.dim() < 2:
        raise RuntimeError(
            f"tensor.mH is only supported on matrices or batches of matrices. Got {self.dim()}-D tensor."
        )
    return self.mT.conj()


def _repr_html_(self):
    """What a notebook shows of it; None: its text."""
    return _loaded("_display", "tensor")(self)


def attach():
    """Makes all of them methods and properties of Tensor."""
    methods = [
        type,
        cuda,
        xpu,
        mtia,
        ipu,
        pin_memory,
        is_pinned,
        record_stream,
        new_tensor,
        new,
        share_memory_,
        is_shared,
        is_set_to,
    ]
    methods += [untyped_storage, storage, new_empty_strided]
    methods += _layout_methods.METHODS
    methods += [__reversed__, to_sparse, to_sparse_coo, to_dense, sparse_mask, sparse_dim, dense_dim]
    methods += map(of_sparse_tensors, ("coalesce", "is_coalesced", "indices", "values", "_indices", "_values", "_nnz"))
    methods += [_of_function(module, name) for module, names in FUNCTIONS.items() for name in names.split()]
    for method in [*methods, __rdiv__]:
        method.__qualname__ = f"Tensor.{method.__name__}"
        setattr(_C.Tensor, method.__name__, _C._overridable(method))
    _C.Tensor._make_subclass = staticmethod(_make_subclass)
    _C.Tensor._make_wrapper_subclass = staticmethod(_make_wrapper_subclass)
    _C.Tensor._repr_html_ = _repr_html_
    _C.Tensor.__cuda_array_interface__ = property(_cuda_array_interface)
    for getter in (H, mH):
        setattr(_C.Tensor, getter.__name__, property(getter))
