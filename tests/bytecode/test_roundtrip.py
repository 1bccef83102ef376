"""decode and assemble over the whole standard library, and what they say about damaged code."""

import dis
import opcode
import os
import sys
import sysconfig
import types
import warnings
from pathlib import Path

import pytest
from minidynamo._C import _bytecode

STDLIB = Path(sysconfig.get_path("stdlib"))
FIELDS = """co_argcount co_posonlyargcount co_kwonlyargcount co_nlocals co_flags co_names co_varnames co_cellvars
co_freevars co_filename co_name co_qualname co_firstlineno""".split()
# Where a jump distance lies at 255/256 units CPython 3.13 stops at a larger layout than ours.
OTHER_JUMP_SIZE = 4


def nested(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from nested(constant)


def library_code():
    for path in sorted(STDLIB.rglob("*.py")):
        if {"site-packages", "dist-packages"} & set(path.parts):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                top = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # test files that must not compile
            continue
        yield from nested(top)


def canonical(code):
    """What the code means: operations, operands, jumps, handlers, without offsets and positions."""
    return [(*row[:5], row[6]) for row in _bytecode.decode(code)]


def tables(code):
    return code.co_code, code.co_exceptiontable, code.co_linetable


def test_standard_library():
    total = differ = rule_differ = 0
    for code in library_code():
        total += 1
        again = _bytecode.roundtrip(code)
        for field in FIELDS:
            assert getattr(again, field) == getattr(code, field), (code, field)
        assert again.co_stacksize - code.co_stacksize in range(-3, 2), code
        same = tables(again) == tables(code)
        differ += not same
        by_rule = _bytecode.roundtrip(code, 1)
        rule_differ += by_rule.co_code != code.co_code
        if not same:
            assert canonical(again) == canonical(code), code
            lines = [[row[5][0] for row in _bytecode.decode(c)] for c in (again, code)]
            assert lines[0] == lines[1], code
        if by_rule.co_code != code.co_code:
            assert canonical(by_rule) == canonical(code), code
    assert total > 10_000
    assert differ <= (OTHER_JUMP_SIZE if sys.version_info >= (3, 13) else 0)
    print(f"{total} code objects, {differ} not identical, {rule_differ} by rule alone")


def test_opcode_table_is_the_interpreters():
    table = _bytecode.raw_opcodes()
    cache_table = opcode._inline_cache_entries
    for name, number in opcode.opmap.items():
        never = number >= 256 or name.startswith("INSTRUMENTED")
        if never or name in ("CACHE", "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK", "ENTER_EXECUTOR"):
            continue
        caches = cache_table.get(name, 0) if isinstance(cache_table, dict) else cache_table[number]
        assert table.pop(name) == (number, caches), name
    assert not table


def loop(items, scale):
    total = 0
    for item in items:
        total += scale(item, weight=2)
    with open(os.devnull) as file:
        file.read()
    return total


def test_printed_operands():
    """Names and operands are those that dis shows."""

    rows = {row[7]: (row[8], row[9]) for row in reversed(_bytecode.decode(loop.__code__)) if row[8]}
    seen = 0
    for instruction in dis.get_instructions(loop):
        if instruction.offset not in rows or instruction.opname.count("_FAST") == 2:
            continue
        expected = instruction.argval if instruction.arg is not None else None
        assert rows[instruction.offset] == (instruction.opname, str(expected)), instruction
        seen += 1
    assert seen > 40


def test_damaged_code_is_refused():
    code = loop.__code__
    for table in ("co_exceptiontable", "co_linetable"):
        whole = getattr(code, table)
        assert whole
        for length in range(len(whole)):
            cut = code.replace(**{table: whole[:length]})
            try:
                _bytecode.decode(cut)
            except SystemError as error:
                assert "cannot decode loop" in str(error)
        with pytest.raises(SystemError, match="table"):
            _bytecode.decode(code.replace(**{table: whole + b"\xf0"}))
        with pytest.raises(SystemError, match="misplaced"):
            _bytecode.decode(code.replace(**{table: b"\x00" + whole}))


@pytest.mark.parametrize("name, reason", [("COMPARE_OP", "unknown comparison"), ("LOAD_CONST", "no such constant")])
def test_damaged_operands_are_refused_before_anybody_reads_them(name, reason):
    code = (lambda x: x < 12345).__code__
    damaged = bytearray(code.co_code)
    damaged[next(i.offset for i in dis.get_instructions(code) if i.opname == name) + 1] = 255
    with pytest.raises(SystemError, match=reason):
        _bytecode.roundtrip(code.replace(co_code=bytes(damaged)))


def test_damaged_operands_are_refused():
    code = loop.__code__
    refused = 0
    for at in range(1, len(code.co_code), 2):
        damaged = bytearray(code.co_code)
        damaged[at] = 255
        try:
            _bytecode.roundtrip(code.replace(co_code=bytes(damaged)))
        except SystemError:
            refused += 1
    assert refused > 20
    # Code cut inside inline caches is not tried: PyCode_GetCode itself writes past its end.
    with pytest.raises(SystemError, match="ends in EXTENDED_ARG"):
        cut = code.co_code + bytes([opcode.opmap["EXTENDED_ARG"], 1])
        _bytecode.decode(code.replace(co_code=cut))


def test_hot_code_decodes_like_cold():
    cold = _bytecode.decode(loop.__code__)
    for _ in range(200):
        loop([1, 2], lambda item, weight: item * weight)
    assert _bytecode.decode(loop.__code__) == cold
