"""Codes about bytecode that no compiler writes, made by editing code objects, and about what few programs hold.

See conditions.py. What a version of Python does not have, or crashes at, is left out there.
"""

import dis
import functools
import itertools
import sys
import types

import minidynamo as torch
from graph_breaks.conditions import leaf, lister, one

CASES = []
case = lister(CASES)


def without(function, *opnames):
    """The function with these instructions made NOPs."""
    code = bytearray(function.__code__.co_code)
    for each in dis.get_instructions(function):
        if each.opname in opnames:
            code[each.offset : each.offset + 2] = bytes([dis.opmap["NOP"], 0])
    edited = function.__code__.replace(co_code=bytes(code))
    return types.FunctionType(edited, function.__globals__, function.__name__, function.__defaults__)


def renamed(function, old, new):
    code = function.__code__
    names = tuple(new if name == old else name for name in code.co_varnames)
    return types.FunctionType(code.replace(co_varnames=names), function.__globals__)


RAW = ("FORMAT_VALUE", "FORMAT_SIMPLE")


class Calling:
    """Calls what it is given, a method deep."""

    def __init__(self, function):
        self.function = function

    def call(self, *args):
        return self.function(*args)


def two_deep(function):
    def called(calling, *args):
        return calling.call(*args)

    calling = Calling(function)
    return lambda *args: called(calling, *args)


# --- GB0012: locals with a dot in front


def sums(x):
    if x is None:
        total = 0
    return x + total


def deletes(x):
    if x is None:
        total = x
    del total
    return x


def in_a_loop(x):
    for n in ():
        total = n
    return [x, total]


@case("GB0012")
def dotted_two_deep(compile):
    return compile(two_deep(renamed(sums, "total", ".total")))(one())


@case("GB0012")
def dotted_after_a_loop(compile):
    return compile(renamed(in_a_loop, "total", ".0"))(one())


@case("GB0012")
def dotted_caught(compile):
    dotted = renamed(in_a_loop, "total", ".total")

    @compile
    def f(x):
        try:
            return dotted(x)
        except UnboundLocalError:
            return x * 3

    return f(one())


@case("GB0011")
def undotted(compile):
    return compile(two_deep(renamed(sums, "total", "other")))(one())


# --- GB0020 and GB0021: strings joined from what was not formatted


def twice_named(x):
    before = "{loss:.1f}".format(loss=x)  # noqa: UP032
    after = "{loss}".format(loss=x * 2)  # noqa: UP032
    return x + 1, f"{before}{after}"


def named_by_a_dict(x):
    first = "{at}".format(**{"at": x})
    last = "{at:>8}".format(at=x.sum())  # noqa: UP032
    return x + 1, f"<{first}, {last}>"


def named_apart(x):
    before = "{loss}".format(loss=x)  # noqa: UP032
    after = "{gain}".format(gain=x * 2)  # noqa: UP032
    return x + 1, f"{before}{after}"


def number():
    return torch.tensor(1.5)


@case("GB0020")
def named_twice_two_deep(compile):
    return compile(two_deep(without(twice_named, *RAW)))(number())


@case("GB0020")
def named_twice_by_a_dict(compile):
    return compile(without(named_by_a_dict, *RAW))(number())


@case("")
def formatted_apart(compile):
    return compile(lambda x: (x + 1, "{} and {loss}".format(3, loss="a")))(number())  # noqa: UP032


def tensor_part(x):
    return x + 1, f"{x} units"


def list_part(x):
    return x + 1, f"a: {[x]}"


def two_parts(x, y):
    return f"{x}{y}", y * 2


@case("GB0021")
def tensor_as_a_part_two_deep(compile):
    return compile(two_deep(without(tensor_part, *RAW)))(number())


@case("GB0021")
def list_as_a_part(compile):
    return compile(without(list_part, *RAW))(number())


@case("GB0021")
def tensors_as_parts(compile):
    return compile(without(two_parts, *RAW))(number(), number())


