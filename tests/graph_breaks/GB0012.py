"""Hand-made code object whose never-assigned local has a dotted, compiler-style name."""

CODE = "GB0012"
EAGER_ERROR = "UnboundLocalError"
import types

import torch


def template(x):
    if x is None:
        acc = 0
    return x + acc


def run(compile):
    code = template.__code__
    names = tuple("." + n if n == "acc" else n for n in code.co_varnames)
    dotted = types.FunctionType(code.replace(co_varnames=names), globals())
    return compile(dotted)(torch.ones(2))


def fix(compile):
    def template(x):
        acc = 0
        return x + acc

    return compile(template)(torch.ones(2))
