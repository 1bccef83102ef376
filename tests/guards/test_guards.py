"""Every guard kind: passes on what it recorded, fails on what differs, and says why."""

import collections
import gc
import math
import os
import sys
import types
import weakref

import numpy as np
import pytest

import minidynamo as torch
from guards.programs import local, run
from minidynamo import _C

program = _C._guards.compile
X = local()


class Plain:
    pass


class Other:
    pass


class Number(int):
    def __eq__(self, other):
        raise AssertionError("a guard runs no code of the program")


Odd, Raw, Text, Real = (type("Sub", (base,), {}) for base in (Number, bytes, str, float))


def function():
    pass


PLAIN = Plain()
NAN = float("nan")
TENSOR = torch.ones(3, 4)
ARRAY = np.zeros((3, 4))
LOCKED = np.zeros((3, 4))
LOCKED.flags.writeable = False
LIST = [1, 2]

# kind, payload, values that pass, values that fail, reason of the first failing one


def made_of(*members):
    """A set with these members added one after the other: 0 and 8 collide."""
    s = set()
    for m in members:
        s.add(m)
    return s


CASES = [
    ("TypeMatch", Plain, [PLAIN], [Other(), 3, None, Plain], None),
    ("TypeMatch", int, [1, 10**30], [True, 1.0, "a"], None),
    ("IdMatch", function, [function], [lambda: None, None], None),
    ("IdMatch", LIST, [LIST], [[1, 2], None], None),
    ("IdMatch", None, [None], [0, False], None),
    ("EqualsMatch", 5, [5], [6, 5.0, True, "5", None], "x == 5"),
    ("EqualsMatch", 1, [1], [True, 1.0], "x == 1"),
    ("EqualsMatch", 10**40, [10**40], [10**40 + 1], f"x == {10**40}"),
    ("EqualsMatch", "ab", ["".join(["a", "b"])], ["ac", "abc", b"ab", "a\u1234"], "x == 'ab'"),
    ("EqualsMatch", 2.5, [2.5], [2, -2.5, NAN], "x == 2.5"),
    ("EqualsMatch", 0.0, [0.0], [-0.0], "x == 0.0"),
    ("EqualsMatch", 1j, [1j], [1, -1j], "x == 1j"),
    ("EqualsMatch", b"x", [b"x"], [b"y", "x"], "x == b'x'"),
    ("EqualsMatch", (1, "a", (2.0,)), [(1, "a", (2.0,))], [(1, "a", (2,)), (1, "a"), [1, "a", (2.0,)]], None),
    ("DataMatch", 1, [Number(1), Odd(1)], [Number(2), "1", 1.0], "___check_data(x, 1)"),
    ("DataMatch", b"a", [Raw(b"a")], [Raw(b"b"), "a", None], "___check_data(x, b'a')"),
    ("DataMatch", "a", [Text("a")], [Text("b"), Text("a\u1234"), b"a"], "___check_data(x, 'a')"),
    ("DataMatch", 0.0, [Real(0.0)], [Real(-0.0), Real(NAN), 0], "___check_data(x, 0.0)"),
    ("DataMatch", 1, [np.int64(1), np.uint8(1)], [np.bool_(1), np.float32(1), np.ones(1, int)], "___check_data(x, 1)"),
    ("NoneMatch", None, [None], [0, Other()], "x is None"),
    ("TrueMatch", None, [True], [1, False], "x == True"),
    ("FalseMatch", None, [False], [0, True], "x == False"),
    ("Nan", None, [NAN, -NAN], [1.0, 1, math.inf], "__math_isnan(x)"),
    ("LengthCheck", 2, [(1, 2), [1, 2], {1: 1, 2: 2}, {1, 2}, collections.deque([1, 2])], [(1,), [], 5], "len(x) == 2"),
    ("LengthCheck", 0, [(), [], {}, set()], [(1,)], "not x"),
    (
        "DequeMaxlen",
        2,
        [collections.deque(maxlen=2)],
        [collections.deque(), collections.deque((), 3), 2],
        "x.maxlen == 2",
    ),
    ("DequeMaxlen", -1, [collections.deque([1])], [collections.deque((), 0), []], "x.maxlen == None"),
    ("DictLength", 1, [{1: 2}, collections.OrderedDict(a=1)], [{}, {1: 1, 2: 2}, [1]], "len(x) == 1"),
    ("DictContains", "k", [{"k": 1}, {1: 2, "k": None}], [{}, {"j": 1}, ["k"]], "___dict_contains('k', x)"),
    ("DictContains", 1, [{1: 1}, {True: 1}], [{2: 1}], "___dict_contains(1, x)"),
    ("DictNotContains", "k", [{}, {"j": 1}], [{"k": 1}, {1: 2, "k": 3}, 5], "not ___dict_contains('k', x)"),
    (
        "DictKeyOrder",
        ("a", 1),
        [{"a": 0, 1: 0}],
        [{1: 0, "a": 0}, {"a": 0}, {"a": 0, 1: 0, 2: 0}, {"a": 0, True: 0}],
        None,
    ),
    ("SetMatch", frozenset({1, "a"}), [{1, "a"}, frozenset({"a", 1})], [{1}, {1, "b"}, {True, "a"}, (1, "a")], None),
    (
        "SetOrder",
        (8, 0),
        [made_of(8, 0), frozenset(made_of(8, 0))],
        [made_of(0, 8), {8}, made_of(8, 0, 16), made_of(8, False), [8, 0]],
        "list(x) == [8, 0]",
    ),
    ("SetContains", 1, [{1, 2}, frozenset({1})], [{2}, set(), [1]], "set.__contains__(x, 1)"),
    ("SetNotContains", 1, [{2}, set()], [{1}, [2]], "not set.__contains__(x, 1)"),
    (
        "TensorMatch",
        TENSOR,
        [TENSOR, torch.ones(3, 4)],
        [torch.ones(3, 5)],
        "tensor 'x' size mismatch at index 1. expected 4, actual 5",
    ),
    ("TensorMatch", TENSOR, [], [torch.ones(3)], "tensor 'x' rank mismatch. expected 2, actual 1"),
    (
        "TensorMatch",
        TENSOR,
        [],
        [torch.ones(3, 4, requires_grad=True)],
        "tensor 'x' requires_grad mismatch. expected requires_grad=0",
    ),
    ("TensorMatch", TENSOR, [], [3], "expected type of 'x' to be a tensor type, ' but found <class 'int'>"),
    (
        "ArrayMatch",
        ARRAY,
        [ARRAY, np.ones((3, 4))],
        [np.ones((3, 5)), np.ones(3), np.ones((3, 4), "f4"), np.ones((4, 3)).T, np.ones((3, 4))[::-1], LOCKED, TENSOR],
        "array 'x' size mismatch at index 1. expected 4, actual 5",
    ),
    ("ArrayMatch", ARRAY, [], [np.asfortranarray(ARRAY)], "array 'x' stride mismatch at index 0. expected 4, actual 1"),
    ("ArrayMatch", ARRAY, [], [np.ones((3, 4), "f4")], "array 'x' dtype mismatch. expected float64, actual float32"),
    ("ArrayMatch", ARRAY, [], [LOCKED], "array 'x' writeable mismatch. expected 1, actual 0"),
    ("ArrayMatch", np.float32(1), [np.float32(5)], [np.float64(1), 1.0, np.ones((), "f4")], None),
    ("NoHasattr", "zz", [PLAIN, 5, TENSOR], [types.SimpleNamespace(zz=1)], "not hasattr(x, 'zz')"),
    ("Hasattr", "zz", [types.SimpleNamespace(zz=1)], [PLAIN, 5], "hasattr(x, 'zz')"),
]


