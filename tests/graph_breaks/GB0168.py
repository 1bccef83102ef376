"""Runs bytecode whose CALL_FUNCTION_EX carries an undefined flag bit that CPython 3.11 ignores."""

CODE = "GB0168"
MAX_PYTHON = (3, 11)  # later ones do not ignore it
import dis
import types

import torch


def with_extra_call_flag(fn):
    code = bytearray(fn.__code__.co_code)
    for ins in dis.get_instructions(fn):
        if ins.opname == "CALL_FUNCTION_EX":
            code[ins.offset + 1] = ins.arg | 2
    return types.FunctionType(fn.__code__.replace(co_code=bytes(code)), fn.__globals__, fn.__name__)


def add(a, b):
    return a + b


def add_pair(pair):
    return add(*pair)


def run(compile):
    pair = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    return compile(with_extra_call_flag(add_pair))(pair)


def fix(compile):
    pair = (torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]))
    return compile(add_pair)(pair)
