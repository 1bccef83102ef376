"""Random Python programs: classes, generators and functions of their own around a function `f` of tensors, numbers,
containers and objects. Every program is valid and terminates; it may raise, print, break the graph and change its
arguments."""

from .expressions import Scope
from .library import HEADER
from .statements import Statements

# What a box can do, with an expression in `self.v` and the argument `k` where {} stands.
METHODS = (
    ("grow(self, k=1)", ("self.v = self.v + k", "return self.v")),
    ("twice(self, k=2)", ("return self.v * 2 + {}",)),
    ("__add__(self, k)", ("if isinstance(k, Box): k = k.v", "return type(self)({})")),
    ("__radd__(self, k)", ("return type(self)({})",)),
    ("__iadd__(self, k)", ("self.v += k", "return self")),
    ("__sub__(self, k)", ("return Box(self.v - k)",)),
    ("__mul__(self, k)", ("return NotImplemented if k == 3 else Box({})",)),
    ("__eq__(self, other)", ("return isinstance(other, Box) and self.v == other.v",)),
    ("__lt__(self, other)", ("return self.v < other.v",)),
    ("__hash__(self)", ("return hash(self.v)",)),
    ("__len__(self)", ("return abs(self.v) % 4",)),
    ("__bool__(self)", ("return self.v > 0",)),
    ("__getitem__(self, k)", ("if not -5 < k < 5: raise IndexError(k)", "return {}")),
    ("__setitem__(self, k, value)", ("self.v = self.v + k - value",)),
    ("__contains__(self, k)", ("return k == self.v",)),
    ("__iter__(self)", ("for k in range(abs(self.v) % 3):", "    yield {}")),
    ("__call__(self, k)", ("return {}",)),
    ("__enter__(self)", ("self.v += 1", "return self.v")),
    ("__exit__(self, *error)", ("self.v -= 1", "return False")),
    ("__getattr__(self, name)", ("if name == 'missing': return 7", "raise AttributeError(name)")),
    ("__repr__(self)", ("return f'{{type(self).__name__}}({{self.v}})'",)),
    ("__format__(self, spec)", ("return spec + str(self.v)",)),
)
OVERRIDDEN = ("grow", "twice", "__add__", "__getitem__", "__iter__", "__len__", "__call__", "__bool__", "__exit__")