@pytest.mark.parametrize("kind, payload, good, bad, reason", CASES)
def test_kind(kind, payload, good, bad, reason):
    p = program([(X, kind, payload)])
    for value in good:
        assert run(p, value) == (True, ""), value
    for value in bad:
        assert not run(p, value)[0], value
    if reason:
        assert run(p, bad[0])[1] == reason


def test_every_kind_is_tested_or_ambient():
    elsewhere = {
        "SavedTensorHooks",
        "DefaultDevice",
        "GlobalState",
        "TorchFunctionModeStack",
        "NothingHandled",  # tests/frontend/test_frames_seen.py
        "CMethod",  # tests/frontend/test_trace_more.py
        "NotPresent",
        "NoAliasing",
        "Aliasing",
        *("DimensionMarks", "SizeAssumption"),  # tests/frontend/test_dynamic_sizes.py
        "Distinct",
        "ClassLookups",
        "AbcToken",
    }
    assert {c[0] for c in CASES} | elsewhere == set(_C._guards.kinds())


def shortened(path):
    """What two paths have in common goes, and one character more."""
    return path[len(os.path.commonpath([path, os.path.dirname(_C.__file__)])) + 1 :]


def test_comment_is_padded_to_sixty_columns():
    p = program([(X, "EqualsMatch", 3, ("/nowhere/a.py", 6, "inner", "if i == 3:"))])
    assert run(p, 4)[1] == "x == 3".ljust(60) + "  # if i == 3:  # owhere/a.py:6 in inner"
    near = os.path.dirname(_C.__file__) + "/x/y.py"
    assert run(program([(X, "EqualsMatch", 3, (near, 6, "f", "l"))]), 4)[1].endswith("  # x/y.py:6 in f")
    assert run(program([(X, "EqualsMatch", 3, ("<string>", 6, "f", "l"))]), 4)[1].endswith("  # <string>:6 in f")


