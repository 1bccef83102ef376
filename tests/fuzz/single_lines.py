"""Random statements of one line."""

from .expressions import KEYS, Expressions
from .snippets import SNIPPETS


class SingleLines(Expressions):
    """Writes lines, one below the other; a subclass adds statements with blocks."""

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

    def call_function(self):
        self.emit(f"out.append({self.function_call()})")

    def function_call(self):
        return f"bump({self.integer(1)})"
