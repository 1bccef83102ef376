"""Random statements. Each leaves the program valid and terminating, whatever lines are taken out of it later."""

from .single_lines import SingleLines

ERRORS = (
    "KeyError",
    "IndexError",
    "(KeyError, IndexError)",
    "Exception",
    "ValueError",
    "ArithmeticError",
    "LookupError",
)


class Statements(SingleLines):
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
