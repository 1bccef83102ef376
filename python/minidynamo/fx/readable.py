"""What print_readable() adds to code: where a statement comes from, and of which type its value is."""

import re

from .. import _C

_FRAME = re.compile(r'\s*File "(.+)", line (\d+), in (.+)')
_SHORT = {"float32": "f32", "float64": "f64", "float16": "f16", "bfloat16": "bf16", "complex32": "c32",
          "complex64": "c64", "complex128": "c128", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
          "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "b8", "float8_e4m3fn": "f8e4m3fn",
          "float8_e5m2": "f8e5m2", "float8_e4m3fnuz": "f8e4m3fnuz", "float8_e5m2fnuz": "f8e5m2fnuz"}  # fmt: skip


def stack_summary(trace):
    """ "File: m.py:3 in f, code: y = x + 1" of the innermost frame of a stack trace; "" if it has none."""
    lines = trace.strip().split("\n")
    for number in range(len(lines) - 1, -1, -1):
        found = _FRAME.match(lines[number])
        if found:
            code = lines[number + 1].strip() if number + 1 < len(lines) else ""
            return f"File: {found[1]}:{found[2]} in {found[3]}, code: {code}"
    return ""


def comments_of(node, earlier):
    """(comment before the statement of `node`, its stack trace) where the last one came from `earlier`."""
    if node.op in ("placeholder", "output"):
        return "", earlier
    trace = node.stack_trace or ""
    if trace == earlier:
        return "", earlier
    summary = stack_summary(trace) if trace else ""
    return (f"\n# {summary}\n" if summary else "\n# No stacktrace found for following nodes\n"), trace


def type_comment(node, include_stride, include_device):
    """ "f32[2, 3]" for a node whose value's sizes are known from its `meta`; else None.

    `meta` has a tensor under "val" or "example_value", or its TensorMetadata under "tensor_meta".
    """
    if node.op == "placeholder" and node.type is int:  # a size, in a captured graph
        return f"Sym({node.target})"
    value = node.meta.get("val", node.meta.get("example_value"))
    if isinstance(value, _C.Tensor):
        text = _tensor_text(value.shape, value.dtype)
        if include_stride:
            text += str(list(value.stride()))
        return text + (str(value.device) if include_device else "")
    known = node.meta.get("tensor_meta")
    if hasattr(known, "shape") and hasattr(known, "dtype"):
        return _tensor_text(known.shape, known.dtype)
    if isinstance(known, tuple) and len(known) == 2 and isinstance(known[1], _C.dtype):  # of a captured graph
        return _tensor_text(*known)
    return None


def _tensor_text(shape, dtype):
    name = str(dtype).partition(".")[2]
    return f"{_SHORT.get(name, name)}[{', '.join(map(str, shape))}]"
