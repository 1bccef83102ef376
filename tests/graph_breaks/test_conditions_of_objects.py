"""Codes GB0161 to GB0221 by their conditions: plain, inlined, other things of the kind, and what does not break."""

import collections
import contextlib
import copy
import dataclasses
import functools
import operator
import types
import typing

import numpy as np
import pytest

import minidynamo as torch
from graph_breaks.condition_rows import check, leaf, vector


def deep(f):
    """The same, two calls further in."""
    return lambda *args: (lambda *given: f(*given))(*args)


def handled(f, *errors):
    def caught(x):
        try:
            return f(x)
        except errors:
            return x + 1

    return caught


class Plain:
    pass


class Slotted:
    __slots__ = ("a",)


class Hidden:
    def __getattribute__(self, name):
        if name in ("__str__", "__repr__"):
            raise AttributeError(name)
        return object.__getattribute__(self, name)


class Borrowed:
    written = classmethod(repr)


class Key(str):
    pass


@dataclasses.dataclass
class Record:
    a: int = 1


def scaled(x, scale=1):
    return x * scale


odd_partial = functools.partial(scaled, **{Key("scale"): 3})


def branch(x):
    return x * 2 if x.sum() > 0 else x


def loop(x):
    while x.sum() < 10:
        x = x * 2
    return x


def check_shape(x):
    if x.shape[0] != 5:
        raise AssertionError(x.shape)


def set_attribute(value, name, new):
    setattr(value, name, new)
    return value


def no_generator():
    return iter([1])


def within(make):
    def f(x):
        with make():
            return x * 2

    return f


in_itself = [1]
in_itself.append(in_itself)


def switched():
    w = torch.ones(2, requires_grad=True)
    (w * 3).sum().backward()
    w.data = w.data.double()
    return w


settings = {"gain": 2}
seen = types.MappingProxyType(settings)


def change_first(x):
    settings["gain"] = 5
    return x * seen["gain"]


def change_another(x, d, proxy):
    d.pop("a")
    return x, "b" in proxy


def proxied():
    return torch.ones(2), {"a": 1}, types.MappingProxyType({"b": 3})


FUNCTION_KEYS, CLASS_KEYS = {scaled: 3}, collections.OrderedDict({Plain: 1})

