"""torch.utils._pytree: containers taken apart and put together again, and what compiled code makes of it."""

import collections
import copy
import dataclasses
import enum
import json
import pickle
import time

import pytest
from tests.frontend.differential import same

import minidynamo as torch
import minidynamo.fx._pytree as fx_pytree
import minidynamo.utils._pytree as pytree

Point = collections.namedtuple("Point", "x y")


class Box:
    def __init__(self, inside, label):
        self.inside, self.label = inside, label


pytree.register_pytree_node(Box, lambda box: ([box.inside], box.label), lambda parts, label: Box(parts[0], label))

NESTS = [
    ({"b": (1, [2, None]), "a": 2}, [1, 2, None, 2]),
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
    with pytest.raises(ValueError, match="registered before"):
        pytree.register_pytree_node(list, list, list)


def test_descriptions():
    spec = pytree.tree_structure({"b": (1, [2, None]), "a": 3})
    assert repr(spec) == (
        "TreeSpec(dict, ['b', 'a'], [TreeSpec(tuple, None, [*,\n    TreeSpec(list, None, [*,\n      *])]),\n  *])"
    )
    assert (spec.num_nodes, spec.num_children, spec.type) == (7, 2, dict)
    assert pytree.tree_structure(1) == pytree.LeafSpec() and pytree.LeafSpec().is_leaf()
    with pytest.raises(ValueError, match="1 leaves are given for a nesting of 4"):
        pytree.tree_unflatten([1], spec)


def test_several_trees():
    both = pytree.tree_map(lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [(2, 3)], "x": 0})
    assert both == {"x": (1, 0), "y": [(2, (2, 3))]}
    for other in ([1, 2, 3], (1, 2)):
        with pytest.raises(ValueError, match="differ"):
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


@dataclasses.dataclass
class Pair:
    first: object
    second: object = None
    made: object = dataclasses.field(default=7, init=False)


class Bag:
    def __init__(self, inside, label="bag"):
        self.inside, self.label = inside, label


@dataclasses.dataclass(frozen=True)
class Settings:
    scale: int


class Colour(enum.Enum):
    RED = 1


class Keyed(Box):
    pass


pytree.register_dataclass(Pair, serialized_type_name="tests.Pair")
pytree.register_dataclass(Bag, field_names=["inside"])
pytree.register_constant(Settings)
pytree.register_pytree_node(
    Keyed,
    lambda box: ([box.inside], box.label),
    lambda parts, label: Keyed(parts[0], label),
    serialized_type_name="tests.Keyed",
    to_dumpable_context=lambda label: {"label": label},
    from_dumpable_context=lambda dumped: dumped["label"],
    flatten_with_keys_fn=lambda box: ([(pytree.GetAttrKey("inside"), box.inside)], box.label),
)


def test_registered_dataclasses_and_constants():
    pair = Pair(1, [2])
    assert pytree.tree_map(lambda x: x + 1, pair) == Pair(2, [3])
    assert repr(pytree.tree_structure(Pair(1))) == "TreeSpec(Pair, [['first'], ['second']], [*])"
    assert pytree.tree_map(lambda x: x + 1, Pair(1)) == Pair(2)
    assert pytree.tree_map(str, Bag(3)).inside == "3"
    leaves, spec = pytree.tree_flatten([Settings(1), 2])
    assert leaves == [2] and pytree.tree_unflatten([5], spec) == [Settings(1), 5]
    assert pytree.tree_structure(Settings(1)) != pytree.tree_structure(Settings(2))
    assert pytree.is_constant_class(Settings) and not pytree.is_constant_class(Pair)
    with pytest.raises(ValueError, match="no dataclass"):
        pytree.register_dataclass(type("Plain", (), {}))
    with pytest.raises(ValueError, match="missing: {'second'}"):
        pytree.register_dataclass(Pair, field_names=["first"])
    for plain in (object, type("ById", (), {}), type("Unhashed", (), {"__eq__": lambda a, b: True})):
        with pytest.raises(TypeError, match="register_constant"):
            pytree.register_constant(plain)
    with pytest.warns(UserWarning, match="that is replaced"):
        pytree.register_constant(Settings)


