"""What pages name in passing is there: attributes of torch, settings, variables, codes, commands and their options."""

import pathlib
import re
import tomllib

import pytest
from markdown_it import MarkdownIt

import minidynamo as torch
from minidynamo import registry
from minidynamo.__main__ import main

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/guide").glob("*.md"))]
PAGES = [p for p in PAGES if p.name not in ("api.md", "conformance.md")]  # written from what there is
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
VARIABLES = tomllib.loads((ROOT / "tools/reference_texts.toml").read_text())["environment"]


def spans(page):
    """What stands in backticks in the text of a page, and the commands of its console blocks."""
    for token in MarkdownIt("commonmark").enable("table").parse((ROOT / page).read_text()):
        if token.type == "fence" and token.info.startswith("console"):
            yield from (line[2:] for line in token.content.split("\n") if line.startswith("$ "))
        for child in token.children or ():
            if child.type == "code_inline":
                yield child.content


def resolves(path):
    thing = torch
    for part in path.split(".")[1:]:
        try:
            thing = getattr(thing, part)
        except AttributeError:
            return False
    return True


@pytest.mark.parametrize("page", NAMES)
def test_attributes_are_there(page):
    named = {n for span in spans(page) for n in re.findall(r"(?<![\w/.])(?:torch|minidynamo)(?:\.[A-Za-z_]\w*)+", span)}
    paths = {re.sub(r"^minidynamo\b", "torch", n) for n in named if not re.search(r"\.(py|json|html|so)$", n)}
    assert sorted(n for n in paths if not resolves(n)) == []


@pytest.mark.parametrize("page", NAMES)
def test_settings_and_variables_are_there(page):
    settings = {n for span in spans(page) for n in re.findall(r"(?<![\w/])config\.([a-zA-Z_]\w*)", span)}
    known = {*torch._dynamo.config.get_config_copy(), "patch", "py", "x"}  # config.py; `config.x` is any
    assert sorted(settings - known) == []
    variables = {n for span in spans(page) for n in re.findall(r"\bMINIDYNAMO_[A-Z_]*[A-Z]\b", span)}
    of_tests_and_builds = {n for n in variables if n not in VARIABLES}
    sources = "".join(p.read_text() for p in (ROOT / "tests").rglob("*.py") if "/docs/" not in p.as_posix())
    sources += (ROOT / "Makefile").read_text() + (ROOT / "CMakeLists.txt").read_text()
    sources += "".join(p.read_text() for p in (ROOT / "ir").rglob("*.cpp"))
    assert sorted(n for n in of_tests_and_builds if n not in sources) == []


@pytest.mark.parametrize("page", NAMES)
def test_codes_are_there(page):
    codes = {b.code for b in registry.all_breaks()}
    assert sorted(set(re.findall(r"\bGB[0-8]\d{3}\b", (ROOT / page).read_text())) - codes) == []


@pytest.fixture(scope="module")
def helps():
    """{command: its help}"""
    import contextlib
    import io

    found = {}
    for command in ("", "run", "explain", "check", "report", "ptx", "site"):
        text = io.StringIO()
        with contextlib.redirect_stdout(text), contextlib.suppress(SystemExit):
            main([*command.split(), "--help"])
        found[command] = text.getvalue()
    return found


@pytest.mark.parametrize("page", NAMES)
def test_commands_and_options_are_there(page, helps):
    wrong = []
    for span in spans(page):
        for command, rest in re.findall(r"python -m minidynamo ([a-z]+)\b([^|&;>`]*)", span):
            options = re.findall(r"(?<!\S)(--[a-z][a-z-]*)", rest)
            if command not in helps:
                wrong.append(span)
            wrong += [f"{command} {o}" for o in options if o not in helps[command]] if command in helps else []
    assert wrong == []
