"""Random Python programs over tensors, numbers, lists, dicts and objects. Every program is valid and terminates; it may
raise, print, break the graph and change its arguments."""

import random

HEADER = """import minidynamo as torch

class Box:
    def __init__(self, v):
        self.v = v

    def grow(self, k=1):
        self.v = self.v + k
        return self.v

"""


class Writer:
    """Writes one program; keeps the variables of each kind that are surely bound."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.lines = []
        self.depth = 1
        self.names = {"tensor": ["a", "b"], "int": ["n"], "list": ["items"], "dict": ["table"], "box": ["box"]}
        self.fresh = 0
        self.helpers = []

    def emit(self, text):
        self.lines.append("    " * self.depth + text)

    def pick(self, kind):
        return self.random.choice(self.names[kind])

    def new(self, kind):
        self.fresh += 1
        name = f"{kind[0]}{self.fresh}"
        self.names[kind].append(name)
        return name

    def integer(self, level=0):
        r = self.random
        if level > 2 or r.random() < 0.4:
            return r.choice([str(r.randint(-3, 5)), self.pick("int")])
        return r.choice(
            [
                lambda: f"({self.integer(level + 1)} {r.choice(['+', '-', '*'])} {self.integer(level + 1)})",
                lambda: f"len({self.pick('list')})",
                lambda: f"{self.pick('tensor')}.shape[0]",
                lambda: f"({self.integer(level + 1)} if {self.condition()} else {self.integer(level + 1)})",
                lambda: f"sum([i * 2 for i in range({r.randint(0, 3)})])",
                lambda: f"{self.pick('dict')}.get('k', {r.randint(0, 4)})",
            ]
        )()

    def condition(self):
        r = self.random
        left, right = self.pick("int"), str(r.randint(-2, 4))
        return r.choice(
            [
                f"{left} {r.choice(['<', '>', '==', '!=', '<=', '>='])} {right}",
                f"{left} % 2 == 0 and {left} > {right}",
                f"not {left}",
                f"'k' in {self.pick('dict')}",
                f"len({self.pick('list')}) > {r.randint(0, 3)}",
                f"{self.pick('tensor')} is {self.pick('tensor')}",
            ]
        )

    def tensor(self, level=0):
        r = self.random
        if level > 2 or r.random() < 0.3:
            return self.pick("tensor")
        return r.choice(
            [
                lambda: f"({self.tensor(level + 1)} {r.choice(['+', '-', '*'])} {self.tensor(level + 1)})",
                lambda: f"({self.tensor(level + 1)} * {self.integer()})",
                lambda: f"({r.randint(1, 3)} - {self.tensor(level + 1)})",
                lambda: f"{self.tensor(level + 1)}.{r.choice(['abs', 'neg', 'relu', 'clone', 'floor'])}()",
                lambda: f"torch.{r.choice(['maximum', 'minimum'])}({self.tensor(level + 1)}, {self.tensor(level + 1)})",
                lambda: f"torch.where({self.pick('tensor')} > {r.randint(-1, 2)}, {self.tensor(level + 1)}, 0.5)",
                lambda: f"{self.pick('tensor')}.view(2, 2).t().reshape(4)",
                lambda: f"torch.cat([{self.pick('tensor')}[:2], {self.pick('tensor')}[2:]])",
                lambda: f"({self.tensor(level + 1)}.sum() + {self.pick('tensor')})",
            ]
        )()

    def statement(self):
        kinds = [
            (6, self.assign_tensor), (4, self.assign_int), (3, self.change_list), (3, self.change_dict),
            (3, self.change_box), (2, self.in_place), (2, self.branch), (2, self.loop), (1, self.attempt),
            (1, self.call_helper), (1, self.closure), (1, self.interrupt), (1, self.unpack),
        ]  # fmt: skip
        weights = [w for w, _ in kinds]
        self.random.choices([k for _, k in kinds], weights)[0]()

    def assign_tensor(self):
        value = self.tensor()
        self.emit(f"{self.new('tensor') if self.random.random() < 0.6 else self.pick('tensor')} = {value}")

    def assign_int(self):
        value = self.integer()
        self.emit(f"{self.new('int') if self.random.random() < 0.5 else self.pick('int')} = {value}")

    def change_list(self):
        name, r = self.pick("list"), self.random
        self.emit(
            r.choice(
                [
                    f"{name}.append({r.choice([self.tensor(), self.integer()])})",
                    f"{name}[0:1] = [{self.integer()}]",
                    f"{name}.extend([{self.integer()}, {self.pick('tensor')}])",
                    f"{name}.insert(0, {self.integer()})",
                    f"{name}.reverse()",
                    f"{name}[{r.randint(0, 3)}] = {self.integer()}",
                ]
            )
        )

    def change_dict(self):
        name, r = self.pick("dict"), self.random
        key = r.choice(["'k'", "'q'", "1"])
        self.emit(
            r.choice(
                [
                    f"{name}[{key}] = {r.choice([self.tensor(), self.integer()])}",
                    f"{name}.pop({key}, None)",
                    f"del {name}[{key}]",
                ]
            )
        )

    def change_box(self):
        name, r = self.pick("box"), self.random
        self.emit(
            r.choice([f"{name}.v = {self.tensor()}", f"{name}.grow({self.integer()})", f"{name}.w = {self.integer()}"])
        )

    def in_place(self):
        name, r = self.pick("tensor"), self.random
        self.emit(
            r.choice(
                [
                    f"{name} += {self.integer()}",
                    f"{name}.mul_(2)",
                    f"{name}[0] = {r.randint(0, 9)}",
                    f"{name}[1:].add_(1)",
                ]
            )
        )

    def block(self, size):
        before = {k: list(v) for k, v in self.names.items()}
        self.depth += 1
        for _ in range(size):
            self.statement()
        self.depth -= 1
        self.names = before

    def branch(self):
        self.emit(f"if {self.condition()}:")
        self.block(self.random.randint(1, 2))
        if self.random.random() < 0.5:
            self.emit("else:")
            self.block(1)

    def loop(self):
        if self.depth > 3:
            return self.assign_int()
        self.fresh += 1
        self.emit(f"for k{self.fresh} in range({self.random.randint(0, 3)}):")
        self.block(self.random.randint(1, 2))

    def attempt(self):
        self.emit("try:")
        self.block(2)
        self.emit(
            f"except {self.random.choice(['KeyError', 'IndexError', '(KeyError, IndexError)', 'Exception'])} as error:"
        )
        self.depth += 1
        self.emit("items.append(type(error).__name__)")
        self.depth -= 1
        if self.random.random() < 0.3:
            self.emit("finally:")
            self.block(1)

    def call_helper(self):
        self.fresh += 1
        body = self.random.choice(["p * q", "p + len(rest)", "p - q if q else p.abs()", "[p, q][0]"])
        self.helpers.append(f"def h{self.fresh}(p, q=2, *rest):\n    return {body}\n\n")
        self.emit(f"{self.pick('tensor')} = h{self.fresh}({self.tensor()}, {self.integer()})")

    def closure(self):
        self.fresh += 1
        self.emit(f"def c{self.fresh}(k):")
        self.depth += 1
        self.emit("nonlocal counter")
        self.emit("counter += k")
        self.emit(f"return {self.pick('tensor')} + counter")
        self.depth -= 1
        self.emit(f"{self.pick('tensor')} = c{self.fresh}({self.integer()})")

    def interrupt(self):
        self.emit(self.random.choice(["torch._dynamo.graph_break()", "print('at', n)", f"print({self.pick('int')})"]))

    def unpack(self):
        values = f"[{self.integer()}, {self.integer()}, {self.pick('tensor')}]"
        self.emit(f"{self.new('int')}, *rest = {values}")

    def program(self, size):
        for _ in range(size):
            self.statement()
        returned = [
            f"{self.pick('tensor')}",
            "items",
            "table",
            "box",
            self.pick("int"),
            f"[{self.pick('tensor')}, counter]",
        ]
        body = "\n".join(["    counter = 0", *self.lines, f"    return {', '.join(returned)}"])
        return f"{HEADER}{''.join(self.helpers)}def f(a, b, n, items, table, box):\n{body}\n"


def program(seed, size=10):
    """Source of a module with a function `f(a, b, n, items, table, box)` and the class Box."""
    return Writer(seed).program(size)
