"""The pages of docs/ as HTML: links between them go to their pages, diagrams are drawn, HTML in them stays text."""

import functools
import os
import posixpath
import re
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from . import diagrams, markup

TOP = Path(__file__).resolve().parents[3]  # of a checkout; an installed package has no docs
# The order of the chapters, by their names in docs/ without ".md"; those not named here follow. The README comes first.
ORDER = ("guide/index", "guide/*", "performance", "numerics", "events", "api", "architecture", "testing", "conformance")
LEFT_OUT = ("api",)  # is the API part of the site
_PICTURES = (".png", ".svg", ".jpg", ".gif", ".ipynb", ".txt", ".json")  # what is copied beside the pages
_ALLOWED = re.compile(r"</?(br|kbd|sub|sup|details|summary)\s*/?>|<!--.*?-->", re.DOTALL)


class Document:
    """One page: `source` is its name in the checkout, `page` that on the site."""

    def __init__(self, source, page):
        self.source, self.page = source, page
        self.title, self.body, self.contents, self.files = "", Markup(""), [], {}


def _place(name):
    """Where a chapter stands in ORDER."""
    for at, pattern in enumerate(ORDER):
        if pattern == name or pattern.endswith("/*") and name.startswith(pattern[:-1]):
            return at, name
    return len(ORDER), name


def found(top=TOP):
    """The documents of a checkout in their order; none where there are none."""
    names = sorted(
        (path.relative_to(top / "docs").with_suffix("").as_posix() for path in (top / "docs").rglob("*.md")), key=_place
    )
    documents = [Document(f"docs/{name}.md", f"docs/{name}.html") for name in names if name not in LEFT_OUT]
    if documents and (top / "README.md").is_file():
        documents.insert(0, Document("README.md", "docs/index.html"))
    pages = {document.source: document.page for document in documents} | {"docs/api.md": "api/index.html"}
    for document in documents:
        _read(document, top, pages)
    return documents


# ---- one document ------------------------------------------------------------------------------------------------


@functools.cache
def _parser():
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _indented)
    parser.add_render_rule("table_open", _table)
    parser.add_render_rule("table_close", lambda *given: "</table></div>\n")
    parser.add_render_rule("html_block", _raw)
    parser.add_render_rule("html_inline", _raw)
    return parser


def _fence(self, tokens, at, options, env):
    language, text = tokens[at].info.strip().partition(" ")[0], tokens[at].content
    if language == "mermaid":
        drawn = diagrams.drawn(text)
        if drawn is not None:
            return drawn
    return _program(text, language or "text")


def _indented(self, tokens, at, options, env):
    text = tokens[at].content
    return _program(text, "python" if re.match(r"(import|from|def|class|@|with|for)\b", text) else "text")


def _program(text, language):
    coloured = markup.coloured(text.rstrip("\n"), language)
    return Markup('<div class="program"><pre tabindex="0"><code>{}</code></pre></div>\n').format(coloured)


def _table(self, tokens, at, options, env):
    return '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'


def _raw(self, tokens, at, options, env):
    """Of markup in a document comments go and line breaks stay; the rest is text."""
    text, parts, begin = tokens[at].content, [], 0
    for match in _ALLOWED.finditer(text):
        parts += [escape(text[begin : match.start()]), "" if match[0].startswith("<!--") else Markup(match[0])]
        begin = match.end()
    return Markup("").join([*parts, escape(text[begin:])])


def _anchor(text, taken):
    """The anchor of a heading, as it is usually made of its words."""
    name = re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", text.lower()).strip()) or "section"
    taken[name] = taken.get(name, -1) + 1
    return f"{name}-{taken[name]}" if taken[name] else name


def _headings(document, tokens):
    """Gives headings their anchors, and notes them for the table of contents. No level is left out."""
    taken, above = {"content": 0}, 0
    for at, token in enumerate(tokens):
        if token.type != "heading_open":
            continue
        text = "".join(child.content for child in tokens[at + 1].children if child.type in ("text", "code_inline"))
        anchor = _anchor(text, taken)
        token.attrSet("id", anchor)
        above = level = min(int(token.tag[1]), above + 1)
        token.tag = tokens[at + 2].tag = f"h{level}"
        if level == 1 and not document.title:
            document.title = text
        elif level in (2, 3):
            document.contents.append((level, anchor, text))


def _links(document, tokens, top, pages):
    """Links to documents go to their pages, pictures are copied; links to other files of the checkout become text."""
    here = posixpath.dirname(document.source)
    for token in tokens:
        children, opened = token.children or [], []
        for child in children:
            if child.type == "link_open":
                opened.append(child)
                child.meta["kept"] = _point(child, "href", document, here, top, pages)
            elif child.type == "link_close" and not opened.pop().meta["kept"]:
                child.hidden = True
            elif child.type == "image" and not _point(child, "src", document, here, top, pages):
                child.type, child.content = "text", child.content or "(a picture)"
        token.children = [c for c in children if not c.hidden and c.meta.get("kept", True)] or token.children and []


def _point(token, attribute, document, here, top, pages):
    """Sets where a link goes; whether it goes anywhere."""
    target = token.attrGet(attribute) or ""
    if re.match(r"(https?|mailto):", target):
        return attribute == "href"  # pictures from elsewhere would be asked for
    path, _, anchor = target.partition("#")
    anchor = f"#{anchor}" if anchor else ""
    if not path:
        return bool(anchor)
    name = posixpath.normpath(posixpath.join(here, path))
    if name in pages:
        page = pages[name]
    elif name.endswith(_PICTURES) and not name.startswith("..") and (top / name).is_file():
        page = posixpath.join("docs", "files", name)
        document.files[page] = top / name
    else:
        return False
    token.attrSet(attribute, posixpath.relpath(page, posixpath.dirname(document.page)) + anchor)
    return True


def _read(document, top, pages):
    text = (top / document.source).read_text(encoding="utf-8")
    parser, env = _parser(), {}
    tokens = parser.parse(text, env)
    _headings(document, tokens)
    _links(document, tokens, top, pages)
    document.title = document.title or os.path.basename(document.source).removesuffix(".md")
    document.body = Markup(parser.renderer.render(tokens, parser.options, env))


def rendered(text):
    """A piece of Markdown without links of its own."""
    return Markup(_parser().render(text))
