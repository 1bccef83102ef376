"""Links between pages lead to files and headings that are there; pages are in the dialect the site renders."""

import pathlib
import re
import urllib.parse

import pytest
from markdown_it import MarkdownIt

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]


def parsed(path):
    return MarkdownIt("commonmark").enable("table").parse(path.read_text())


def links(path):
    """Targets of links and pictures, as they are written."""
    for token in parsed(path):
        for child in token.children or ():
            target = child.attrGet("href") or child.attrGet("src")
            if target:
                yield target


def anchors(path):
    """What `#...` may name: headings in small letters, words joined by hyphens, without marks."""
    tokens = parsed(path)
    for heading, text in zip(tokens, tokens[1:]):
        if heading.type == "heading_open":
            words = "".join(child.content for child in text.children if child.type in ("text", "code_inline"))
            yield re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", NAMES)
def test_links_lead_somewhere(page):
    wrong = []
    for link in links(ROOT / page):
        if re.match(r"https?://", link):
            continue
        path, _, anchor = urllib.parse.unquote(link).partition("#")
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            wrong.append(link)
    assert wrong == []


@pytest.mark.parametrize("page", [n for n in NAMES if n.startswith("docs/guide/")])
def test_chapters_have_their_parts(page):
    """A chapter begins with a program, ends with where to go next, and is short."""
    text = (ROOT / page).read_text()
    tokens = parsed(ROOT / page)
    assert next(t for t in tokens if t.type in ("fence", "paragraph_open")).type == "fence" or "```" in text[:400]
    headings = [words.content for t, words in zip(tokens, tokens[1:]) if t.type == "heading_open"]
    assert headings[-1] == "Where to go next"
    assert 60 <= text.count("\n") <= 260
    assert f"({page.removeprefix('docs/')})" in (ROOT / "docs/README.md").read_text()


def test_the_index_names_every_page():
    index = (ROOT / "docs/README.md").read_text()
    pages = [p.relative_to(ROOT / "docs").as_posix() for p in PAGES if p.parent != ROOT]
    assert [p for p in pages if p != "README.md" and not p.startswith("reference/") and f"({p})" not in index] == []