def test_registering_again_and_undoing_it():
    kind = type("Once", (Box,), {})
    parts = (lambda x: ([x.inside], None), lambda parts, _: kind(parts[0], ""))
    with pytest.raises(ValueError, match="both or none"):
        pytree.register_pytree_node(kind, *parts, to_dumpable_context=str)
    with pytest.warns(FutureWarning, match="register_pytree_node"):
        pytree._register_pytree_node(kind, *parts)
    assert pytree.tree_leaves(kind(1, "")) == [1]
    with pytest.raises(ValueError, match="No keys are known"):
        pytree.tree_flatten_with_path(kind(1, ""))
    pytree._deregister_pytree_node(kind)
    box = kind(1, "")
    assert pytree.tree_leaves(box) == [box]
    with pytest.raises(KeyError):
        pytree._deregister_pytree_node(kind)


def test_paths():
    nest = {"a": [1, (2,)], "p": Point(3, 4), "d": Pair(5), "k": Keyed({"q": 6}, ""), "s": torch.Size([7])}
    found, spec = pytree.tree_flatten_with_path(nest)
    texts = [pytree.keystr(path) for path, _ in found]
    assert texts == ["['a'][0]", "['a'][1][0]", "['p'].x", "['p'].y", "['d'].first", "['k'].inside['q']", "['s'][0]"]
    assert [pytree.key_get(nest, path) for path, _ in found] == [leaf for _, leaf in found] == [1, 2, 3, 4, 5, 6, 7]
    assert spec == pytree.tree_structure(nest)
    mapped = pytree.tree_map_with_path(lambda path, *xs: (pytree.keystr(path), *xs), [1, [2]], [3, [(4, 5)]])
    assert mapped == [("[0]", 1, 3), [("[1][0]", 2, (4, 5))]]
    assert pytree.tree_leaves_with_path([1, [2]], is_leaf=lambda x: x == [2])[1] == ((pytree.SequenceKey(1),), [2])
    key = pytree.MappingKey("a")
    assert repr(key) == "MappingKey(key='a')" and hash(key) == hash(pytree.MappingKey("a"))
    assert pytree.SequenceKey(1) != pytree.MappingKey(1)
    with pytest.raises(AttributeError, match="cannot assign to field 'key'"):
        key.key = 1
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete"):
        del key.key


# Text by torch.
WRITTEN = (
    '[1, {"type": "builtins.dict", "context": "[\\"a\\", \\"d\\"]", "children_spec": [{"type": "collections.deque", '
    '"context": "3", "children_spec": [{"type": null, "context": null, "children_spec": []}]}, {"type": '
    '"collections.defaultdict", "context": {"default_factory_module": "builtins", "default_factory_name": "list", '
    '"dict_context": ["k"]}, "children_spec": [{"type": null, "context": null, "children_spec": []}]}]}]'
)


def test_descriptions_as_text():
    spec = pytree.tree_structure({"a": collections.deque([1], 3), "d": collections.defaultdict(list, {"k": 2})})
    assert pytree.treespec_dumps(spec) == WRITTEN and pytree.treespec_loads(WRITTEN) == spec
    for nest in (Keyed(1, "name"), {Colour.RED: (1, [])}, Pair(1), 5, collections.OrderedDict(x=torch.Size([1]))):
        spec = pytree.tree_structure(nest)
        assert pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    with pytest.raises(NotImplementedError, match="_register_namedtuple"):
        pytree.treespec_dumps(pytree.tree_structure(Point(1, 2)))
    named = collections.namedtuple("named", "x")
    pytree._register_namedtuple(named, serialized_type_name="tests.named")
    spec = pytree.tree_structure(named(1))
    assert spec.type is collections.namedtuple and pytree.treespec_loads(pytree.treespec_dumps(spec)) == spec
    for refused, error in [
        (lambda: pytree.treespec_dumps(pytree.tree_structure(Box(1, 2))), NotImplementedError),
        (lambda: pytree.treespec_dumps(pytree.tree_structure({torch.float32: 1})), TypeError),
        (lambda: pytree.treespec_dumps(spec, 2), ValueError),
        (lambda: pytree.treespec_dumps([1]), TypeError),
        (lambda: pytree.treespec_loads("[2, {}]"), ValueError),
        (lambda: pytree.treespec_loads(WRITTEN.replace("deque", "queue")), NotImplementedError),
        (lambda: pytree.treespec_loads("nothing"), json.JSONDecodeError),
    ]:
        with pytest.raises(error):
            refused()