@case("")
def texts_as_parts(compile):
    joined = without(two_parts, *RAW)

    @compile
    def f(x):
        try:
            return x + len(joined("a", "b")[0])
        except TypeError:
            return x

    return f(number())


# --- GB0024: StopIteration thrown in


def steps(x):
    yield x
    yield x * 2


def handed_on(x):
    yield from steps(x)


def guarded(x):
    try:
        yield from steps(x)
    except ValueError:
        yield x * 5


class Source:
    def __init__(self, x):
        self.x = x

    def rows(self):
        return (yield from handed_on(self.x))

    def first_two(self):
        rows = self.rows()
        return next(rows) + rows.throw(StopIteration(2))


@case("GB0024")
def thrown_in_a_method(compile):
    return compile(lambda x: Source(x).first_two())(one())


@case("GB0024")
def thrown_as_a_class(compile):
    @compile
    def f(x):
        rows = guarded(x)
        return next(rows) + rows.throw(StopIteration)

    return f(one())


@case("")
def another_is_thrown(compile):
    @compile
    def f(x):
        rows = guarded(x)
        return next(rows) + rows.throw(ValueError("a"))

    return f(one())


# --- GB0028: what `except` compares is no exception


def answer(x, reason):
    return KeyError


def compares(*tail):
    """(x, reason) -> (whether `reason` is matched by KeyError, x), by the instruction of an except clause."""

    def assemble(*ops):
        return b"".join(bytes([dis.opmap[name], arg]) for name, arg in ops)

    code = answer.__code__
    places = [i.offset for i in dis.get_instructions(code)]
    start = next(i.offset for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL")
    load = code.co_code[start : min(place for place in places if place > start)]
    tail = tail or (("LOAD_FAST", 0), ("BUILD_TUPLE", 2))
    rest = assemble(("CHECK_EXC_MATCH", 0), ("SWAP", 2), ("POP_TOP", 0), *tail, ("RETURN_VALUE", 0))
    body = assemble(("RESUME", 0), ("LOAD_FAST", 1)) + load + rest
    return types.FunctionType(code.replace(co_code=body, co_stacksize=4), globals())


@case("GB0028")
def number_is_compared_two_deep(compile):
    return compile(two_deep(compares()))(one(), 404)


@case("GB0028")
def text_is_compared(compile):
    matches = compares(("COPY", 1), ("BUILD_LIST", 2))
    return compile(lambda x: (x + 1, matches(x, "gone")))(one())


@case("GB0028")
def tensor_is_compared(compile):
    matches = compares()
    return compile(lambda x: matches(x, x * 2))(one())


@case("")
def exception_is_compared(compile):
    matches = compares()
    return compile(lambda x: matches(x, KeyError("a")))(one())


# --- GB0167 and GB0168: calls with what the compiler never passes


def affine(x, gain=1, shift=0):
    return x * gain + shift


def spread(args, options):
    return affine(*args, **options)


def spread_plain(args):
    return affine(*args)


def flagged(function):
    code = bytearray(function.__code__.co_code)
    for each in dis.get_instructions(function):
        if each.opname == "CALL_FUNCTION_EX":
            code[each.offset + 1] = each.arg | 2
    return types.FunctionType(function.__code__.replace(co_code=bytes(code)), function.__globals__)


class Options(dict):
    pass


if sys.version_info < (3, 12):  # later ones crash at what is no dict, and at flags of their own
    UNMERGED = without(spread, "BUILD_MAP", "DICT_MERGE")

    @case("GB0167")
    def proxy_of_options_two_deep(compile):
        options = types.MappingProxyType({"gain": 2})
        return compile(two_deep(UNMERGED))((one(),), options)

    @case("GB0167")
    def proxy_made_of_a_class(compile):
        options = types.MappingProxyType({"shift": 3, "gain": 2})
        return compile(lambda x: UNMERGED([x], options) * 2)(one())

    @case("GB0167")
    def proxy_for_a_builtin(compile):
        longest = without(lambda rows, options: max(*rows, **options), "BUILD_MAP", "DICT_MERGE")
        return compile(lambda x: x * longest(["a", "bcd"], types.MappingProxyType({"key": len})).count("d"))(one())

    @case("GB0168")
    def flag_two_deep(compile):
        return compile(two_deep(flagged(spread_plain)))((one(), 3))

    @case("GB0168")
    def flag_beside_options(compile):
        return compile(flagged(spread))([one()], {"shift": 2})

    @case("")
    def dict_itself(compile):
        return compile(UNMERGED)((one(),), {"gain": 2})


# --- GB0192: too many items for a cycle


@case("GB0192")
def cycle_two_deep(compile):
    def last(limit):
        return list(itertools.islice(itertools.cycle(range(limit)), 101 * 1024))[-1]

    return compile(two_deep(lambda x: x + last(200_000)))(one())


class Rounds:
    def __init__(self, items):
        self.cycle = itertools.cycle(items)

    def skip(self, count):
        for _ in range(count):
            next(self.cycle)
        return next(self.cycle)


@case("GB0192")
def cycle_of_a_list_step_by_step(compile):
    return compile(lambda x: x + Rounds([3] * 103_000).skip(102_500))(one())


@case("")
def cycle_of_few(compile):
    return compile(lambda x: x + sum(itertools.islice(itertools.cycle((1, 2, 3)), 1000)))(one())


# --- GB0197: lists that hold themselves


def own_list():
    items = [torch.ones(2)]
    items.append(items)
    return items


class Holding:
    def __init__(self):
        self.items = own_list()

    def total(self, x):
        return x + self.items[0]


@case("GB0197")
def own_list_in_a_method(compile):
    return compile(lambda x, holding: holding.total(x))(one(), Holding())


@case("GB0197")
def own_list_in_a_dict(compile):
    items = [3, (4, 5)]
    items[1:] = [items, one()]
    return compile(lambda x, kept: x + sum(len(v) for v in kept["a"][1:]))(one(), {"a": items})


@case("")
def list_twice_in_a_list(compile):
    shared = [one()]
    return compile(lambda lists: lists[0][0] + lists[1][0])([shared, shared])


# --- GB0176: a value that was replaced while compiling


class Replaced:
    def __init__(self):
        self.item = one()

    def same(self, change):
        item = self.item
        return change(), id(item) == id(item)


@case("GB0176")
def replaced_in_a_method(compile):
    replaced = Replaced()

    @torch.compiler.assume_constant_result
    def change():
        replaced.item = None
        return 1

    return compile(lambda x, r: (x + 1, r.same(change)))(one(), replaced)


@case("GB0176")
def taken_out_of_a_dict(compile):
    table = {"a": one()}

    @torch.compiler.assume_constant_result
    def change():
        table["a"] = None
        return 1

    @compile
    def f(x, table):
        item = table["a"]
        n = change()
        return x + n, hash(id(item)) == 0

    return f(one(), table)


# --- GB0173: hooks of intermediates in exported functions


def hooked(gradient):
    return gradient * 5


class Stage(torch.nn.Module):
    def forward(self, x):
        middle = x * 2
        middle.register_hook(hooked)
        return middle.cos()


def hooked_in_a_callee(x):
    return Stage.forward(None, x + 1)


def hooked_by_partial(x):
    middle = x.exp()
    functools.partial(torch.Tensor.register_hook, middle)(lambda g: g + 1)
    return middle * 3


def exporting(exported):
    def program(compile):
        with torch._dynamo.compiled_autograd._enable(compile):
            return torch._dynamo.export(exported)(leaf())

    program.__name__ = getattr(exported, "__name__", "a_module")
    return program


for each in (hooked_in_a_callee, hooked_by_partial, Stage()):
    case("GB0173")(exporting(each))
