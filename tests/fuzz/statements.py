"""Random statements. Each leaves the program valid and terminating, whatever lines are taken out of it later."""

from .expressions import KEYS, Expressions
from .snippets import SNIPPETS

ERRORS = (
    "KeyError",
    "IndexError",
    "(KeyError, IndexError)",
    "Exception",
    "ValueError",
    "ArithmeticError",
    "LookupError",
)


class Statements(Expressions):
    def __init__(self, seed):
        super().__init__(seed)
        self.lines = []
        self.indent = 1

    # --- writing ---------------------------------------------------------------------------------------------------

    def emit(self, text):
        self.lines.append("    " * self.indent + text)

    def new(self, kind):
        self.fresh += 1
        return f"{kind[0]}{self.fresh}"

    def bind(self, kind, value):
        """kind: a name that exists or a new one."""
        names = self.scope.names[kind]
        if names and self.chance(0.5) and kind != "call":
            return self.emit(f"{self.random.choice(names)} = {value}")
        name = self.new(kind)
        self.emit(f"{name} = {value}")
        names.append(name)

    def target(self, kind):
        """A name of the kind to change; a new one where there is none."""
        if not self.scope.names[kind]:
            name = self.new(kind)
            self.emit(f"{name} = {self.literal(kind)}")
            self.scope.names[kind].append(name)
        return self.random.choice(self.scope.names[kind])

    def block(self, size, **allowed):
        """Statements one level deeper; names they bind may not be bound after them."""
        before = self.scope
        self.scope = before.copy(**{**allowed, "depth": before.allowed["depth"] + 1})
        self.indent += 1
        for _ in range(size):
            self.statement()
        self.indent -= 1
        self.scope = before

    def small(self):
        return self.number(1, 2)

    def statement(self):
        kinds = [
            (5, self.assign), (4, self.change_list), (3, self.change_dict), (2, self.change_set), (3, self.change_box),
            (4, self.in_place), (2, self.augmented), (2, self.interrupt), (2, self.unpack), (2, self.record),
            (1, self.check), (1, self.remove), (1, self.leave), (1, self.global_write), (2, self.call_function),
            (5, self.snippet),
        ]  # fmt: skip
        if self.scope.allowed["depth"] < 3:
            kinds += [
                (3, self.branch), (3, self.loop), (1, self.while_loop), (3, self.attempt), (2, self.with_block),
                (2, self.matched), (2, self.closure), (2, self.drive_generator), (1, self.recursion),
                (3, self.local_class),
            ]  # fmt: skip
        if self.scope.allowed["yield"]:
            kinds.append((4, self.yields))
        self.random.choices([k for _, k in kinds], [w for w, _ in kinds])[0]()

    # --- one line ----------------------------------------------------------------------------------------------------

    def assign(self):
        kind, value = self.random.choice(
            [
                ("tensor", self.tensor),
                ("tensor", self.tensor),
                ("int", self.integer),
                ("str", self.string),
                ("list", self.listed),
                ("dict", self.mapped),
                ("set", self.setted),
                ("tuple", self.tupled),
                ("box", self.box),
            ]  # fmt: skip
        )
        self.bind(kind, value())

    def change_list(self):
        name = self.target("list")
        self.emit(
            self.one_of(
                lambda: f"{name}.append({self.integer()})",
                lambda: f"{name}[0:1] = {self.listed(1)}",
                lambda: f"{name}.extend({self.tupled(1)})",
                lambda: f"{name}.insert({self.number(-1, 2)}, {self.integer()})",
                lambda: f"{name}.{self.one_of('reverse', 'sort', 'clear')}()",
                lambda: f"{name}.{self.one_of('pop(0)', 'pop()', 'remove(1)', 'count(1)', 'index(2)')}",
                lambda: f"{name}[{self.number(-1, 2)}] = {self.integer()}",
                lambda: f"del {name}[{self.one_of('0', '1:2', '::2', ':1')}]",
                lambda: f"{name} += {self.listed(1)}",
                lambda: f"{name}[0] += {self.integer(1)}",
                lambda: f"{name} *= {self.number(0, 2)}",
            )
        )

    def change_dict(self):
        name, key = self.target("dict"), self.random.choice(KEYS)
        self.emit(
            self.one_of(
                lambda: f"{name}[{key}] = {self.integer()}",
                lambda: f"{name}.pop({key}, None)",
                lambda: f"if {key} in {name}: del {name}[{key}]",
                lambda: f"{name}[{key}] = {name}.get({key}, 0) + {self.integer(1)}",
                lambda: f"{name}['k'] += {self.integer(1)}",
                lambda: f"{name}.update({self.mapped(1)})",
                lambda: f"{name}.setdefault({key}, {self.integer(1)})",
                lambda: f"{name} |= {self.mapped(1)}",
                lambda: f"out.append({name}.popitem())",
                lambda: f"out.extend({name}.{self.one_of('items', 'keys', 'values')}())",
            )
        )

    def change_set(self):
        name = self.target("set")
        self.emit(
            self.one_of(
                lambda: f"{name}.{self.one_of('add', 'discard', 'remove')}({self.integer(1)} % 8)",
                lambda: f"{name} {self.one_of('|=', '&=', '-=', '^=')} {self.setted(1)}",
                lambda: f"{name}.update(k % 8 for k in {self.listed(1)})",
                lambda: f"out.append(sorted({name}))",
            )
        )

    def change_box(self):
        name = self.target("box")
        self.emit(
            self.one_of(
                lambda: f"{name}.v = {self.integer()}",
                lambda: f"{name}.t = {self.tensor()}",
                lambda: f"{name}.grow({self.integer()})",
                lambda: f"{name}.w = {self.anything()}",
                lambda: f"{name}.v {self.one_of('+=', '-=', '*=')} {self.number(0, 3)}",
                lambda: f"{name}[{self.integer(1)}] = {self.integer(1)}",
                lambda: f"{name} += {self.integer(1)}",
                lambda: f"{name}.half = {self.integer(1)}",
                lambda: f"out.append({name}.{self.one_of('half', 'w', 'missing', 'kind()', 'static(2)')})",
                lambda: f"setattr({name}, {self.one_of(repr('v'), repr('u'))}, {self.integer(1)})",
                lambda: f"out.append(getattr({name}, {self.one_of(repr('u'), repr('v'))}, None))",
                lambda: f"out.append({name}({self.integer(1)}))",
                lambda: f"del {name}.{self.one_of('w', 'u')}",
                lambda: f"out.append(vars({name}).get('v'))",
            )
        )

    def in_place(self):
        name = self.target("tensor")
        self.emit(
            self.one_of(
                lambda: f"{name} {self.one_of('+=', '-=', '*=')} {self.integer()}",
                lambda: f"{name}.mul_(2)",
                lambda: f"{name}[{self.number(-1, 3)}] = {self.number(0, 9)}",
                lambda: f"{name}[1:].add_({self.integer(1)})",
                lambda: f"{name}[{name} > {self.number(0, 2)}] = 0",
                lambda: f"{name}.copy_({self.tensor()})",
                lambda: f"{name}.view(2, 2)[0] += {self.tensor(2)}[:2]",
                lambda: f"{name}.{self.one_of('zero_', 'neg_', 'abs_', 'floor_')}()",
            )
        )

    def augmented(self):
        self.emit(f"{self.target('int')} {self.one_of('+=', '-=', '*=', '//=', '%=', '&=')} {self.integer(1)}")

    def interrupt(self):
        self.emit(
            self.one_of(
                "torch._dynamo.graph_break()",
                lambda: f"print('at', {self.name('int')})",
                lambda: f"print({self.string()})",
                lambda: f"out.append({self.name('tensor')}.sum().item())",
                lambda: f"out.append({self.name('tensor')}.tolist())",
            )
        )

    def unpack(self):
        first, second = self.new("int"), self.new("int")
        self.emit(
            self.one_of(
                lambda: f"{first}, *{second} = {self.listed()}",
                lambda: f"{first}, {second} = {self.integer(1)}, {self.anything()}",
                lambda: f"({first}, {second}), *rest = ({self.integer(1)}, {self.integer(1)}), {self.integer(1)}",
                lambda: f"{first} = {second} = {self.integer(1)}",
                lambda: f"{first}, {second} = {self.tupled(1)}",
                lambda: f"out.append(({first} := {self.integer(1)}) + {first})",
            )
        )

    def record(self):
        self.emit(f"out.append({self.anything(0)})")

    def check(self):
        self.emit(
            self.one_of(
                lambda: f"assert {self.condition()}, {self.string(1)}",
                lambda: f"raise {self.one_of('ValueError', 'KeyError', 'Oops')}({self.integer(1)})",
                lambda: f"if {self.condition()}: raise Oops({self.string(1)})",
            )
            if self.scope.allowed["depth"] and self.chance(0.5)
            else f"out.append({self.condition()})"
        )

    def remove(self):
        name = self.new("list")
        self.emit(f"{name} = {self.listed()}")
        self.emit(f"del {name}")

    def leave(self):
        """break, continue or return, mostly under a condition."""
        words = [f"return {self.anything()}"]
        if self.scope.allowed["loop"]:
            words += ["break", "continue"] * 2
        if self.scope.allowed["depth"] == 0:
            return self.emit(f"if {self.condition()} and {self.name('int')} == {self.number(5, 9)}: {words[0]}")
        self.emit(f"if {self.condition()}: {self.random.choice(words)}")

    def global_write(self):
        self.emit(
            self.one_of(
                f"COUNT[0] += {self.number(1, 3)}", f"out.append(bump({self.integer(1)}))", "TABLE['n'] = COUNT[0]"
            )
        )

    def yields(self):
        self.emit(
            self.one_of(
                lambda: f"yield {self.anything()}",
                lambda: f"out.append((yield {self.integer()}))",
                lambda: f"yield from {self.listed()}",
                lambda: f"yield from ({self.integer(1)} + k for k in {self.listed(1)})",
            )
        )

    def snippet(self):
        self.fresh += 1
        number = self.fresh
        for line in self.random.choice(SNIPPETS):
            self.emit(
                line.format(
                    n=number, i=self.integer(2), l=self.name("list"), d=self.name("dict"), t=self.name("tensor")
                )
            )

    # --- blocks ------------------------------------------------------------------------------------------------------

    def branch(self):
        condition = f"{self.name('tensor')}.sum() > {self.number(-2, 6)}" if self.chance(0.15) else self.condition()
        self.emit(f"if {condition}:")
        self.block(self.small())
        if self.chance(0.3):
            self.emit(f"elif {self.condition()}:")
            self.block(1)
        if self.chance(0.5):
            self.emit("else:")
            self.block(1)

    def loop(self):
        k = self.new("int")
        self.emit(
            self.one_of(
                lambda: f"for {k} in range({self.number(0, 3)}):",
                lambda: f"for {k} in ({self.listed(1)})[:3]:",
                lambda: f"for {k} in itertools.islice({self.name('box')}, 3):",
                lambda: f"for {k}, value in enumerate(({self.tupled(1)})[:3]):",
                lambda: f"for value, {k} in list({self.name('dict')}.items())[:3]:",
                lambda: f"for {k} in sorted({self.name('set')})[:2]:",
            )
        )
        before = self.scope
        self.scope = before.copy()
        self.scope.names["int"].append(k)
        self.block(self.small(), loop=True)
        self.scope = before
        if self.chance(0.25):
            self.emit("else:")
            self.block(1)

    def while_loop(self):
        self.fresh += 1
        fuel = f"fuel{self.fresh}"
        self.emit(f"{fuel} = {self.number(1, 4)}")
        self.emit(f"while ({fuel} := {fuel} - 1) >= 0 and {self.condition()}:")
        self.block(self.small(), loop=True)

    def attempt(self):
        self.emit("try:")
        self.block(2)
        if self.chance(0.5):
            self.indent += 1
            self.emit(self.one_of("{}['none']", "[][1]", "1 // 0", f"raise Oops({self.integer(1)})", "int('x')"))
            self.indent -= 1
        handled = self.chance(0.9)
        if handled:
            self.handler()
            if self.chance(0.3):
                self.emit("else:")
                self.block(1)
        if self.chance(0.4) or not handled:
            self.emit("finally:")
            self.block(1, **{"finally": True})

    def handler(self):
        self.emit(f"except {self.random.choice(ERRORS)} as error:")
        self.indent += 1
        self.emit("out.append((type(error).__name__, str(error)))")
        if self.chance(0.3):
            self.emit(
                self.one_of(
                    "raise", "raise Oops('again') from error", "raise KeyError('in handler')", "error.add_note('n')"
                )
            )
        self.indent -= 1
        if self.chance(0.3):
            self.emit("except Oops:")
            self.block(1)

    def with_block(self):
        k = self.new("int")
        self.emit(
            self.one_of(
                lambda: f"with {self.name('box')} as {k}:",
                lambda: f"with Box({self.number(0, 3)}), Guarded({self.condition(1)}):",
                lambda: f"with Guarded({self.one_of('True', 'False')}) as {k}:",
                lambda: f"with contextlib.suppress({self.random.choice(ERRORS)}):",
                lambda: f"with managed({self.integer(1)}) as {k}:",
                "with torch.no_grad():",
                lambda: f"with contextlib.nullcontext({self.integer(1)}) as {k}:",
            )
        )
        self.block(self.small())

    def matched(self):
        self.emit(f"match {self.anything()}:")
        self.indent += 1
        cases = [
            "case int(k) if k > 1:", "case [p, *rest]:", "case [0, 1] | [1, 2]:", "case str() as s if s:",
            "case Box(v=0):", "case Box(v=k):", "case {'k': k, **rest}:", "case (p, q):", "case 0 | 1 | 2:",
            "case [_, [p, q]]:",
        ]  # fmt: skip
        for case in self.random.sample(cases, self.number(1, 3)):
            self.emit(case)
            self.block(1)
        if self.chance(0.6):
            self.emit("case _:")
            self.block(1)
        self.indent -= 1

    def closure(self):
        name, counter = self.new("call"), self.new("int")
        self.emit(f"{counter} = {self.number(0, 2)}")
        self.emit(f"def {name}(j, *rest, step={self.integer(1)}, **more):")
        self.indent += 1
        self.emit(f"nonlocal {counter}")
        self.emit(f"{counter} += j % 7")
        if self.chance(0.5):
            self.emit(self.one_of(f"print('in', {counter})", f"out.append({counter})", "torch._dynamo.graph_break()"))
        self.emit(f"return {counter} + step + len(rest) + len(more)")
        self.indent -= 1
        self.scope.names["call"].append(name)
        self.emit(
            self.one_of(
                lambda: f"out.append({name}({self.integer(1)}, *{self.listed(1)}, **{self.mapped(1)}))",
                lambda: f"out.append([g(1) for g in [lambda p, k=k: p + k for k in {self.listed(1)}]])",
                lambda: f"out.append({name}({self.integer(1)}, step={self.integer(1)}))",
                lambda: f"out.append(functools.partial({name}, 1, 2)(step={counter}))",
            )
        )

    def recursion(self):
        name = self.new("call")
        self.emit(f"def {name}(k):")
        self.indent += 1
        self.emit(f"if not 0 < k < 6: return {self.integer(1)}")
        self.emit(
            self.one_of(f"return k + {name}(k - 1)", f"return {name}(k - 2) * 2 % 31 if k % 2 else {name}(k - 1)")
        )
        self.indent -= 1
        self.emit(f"out.append({name}({self.number(0, 5)}))")

    def local_class(self):
        """A class statement, what it makes, and what is done with it."""
        name = self.new("Local")
        bases = ["", "(Box)", "(Guarded)", "(ValueError)", "(list)", *(f"({c})" for c in self.scope.names["cls"])]
        base = self.random.choice(bases)
        inner = [
            lambda: f"k = {self.integer(1)}",
            lambda: f"k: int = {self.integer(1)}",
            lambda: f"t = {self.name('tensor')} * 2",
            lambda: f"shared = {self.listed(1)}",
            lambda: f"total = sum([j * 2 for j in {self.listed(1)}])",
            lambda: f"if {self.condition(1)}: flag = True",
            lambda: "for j in range(3): last = j",
            lambda: f"def get(self, j=1): return self.k + j + {self.integer(1)}",
            lambda: "def get(self, j=2): return (super().get(j) if hasattr(super(), 'get') else 0) + 1",
            lambda: "def own(self): return __class__.__name__, type(self) is __class__",
            lambda: "def scaled(self): return self.t * self.k",
            lambda: "double = property(lambda self: self.k * 2)",
            lambda: "made = classmethod(lambda cls, *args: cls(*args))",
            lambda: "plus = staticmethod(lambda j: j + 1)",
            lambda: f"def __add__(self, other): return {self.integer(1)}",
            lambda: "def __len__(self): return self.k % 5",
            lambda: "def __eq__(self, other): return type(other) is type(self)",
            lambda: "class Inner: depth = 1",
            lambda: "out.append('in class')",
            lambda: "print('in class')" if self.chance(0.3) else "def __call__(self, *args): return args",
        ]
        self.emit(f"class {name}{base}:")
        self.indent += 1
        self.emit(f"k = {self.number(0, 4)}")
        for make in self.random.sample(inner, self.number(2, 6)):
            self.emit(make())
        self.indent -= 1
        self.scope.names["cls"].append(name)
        uses = [
            lambda: f"out.append({name}.k)",
            lambda: f"out.append((issubclass({name}, Box), isinstance({name}, type), {name}.__name__))",
            lambda: f"try: out.append({name}(1).get())\nexcept Exception as error: out.append(type(error).__name__)",
            lambda: f"try: out.append({name}(0))\nexcept Exception as error: out.append(str(error)[:20])",
            lambda: f"out.append(getattr({name}, 'shared', None))",
            lambda: f"try: out.append({name}.made(2).own())\nexcept (AttributeError, TypeError): out.append('no')",
            lambda: f"try: raise {name}(3)\nexcept (ValueError, TypeError) as error: out.append(type(error).__name__)",
            lambda: f"{name}.k = {self.integer(1)}",
            lambda: f"try: out.append({name}(1) + 1)\nexcept TypeError: out.append('no sum')",
            lambda: f"out.append([c.__name__ for c in {name}.__mro__])",
        ]
        for make in self.random.sample(uses, self.number(1, 4)):
            for line in make().split("\n"):
                self.emit(line)

    def drive_generator(self):
        name = self.new("gen")
        self.emit(f"{name} = {self.generator()}({self.integer(1)}, {self.name('tensor')}, out)")
        for _ in range(self.number(1, 3)):
            self.emit(
                self.one_of(
                    lambda: f"out.append(next({name}, None))",
                    lambda: f"out.extend(itertools.islice({name}, 4))",
                    lambda: f"out.append({name}.send(None))",
                    lambda: f"{name}.close()",
                    lambda: f"out.append(hurl({name}))",
                    lambda: (
                        f"out.append({name}.throw(Oops('thrown')))" if self.chance(0.3) else f"out.append(hurl({name}))"
                    ),
                    lambda: f"out.append(drive({name}, {self.integer(1)}))",
                    lambda: f"for k in {name}: out.append(k)",
                )
            )

    def generator(self):
        return "counting"

    def call_function(self):
        self.emit(f"out.append({self.function_call()})")

    def function_call(self):
        return f"bump({self.integer(1)})"