def test_descriptions_are_values():
    spec = pytree.tree_structure([1, {"a": (2,)}])
    for again in (copy.deepcopy(spec), pickle.loads(pickle.dumps(spec)), pytree.tree_structure([3, {"a": (4,)}])):
        assert again == spec and hash(again) == hash(spec)
    assert (
        spec != pytree.tree_structure((1, {"a": (2,)})) and spec != [1] and isinstance(spec.child(0), pytree.LeafSpec)
    )
    with pytest.raises(AttributeError, match="cannot assign to field 'type'"):
        spec.type = dict
    assert pytree.treespec_pprint(spec) == "[*, {'a': (*,)}]"
    made = pytree.treespec_dict({"a": pytree.treespec_leaf()}, b=pytree.treespec_tuple([pytree.treespec_leaf()]))
    assert made == pytree.tree_structure({"a": 1, "b": (2,)})
    for refused in (lambda: pytree.treespec_tuple([1]), lambda: pytree.treespec_dict(a=1)):
        with pytest.raises(ValueError, match="made from descriptions"):
            refused()


def test_leaves_that_a_description_has():
    nest = {"a": 1, "b": [2, 3], "p": Point(4, Box(5, ""))}
    spec = pytree.tree_structure({"a": 0, "b": [0], "p": Point(0, Box(0, ""))})
    assert fx_pytree.tree_flatten_spec(nest, spec) == [1, 2, 4, 5]
    fx_pytree.register_pytree_flatten_spec(Box, lambda box, spec: [-box.inside])
    assert fx_pytree.tree_flatten_spec(nest, spec) == [1, 2, 4, -5]
    fx_pytree._deregister_pytree_flatten_spec(Box)
    for short, error in [({"a": 1}, KeyError), ({**nest, "b": []}, IndexError), (5, TypeError)]:
        with pytest.raises(error):
            fx_pytree.tree_flatten_spec(short, spec)


def test_kinds_of_tuples():
    largest = torch.ones(2).max(0)
    assert pytree.is_namedtuple(Point) and pytree.is_namedtuple(Point(1, 2)) and not pytree.is_namedtuple(largest)
    assert pytree.is_namedtuple_instance(type("Below", (Point,), {})(1, 2)) and not pytree.is_namedtuple_class(3)
    assert pytree.is_structseq(largest) and pytree.is_structseq_class(time.struct_time)
    assert not pytree.is_structseq(Point) and not pytree.is_structseq_instance(3)
    assert not pytree.is_namedtuple(type("OnlyFields", (tuple,), {"_fields": ("a",)}))


def test_compiled_code_takes_registered_classes_apart():
    def f(x):
        nest = {"p": Pair(x, [x + 1]), "s": Settings(3), "k": Keyed((x,), "name"), "o": Point(x, None)}
        leaves, spec = pytree.tree_flatten(nest)
        again = pytree.tree_unflatten([None if leaf is None else leaf * 2 for leaf in leaves], spec)
        paths = [pytree.keystr(path) for path, _ in pytree.tree_leaves_with_path(nest)]
        return again["p"].first, again["p"].second, again["k"].inside, again["s"].scale, paths, spec.num_leaves

    same(f, lambda: (torch.tensor([1.0, 2.0]),), frames=1, breaks=[])


def test_compiled_code_maps_over_arguments_of_registered_classes():
    def f(pair, settings):
        doubled = pytree.tree_map_only(torch.Tensor, lambda t: t * settings.scale, pair)
        both = pytree.tree_map(lambda a, b: a - b, pair, doubled)
        equal = pytree.tree_structure(pair) == pytree.tree_structure(both)
        return both.first, both.second["a"], equal, pytree.tree_all(lambda t: t.ndim == 1, pair)

    same(f, lambda: (Pair(torch.ones(2), {"a": torch.zeros(1)}), Settings(2)), frames=1, breaks=[])


def test_compiled_code_notices_a_class_that_is_registered_later():
    kind = type("Later", (Box,), {})

    def f(box, y):
        return y + 1, [isinstance(x, torch.Tensor) for x in pytree.tree_leaves(box)]

    compiled = torch.compile(f, fullgraph=True)
    box, y = kind(torch.ones(2), ""), torch.ones(1)
    assert compiled([box], y)[1] == [False]
    pytree.register_pytree_node(kind, lambda x: ([x.inside], None), lambda parts, _: kind(parts[0], ""))
    assert compiled([box], y)[1] == [True]
    pytree._deregister_pytree_node(kind)
    assert compiled([box], y)[1] == [False]