def test_global_state():
    p = program([(None, "GlobalState", None)])
    assert run(p) == (True, "")
    with torch.no_grad():
        assert run(p) == (False, "GLOBAL_STATE changed: grad_mode ")
    assert run(p) == (True, "")


def test_instance_dict_of_an_object():
    p = program([(X, "DictNotContains", "m", None, True)])
    o = Plain()
    assert run(p, o)[0]
    o.m = 1
    assert run(p, o) == (False, "not ___dict_contains('m', x.__dict__)")
    vars(o)
    assert not run(p, o)[0]
    del o.m
    assert run(p, o)[0]


@pytest.mark.parametrize(
    "source, present, absent, reason",
    [
        (("global", "gg"), ((), {"gg": 1}), ((), {}), "not ___dict_contains('gg', G)"),
        (("attr", X, "a"), ((types.SimpleNamespace(a=1),), {}), ((PLAIN,), {}), "not hasattr(x, 'a')"),
        (("dict_item", X, 3), (({3: 1},), {}), (({},), {}), "not ___dict_contains(3, x)"),
        (
            ("instance_dict", X, "a"),
            ((types.SimpleNamespace(a=1),), {}),
            ((PLAIN,), {}),
            "not ___dict_contains('a', x.__dict__)",
        ),
    ],
)
def test_not_present(source, present, absent, reason):
    p = program([(source, "NotPresent", None)])
    assert run(p, *absent[0], scope=absent[1]) == (True, "")
    assert run(p, *present[0], scope=present[1]) == (False, reason)


def test_aliasing():
    y = local(1, "y")
    same = program([(X, "Aliasing", y)])
    assert run(same, TENSOR, TENSOR)[0]
    assert run(same, TENSOR, torch.ones(3, 4)) == (False, "x is y")
    for n in (2, 40):
        sources = [local(i, f"t{i}") for i in range(n)]
        distinct = program([(sources[0], "NoAliasing", (tuple(sources[1:]), None))])
        tensors = [torch.ones(2) for _ in range(n)]
        assert run(distinct, *tensors)[0]
        tensors[-1] = tensors[0]
        assert not run(distinct, *tensors)[0]
        assert not run(distinct, *tensors[:-1], 3)[0]


def test_recorded_overlap():
    y, z = local(1, "y"), local(2, "z")
    a, b, c = torch.ones(6), torch.ones(6), torch.ones(6)
    halves = lambda t: (t[:3], t[3:])  # noqa: E731
    p = _C._guards.aliasing((X, y, z), (*halves(a), b), {}, {})
    assert run(p, *halves(a), b)[0]
    assert run(p, *halves(c), b)[0], "other memory, the same arrangement"
    assert not run(p, a[:3], b[3:], c)[0], "shared no more"
    assert not run(p, a[3:], a[:3], b)[0], "further apart"
    assert not run(p, *halves(a), a)[0], "shared by one more"
    assert not run(p, a, b, 3)[0]
    apart = _C._guards.aliasing((X, y), (a, b), {}, {})
    assert run(apart, b, c)[0] and not run(apart, *halves(a))[0]


@pytest.mark.parametrize("count", [10, 63, 64, 65, 300, 20000])
def test_any_number_of_sources(count):
    items = [object() for _ in range(count)]
    p = program([(("item", X, i), "IdMatch", o) for i, o in enumerate(items)], [("item", X, i) for i in range(count)])
    assert run(p, items)[0] and p.load((items,), {}, {}) == tuple(items)
    items[-1] = None
    assert not run(p, items)[0] and p.load((items,), {}, {}) is None


# --- the printed tree and rows --------------------------------------------------------------------------------------


