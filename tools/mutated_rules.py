"""Copies of the frontend's sources in which each predicate that decides what something is can be turned round.

    {"rule:values/let_go.cpp:is_watched": ...}    in a mutation build (tools/mutate.py); nothing is marked in the source

A predicate is a function at file level that gives a bool and is named like a question. What it returns goes through
mutated_rule() (ir/graph/mutation.h); lines keep their numbers.
"""

import re

ROOMS = ("values", "builtins", "marked_callables", "operators", "opcodes", "interpreter")
QUESTION = re.compile(
    r"^(?:inline |static )*bool ((?:is|has|can|may|takes|names|needs|allows|finds|hashes|issues|listed|registers|"
    r"changes|keeps|in|comes|belongs|knows)_\w+)\([^;{]*\)(?: const)? \{",
    re.MULTILINE,
)
LAMBDA = re.compile(r"\[[^\[\]]*\]\s*(?:\([^()]*\))?\s*(?:mutable\s*)?(?:->[^;{}]*)?$")
LITERAL = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|//[^\n]*')


def _blanked(text):
    """The same length, without what braces in literals and comments would confuse."""
    return LITERAL.sub(lambda m: " " * len(m[0]), text)


def _returns(code, start):
    """(begin, end) of what each return statement of the body that opens at `start` gives, lambdas left out."""
    found, stack, at = [], [], start
    while True:
        if code[at] == "{":
            stack.append(bool(LAMBDA.search(code, max(0, at - 200), at)) or (bool(stack) and stack[-1]))
        elif code[at] == "}":
            stack.pop()
            if not stack:
                return found
        elif code.startswith("return ", at) and not code[at - 1].isalnum() and not stack[-1]:
            end, depth = at + 7, 0
            while depth or code[end] != ";":
                depth += (code[end] in "({[") - (code[end] in ")}]")
                end += 1
            found.append((at + 7, end))
            at = end
        at += 1


def with_switches(path, text):
    """(the source with switches, the mutants' names)"""
    code, edits, names = _blanked(text), [], []
    for match in QUESTION.finditer(code):
        name = f"{path.parent.name}/{path.name}:{match[1]}"
        names.append(f"rule:{name}")
        edits += [(begin, end, name) for begin, end in _returns(code, match.end() - 1)]
    for begin, end, name in sorted(edits, reverse=True):
        text = f'{text[:begin]}::md::mutated_rule("{name}", {text[begin:end]}){text[end:]}'
    return f'#include "ir/graph/mutation.h"\n#line 1 "{path}"\n{text}', names


def sources(frontend):
    return [path for path in sorted(frontend.rglob("*.cpp")) if path.parent.name in ROOMS]


def rules(frontend):
    return [name for path in sources(frontend) for name in with_switches(path, path.read_text())[1]]


def write(frontend, target):
    """The copies; unchanged ones stay as old as they are."""
    wanted = {target / path.relative_to(frontend.parent): path for path in sources(frontend)}
    for old in set(target.rglob("*.cpp")) - set(wanted):
        old.unlink()
    for copy, path in wanted.items():
        text, _ = with_switches(path, path.read_text())
        if not copy.exists() or copy.read_text() != text:
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(text)
