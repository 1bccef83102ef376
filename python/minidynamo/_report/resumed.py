"""What follows a break, as Python: the statements of the function that stand after it, with the values it is handed."""

import ast

_MOST = 4000  # characters
_SAID = {"inside": "inside of", "loop": "and the next rounds of"}
_BEFORE = {"rest": "goes on in the middle of:", "head": "goes on at the first line of:"}


def python_of(sources, resume, broken=None):
    """The text of a resume function, from the user's own source; "" where that is not to be had.

    `broken`: the frame whose part of a line broke; what it computed is handed on, and stands there by its name.
    """
    found = sources.function_at(resume["file"], resume["at"])
    if found is None:
        return ""
    lines, node = sources.lines(resume["file"]), found[3]
    named = [each for each in resume["arguments"] if not each.startswith("___stack")]
    stack = [each for each in resume["arguments"] if each.startswith("___stack")]
    out = [f"def {resume['function']}({', '.join([*stack, *named])}):"]
    inner = "    "
    for k, each in enumerate(stack):
        what = "the value of what broke" if k == len(stack) - 1 else "computed by the line before it broke"
        out.append(f"{inner}# {each}: {what}")
    for how, statement in _after(node.body, resume["at"]):
        if how in _SAID:
            out.append(f"{inner}# {_SAID[how]}: {lines[statement.lineno - 1].strip()}")
            continue
        if how in _BEFORE:
            out.append(f"{inner}# {_BEFORE[how]}")
        first, last = statement.lineno, statement.end_lineno
        cut = len(lines[first - 1].encode()[: statement.col_offset].decode(errors="replace"))
        for number, text in enumerate(lines[first - 1 : last], first):
            if how in _BEFORE and stack and broken is not None and broken["line"] == number:
                before, _, after = sources.executed(broken)
                text = text[: len(text) - len(text.lstrip())] + before + stack[-1] + after
            whole = number == first or not text[:cut].strip()
            text = text[cut:] if whole else text.lstrip()
            out.append(inner + (text[2:] if number == first and text.startswith("elif ") else text))
    text = "\n".join(out)
    return text if len(text) <= _MOST else text[:_MOST] + "\n    ..."


def _after(body, line):
    """(how, statement) of what runs from a line on: the innermost block first, then what follows it."""
    rows = []
    for statement in body:
        first, last = statement.lineno, statement.end_lineno or statement.lineno
        if last < line:
            continue
        blocks = [getattr(statement, name, None) or [] for name in ("body", "orelse", "finalbody")]
        blocks += [each.body for each in getattr(statement, "handlers", ()) or getattr(statement, "cases", ())]
        held = [b for b in blocks if b and b[0].lineno <= line <= (b[-1].end_lineno or b[-1].lineno)]
        if first > line or isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            rows.append(("whole", statement))
        elif held:
            if isinstance(statement, (ast.Try, ast.With, ast.AsyncWith)):
                rows.append(("inside", statement))
            rows += _after(held[0], line)
            if isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
                rows.append(("loop", statement))
        elif blocks[0]:
            rows.append(("head", statement))
        else:
            rows.append(("rest", statement))
    return rows
