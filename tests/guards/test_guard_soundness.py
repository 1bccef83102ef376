"""A guard fails exactly when the recorded fact changed: random object graphs, one mutation."""

import copy

from hypothesis import given, settings
from hypothesis import strategies as st

from guards.programs import local, run
from minidynamo import _C

program = _C._guards.compile


class Node:
    """Attributes and nothing else."""


atoms = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.integers(2**70, 2**70 + 2),
    st.floats(allow_nan=False),
    st.text("ab", max_size=2),
)
keys = st.one_of(st.text("ab", min_size=1, max_size=2), st.integers(0, 3))


def node(attributes):
    n = Node()
    vars(n).update(attributes) if len(attributes) % 2 else [setattr(n, k, v) for k, v in attributes.items()]
    return n


values = st.recursive(
    atoms,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(st.sampled_from(["p", "q", "r"]), inner, max_size=3).map(node),
    ),
    max_leaves=8,
)


def facts(source, value):
    """Guards that pin down everything about `value`."""
    if value is None or value is True or value is False:
        yield (source, {None: "NoneMatch", True: "TrueMatch", False: "FalseMatch"}[value], None)
    elif isinstance(value, (int, float, str)):
        yield (source, "EqualsMatch", value)
    else:
        yield (source, "TypeMatch", type(value))
        if isinstance(value, (list, tuple)):
            yield (source, "LengthCheck", len(value))
            for i, item in enumerate(value):
                yield from facts(("item", source, i), item)
        elif isinstance(value, dict):
            yield (source, "DictKeyOrder", tuple(value))
            for k, item in value.items():
                yield from facts(("dict_item", source, k), item)
        else:
            for name in ("p", "q", "r"):
                if name in vars(value):
                    yield from facts(("instance_dict", source, name), vars(value)[name])
                else:
                    yield (("instance_dict", source, name), "NotPresent", None)


def same(a, b):
    """The fact the guards state, decided independently."""
    if type(a) is not type(b):
        return False
    if isinstance(a, float):
        return a.hex() == b.hex()
    if isinstance(a, (list, tuple)):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict):
        return same(list(a), list(b)) and all(same(a[k], b[k]) for k in a)
    if isinstance(a, Node):
        return vars(a).keys() == vars(b).keys() and all(same(vars(a)[k], vars(b)[k]) for k in vars(a))
    return a == b


def containers(value):
    if isinstance(value, (list, tuple)):
        yield value
        for item in value:
            yield from containers(item)
    elif isinstance(value, dict):
        yield value
        for item in value.values():
            yield from containers(item)
    elif isinstance(value, Node):
        yield value
        for item in vars(value).values():
            yield from containers(item)


def mutate(data, value):
    """Changes one thing somewhere inside, in place where that is possible."""
    targets = [c for c in containers(value) if not isinstance(c, tuple)]
    if not targets:
        return data.draw(values)
    target, new = data.draw(st.sampled_from(targets)), data.draw(values)
    if isinstance(target, list):
        target[:1] = [new] * data.draw(st.integers(0, 2))
    elif isinstance(target, dict):
        key = data.draw(st.one_of(keys, st.sampled_from(list(target)) if target else keys))
        if data.draw(st.booleans()):
            target.pop(key, None)
        target[key] = new
    else:
        name = data.draw(st.sampled_from(["p", "q", "r"]))
        if data.draw(st.booleans()):
            setattr(target, name, new)
        else:
            vars(target).pop(name, None)
    return value


@settings(max_examples=300, deadline=None)
@given(st.data(), values)
def test_guards_fail_exactly_when_the_fact_changed(data, value):
    before = copy.deepcopy(value)
    p = program(list(facts(local(), value)))
    assert run(p, value)[0]
    assert run(p, before)[0], "an equal graph of other objects"
    for _ in range(3):
        value = mutate(data, value)
        assert run(p, value)[0] == same(before, value)
    assert run(p, before)[0]
