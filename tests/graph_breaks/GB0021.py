"""Code edited so that an f-string receives a tensor where formatted text is expected."""

CODE = "GB0021"
EAGER_ERROR = "TypeError"
import dis
import types

import torch


def describe(x):
    return x + 1, f"{x} units"


def raw_parts(fn):
    code = bytearray(fn.__code__.co_code)
    for i in dis.get_instructions(fn):
        if i.opname in ("FORMAT_VALUE", "FORMAT_SIMPLE"):
            code[i.offset : i.offset + 2] = bytes([dis.opmap["NOP"], 0])
    return types.FunctionType(fn.__code__.replace(co_code=bytes(code)), fn.__globals__)


def run(compile):
    return compile(raw_parts(describe))(torch.tensor(1.0))


def fix(compile):
    def plus_one(x):
        return x + 1

    x = torch.tensor(1.0)
    return compile(plus_one)(x), f"{x} units"
