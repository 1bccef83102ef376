"""torch.utils._pytree: containers taken apart and put together again, and what compiled code makes of it."""

import collections

import pytest

import minidynamo as torch
import minidynamo.utils._pytree as pytree

Point = collections.namedtuple("Point", "x y")


class Box:
    def __init__(self, inside, label):
        self.inside, self.label = inside, label


pytree.register_pytree_node(Box, lambda box: ([box.inside], box.label), lambda parts, label: Box(parts[0], label))

NESTS = [
    ({"b": (1, [2, None]), "a": torch.Size([2])}, [1, 2, None, 2]),
    (Point(1, [2]), [1, 2]),
    (collections.OrderedDict(a=1, b=(2,)), [1, 2]),
    (collections.defaultdict(list, {"q": [3]}), [3]),
    (collections.deque([1, 2], maxlen=3), [1, 2]),
    ([], []),
    ((), []),
    (5, [5]),
]


@pytest.mark.parametrize("nest, leaves", NESTS, ids=lambda x: type(x).__name__)
def test_there_and_back(nest, leaves):
    found, spec = pytree.tree_flatten(nest)
    again = pytree.tree_unflatten(found, spec)
    assert found == leaves and again == nest and type(again) is type(nest)
    assert spec.num_leaves == len(leaves) and spec == pytree.tree_structure(nest)


def test_named_results_and_registered_classes_are_nested_and_subclasses_are_leaves():
    largest = torch.tensor([1.0, 3.0]).max(0)
    doubled = pytree.tree_map(lambda t: t * 2, largest)
    assert type(doubled) is type(largest) and doubled.values == 6 and doubled.indices == 2
    assert pytree.tree_structure(torch.ones(2).sort()).type is torch.return_types.sort
    box = pytree.tree_map(lambda x: -x, Box((1, 2), "name"))
    assert box.inside == (-1, -2) and box.label == "name"
    special = type("Special", (list,), {})([1])
    assert pytree.tree_leaves([special]) == [special] and pytree.tree_leaves([special])[0] is special
    with pytest.raises(ValueError, match="already registered"):
        pytree.register_pytree_node(list, list, list)


def test_descriptions():
    spec = pytree.tree_structure({"b": (1, [2, None]), "a": 3})
    assert repr(spec) == (
        "TreeSpec(dict, ['b', 'a'], [TreeSpec(tuple, None, [*,\n    TreeSpec(list, None, [*,\n      *])]),\n  *])"
    )
    assert (spec.num_nodes, spec.num_children, spec.type) == (7, 2, dict)
    assert pytree.tree_structure(1) == pytree.LeafSpec() and pytree.LeafSpec().is_leaf()
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds 4 items"):
        pytree.tree_unflatten([1], spec)


def test_several_trees():
    both = pytree.tree_map(lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [(2, 3)], "x": 0})
    assert both == {"x": (1, 0), "y": [(2, (2, 3))]}
    for other in ([1, 2, 3], (1, 2)):
        with pytest.raises(ValueError, match="mismatch"):
            pytree.tree_map(lambda a, b: b, [1, 2], other)


def test_chosen_leaves():
    nest = [1, ("a", 2.0), None]
    assert pytree.tree_map_only(int, lambda x: -x, nest) == [-1, ("a", 2.0), None]
    assert pytree.tree_map_only((int, float), lambda x: -x, nest) == [-1, ("a", -2.0), None]
    assert pytree.tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: isinstance(x, tuple)) == [2, 1]
    assert pytree.tree_any(lambda x: x is None, nest) and not pytree.tree_all(lambda x: x is None, nest)
    assert pytree.tree_all_only(int, lambda x: x > 0, nest)


def test_compiled_code_maps_over_nests():
    @torch.compile(fullgraph=True)
    def scaled(nest):
        return pytree.tree_map(lambda t: t * 2, nest)

    given = {"a": torch.ones(2), "b": [torch.ones(1), (torch.zeros(3),)]}
    found = scaled(given)
    assert pytree.tree_structure(found) == pytree.tree_structure(given)
    assert [t.tolist() for t in pytree.tree_leaves(found)] == [[2.0, 2.0], [2.0], [0.0, 0.0, 0.0]]