ROWS = [
    ("GB0170", branch),
    ("GB0170", loop),
    ("GB0170", deep(lambda x: ([t for t in x if t > 1], x + 1))),
    (None, lambda x: x + 1 if x.shape[0] else x),
    ("GB0171", lambda x: check_shape(x)),
    ("GB0171", lambda x: (lambda: AssertionError(x))().args[0]),
    ("GB0174", handled(lambda x: typing.cast(int), TypeError)),
    ("GB0174", deep(lambda x: typing.cast(int, x, 3))),
    (None, lambda x: typing.cast(torch.Tensor, x) + 1),
    ("GB0175", lambda x: x if isinstance(x.squeeze_, types.FunctionType) else x * 2),
    ("GB0175", deep(lambda x: x if isinstance(x.t_, (int, str)) else x + 1)),
    (None, lambda x: x if isinstance(x.sin, int) else x * 2),
    ("GB0177", lambda x: (x, len(Borrowed().written()) > 0)),
    ("GB0179", lambda x: copy.deepcopy([1, x])),
    ("GB0180", lambda x: (x, len(dataclasses.fields(Record)))),
    ("GB0180", handled(lambda x: dataclasses.fields(class_or_instance=3), TypeError)),
    (None, lambda x: (x, [f.name for f in dataclasses.fields(Record())])),
    ("GB0181", lambda w: (w * 2).detach(), lambda: (switched(),)),
    ("GB0181", deep(lambda ws: (ws[0] * 2).detach()), lambda: ([switched()],)),
    ("GB0182", handled(lambda x: x < torch.ones(3), RuntimeError)),
    ("GB0182", deep(lambda x: operator.ne(torch.ones(3), x))),
    ("GB0183", handled(lambda x: dict.fromkeys([[1]]), TypeError)),
    ("GB0183", deep(lambda x: collections.OrderedDict.fromkeys([{}], 1))),
    ("GB0183", lambda x: collections.defaultdict.fromkeys([set()])),
    (None, lambda x: (x, dict.fromkeys([1, 2]))),
    ("GB0184", lambda x: (x, len(str(Hidden())) > 0)),
    ("GB0184", deep(lambda x, h: len(f"{h!s}") > 3), lambda: (torch.ones(2), Hidden())),
    ("GB0185", lambda x, a: (x, a.shape), lambda: (torch.ones(2), np.array(["a", "b"]))),
    ("GB0185", lambda x, a: (x, len(a)), lambda: (torch.ones(2), np.array([None, 1], dtype=object))),
    ("GB0186", lambda x: odd_partial(x)),
    (None, lambda x: functools.partial(scaled, scale=2)(x)),
    ("GB0190", handled(lambda x: getattr(x, x), TypeError)),
    ("GB0191", lambda x: (x, id([x]) > 0)),
    ("GB0191", deep(lambda x: (x, id(5) > 0))),
    (None, lambda x: (x, id(scaled) == id(scaled))),
    ("GB0193", handled(lambda x: isinstance(x), TypeError)),
    ("GB0193", lambda x: float(x, x)),
    ("GB0193", deep(lambda x: abs(x, 1))),
    ("GB0194", lambda x: (x, isinstance(Slotted.a, property))),
    ("GB0195", handled(lambda x: issubclass(x, int), TypeError)),
    ("GB0195", handled(deep(lambda x: issubclass(int, (x, str))), TypeError)),
    (None, lambda x: (x, issubclass(Plain, (int, object)))),
    ("GB0197", lambda x: x * in_itself[0]),
    ("GB0198", change_first),
    ("GB0198", change_another, proxied),
    ("GB0201", lambda x: collections.namedtuple("N", "a b", defaults=(x,))(1)[1]),
    ("GB0203", lambda x, keys: x + len(keys), lambda: (torch.ones(2), FUNCTION_KEYS.keys())),
    (
        "GB0203",
        deep(lambda x, v: (x, 5 in v[0])),
        lambda: (torch.ones(2), [CLASS_KEYS.keys()]),
    ),
    ("GB0204", lambda x, p: x * p[scaled], lambda: (torch.ones(2), types.MappingProxyType(FUNCTION_KEYS))),
    ("GB0204", deep(lambda x, p: x * len(p)), lambda: (torch.ones(2), types.MappingProxyType({Plain: 3}))),
    ("GB0206", lambda x: set_attribute(x.clone(), "requires_grad", True).detach()),
    ("GB0207", lambda x: sorted([x[0], x[1]], reverse=True)),
    ("GB0207", deep(lambda x: sorted([2, 1], key=lambda i: x[i - 1]))),
    ("GB0208", lambda x: torch.result_type(x, 1)),
    ("GB0208", lambda x: torch.is_same_size(x, x)),
    ("GB0208", deep(lambda x: x.is_set_to(x))),
    ("GB0208", lambda x: x.is_pinned()),
    ("GB0208", lambda x: x.is_shared()),
    ("GB0208", lambda x: x.is_conj()),
    ("GB0208", lambda x: torch.can_cast(torch.float32, torch.int32)),
    (None, lambda x: (x, torch.promote_types(torch.float32, torch.int32), torch.is_tensor(x))),
    ("GB0209", lambda x: [x, torch.autograd._unsafe_preserve_version_counter(x)][0]),
    ("GB0212", lambda x: {"a": torch.autograd.profiler.profile()}["a"] and x),
    ("GB0217", lambda x: (x, hasattr(collections.OrderedDict(), "other"))),
    ("GB0218", lambda x: (x, operator.index(x.argmax()))),
    ("GB0218", deep(lambda x: (x, x.argmax().__index__()))),
    ("GB0220", lambda x: set_attribute(x, "data", x.long())),
    ("GB0221", within(contextlib.contextmanager(no_generator))),
]


@pytest.mark.parametrize("row", [r for r in ROWS if r[0] not in ("GB0209", "GB0212")], ids=lambda r: r[0])
def test_condition(row):
    check(row[0], row[1], *row[2:] or (vector,))


@pytest.mark.parametrize(
    "make",
    [
        lambda x: torch.autograd._unsafe_preserve_version_counter(x),
        lambda x: [torch.autograd._unsafe_preserve_version_counter((x, x))],
        lambda x: torch.profiler.profile(),
        lambda x: {"a": torch.autograd.profiler.profile()},
    ],
)
def test_objects_that_escape(make):
    code = "GB0209" if "preserve" in str(make.__code__.co_names) else "GB0212"
    kept = []

    def f(x):
        kept.append(make(x))
        return x * 2

    check(code, f)
    assert len(kept) == 2


def test_versions_are_put_back():
    x = torch.ones(2)
    x.add_(1)
    with torch.autograd._unsafe_preserve_version_counter((x,)):
        x.mul_(2)
        assert x._version == 2
    assert x._version == 1


# --- modules whose parts never change --------------------------------------------------------------------------------


class Parts(torch.nn.Module):
    sizes, table, bound, number, pair = [2, 3], {"a": 2}, functools.partial(scaled, 3), 3, (1, 2)

    def __init__(self):
        super().__init__()
        for name, part in {
            "list": torch.nn.ModuleList([torch.nn.ReLU()]),
            "dict": torch.nn.ModuleDict({"a": torch.nn.ReLU()}),
        }.items():
            part.torchdynamo_force_dynamic = False
            setattr(self, name, part)
        self.own = [1, 2]
        self.torchdynamo_force_dynamic = False


