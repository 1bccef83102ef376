"""The pages of docs/ as HTML: links between them go to their pages, diagrams are drawn, HTML in them stays text."""

import functools
import json
import os
import posixpath
import re
from pathlib import Path

from markdown_it import MarkdownIt
from markupsafe import Markup, escape

from .. import registry
from . import diagrams, markup

TOP = Path(__file__).resolve().parents[3]  # of a checkout; an installed package has no docs
START = "docs/README.md"  # lists the chapters, in their order; those it does not name follow by name
LEFT_OUT = ("docs/api.md",)  # is the API part of the site
_COPIED = (".png", ".svg", ".jpg", ".gif", ".txt", ".json")  # files that pages may link to
_ALLOWED = re.compile(r"</?(br|kbd|sub|sup|details|summary)\s*/?>|<!--.*?-->", re.DOTALL)
_LINK = re.compile(r"\]\(([^)#\s]+)")
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")  # colours of a terminal
_BREAK = re.compile(r"\bGB\d{4}\b")


class Document:
    """One page: `source` is its name in the checkout, `page` that on the site."""

    def __init__(self, source, page):
        self.source, self.page = source, page
        self.title, self.body, self.contents, self.files = "", Markup(""), [], {}

    @property
    def folder(self):
        """ "guide" for docs/guide/loops.md, "" for docs/events.md."""
        return posixpath.dirname(self.source).removeprefix("docs").removeprefix("/")


def _listed(top, source=START, seen=None):
    """Documents that a page links to, in its order, and those that lists among them link to."""
    seen = [] if seen is None else seen
    for target in _LINK.findall((top / source).read_text(encoding="utf-8")) if (top / source).is_file() else ():
        name = posixpath.normpath(posixpath.join(posixpath.dirname(source), target))
        if name not in seen and name.startswith("docs/") and (top / name).is_file():
            seen.append(name)
            if name.endswith("/README.md"):
                _listed(top, name, seen)
    return seen


def _page_of(source, has_start):
    """Where a document stands on the site."""
    if source == "README.md":
        return "docs/readme.html" if has_start else "docs/index.html"
    return re.sub(r"(?:(?<=/)README|([^/]+))\.\w+$", lambda match: f"{match[1] or 'index'}.html", source)


def found(top=TOP):
    """The documents of a checkout in their order; none where there are none."""
    names = sorted(
        path.relative_to(top).as_posix()
        for path in (top / "docs").rglob("*")
        if path.suffix in (".md", ".ipynb") and not path.name.startswith(".")
    )
    if not names:
        return []
    has_start = START in names
    listed = _listed(top)
    order = ["README.md"] if (top / "README.md").is_file() else []
    order = [START, *order] if has_start else order
    order += [name for name in listed if name in names and name not in order]
    order += [name for name in names if name not in order]
    documents = [Document(name, _page_of(name, has_start)) for name in order if name not in LEFT_OUT]
    pages = {document.source: document.page for document in documents} | {"docs/api.md": "api/index.html"}
    for document in documents:
        _read(document, top, pages)
    return documents


def by_folder(documents):
    """[(folder, its documents), ...]: "" holds where to start; the other pages of docs/ itself come last, as "more"."""
    groups, more = {"": []}, []
    for document in documents:
        if document.folder or document.source in ("README.md", START):
            groups.setdefault(document.folder, []).append(document)
        else:
            more.append(document)
    return [*groups.items(), ("more", more)]


# ---- one document ------------------------------------------------------------------------------------------------


@functools.cache
def _parser():
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.add_render_rule("fence", _fence)
    parser.add_render_rule("code_block", _indented)
    parser.add_render_rule("heading_close", _heading_end)
    parser.add_render_rule("text", _text)
    parser.add_render_rule("code_inline", _code)
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
    wraps = Markup(' class="text"') if language in ("text", "output") else ""
    return Markup('<div class="program"><pre tabindex="0"{}><code>{}</code></pre></div>\n').format(wraps, coloured)


def _heading_end(self, tokens, at, options, env):
    """A mark to copy the address of the place from; who hears or types has the table of contents."""
    anchor = tokens[at - 2].attrGet("id")
    mark = (
        Markup(' <a class="anchor" href="#{}" aria-hidden="true" tabindex="-1">#</a>').format(anchor) if anchor else ""
    )
    return Markup("{}</{}>\n").format(mark, Markup(tokens[at].tag))


def _is_linked(tokens, at):
    """Whether a token stands within a link."""
    return sum({"link_open": 1, "link_close": -1}.get(token.type, 0) for token in tokens[:at]) > 0


def _text(self, tokens, at, options, env):
    """Codes lead to their pages."""
    text = escape(tokens[at].content)
    if "up" not in env or _is_linked(tokens, at):
        return text
    return _BREAK.sub(lambda match: _link_of(match[0], env) or match[0], str(text))


def _code(self, tokens, at, options, env):
    """So do the names of documents and codes."""
    text = tokens[at].content
    address = None if "up" not in env or _is_linked(tokens, at) else env["pages"].get(text)
    if address:
        return Markup('<a href="{}"><code>{}</code></a>').format(env["up"] + address, text)
    link = _link_of(text, env) if "up" in env and not _is_linked(tokens, at) else None
    return Markup("<code>{}</code>").format(Markup(link) if link else text)


def _link_of(code, env):
    """A link to the page of a code; None where it is none."""
    if not _BREAK.fullmatch(code) or code not in env["codes"]:
        return None
    return f'<a href="{env["up"]}gb/{code.lower()}.html">{code}</a>'


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
    name = re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", text.lower()).strip()) or "section"
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
        above = level = max(min(int(token.tag[1]), above + 1), 2 if above else 1)  # one title only
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
    name = f"{name}/README.md" if f"{name}/README.md" in pages else name
    if name in pages:
        page = pages[name]
    elif name.endswith(_COPIED) and not name.startswith("..") and (top / name).is_file():
        page = posixpath.join("docs", "files", name)
        document.files[page] = top / name
    else:
        return False
    token.attrSet(attribute, posixpath.relpath(page, posixpath.dirname(document.page)) + anchor)
    return True


def _read(document, top, pages):
    text = (top / document.source).read_text(encoding="utf-8")
    if document.source.endswith(".ipynb"):
        text = notebook_text(text)
    codes = {b.code for b in registry.all_breaks()}
    parser, env = _parser(), {"up": "../" * document.page.count("/"), "pages": pages, "codes": codes}
    tokens = parser.parse(text, env)
    _headings(document, tokens)
    _links(document, tokens, top, pages)
    document.body = Markup(parser.renderer.render(tokens, parser.options, env))
    if not document.title:
        document.title = os.path.basename(document.source).partition(".")[0]
        document.body = Markup("<h1>{}</h1>\n{}").format(document.title, document.body)


def notebook_text(text):
    """A notebook as Markdown: its cells, and what was printed under them as text."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source.strip():
            parts.append(_fenced(source, "python"))
            for output in cell.get("outputs", ()):
                shown = output.get("text") or output.get("data", {}).get("text/plain") or output.get("traceback") or ()
                if shown:
                    parts.append(_fenced(_ESCAPES.sub("", "".join(shown)), "text"))
    return "\n\n".join(parts) + "\n"


def _fenced(text, language):
    fence = "`" * max([3, *(len(run) + 1 for run in re.findall("`+", text))])
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def rendered(text):
    """A piece of Markdown without links of its own."""
    return Markup(_parser().render(text))
