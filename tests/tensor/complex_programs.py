"""Programs with complex numbers and Fourier transforms: how they are run and what of their results is kept.

complex_programs.txt has one a line: statements, `=>` and an expression of z, w (complex128), m (a complex matrix), x
and y (float64). Those that begin with `@` give the gradients of the operands instead of the values. torch's results are
in complex_programs.json, which `python complex_programs.py` writes where torch is installed.
"""

import json
import math
from pathlib import Path

import numpy

HERE = Path(__file__).parent
RECORD = HERE / "complex_programs.json"


def programs():
    """All lines but comments."""
    return [line for line in (HERE / "complex_programs.txt").read_text().splitlines() if line and line[0] != "#"]


def operands(torch):
    """z, w, m, x, y."""

    def waves(count):
        return [complex(math.sin(1.3 * i + 0.4) * 2, math.cos(2.1 * i + 0.7)) for i in range(count)]

    z = torch.tensor(waves(4), dtype=torch.complex128)
    m = torch.tensor(waves(9), dtype=torch.complex128).reshape(3, 3)
    reals = [torch.tensor([math.sin(1.7 * i + 0.3) * 1.5 for i in range(n)], dtype=torch.float64) for n in (4, 9)]
    return z, z * 0.7 + 0.2j, m, reals[0], reals[1].reshape(3, 3)


def function(torch, program):
    """The function of the operands that a line stands for."""
    body, _, result = program.removeprefix("@").rpartition("=>")
    lines = [line.strip() for line in body.split(";") if line.strip()]
    text = "".join(f"    {line}\n" for line in [*lines, f"return {result.strip()}"])
    names = {"torch": torch, "math": math, "np": numpy, "F": torch.nn.functional}
    exec(f"def program(z, w, m, x, y):\n{text}", names)
    return names["program"]


def _rounded(value):
    if isinstance(value, list):
        return [_rounded(v) for v in value]
    return float(f"{value:.9g}") if isinstance(value, float) else value


def seen(torch, value):
    """A result as JSON keeps it."""
    if isinstance(value, torch.Tensor):
        shown = value.detach()
        if shown.is_complex():
            shown = torch.view_as_real(shown.resolve_conj())
        shown = shown.to(torch.float64) if shown.is_floating_point() else shown
        return ["tensor", str(value.dtype), list(value.shape), _rounded(shown.tolist())]
    if isinstance(value, (tuple, list)):
        return ["several", *[seen(torch, v) for v in value]]
    if isinstance(value, complex):
        return ["complex", *_rounded([value.real, value.imag])]
    if isinstance(value, numpy.generic):
        return seen(torch, value.item())
    return _rounded(value) if value is None or isinstance(value, (bool, int, float, str)) else repr(value)


def run(torch, program, compiled=lambda f: f):
    """What a program gives, or ["error", type]."""
    f, given = function(torch, program), operands(torch)
    try:
        if not program.startswith("@"):
            return seen(torch, compiled(f)(*given))
        given = [a.detach().clone().requires_grad_() for a in given]
        results = compiled(f)(*given)
        loss = 0
        for y in results if isinstance(results, tuple) else (results,):
            weights = torch.arange(1, y.numel() + 1, dtype=torch.float64).reshape(y.shape)
            loss = loss + ((y.real + 0.3 * y.imag) * weights if y.is_complex() else y * weights).sum()
        loss.backward()
        return seen(torch, [a.grad for a in given])
    except Exception as error:  # noqa: BLE001  which one it is, is the result
        return ["error", type(error).__name__.lstrip("_")]


def alike(ours, theirs, tolerance=1e-5):
    """Whether both are the same but for rounding."""
    if isinstance(ours, list) and isinstance(theirs, list):
        return len(ours) == len(theirs) and all(alike(a, b, tolerance) for a, b in zip(ours, theirs))
    numbers = [isinstance(v, (int, float)) and not isinstance(v, bool) for v in (ours, theirs)]
    if not all(numbers):
        return ours == theirs
    if math.isnan(ours) or math.isnan(theirs):
        return math.isnan(ours) and math.isnan(theirs)
    return ours == theirs or abs(ours - theirs) <= tolerance * max(1, abs(theirs))


if __name__ == "__main__":
    import warnings

    import torch

    warnings.simplefilter("ignore")
    rows = [f"{json.dumps(program)}: {json.dumps(run(torch, program))}" for program in programs()]
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")
