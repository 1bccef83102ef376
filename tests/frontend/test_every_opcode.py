"""Every instruction of the running interpreter: traced into one graph, or listed with what happens instead.

`dis.opmap` says which there are. Each occurs in a program of every_opcode.py (its function or one that it calls), and
the program does compiled what it does plainly.
"""

import opcode
import types

import pytest

import minidynamo as torch
from frontend import every_opcode
from frontend.differential import codes as codes_seen
from frontend.differential import same
from frontend.every_opcode import ENDING, PROGRAMS
from minidynamo._dynamo import config

# Not in any code object as such: fillers, and marks that CPython puts into running code.
INTERNAL = {"CACHE", "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK", "ENTER_EXECUTOR"}
# Of the interactive prompt.
PROMPT_ONLY = {"PRINT_EXPR"}
# Long jumps and long argument lists only; tests/bytecode assembles them.
EXTENDED = {"EXTENDED_ARG"}


def x():
    return torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.smoke
@pytest.mark.parametrize(("program", "more"), PROGRAMS, ids=lambda v: getattr(v, "__name__", ""))
def test_traced(program, more):
    with config.patch(trace_more=program.__name__ == "cells"):  # DELETE_DEREF: GB0082 by default
        same(program, lambda: (x(), *more), frames=1, breaks=[])


@pytest.mark.smoke
@pytest.mark.parametrize(("program", "codes"), [(f, c) for f, _, c in ENDING], ids=lambda v: getattr(v, "__name__", ""))
def test_ends_the_graph(program, codes):
    same(program, lambda: (x(),))
    assert codes <= codes_seen()


# --- the walk


def instructions(code):
    """Names of all instructions of a code object and those inside it."""
    found = {opcode.opname[op] for op in code.co_code[::2]}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= instructions(constant)
    return found


def reached(program):
    """The same for a program and the functions beside it that it uses."""
    seen, waiting, found = set(), [program], set()
    while waiting:
        f = waiting.pop()
        if f in seen:
            continue
        seen.add(f)
        code = f if isinstance(f, types.CodeType) else f.__code__
        found |= instructions(code)
        for name in code.co_names:
            v = vars(every_opcode).get(name)
            waiting += [v] if isinstance(v, (types.FunctionType, types.CodeType)) else []
            waiting += [m for m in vars(v).values() if isinstance(m, types.FunctionType)] if isinstance(v, type) else []
    return found


@pytest.mark.smoke
def test_each_instruction_is_in_a_program():
    traced = set().union(*(reached(f) for f, _ in PROGRAMS))
    ending = {name for _, listed, _ in ENDING for name in listed}
    for program, listed, _ in ENDING:
        there = {name for name in listed if name in opcode.opmap}
        assert there <= reached(program), (program.__name__, there - reached(program))
    every = {n for n, k in opcode.opmap.items() if k < 256 and not n.startswith("INSTRUMENTED")}
    missing = every - traced - ending - INTERNAL - PROMPT_ONLY - EXTENDED
    assert not missing, sorted(missing)
