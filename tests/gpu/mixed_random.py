"""Random programs whose tensors are on several devices: copies between them, numbers on the CPU, writes in place.

Variables `t...` are float32 tensors of 3 x 4 on some device, `n...` tensors () on the CPU.
"""

import random

DEVICES = ["cpu", "cuda:0", "cuda:1"]
UNARY = ["torch.tanh({a})", "{a}.sin() * 0.5", "torch.softmax({a}, 1)", "{a} - {a}.mean(0)", "{a}.t().contiguous().t()"]
BINARY = [
    "{a} + {b}",
    "{a} * {b} * 0.5",
    "torch.maximum({a}, {b})",
    "torch.where({a} > 0, {a}, {b})",
    "{b} - {a} @ ({a}.t() @ {b})",
]
WITH_NUMBER = [
    "{a} * {n}",
    "{n} - {a}",
    "torch.where({a} > {n}, {a}, {n})",
    "torch.addcmul({a}, {b}, {n})",
    "{a}.clamp(max={n})",
    "({a} * {n} + {m}).relu()",
    "({a} + {n}).sum(0) * {b}",
]
NUMBERS = [
    "{n} * 0.5 + {m}",
    "torch.tanh({n})",
    "torch.tensor({x})",
    "{a}.sum().to('cpu', copy=True) * 0.1",
    "{c}[1, 2] * 1",
    "{c}.amax()",
]
WRITES = [
    "{a}.mul_({n})",
    "{a}.add_({b}, alpha=0.5)",
    "{a}[1] = {b}[0]",
    "{a}[:, 2] *= {n}",
    "{a}[0] = {n}",
    "{a}.copy_({other})",
    "{a}[1:].copy_({other}[:2])",
    "{a}.t()[3].add_({n})",
    "{n}.add_(1)",
    "{n}.copy_({a}[0, 1])",
]


class _Program:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.tensors = {"x": "cpu", "y": "cuda:0", "z": "cuda:1"}
        self.numbers = ["n"]
        self.lines = []

    def filled(self, form):
        choice = self.random.choice
        device = choice(sorted(set(self.tensors.values())))
        here = [name for name, at in self.tensors.items() if at == device]
        there = [name for name, at in self.tensors.items() if at != device] or here
        on_cpu = [name for name, at in self.tensors.items() if at == "cpu"]
        names = {"a": choice(here), "b": choice(here), "other": choice(there), "c": choice(on_cpu)}
        numbers = {"n": choice(self.numbers), "m": choice(self.numbers), "x": round(self.random.uniform(-2, 2), 2)}
        return form.format(**names, **numbers), device

    def statement(self):
        name = f"t{len(self.lines)}"
        kind = self.random.randrange(8)
        if kind == 0:
            device = self.random.choice(DEVICES)
            source = self.random.choice(list(self.tensors))
            self.lines.append(f"{name} = {source}.to('{device}', copy=True)")
        elif kind == 1:
            device = self.random.choice(DEVICES)
            self.lines.append(f"{name} = torch.full((3, 4), 0.25, device='{device}')")
        elif kind == 2:
            number = f"n{len(self.lines)}"
            self.lines.append(f"{number} = {self.filled(self.random.choice(NUMBERS))[0]}")
            self.numbers.append(number)
            return
        elif kind in (3, 4):
            self.lines.append(self.filled(self.random.choice(WRITES))[0])
            return
        else:
            text, device = self.filled(self.random.choice(self.random.choice([UNARY, BINARY, WITH_NUMBER])))
            self.lines.append(f"{name} = {text}")
        self.tensors[name] = device


def program(seed):
    """`def f(x, y, z, n)`, of tensors on the CPU, the first and the second GPU and a number, which it may write to."""
    made = _Program(seed)
    for _ in range(made.random.randint(4, 14)):
        made.statement()
    results = [*made.random.sample(list(made.tensors), min(3, len(made.tensors))), made.numbers[-1]]
    return "\n    ".join(["def f(x, y, z, n):", *made.lines, f"return {', '.join(results)}"])


def on_one_device(source):
    """The same program, all of it on the CPU."""
    return source.replace("cuda:0", "cpu").replace("cuda:1", "cpu")