SPECIALIZED = [
    ("GB0153", lambda m, x: m.list[torch.tensor(0)](x)),
    ("GB0153", deep(lambda m, x: m.list.__getitem__(torch.tensor(0))(x))),
    ("GB0153", lambda m, x: m.dict[Plain()](x)),
    (None, lambda m, x: m.list[0](x) + m.dict["a"](x)),
    ("GB0161", lambda m, x: x + m.sizes[1]),
    ("GB0161", deep(lambda m, x: x + m.table["a"])),
    ("GB0161", lambda m, x: x + m.bound(1)),
    (None, lambda m, x: x + m.number + m.pair[1] + m.own[0]),
    ("GB0202", lambda m, x: (x, len(list(m.parameters(recurse=torch.tensor(True)))))),
    ("GB0202", deep(lambda m, x: (x, [k for k, _ in m.named_buffers(recurse=Plain())]))),
    (None, lambda m, x: (x, len(list(m.parameters(recurse=True))))),
]


@pytest.mark.parametrize("row", SPECIALIZED, ids=lambda r: r[0])
def test_specialized_modules(row):
    code, use = row
    module = Parts()
    check(code, lambda x: use(module, x))


class Pending(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2), requires_grad=False)
        self.register_buffer("kept", torch.ones(2))
        self.part = torch.nn.ReLU()
        self.calls = 0


def replace_weight(m, x):
    m.weight, m.calls = torch.nn.Parameter(torch.zeros(2), requires_grad=False), 1
    return x, len(list(m.parameters()))


def replace_part(m, x):
    m.part, m.calls = torch.nn.Tanh(), 1
    return x, len(list((lambda s: s.modules())(m)))


def only_count(m, x):
    m.calls = m.calls + 1
    return x, len(list(m.parameters()))


@pytest.mark.parametrize("code,use", [("GB0189", replace_weight), ("GB0189", replace_part), (None, only_count)])
def test_modules_with_pending_parts(code, use):
    check(code, lambda m, x: use(m, x), lambda: (Pending(), torch.ones(2)))


# --- autograd.Function -----------------------------------------------------------------------------------------------


def function_class(forward=None, backward=None):
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            if forward:
                forward(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            if backward:
                backward(ctx)
            return g * 2

        def helper(x):
            return x + 1

        @staticmethod
        def fine(x):
            return x + 1

    return Doubled


CONTEXTS = [
    ("GB0139", function_class(lambda ctx: ctx.maybe_clear_saved_tensors())),
    ("GB0139", function_class(lambda ctx: ctx.name())),
    ("GB0139", function_class(lambda ctx: ctx.__dir__())),
    ("GB0139", function_class(None, lambda ctx: ctx.name())),
    ("GB0139", function_class(None, lambda ctx: ctx.maybe_clear_saved_tensors())),
    (None, function_class(lambda ctx: ctx.set_materialize_grads(False))),
]


@pytest.mark.parametrize("code,cls", CONTEXTS)
def test_methods_of_contexts(code, cls):
    check(code, lambda x: cls.apply(x), leaf)


CLASSES = [
    ("GB0140", lambda cls, x: cls.helper(x)),
    ("GB0140", lambda cls, x: (x, len(cls.mro()))),
    ("GB0140", deep(lambda cls, x: (x, cls.__subclasses__()))),
    (None, lambda cls, x: cls.fine(x)),
]


@pytest.mark.parametrize("code,use", CLASSES)
def test_methods_of_function_classes(code, use):
    cls = function_class()
    check(code, lambda x: use(cls, x))


def save(x):
    ctx = torch.autograd.function.FunctionCtx()
    ctx.save_for_backward(x)
    return x * 2


def test_contexts_made_by_hand():
    check("GB0138", save)
    check("GB0138", deep(save))


# --- cells -----------------------------------------------------------------------------------------------------------


def meter():
    n = 0

    class Meter:
        def tick(self):
            nonlocal n
            n += 1
            return n

        @property
        def next(self):
            nonlocal n
            n = n + 3
            return n

    return Meter


@pytest.mark.parametrize("use", [lambda m: m().tick(), deep(lambda m: m().tick()), lambda m: m().next])
def test_cells_of_methods_of_new_objects(use):
    check("GB0169", lambda cls, x: x * use(cls), lambda: (meter(), torch.ones(2)))


def test_cells_of_methods_of_objects_from_outside():
    check(None, lambda m, x: x * m.tick(), lambda: (meter()(), torch.ones(2)))


# --- distributed, events ---------------------------------------------------------------------------------------------


def reduced(x):
    y = x * 2
    torch.distributed.all_reduce(y, async_op=True).wait()
    return y


def gathered(x):
    out = torch.zeros(2)
    torch.distributed.all_gather_into_tensor(out, x * 2, None, True).wait()
    return out


@pytest.mark.parametrize("f", [reduced, deep(reduced), gathered])
def test_collectives_that_go_on(f):
    torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    try:
        check("GB0172", f)
    finally:
        torch.distributed.destroy_process_group()


def test_stores():
    store = torch.distributed.HashStore()
    store.set("a", "text")
    assert (store.get("a"), store.add("n", 2), store.add("n", 3), store.num_keys()) == (b"text", 2, 5, 2)
    assert store.delete_key("a") and not store.check(["a"])


event = torch.cpu.Event()


@pytest.mark.parametrize("f", [lambda x: (x, len(event.__dir__())), deep(lambda x: (x, len(event.__repr__()) > 0))])
def test_other_methods_of_events(f):
    check("GB0146", f)
