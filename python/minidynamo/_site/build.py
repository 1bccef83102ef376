"""Builds the site: runs the programs, fills the templates, writes the files."""

import base64
import hashlib
import json
import sys
from pathlib import Path

import jinja2
from markupsafe import Markup

from .. import __version__, registry
from .._commands import explain
from .._dynamo import message
from ..registry import search
from . import api, codes, documents, markup, scenarios

HERE = Path(__file__).resolve().parent


class Site:
    """What is built, page by page, into an output.Folder. `url`: where the site will stand."""

    def __init__(self, folder, *, url=""):
        self.folder = folder
        self.url = (url or _usual_url()).rstrip("/") + "/"
        self.is_told_where = bool(url)
        self.documents, self.spaces = documents.found(), api.spaces()
        self.parts = []  # [(heading, [(address, title), ...]), ...], for the page of all pages
        loader = jinja2.FileSystemLoader(HERE / "templates")
        self.templates = jinja2.Environment(
            loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
        )
        self.templates.filters |= {
            "inline": markup.inline, "coloured": markup.coloured, "duration": markup.duration,
            "paragraphs": markup.paragraphs,
        }  # fmt: skip
        self.templates.globals |= {
            "version": __version__,
            "python": "{}.{}".format(*sys.version_info),
            "has_docs": bool(self.documents),
            "has_api": bool(self.spaces),
        }

    def page(self, name, template, **given):
        """Writes one page from its template."""
        given = {"up": "../" * name.count("/"), "page": name, "part": "", **given}
        self.folder.write(name, self.templates.get_template(template).render(**given))

    def build(self, played):
        """Everything, from what `scenarios.play_all` has found."""
        self._codes(played)
        self._documents()
        self._api()
        self._files()

    def _codes(self, played):
        every = codes.all_codes()
        self.page(
            "index.html", "index.html", part="codes", codes=every, areas=codes.areas(),
            kinds=sorted({code.kind for code in every}), statuses=sorted({code.status for code in every}),
        )  # fmt: skip
        for at, code in enumerate(every):
            self.page(
                code.page, "code.html", part="codes", code=code, outcomes=codes.OUTCOMES,
                scenario=played.get(code.code) or scenarios.Scenario(code.code), related=codes.related(code.code),
                previous=every[at - 1] if at else None, next=every[at + 1] if at + 1 < len(every) else None,
            )  # fmt: skip
        self.parts += [
            ("Start", [("index.html", "All graph breaks")]),
            ("Graph breaks", [(code.page, f"{code.code}: {code.title}") for code in every]),
        ]

    def _documents(self):
        if not self.documents:
            return
        chapters = documents.by_folder(self.documents)
        row = [document for _, of_folder in chapters for document in of_folder]
        for document, previous, following in zip(row, [None, *row], [*row[1:], None]):
            self.page(
                document.page, "document.html", part="docs", title=document.title, chapters=chapters,
                contents=document.contents, body=document.body, previous=previous, next=following,
            )  # fmt: skip
            for name, path in document.files.items():
                self.folder.write(name, path.read_bytes())
        self.parts.append(("Documentation", [(d.page, d.title) for d in self.documents]))

    def _api(self):
        for space in self.spaces:
            self.page(f"api/{space.file}", "api.html", part="api", space=space, spaces=self.spaces)
        if self.spaces:
            self.parts.append(("API", [(f"api/{space.file}", space.name) for space in self.spaces]))

    def _files(self):
        for name in ("site.css", "site.js", "icon.svg"):
            self.folder.write(name, (HERE / "static" / name).read_bytes())
        titles = {code.title.lower(): code.code for code in reversed(codes.all_codes())}
        index = {**search.index_data(), "code": explain.CODE.pattern, "titles": titles}
        self.folder.write("search-index.js", f"window.minidynamoIndex = {json.dumps(index, separators=(',', ':'))};\n")
        rows = json.dumps(registry.as_reference_json(), indent=2, ensure_ascii=False)
        self.folder.write("graph_break_registry.json", rows + "\n")
        self.page("sitemap.html", "sitemap.html", parts=self.parts)
        addresses = [self.url + address for _, pages in self.parts for address, _ in pages]
        self.folder.write("sitemap.xml", self.templates.get_template("sitemap.xml").render(addresses=addresses))
        # A server shows it for any address: it must not ask for files beside it.
        style = (
            "body{max-width:40rem;margin:4rem auto;padding:0 1.25rem;font:1rem/1.6 system-ui,sans-serif;"
            "background:#fdfdfb;color:#1f2328}a{color:#0b57a4}"
            "@media (prefers-color-scheme:dark){body{background:#14171b;color:#e3e6ea}a{color:#7db7ff}}"
        )
        digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
        home = f"{self.url}index.html" if self.is_told_where else "index.html"
        self.page("404.html", "404.html", style=Markup(style), style_hash=f"sha256-{digest}", home=home)


def _usual_url():
    """Where the messages of breaks say that the pages stand."""
    return message.link(0).partition("gb/gb")[0]