class Writer(Statements):
    """Writes one program."""

    def __init__(self, seed):
        super().__init__(seed)
        self.own_classes, self.generators, self.functions = ["Box"], ["counting", "outer_generator"], []
        self.top = []

    def classes(self):
        return self.own_classes

    def generator(self):
        return self.random.choice(self.generators)

    def function_call(self):
        if not self.functions:
            return super().function_call()
        return self.random.choice(self.functions)()

    # --- definitions -------------------------------------------------------------------------------------------------

    def body(self, names, size, **allowed):
        """Statements of a function whose parameters are `names`."""
        before = self.scope, self.lines, self.indent
        kinds = {kind: [] for kind in before[0].names}
        self.scope, self.lines, self.indent = Scope({**kinds, **names}, depth=1, **allowed), [], 1
        for _ in range(size):
            self.statement()
        lines = self.lines
        self.scope, self.lines, self.indent = before
        return lines

    def own_value(self):
        return self.one_of(
            f"self.v + {self.number(0, 3)}", f"self.v * {self.number(1, 3)} - 1", f"max(self.v, {self.number(0, 3)})",
            f"self.v // {self.number(1, 2)}", "self.v",
        )  # fmt: skip

    def box_class(self):
        text = ["class Box:", "    def __init__(self, v, t=None):", "        self.v = v"]
        text.append("        self.t = torch.ones(4) * v if t is None else t")
        for head, lines in METHODS:
            text += ["", f"    def {head}:"]
            value = self.own_value()
            if "k" in head and self.chance(0.5):
                value = f"{value} + k"
            if self.chance(0.15):
                text.append(
                    f"        {self.one_of(repr(head) + ' and print(end=str())', 'torch._dynamo.graph_break()')}"
                )
            text += ["        " + line.format(value) for line in lines]
        text += ["", "    @property", "    def half(self):", "        return self.v // 2"]
        text += ["", "    @half.setter", "    def half(self, value):", "        self.v = value * 2"]
        text += ["", "    @classmethod", "    def made(cls, v):", f"        return cls(v + {self.number(0, 2)})"]
        text += ["", "    @staticmethod", "    def static(k):", f"        return k * {self.number(1, 3)}"]
        text += ["", "    def kind(self):", "        return type(self).__name__", ""]
        self.top.append("\n".join(text))

    def subclass(self):
        self.fresh += 1
        name, base = f"Crate{self.fresh}", self.random.choice(self.own_classes)
        text = [f"class {name}({base}):", f"    size = {self.number(1, 3)}"]
        if self.chance(0.4):
            text += [
                "",
                "    def __init__(self, v, t=None):",
                "        super().__init__(v, t)",
                "        self.w = self.size",
            ]
        for method in self.random.sample(OVERRIDDEN, self.number(1, 3)):
            head = next(h for h, _ in METHODS if h.startswith(method + "("))
            passed = head[head.index("(") + 1 : -1].replace("self", "").replace("=1", "").replace("=2", "").strip(" ,")
            value = f"super().{method}({passed})"
            if method in ("grow", "twice", "__getitem__", "__call__"):
                value += f" + {self.one_of('self.size', '1', 'self.v')}"
            text += ["", f"    def {head}:"]
            if self.chance(0.3):
                text.append(f"        self.v = {self.own_value()}")
            text.append(f"        return {value}")
        self.own_classes.append(name)
        self.top.append("\n".join([*text, ""]))

    def generator_function(self):
        self.fresh += 1
        name = f"gen{self.fresh}"
        lines = self.body({"int": ["k"], "tensor": ["t"], "list": []}, self.number(2, 4), **{"yield": True})
        self.top.append("\n".join([f"def {name}(k, t, out):", *lines, f"    yield {self.anything()}", ""]))
        self.generators.append(name)

    def plain_function(self):
        self.fresh += 1
        name = f"fun{self.fresh}"
        size = self.number(1, 4)
        lines = self.body({"int": ["p", "q"], "tensor": ["t"], "tuple": ["rest"], "dict": ["more"]}, size)
        last = f"    return {self.one_of('p + q', 't * p', '(p, rest)', 'more', 't')}"
        self.top.append("\n".join([f"def {name}(out, t, p, q=2, *rest, **more):", *lines, last, ""]))
        self.functions.append(
            lambda: (
                f"{name}(out, {self.name('tensor')}, "
                + self.one_of(
                    lambda: f"{self.integer(1)})",
                    lambda: f"{self.integer(1)}, q={self.integer(1)})",
                    lambda: f"*{self.listed(1)})",
                    lambda: f"{self.integer(1)}, **{self.mapped(1)})",
                    lambda: f"{self.integer(1)}, 1, *{self.tupled(1)}, z={self.integer(1)})",
                )
            )
        )

    # --- the whole ---------------------------------------------------------------------------------------------------

    def program(self, size):
        self.box_class()
        for maker, most in ((self.subclass, 2), (self.plain_function, 2), (self.generator_function, 2)):
            for _ in range(self.number(0, most)):
                maker()
        self.scope = Scope(
            {
                "int": ["n"],
                "str": ["word"],
                "list": ["items"],
                "dict": ["table"],
                "set": ["group"],
                "tuple": ["pair"],
                "tensor": ["a", "b"],
                "box": ["box"],
                "call": [],
                "cls": [],
            }  # fmt: skip
        )
        for _ in range(size):
            self.statement()
        returned = ["out", self.name("tensor"), self.name("int"), self.name("str"), self.name("box"), "TOTAL"]
        lines = ["    out = []", *self.lines, f"    return {', '.join(returned)}"]
        body = "\n".join(lines)
        classes = "\n\n".join(self.top)
        return f"{HEADER}\n{classes}\n\ndef f(a, b, n, items, table, group, pair, word, box):\n{body}\n"


def program(seed, size=10):
    """Source of a module with a function `f(a, b, n, items, table, group, pair, word, box)` and the class Box."""
    return Writer(seed).program(size)
