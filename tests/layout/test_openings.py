"""Every file opens with what it is for."""

import ast
import re

from layout.tree import sources, text_of

# Their first lines are their settings, and the golden files show how the programs' lines are numbered.
WITHOUT = ("tests/pages/programs/",)
CPP, PYTHON = (".h", ".cpp", ".c", ".inc"), (".py",)


def opening(name, text):
    """The comment a C++ file begins with, the docstring of a Python module; None where there is none."""
    if name.endswith(PYTHON):
        return ast.get_docstring(ast.parse(text))
    lines = re.match(r"(?:// clang-format off\n)?((?://.*\n)+)", text)
    if lines:
        return re.sub(r"^// ?", "", lines[1], flags=re.MULTILINE).strip()
    block = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    return block and block[1].strip(" *\n")


def says_something(words):
    """More than a licence or an instruction to a tool."""
    return bool(words) and len(words.split()) >= 3 and not re.match(r"(SPDX|Copyright|NOLINT)", words)


def test_files_open_with_what_they_are_for():
    names = [name for name in sources(*CPP, *PYTHON) if not name.startswith(WITHOUT)]
    assert len(names) > 1000
    # Nothing but a docstring is wanted of the files that make folders packages; they may be empty.
    assert [n for n in names if text_of(n) and not says_something(opening(n, text_of(n)))] == []


def test_openings_are_told_from_other_lines():
    assert says_something(opening("a.h", "// What a tensor\n// holds.\n#pragma once\n"))
    assert says_something(opening("a.py", '"""What a tensor holds."""\n'))
    for text in (
        "#pragma once\n// What it is for.\n",
        "\n// What it is for.\n",
        "// clang-format off\n",
        "// SPDX-License-Identifier: MIT OR Apache\n",
        "// Tensors.\n",
    ):
        assert not says_something(opening("a.cpp", text))
    assert not says_something(opening("a.py", "import os\n"))
