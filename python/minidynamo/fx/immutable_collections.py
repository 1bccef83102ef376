"""torch.fx.immutable_collections: the lists and dicts in arguments of nodes, which only an assignment may change."""

from .._absent import absent_names as _absent_names
from ..utils.tree_nodes import register_dict as _register_dict
from ..utils.tree_nodes import register_sequence as _register_sequence

__all__ = ["immutable_dict", "immutable_list"]
_CHANGING = {
    list: "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort".split(),
    dict: "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update".split(),
}


def _refuse(self, *args, **kwargs):
    raise TypeError(
        f"'{type(self).__name__}' object does not support mutation: the users of nodes would go out of step. "
        "Make a changed copy and assign it as a whole: node.args = ..., node.kwargs = ..."
    )


class immutable_list(list):
    """A list that raises TypeError when it is changed."""

    def __hash__(self):
        return hash(tuple(self))

    def __reduce__(self):
        return immutable_list, (tuple(self),)


class immutable_dict(dict):
    """A dict that raises TypeError when it is changed."""

    def __hash__(self):
        return hash(frozenset(self.items()))

    def __reduce__(self):
        return immutable_dict, (tuple(self.items()),)


for _kind in (immutable_list, immutable_dict):
    for _name in _CHANGING[_kind.__base__]:
        setattr(_kind, _name, _refuse)
_register_sequence(immutable_list, "torch.fx.immutable_collections.immutable_list")
_register_dict(immutable_dict, "torch.fx.immutable_collections.immutable_dict")

__getattr__ = _absent_names(__name__)
