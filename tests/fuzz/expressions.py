"""Random expressions of a known kind over the names that are surely bound.

Kinds: int, str, list (of ints), dict (str to int), set (of ints), tuple (of ints), tensor (float32, four elements), box
(an object of the program's own classes), call (takes an int, gives an int).
"""

import random

from .library import INTEGERS, OBJECTS, STRINGS

KEYS = ("'k'", "'q'", "'z'")
WORDS = ("'ab'", "'x y'", "''", "'k'", "'Hello'", "'a,b,c'")


class Scope:
    """Names by kind; what statements may stand here."""

    def __init__(self, names, **allowed):
        self.names = {kind: list(found) for kind, found in names.items()}
        self.allowed = {"loop": False, "yield": False, "finally": False, "nonlocals": (), "depth": 0, **allowed}

    def copy(self, **allowed):
        return Scope(self.names, **{**self.allowed, **allowed})


class Expressions:
    """Writes expressions; a subclass adds statements."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.scope = Scope({kind: [] for kind in "int str list dict set tuple tensor box call cls".split()})
        self.fresh = 0

    # --- choices -------------------------------------------------------------------------------------------------

    def chance(self, p):
        return self.random.random() < p

    def number(self, low, high):
        return self.random.randint(low, high)

    def one_of(self, *makers):
        chosen = self.random.choice(makers)
        return chosen() if callable(chosen) else chosen

    def name(self, kind):
        """A bound name of the kind, or a literal of it."""
        found = self.scope.names[kind]
        return self.random.choice(found) if found else self.literal(kind)

    def bound(self, kind):
        """A bound name of the kind, or else of something: a replacement field takes no literal."""
        return self.random.choice(self.scope.names[kind] or ["COUNT"])

    def literal(self, kind):
        return {
            "int": str(self.number(-3, 5)),
            "str": self.random.choice(WORDS),
            "list": f"[{self.number(0, 3)}, {self.number(-2, 4)}]",
            "dict": f"{{'k': {self.number(0, 3)}}}",
            "set": f"{{{self.number(0, 3)}, {self.number(2, 5)}}}",
            "tuple": f"({self.number(0, 3)}, {self.number(-2, 4)})",
            "tensor": "torch.arange(4.0)",
            "box": f"Box({self.number(0, 3)})",
            "call": f"(lambda k: k + {self.number(0, 3)})",
        }[kind]

    def anything(self, level=1):
        if self.chance(0.2):
            return self.from_library(OBJECTS, level)
        return self.random.choice([self.integer, self.string, self.listed, self.tupled, self.tensor, self.box])(level)

    def leaf(self, level):
        return level > 2 or self.chance(0.3)

    def from_library(self, templates, level):
        """One of the templates, filled in; an int or list that is there twice is the same."""
        text = self.random.choice(templates)
        return text.format(i=self.integer(level + 1), l=self.name("list"), d=self.name("dict"))

    # --- kinds ---------------------------------------------------------------------------------------------------

    def integer(self, level=0):
        if self.leaf(level):
            return self.name("int") if self.chance(0.7) else self.literal("int")
        up = level + 1
        if self.chance(0.3):
            return self.from_library(INTEGERS, up)
        return self.one_of(
            lambda: f"({self.integer(up)} {self.one_of('+', '-', '&', '|', '^')} {self.integer(up)})",
            lambda: f"({self.integer(up)} * {self.integer(up)} % 97)",
            lambda: f"({self.integer(up)} {self.one_of('//', '%')} {self.number(1, 5)})",
            lambda: f"({self.integer(up)} // ({self.integer(up)} or {self.number(0, 9) or 1}))",
            lambda: f"(-{self.name('int')})",
            lambda: f"len({self.name(self.one_of('list', 'dict', 'set', 'tuple', 'str'))})",
            lambda: f"{self.name('tensor')}.shape[0]",
            lambda: f"({self.integer(up)} if {self.condition(up)} else {self.integer(up)})",
            lambda: f"sum({self.listed(up)})",
            lambda: f"{self.one_of('min', 'max')}({self.integer(up)}, {self.integer(up)})",
            lambda: f"{self.name('dict')}.get({self.random.choice(KEYS)}, {self.number(0, 4)})",
            lambda: f"{self.name('list')}[{self.one_of('0', '-1', str(self.number(-2, 2)))}]",
            lambda: f"{self.name('box')}.v",
            lambda: f"{self.name('box')}.{self.one_of('grow', 'twice')}({self.integer(up)})",
            lambda: f"{self.name('box')}[{self.integer(up)}]",
            lambda: f"len({self.name('box')})",
            lambda: f"{self.name('call')}({self.integer(up)})",
            lambda: f"sum(k * 2 for k in {self.listed(up)} if k {self.one_of('<', '!=')} {self.integer(up)})",
            lambda: f"next(iter({self.listed(up)}), {self.number(0, 3)})",
            lambda: f"int({self.condition(up)})",
            lambda: f"{self.string(up)}.count('a')",
            lambda: f"divmod({self.integer(up)}, {self.number(1, 4)})[{self.number(0, 1)}]",
            lambda: f"functools.reduce(lambda p, q: p + q, {self.listed(up)}, 0)",
            lambda: f"sum(map({self.name('call')}, {self.listed(up)}))",
        )

    def condition(self, level=0):
        up = level + 1
        left, right = self.integer(up + 1), self.number(-2, 4)
        return self.one_of(
            lambda: f"{left} {self.one_of('<', '>', '==', '!=', '<=', '>=')} {right}",
            lambda: f"{self.number(-3, 0)} < {left} <= {right}",
            lambda: f"not {left}",
            lambda: f"{self.random.choice(KEYS)} in {self.name('dict')}",
            lambda: f"{left} in {self.name(self.one_of('list', 'set', 'tuple', 'box'))}",
            lambda: f"{self.name('list')} {self.one_of('==', '!=')} {self.name('list')}",
            lambda: f"{self.name('tensor')} is {self.name('tensor')}",
            lambda: (
                f"isinstance({self.name(self.one_of('box', 'int', 'str'))}, {self.one_of('Box', 'int', '(str, list)')})"
            ),
            lambda: f"hasattr({self.name('box')}, {self.one_of(repr('v'), repr('w'))})",
            lambda: f"{self.one_of('any', 'all')}(k > {right} for k in {self.name('list')})",
            lambda: f"{self.name('box')} {self.one_of('==', '<', '!=')} {self.name('box')}",
            lambda: (
                f"({self.condition(up)} {self.one_of('and', 'or')} {self.condition(up)})" if level < 2 else str(left)
            ),
            lambda: f"{self.name('str')}",
            lambda: f"callable({self.name(self.one_of('call', 'box', 'int'))})",
        )

    def string(self, level=0):
        if self.leaf(level):
            return self.name("str")
        up = level + 1
        if self.chance(0.25):
            return self.from_library(STRINGS, up)
        return self.one_of(
            lambda: f"f'{{{self.bound('int')}}}:{{{self.bound('str')}!r:>6}}'",
            lambda: f"f'{{{self.bound('int')}:0{self.number(2, 4)}d}}|{{{self.bound('list')}}}'",
            lambda: f"f'{{{self.bound('box')}}} {{{self.bound('box')}:x}} {{{self.bound('box')}!r}}'",
            lambda: f"({self.string(up)} + {self.string(up)})[:12]",
            lambda: f"('%s-%d' % ({self.name('str')}, {self.name('int')}))",
            lambda: f"'{{}}/{{k}}'.format({self.name('int')}, k={self.name('tuple')})",
            lambda: f"{self.string(up)}.{self.one_of('upper()', 'strip()', 'replace(chr(97), chr(98))', 'title()')}",
            lambda: f"','.join(map(str, {self.listed(up)}))",
            lambda: f"str({self.integer(up)})",
            lambda: f"({self.name('str')} * {self.number(0, 2)})",
            lambda: f"type({self.name(self.one_of('box', 'int', 'tuple', 'tensor'))}).__name__",
            lambda: f"repr({self.name(self.one_of('list', 'dict', 'tuple', 'str'))})",
        )

    def listed(self, level=0):
        if self.leaf(level):
            return self.name("list")
        up = level + 1
        return self.one_of(
            lambda: f"[{self.integer(up)}, {self.integer(up)}]",
            lambda: f"[k + {self.integer(up)} for k in {self.listed(up)}]",
            lambda: f"[j * k for j in {self.listed(up)} for k in range({self.number(0, 2)}) if j > k]",
            lambda: f"[*{self.listed(up)}, *{self.tupled(up)}]",
            lambda: f"sorted({self.listed(up)}, {self.one_of('reverse=True', 'key=lambda k: -k', 'key=abs')})",
            lambda: f"list({self.one_of('reversed', 'tuple', 'iter')}({self.listed(up)}))",
            lambda: f"list(range({self.number(-1, 3)}, {self.number(0, 5)}))",
            lambda: f"{self.name('list')}[{self.one_of('1:', ':-1', '::-1', '::2', '5:')}]",
            lambda: f"list({self.name('dict')}.values())",
            lambda: f"[i + k for i, k in enumerate({self.listed(up)})]",
            lambda: f"[i * k for i, k in zip({self.name('tuple')}, {self.listed(up)})]",
            lambda: f"list({self.one_of('map', 'filter')}({self.name('call')}, {self.listed(up)}))",
            lambda: f"list(itertools.chain({self.listed(up)}, {self.tupled(up)}))",
            lambda: f"list(itertools.accumulate({self.listed(up)}))",
            lambda: f"sorted({self.setted(up)})",
            lambda: f"list({self.name('box')})",
            lambda: f"{self.listed(up)} + {self.listed(up)}",
        )

    def tupled(self, level=0):
        if self.leaf(level):
            return self.name("tuple")
        return self.one_of(
            lambda: f"({self.integer(level + 1)}, {self.integer(level + 1)})",
            lambda: f"tuple({self.listed(level + 1)})",
            lambda: f"{self.name('tuple')}[1:]",
            lambda: f"({self.integer(level + 1)}, *{self.listed(level + 1)})",
            lambda: f"{self.name('tuple')} + ({self.integer(level + 1)},)",
        )

    def setted(self, level=0):
        """Of 0 to 7, which lie in a set in one order only: bulk updates size its table by rules of their own, and a
        graph replays them one by one."""
        if self.leaf(level):
            return self.name("set")
        return self.one_of(
            lambda: f"{{{self.integer(level + 1)} % 8, {self.number(0, 4)}}}",
            lambda: f"({self.setted(level + 1)} {self.one_of('|', '&', '-', '^')} {self.setted(level + 1)})",
            lambda: f"set(k % 8 for k in {self.listed(level + 1)})",
            lambda: f"{{k % 3 for k in {self.listed(level + 1)}}}",
        )

    def mapped(self, level=0):
        if self.leaf(level):
            return self.name("dict")
        return self.one_of(
            lambda: f"{{**{self.name('dict')}, {self.random.choice(KEYS)}: {self.integer(level + 1)}}}",
            lambda: f"{{str(k): k for k in {self.listed(level + 1)}}}",
            lambda: f"dict(zip('kqz', {self.listed(level + 1)}))",
            lambda: f"({self.name('dict')} | {{'z': {self.integer(level + 1)}}})",
            lambda: f"{{k: v + 1 for k, v in {self.name('dict')}.items()}}",
            lambda: f"dict({self.name('dict')}, q={self.integer(level + 1)})",
        )

    def box(self, level=0):
        if self.leaf(level):
            return self.name("box")
        up = level + 1
        return self.one_of(
            lambda: f"{self.random.choice(self.classes())}({self.integer(up)})",
            lambda: f"{self.random.choice(self.classes())}({self.integer(up)}, t={self.tensor(up)})",
            lambda: f"({self.box(up)} {self.one_of('+', '-', '*')} {self.integer(up)})",
            lambda: f"({self.integer(up)} + {self.box(up)})",
            lambda: f"Box.made({self.integer(up)})",
            lambda: f"copy.copy({self.name('box')})",
        )

    def classes(self):
        return ["Box"]

    def tensor(self, level=0):
        if self.leaf(level):
            return self.name("tensor")
        up = level + 1
        return self.one_of(
            lambda: f"({self.tensor(up)} {self.one_of('+', '-', '*')} {self.tensor(up)})",
            lambda: f"({self.tensor(up)} * {self.integer(up)})",
            lambda: f"({self.number(1, 3)} - {self.tensor(up)})",
            lambda: f"{self.tensor(up)}.{self.one_of('abs', 'neg', 'relu', 'clone', 'floor', 'detach')}()",
            lambda: f"torch.{self.one_of('maximum', 'minimum')}({self.tensor(up)}, {self.tensor(up)})",
            lambda: f"torch.where({self.name('tensor')} > {self.number(-1, 2)}, {self.tensor(up)}, 0.5)",
            lambda: f"{self.name('tensor')}.view(2, 2).t().reshape(4)",
            lambda: f"torch.cat([{self.name('tensor')}[:2], {self.name('tensor')}[2:]])",
            lambda: f"({self.tensor(up)}.sum() + {self.name('tensor')})",
            lambda: f"{self.name('tensor')}[[3, 1, 0, 2]]",
            lambda: f"torch.stack([{self.tensor(up)}, {self.name('tensor')}]).amax(0)",
            lambda: f"{self.name('box')}.t",
            lambda: f"{self.name('tensor')}.add({self.name('tensor')}, alpha={self.number(1, 3)})",
            lambda: f"torch.full((4,), {self.integer(up)}).float()",
            lambda: f"sum([{self.tensor(up)}, {self.tensor(up)}])",
        )
