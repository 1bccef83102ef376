"""torch.autograd.graph: what stands where the record of operations would begin."""

from .._absent import absent_names as _absent_names


class NotRecorded:
    """`x.grad_fn` of a computed tensor that requires grad: it is no leaf, and how it was computed is not recorded."""

    __slots__ = ()

    def name(self):
        """The name of this class, where torch has that of an operation."""
        return type(self).__name__

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"'NotRecorded' object has no attribute '{name}'")
        raise AttributeError(
            f"'NotRecorded' object has no attribute '{name}': operations are not recorded, for there are no gradients"
        )

    def __repr__(self):
        return "<NotRecorded>"


__getattr__ = _absent_names(__name__)
