"""Code edited so that an f-string joins two results of str.format that name the same field."""

CODE = "GB0020"
import dis
import types

import torch


def report(x):
    before = "{loss:.1f}".format(loss=x)  # noqa: UP032
    after = "{loss}".format(loss=x * 2)  # noqa: UP032
    return x + 1, f"{before} -> {after}"


def raw_parts(fn):
    code = bytearray(fn.__code__.co_code)
    for i in dis.get_instructions(fn):
        if i.opname in ("FORMAT_VALUE", "FORMAT_SIMPLE"):
            code[i.offset : i.offset + 2] = bytes([dis.opmap["NOP"], 0])
    return types.FunctionType(fn.__code__.replace(co_code=bytes(code)), fn.__globals__)


def run(compile):
    return compile(raw_parts(report))(torch.tensor(1.0))


def fix(compile):
    return compile(report)(torch.tensor(1.0))