def test_tree_has_the_layout_of_the_reference():
    place = ("/tmp/ipykernel_231646/617960493.py", 7, "inner", "torch._dynamo.graph_break()")
    x_place = ("/tmp/ipykernel_231646/617960493.py", 5, "inner", "x = x + 1")
    g = ("global", "torch")
    p = program(
        [
            (("attr", ("attr", g, "_dynamo"), "graph_break"), "IdMatch", function, place),
            (("attr", g, "_dynamo"), "IdMatch", function, place),
            (g, "IdMatch", function, place),
            (local(1, "x"), "NoHasattr", "_dynamo_dynamic_indices", x_place),
            (local(1, "x"), "TensorMatch", torch.ones(3), x_place),
            (local(0, "i"), "EqualsMatch", 3, ("/tmp/ipykernel_231646/617960493.py", 6, "inner", "if i == 3:")),
            *((None, k, None) for k in ("GlobalState", "TorchFunctionModeStack", "DefaultDevice", "SavedTensorHooks")),
        ]
    )
    i = id(function)
    short = shortened("/tmp/ipykernel_231646/617960493.py")

    def pad(s):
        return s.ljust(60)

    hooks = "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None  # hooks on "
    hooks += "saved tensors change no graph"
    modes = pad("___check_torch_function_mode_stack()")
    modes += "  # their number is a part of GLOBAL_STATE, and each that was there has guards of its own"
    tail = f"  # torch._dynamo.graph_break()  # {short}:7 in inner"
    x_tail = f"  # x = x + 1  # {short}:5 in inner"
    assert p.tree().split("\n") == [
        "GUARDS:",
        "",
        "TREE_GUARD_MANAGER:",
        "+- RootGuardManager",
        "| +- LAMBDA_GUARD: " + hooks,
        "| +- DEFAULT_DEVICE: " + pad("utils_device.CURRENT_DEVICE == None") + "  # a part of GLOBAL_STATE",
        "| +- GLOBAL_STATE: ___check_global_state()",
        "| +- TORCH_FUNCTION_MODE_STACK: " + modes,
        "| +- GuardManager: source=L['i'], accessed_by=FrameLocalsGuardAccessor(key='i', framelocals_idx=0)",
        "| | +- EQUALS_MATCH: L['i'] == 3                                                 "
        + f"  # if i == 3:  # {short}:6 in inner",
        "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=1)",
        "| | +- TENSOR_MATCH: check_tensor(L['x'], Tensor, torch.float32, device=None, requires_grad=False, "
        "size=[3], stride=[1])" + x_tail,
        "| | +- NO_HASATTR: hasattr(L['x'], '_dynamo_dynamic_indices') == False         " + x_tail,
        "| +- GuardManager: source=G, accessed_by=GlobalsGuardAccessor",
        "| | +- GuardManager: source=G['torch'], accessed_by=DictGetItemGuardAccessor('torch')",
        "| | | +- ID_MATCH: " + pad(f"___check_obj_id(G['torch'], {i})") + tail,
        "| | | +- GuardManager: source=G['torch']._dynamo, accessed_by=GetAttrGuardAccessor(_dynamo)",
        "| | | | +- ID_MATCH: " + pad(f"___check_obj_id(G['torch']._dynamo, {i})") + tail,
        "| | | | +- GuardManager: source=G['torch']._dynamo.graph_break, accessed_by=GetAttrGuardAccessor(graph_break)",
        "| | | | | +- ID_MATCH: " + pad(f"___check_obj_id(G['torch']._dynamo.graph_break, {i})") + tail,
        "",
    ]


def test_tree_sorts_by_length_not_by_slot():
    code = function.__code__
    p = program(
        [
            (("code", local(1, "inner")), "IdMatch", code),
            (local(0, "___stack0"), "IdMatch", function),
            (local(3, "x"), "NoneMatch", None),
            (("default", local(1, "inner"), 0), "EqualsMatch", 2),
            (("cell_contents", ("closure", local(1, "inner"), 0)), "EqualsMatch", 2),
        ]
    )
    lines = [line for line in p.tree().split("\n") if "GuardManager: source" in line]
    assert lines == [
        "| +- GuardManager: source=L['x'], accessed_by=FrameLocalsGuardAccessor(key='x', framelocals_idx=3)",
        "| +- GuardManager: source=L['___stack0'], "
        "accessed_by=FrameLocalsGuardAccessor(key='___stack0', framelocals_idx=0)",
        "| +- GuardManager: source=L['inner'], accessed_by=FrameLocalsGuardAccessor(key='inner', framelocals_idx=1)",
        "| | +- GuardManager: source=L['inner'].__code__, accessed_by=GetAttrGuardAccessor(__code__)",
        "| | +- GuardManager: source=L['inner'].__defaults__, accessed_by=FuncDefaultsGuardAccessor",
        "| | | +- GuardManager: source=L['inner'].__defaults__[0], accessed_by=GetItemGuardAccessor(0)",
        "| | +- GuardManager: source=L['inner'].__closure__, accessed_by=GetAttrGuardAccessor(__closure__)",
        "| | | +- GuardManager: source=L['inner'].__closure__[0], accessed_by=TupleGetItemGuardAccessor(0)",
        "| | | | +- GuardManager: source=L['inner'].__closure__[0].cell_contents, "
        "accessed_by=GetAttrGuardAccessor(cell_contents)",
    ]


