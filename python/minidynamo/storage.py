"""torch.storage: the memory behind tensors as an object, in bytes (UntypedStorage) or elements (TypedStorage)."""

import operator
import warnings

from . import _C
from ._absent import absent_names as _absent_names

__all__ = ["TypedStorage", "UntypedStorage"]


class UntypedStorage:
    """Memory as bytes: of a tensor (Tensor.untyped_storage()), of a number of bytes, or with these values.

    len(), indexing (slices are copies) and assignment work on bytes. Equal if it is the same memory.
    """

    def __init__(self, *args, device=None):
        if len(args) > 1:
            raise TypeError(f"UntypedStorage() takes a size or a sequence of bytes, not {len(args)} arguments")
        given, device = args[0] if args else 0, device or "cpu"
        if isinstance(given, int):
            made = _C.empty(given, dtype=_C.uint8, device=device)
        else:
            made = _C.tensor(list(given), dtype=_C.uint8, device=device)
        self._shown = made

    @classmethod
    def _of(cls, tensor):
        made = cls.__new__(cls)
        made._shown = tensor.detach()
        return made

    def _as_elements(self, dtype):
        whole = self._bytes()
        return _C._rebuild_view(whole, (whole.numel() // dtype.itemsize,), (1,), 0, dtype, False, _C.Tensor)

    def _bytes(self):
        """All of the memory as a tensor, as large as it is now."""
        return _C._storage_bytes(self._shown)[0]

    @property
    def _cdata(self):
        return _C._storage_bytes(self._shown)[1]

    @property
    def device(self):
        return self._shown.device

    @property
    def is_cuda(self):
        return self._shown.is_cuda

    def data_ptr(self):
        """The address of the first byte; 0 without memory."""
        return 0 if self._shown.is_meta or not self.nbytes() else self._bytes().data_ptr()

    def nbytes(self):
        return self._bytes().numel()

    size = __len__ = nbytes

    def element_size(self):
        return 1

    def is_shared(self):
        return self._shown.is_shared()

    def share_memory_(self):
        """Moves the memory to where processes share it."""
        self._bytes().share_memory_()
        return self

    def is_pinned(self, device="cuda"):
        return self._shown.is_pinned()

    def pin_memory(self, device="cuda"):
        """The bytes in memory that copies to a device need not wait for; see Tensor.pin_memory()."""
        return UntypedStorage._of(self._bytes().pin_memory())

    def cuda(self, device=None, non_blocking=False):
        """The bytes on a CUDA device; see Tensor.cuda()."""
        return UntypedStorage._of(self._bytes().cuda(device, non_blocking))

    def tolist(self):
        return self._bytes().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise RuntimeError(f"slices of a storage take every byte, not each {step}.")
            return UntypedStorage._of(self._bytes()[start:stop].clone())
        return self._bytes()[self._checked(index)].item()

    def __setitem__(self, index, value):
        if isinstance(index, slice):
            self._bytes()[index] = value if isinstance(value, int) else _C.tensor(list(value), dtype=_C.uint8)
        else:
            self._bytes()[self._checked(index)] = value

    def _checked(self, index):
        if not hasattr(index, "__index__"):
            raise TypeError(f"a storage is indexed by an int or a slice, not by {type(index).__name__}")
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"there is no element {at} in a storage of {len(self)}")
        return at

    def fill_(self, value):
        self._bytes().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Takes the bytes of another storage of the same size; RuntimeError for another size."""
        if source.nbytes() != self.nbytes():
            raise RuntimeError(f"copy_() takes storages of the same size, not {self.nbytes()} and {source.nbytes()}")
        self._bytes().copy_(source._bytes())
        return self

    def clone(self):
        return UntypedStorage._of(self._bytes().clone())

    def cpu(self):
        return UntypedStorage._of(self._bytes().cpu()) if self.is_cuda else self

    def get_device(self):
        return self._shown.get_device()

    def resize_(self, size):
        """More bytes, for all tensors that share them. Memory that tensors show is never taken away: RuntimeError."""
        if size < self.nbytes():
            raise RuntimeError(f"resize_(): tensors show {self.nbytes()} bytes here, which cannot become {size}")
        self._bytes().resize_(size)
        return self

    def untyped(self):
        return self

    def __eq__(self, other):
        return self._cdata == other._cdata if isinstance(other, UntypedStorage) else NotImplemented

    def __hash__(self):
        return hash(self._cdata)

    def __deepcopy__(self, memo):
        return memo.setdefault(id(self), self.clone())

    def __reduce__(self):
        if self.is_cuda:
            return _storage_of, (_Pickled(self._bytes()),)
        return _storage_of_bytes, (bytes(self._bytes().numpy()),)

    def __repr__(self):
        kind = f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"
        return kind if self._shown.is_meta else "\n".join([*(f" {each}" for each in self), kind])


class TypedStorage:
    """Memory as elements of a dtype: Tensor.storage(). UserWarning where programs get one; see UntypedStorage."""

    def __init__(self, *, wrap_storage, dtype):
        self._untyped_storage, self.dtype = wrap_storage, dtype

    def _as_elements(self, dtype):
        return self._untyped_storage._as_elements(dtype)

    def _elements(self):
        return self._as_elements(self.dtype)

    def untyped(self):
        return self._untyped_storage

    @property
    def device(self):
        return self._untyped_storage.device

    @property
    def _cdata(self):
        return self._untyped_storage._cdata

    @property
    def is_cuda(self):
        return self._untyped_storage.is_cuda

    def data_ptr(self):
        return self._untyped_storage.data_ptr()

    def nbytes(self):
        return self._untyped_storage.nbytes()

    def size(self):
        return self._untyped_storage.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self):
        return self.dtype.itemsize

    def is_shared(self):
        return self._untyped_storage.is_shared()

    def tolist(self):
        return self._elements().tolist()

    def __iter__(self):
        return iter(self.tolist())

    def _checked(self, index):
        if isinstance(index, slice):
            raise RuntimeError("slices are taken of an UntypedStorage, see untyped()")
        if not hasattr(index, "__index__"):
            raise TypeError(f"a storage is indexed by an int, not by {type(index).__name__}")
        at = operator.index(index)
        if not -len(self) <= at < len(self):
            raise IndexError(f"there is no element {at} in a storage of {len(self)}")
        return at

    def __getitem__(self, index):
        return self._elements()[self._checked(index)].item()

    def __setitem__(self, index, value):
        self._elements()[self._checked(index)] = value

    def fill_(self, value):
        self._elements().fill_(value)
        return self

    def copy_(self, source, non_blocking=None):
        """Takes the elements of another storage, converted; RuntimeError for another number of them."""
        if source.size() != self.size():
            raise RuntimeError(f"copy_() takes as many elements, not {self.size()} and {source.size()}")
        self._elements().copy_(source._elements())
        return self

    def clone(self):
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    def resize_(self, size):
        self._untyped_storage.resize_(size * self.dtype.itemsize)
        return self

    def __eq__(self, other):
        return self._cdata == other._cdata if isinstance(other, TypedStorage) else NotImplemented

    def __hash__(self):
        return hash(self._cdata)

    def __repr__(self):
        kind = f"[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"
        return "\n".join([*(f" {each}" for each in self), kind])


def is_storage(obj):
    """Whether it is the memory behind tensors, as bytes or as elements."""
    return isinstance(obj, (UntypedStorage, TypedStorage))


def typed_of(tensor):
    """Tensor.storage()."""
    warnings.warn(
        "TypedStorage is deprecated: Tensor.untyped_storage() gives the memory as bytes.", UserWarning, stacklevel=3
    )
    return TypedStorage(wrap_storage=UntypedStorage._of(tensor), dtype=tensor.dtype)


class _Pickled:
    """All memory behind a tensor, as pickle writes it."""

    def __init__(self, whole):
        self._whole = whole

    def __reduce__(self):
        place = (str(self._whole.device),) if self._whole.is_cuda else ()
        return _Memory, (bytes(self._whole.cpu().numpy()), *place)


class _Memory:
    """Memory as it was read, on the device it was on. AssertionError where there is no such device."""

    def __init__(self, content, device="cpu"):
        self.whole = _C.frombuffer(bytearray(content), dtype=_C.uint8) if content else _C.empty(0, dtype=_C.uint8)
        self.whole = self.whole.clone() if device == "cpu" else self.whole.to(device)


def _pickled_memory(tensor):
    return _Pickled(_C._storage_bytes(tensor)[0])


def _rebuild_over(memory, sizes, strides, offset, dtype, requires_grad, kind):
    """What pickle calls to make a tensor again."""
    return _C._rebuild_view(memory.whole, sizes, strides, offset, dtype, requires_grad, kind)


def _storage_of(memory):
    return UntypedStorage._of(memory.whole)


def _storage_of_bytes(content):
    return UntypedStorage._of(_Memory(content).whole)


_C._mark_callable(UntypedStorage._of.__func__, "dont_skip")  # what is done with the object breaks, making it does not
__getattr__ = _absent_names(__name__)
