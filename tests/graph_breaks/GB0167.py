"""Unpacks keyword arguments from a mapping proxy with bytecode that hands the proxy to the call directly."""

CODE = "GB0167"
MAX_PYTHON = (3, 11)  # later ones take for granted that it is a dict
import dis
import types

import torch


def without_dict_copy(fn):
    """Drop the BUILD_MAP / DICT_MERGE pair, so f(**kw) passes kw itself to CALL_FUNCTION_EX."""
    code = bytearray(fn.__code__.co_code)
    for ins in dis.get_instructions(fn):
        if ins.opname in ("BUILD_MAP", "DICT_MERGE"):
            code[ins.offset : ins.offset + 2] = bytes([dis.opmap["NOP"], 0])
    return types.FunctionType(fn.__code__.replace(co_code=bytes(code)), fn.__globals__, fn.__name__)


def affine(x, gain, shift):
    return x * gain + shift


def call_affine(args, options):
    return affine(*args, **options)


def run(compile):
    options = types.MappingProxyType({"gain": 2, "shift": 1})
    return compile(without_dict_copy(call_affine))((torch.tensor([1.0, 2.0]),), options)


def fix(compile):
    options = types.MappingProxyType({"gain": 2, "shift": 1})
    return compile(call_affine)((torch.tensor([1.0, 2.0]),), dict(options))