def test_tree_names_the_steps_between_two_sources():
    o, f = local(0, "o"), local(1, "f")
    p = program(
        [
            (("type_attr", o, "m"), "IdMatch", function),
            (("instance_dict", o, "v"), "EqualsMatch", 1),
            (("builtin", "len"), "IdMatch", len),
            (("module_global", f, "k"), "EqualsMatch", 1),
            (("cell_contents", ("free", 2, "n")), "EqualsMatch", 1),
            (("kwdefault", f, "k"), "EqualsMatch", 1),
            (("item", ("attr", o, "t"), 0), "EqualsMatch", 1),
            (("attr", o, "t"), "TypeMatch", tuple),
            (("instance_dict", o, "w"), "NotPresent", None),
            (("global", "gone"), "NotPresent", None),
        ]
    )
    lines = [line.rstrip() for line in p.tree().split("\n")[4:-1]]
    assert [line for line in lines if "EQUALS" not in line and "ID_MATCH" not in line and "TYPE_MATCH" not in line] == [
        "| +- GuardManager: source=L['n'], accessed_by=FrameLocalsGuardAccessor(key='n', framelocals_idx=2)",
        "| +- GuardManager: source=L['o'], accessed_by=FrameLocalsGuardAccessor(key='o', framelocals_idx=0)",
        "| | +- DICT_CONTAINS: not ___dict_contains('w', L['o'].__dict__)",
        "| | +- GuardManager: source=L['o'].t, accessed_by=GetAttrGuardAccessor(t)",
        "| | | +- GuardManager: source=L['o'].t[0], accessed_by=TupleGetItemGuardAccessor(0)",
        "| | +- GuardManager: source=L['o'].__dict__, accessed_by=GetGenericDictGuardAccessor",
        "| | | +- GuardManager: source=L['o'].__dict__['v'], accessed_by=DictGetItemGuardAccessor('v')",
        "| | +- GuardManager: source=type(L['o']), accessed_by=TypeGuardAccessor",
        "| | | +- GuardManager: source=dict(type(L['o']).__dict__), accessed_by=TypeDictGuardAccessor",
        "| | | | +- GuardManager: source=dict(type(L['o']).__dict__)['m'], accessed_by=DictGetItemGuardAccessor('m')",
        "| +- GuardManager: source=L['f'], accessed_by=FrameLocalsGuardAccessor(key='f', framelocals_idx=1)",
        "| | +- GuardManager: source=L['f'].__globals__, accessed_by=GetAttrGuardAccessor(__globals__)",
        "| | | +- GuardManager: source=L['f'].__globals__['k'], accessed_by=DictGetItemGuardAccessor('k')",
        "| | +- GuardManager: source=L['f'].__kwdefaults__, accessed_by=FuncKwDefaultsGuardAccessor",
        "| | | +- GuardManager: source=L['f'].__kwdefaults__['k'], accessed_by=DictGetItemGuardAccessor('k')",
        "| +- GuardManager: source=G, accessed_by=GlobalsGuardAccessor",
        "| | +- DICT_CONTAINS: not ___dict_contains('gone', G)",
        "| | +- GuardManager: source=G['__builtins_dict___0'], "
        "accessed_by=DictGetItemGuardAccessor('__builtins_dict___0')",
        "| | | +- GuardManager: source=G['__builtins_dict___0']['len'], accessed_by=DictGetItemGuardAccessor('len')",
    ]


