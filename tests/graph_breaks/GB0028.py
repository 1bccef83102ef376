"""Hand-assembled code tests an ordinary value with the opcode that an except clause uses."""

CODE = "GB0028"
import dis
import types

import torch


def template(x, reason):
    return KeyError


def assemble(*ops):
    return b"".join(bytes([dis.opmap[name], arg]) for name, arg in ops)


def load_global(code):
    """The instruction as the running Python has it, with its caches."""
    at = {i.opname: i.offset for i in dis.get_instructions(code)}
    end = min(offset for offset in at.values() if offset > at["LOAD_GLOBAL"])
    return code.co_code[at["LOAD_GLOBAL"] : end]


def run(compile):
    body = assemble(("RESUME", 0), ("LOAD_FAST", 1))
    body += load_global(template.__code__)
    body += assemble(
        ("CHECK_EXC_MATCH", 0),
        ("SWAP", 2),
        ("POP_TOP", 0),
        ("LOAD_FAST", 0),
        ("BUILD_TUPLE", 2),
        ("RETURN_VALUE", 0),
    )
    code = template.__code__.replace(co_code=body, co_stacksize=4)
    return compile(types.FunctionType(code, globals()))(torch.ones(2), 404)


def fix(compile):
    def check(x, reason):
        return isinstance(reason, KeyError), x

    return compile(check)(torch.ones(2), 404)
