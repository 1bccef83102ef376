"""The pages of docs/ and the README name files that exist."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# `folder/file.ext` or `folder/`; patterns with <x> or * stand for a family.
NAMED = re.compile(r"`((?:\.ci|registry|ir|backend|frontend|python|tests|examples|benchmarks|docs|tools)/[\w./-]*)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_named_files_exist(page):
    named = NAMED.findall(page.read_text())
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_eight_files_are_named_once_each():
    text = (ROOT / "docs/architecture.md").read_text()
    story = text.partition("eight files")[2].partition("## Decisions")[0]
    first = re.findall(r"^\d\. `([\w/.]+)`", story, re.MULTILINE)
    assert len(first) == len(set(first)) == 8