def test_tree_of_an_iterated_dict():
    d = local(0, "d")
    p = program([(d, "TypeMatch", dict), (d, "DictKeyOrder", ("a", "b")), (("dict_item", d, "b"), "EqualsMatch", 2)])
    shown = p.tree().split("\n")[4:-1]
    assert [line.split("  #")[0].rstrip() for line in shown] == [
        "| +- DictGuardManager: source=L['d'], accessed_by=FrameLocalsGuardAccessor(key='d', framelocals_idx=0)",
        f"| | +- TYPE_MATCH: ___check_type_id(L['d'], {id(dict)})",
        "| | +- KeyValueManager pair at index=0",
        "| | | +- KeyManager: GuardManager: source=list(dict.keys(L['d']))[0]",
        "| | | | +- EQUALS_MATCH: list(dict.keys(L['d']))[0] == 'a'",
        "| | +- KeyValueManager pair at index=1",
        "| | | +- KeyManager: GuardManager: source=list(dict.keys(L['d']))[1]",
        "| | | | +- EQUALS_MATCH: list(dict.keys(L['d']))[1] == 'b'",
        "| | | +- ValueManager: GuardManager: source=L['d']['b']",
        "| | | | +- EQUALS_MATCH: L['d']['b'] == 2",
    ]


def test_rows_fold_the_mark_into_the_tensor():
    p = program(
        [(X, "TensorMatch", TENSOR), (X, "NoHasattr", "_dynamo_dynamic_indices"), (("global", "k"), "EqualsMatch", 3)]
    )
    assert p.rows() == [
        ("L['x']", "local", "TENSOR_MATCH", ["hasattr(L['x'], '_dynamo_dynamic_indices') == False"]),
        ("G['k']", "global", "EQUALS_MATCH", ["G['k'] == 3"]),
    ]


# --- lifetime -------------------------------------------------------------------------------------------------------


def test_classes_and_functions_are_held_weakly():
    def make():
        class Local:
            pass

        def inner():
            pass

        return Local, inner

    cls, fn = make()
    p = program([(X, "TypeMatch", cls), (local(1, "f"), "IdMatch", fn)])
    o = cls()
    assert run(p, o, fn)[0] and not p.dead()
    gone = weakref.ref(fn)
    del fn
    assert gone() is None
    assert p.dead()
    # The slot of a dead object reads as None, which must not match.
    assert not run(p, o, None)[0]
    gone = weakref.ref(cls)
    del cls, o
    gc.collect()
    assert gone() is None


def test_no_references_leak():
    payload = [object(), ("a", 12345), "key" + str(len(CASES))]
    d = {payload[2]: payload[0]}
    before = [sys.getrefcount(o) for o in (*payload, d)]
    p = program([(("dict_item", X, payload[2]), "IdMatch", payload[0]), (local(1, "y"), "EqualsMatch", payload[1])])
    for _ in range(10):
        assert run(p, d, payload[1])[0]
        assert not run(p, {}, payload[1])[0]
        p.tree(), p.rows()
    del p
    gc.collect()
    assert [sys.getrefcount(o) for o in (*payload, d)] == before


def test_a_cycle_through_a_program_is_collected():
    class Holder(list):
        pass

    h = Holder()
    items = [h]  # a list takes no weak references, so the program owns it
    h.append(program([(X, "IdMatch", items)]))
    gone = weakref.ref(h)
    del h, items
    gc.collect()
    assert gone() is None


def test_wanted_sources_are_handed_out():
    g = ("attr", ("global", "m"), "w")
    p = program([(X, "TypeMatch", int)], [("item", local(1, "l"), 1), X, g])
    scope = {"m": types.SimpleNamespace(w="W")}
    assert p.load((5, [1, 2]), scope, {}) == (2, 5, "W")
    assert p.load((5.0, [1, 2]), scope, {}) is None
    assert p.load((5, [1]), scope, {}) is None


def test_memory_shared_behind_two_arrays_is_seen():
    import numpy

    y, base = local(1, "y"), numpy.zeros(8)
    for n in (0, 20):  # pairwise and hashed
        more = [torch.ones(2) for _ in range(n)]
        sources = (y, *(local(2 + i, f"t{i}") for i in range(n)))
        apart = program([(X, "NoAliasing", (sources, None))])
        assert run(apart, torch.from_numpy(base[:4]), torch.from_numpy(base[4:]), *more)[0]
        assert not run(apart, torch.from_numpy(base[:5]), torch.from_numpy(base[4:]), *more)[0]
    shared = _C._guards.aliasing((X, y), (torch.from_numpy(base[:5]), torch.from_numpy(base[4:])), {}, {})
    assert run(shared, torch.from_numpy(base[:5]), torch.from_numpy(base[4:]))[0]
    assert not run(shared, torch.from_numpy(base[:5]), torch.from_numpy(base[3:]))[0]
