"""torch.utils.weak: dictionaries whose keys are objects, not what these are equal to, and live no longer than they."""

import collections.abc
import weakref

from .._absent import absent_names as _absent_names

WeakRef = weakref.ref


class WeakIdRef(weakref.ref):
    """A weak reference that is equal to those to the same object."""

    __slots__ = ("_id",)

    def __init__(self, key, callback=None):
        super().__init__(key, callback)
        self._id = id(key)

    def __call__(self):
        return super().__call__()

    def __hash__(self):
        return self._id

    def __eq__(self, other):
        mine, its = self(), other() if isinstance(other, WeakIdRef) else None
        return mine is its if mine is not None and its is not None else self is other


class WeakIdKeyDictionary(collections.abc.MutableMapping):
    """Keys are compared by `is`; an entry goes with its key."""

    def __init__(self, dict=None, ref_type=WeakIdRef):  # noqa: A002  as in torch
        self.data, self.ref_type = {}, ref_type
        if dict is not None:
            self.update(dict)

    def _forget(self, ref):
        self.data.pop(ref, None)

    def __getitem__(self, key):
        return self.data[self.ref_type(key)]

    def __setitem__(self, key, value):
        place = weakref.ref(self)

        def forget(ref):
            if (mapping := place()) is not None:
                mapping._forget(ref)

        self.data[self.ref_type(key, forget)] = value

    def __delitem__(self, key):
        del self.data[self.ref_type(key)]

    def __contains__(self, key):
        try:
            return self.ref_type(key) in self.data
        except TypeError:
            return False

    def __iter__(self):
        for ref in list(self.data):
            if (key := ref()) is not None:
                yield key

    def __len__(self):
        return sum(ref() is not None for ref in list(self.data))

    def __repr__(self):
        return f"<{type(self).__name__} at {id(self):#x}>"

    def copy(self):
        """Another one with the same entries."""
        return type(self)(self)

    __copy__ = copy

    def keyrefs(self):
        """The weak references to the keys."""
        return list(self.data)

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __eq__(self, other):
        if not isinstance(other, collections.abc.Mapping):
            return NotImplemented
        return {id(k): v for k, v in self.items()} == {id(k): v for k, v in other.items()}

    __hash__ = None


WeakTensorKeyDictionary = WeakIdKeyDictionary


class TensorWeakRef:
    """A weak reference to a tensor: it, or None when it is gone."""

    def __init__(self, tensor):
        from .. import _C

        if not isinstance(tensor, _C.Tensor):
            raise AssertionError(f"a Tensor is needed, not a {type(tensor).__name__}")
        self.ref = weakref.ref(tensor)

    def __call__(self):
        return self.ref()


__getattr__ = _absent_names(__name__)
