"""Random programs on tensors that require grad: views, writes in place, branches on values, loops, regions without
gradients, hooks, graph breaks. Every variable is a float64 tensor of 3 x 4."""

import random

UNARY = [
    "torch.sin({a})",
    "{a}.tanh()",
    "torch.sigmoid({a})",
    "torch.relu({a})",
    "({a} * 0.3).exp()",
    "{a}.abs().sqrt()",
    "{a}.square() * 0.1",
    "-{a}",
    "torch.softmax({a}, {dim})",
    "torch.nn.functional.layer_norm({a}, (4,))",
    "torch.nn.functional.gelu({a})",
    "{a}.cumsum({dim}) * 0.2",
    "{a}.clamp(-0.5, 0.7)",
    "{a}.sum({dim}, keepdim=True) * {b}",
    "{a} - {a}.mean({dim}, keepdim=True)",
    "{a}.amax({dim}, keepdim=True) + {b}",
    "{a}.var({dim}, keepdim=True) + {b}",
    "torch.where({a} > 0, {a}, {b} * 0.1)",
    "{a}.detach() * {b}",
    "{a}.clone()",
    "torch.nn.functional.normalize({a}, dim={dim})",
    "torch.logsumexp({a}, {dim}, keepdim=True) - {b}",
]
BINARY = [
    "{a} + {b}",
    "{a} - {b}",
    "{a} * {b}",
    "{a} / ({b}.abs() + 1)",
    "torch.maximum({a}, {b})",
    "torch.lerp({a}, {b}, 0.3)",
    "torch.addcmul({a}, {b}, {c}, value=0.5)",
    "{a} @ ({b}.t() @ {c}) * 0.2",
    "torch.hypot({a}, {b} + 2)",
    "torch.einsum('ij,kj,kl->il', {a}, {b}, {c}) * 0.1",
]
VIEWS = [
    "{a}.t().contiguous().t()",
    "{a}.flip({dim})",
    "{a}.roll(1, {dim})",
    "{a}.reshape(-1)[{start}:].repeat(2)[:12].view(3, 4)",
    "{a}.view(2, 6).t().reshape(3, 4)",
    "torch.cat([{a}[1:], {b}[:1]])",
    "torch.stack([{a}[:, 0], {b}[:, 1], {a}[:, 3], {c}[:, 2]], 1)",
    "{a}[torch.tensor([2, 0, 2])]",
    "{a}.gather(1, torch.tensor([[0, 3, 1, 1], [2, 2, 0, 1], [3, 0, 3, 2]]))",
    "{a}[{row}].expand(3, 4)",
    "torch.tril({a}) + torch.triu({b}, 1)",
    "{a}.unsqueeze(0).expand(2, 3, 4).sum(0)",
    "{a}.unfold(1, 2, 1).sum(-1).repeat(1, 2)[:, :4]",
    "torch.nn.functional.pad({a}[:, 1:], (1, 0))",
]
WRITES = [
    "{t}.add_({a})",
    "{t}.mul_({a})",
    "{t}.sub_({a}, alpha=0.5)",
    "{t}[{row}] = {a}[{other}]",
    "{t}[:, {column}] *= 2",
    "{t}[0:2].copy_({a}[1:3])",
    "{t}.t()[{column}].add_({a}[:, 0])",
    "{t}.view(-1)[{start}:{start} + 4].mul_({a}.reshape(-1)[:4])",
    "{t}.zero_()",
    "{t}.clamp_(-1, 1)",
    "{t}.tanh_()",
    "{t}[{t} > 0.5] = 0.25",
    "{t}.index_add_(0, torch.tensor([0, 2]), {a}[:2])",
    "{t} += {a}",
    "{t}.masked_fill_({a} > 1, 0.5)",
    "{t}.detach().mul_(2)",
]


class Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.variables = ["x", "y", "z"]
        self.written = ["z"]  # computed tensors: leaves may not be written to
        self.lines = []

    def pick(self, names=None):
        names = names or self.variables
        return self.random.choice(names[-4:] if self.random.random() < 0.6 else names)

    def fill(self, template, **given):
        row = self.random.randrange(3)
        return template.format(
            **{name: self.pick() for name in "abc"},
            **given,
            dim=self.random.randrange(2),
            row=row,
            other=self.random.randrange(3),
            column=self.random.randrange(4),
            start=self.random.randrange(7),
        )

    def assignment(self, depth):
        self.emit(depth, f"v{len(self.lines)} = {self.fill(self.random.choice(UNARY + BINARY + VIEWS))}")
        name = self.lines[-1].split()[0]
        self.variables.append(name)
        if depth == 1:
            self.written.append(name)
        return name

    def emit(self, depth, text):
        self.lines.append("    " * depth + text)

    def write(self, depth):
        self.emit(depth, self.fill(self.random.choice(WRITES), t=self.pick(self.written)))

    def block(self, depth, count):
        known = len(self.variables)
        for _ in range(count):
            self.statement(depth)
        del self.variables[known:]  # not made on every way

    def statement(self, depth):
        kind = self.random.random()
        if kind < 0.6 or depth > 2:
            self.assignment(depth)
        elif kind < 0.78:
            self.write(depth)
        elif kind < 0.83:
            self.emit(depth, f"if {self.pick()}.sum() > {self.random.choice([-1, 0, 1])}:")
            self.block(depth + 1, 2)
            self.emit(depth, "else:")
            self.block(depth + 1, 1)
        elif kind < 0.88:
            self.emit(depth, f"for _ in range({self.random.randrange(1, 4)}):")
            self.emit(depth + 1, self.fill("{t} = {t} * 0.5 + {a}.sin()", t=self.pick(self.written)))
        elif kind < 0.93:
            self.emit(depth, "with torch.no_grad():")
            self.block(depth + 1, 2)
        elif kind < 0.96:
            self.emit(depth, "torch._dynamo.graph_break()")
        elif kind < 0.98:
            self.emit(depth, f"if {(name := self.pick())}.requires_grad:")
            self.emit(depth + 1, f"{name}.register_hook(lambda g: g * 0.5)")
        else:
            self.emit(depth, self.fill("{t} = torch.utils.checkpoint.checkpoint(lambda a, b: (a * b).sin(), {a}, {b}, "
                                       "use_reentrant=False)", t=self.pick(self.written)))  # fmt: skip

    def source(self):
        for _ in range(self.random.randrange(3, 12)):
            self.statement(1)
        results = [self.pick() for _ in range(self.random.randrange(1, 4))]
        return "def f(x, y, z):\n" + "\n".join(self.lines) + f"\n    return {', '.join(results)},\n"


def program(seed):
    """The text of `f(x, y, z)`; x and y are leaves, z was computed."""
    return Program(seed).source()
