"""From texts of the project to HTML: words in backticks, addresses, programs in colours. All else is escaped."""

import re

from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import get_lexer_by_name
from pygments.util import ClassNotFound

_CODE = re.compile(r"(`+)(.+?)\1")
_ADDRESS = re.compile(r"https?://[^\s<>\"']*[^\s<>\"'.,;:)]")
_FORMATTER = HtmlFormatter(nowrap=True)


def inline(text):
    """A sentence of the registry."""
    parts, at = [], 0
    for found in _CODE.finditer(text):
        parts += [_linked(text[at : found.start()]), Markup("<code>{}</code>").format(found[2])]
        at = found.end()
    return Markup("").join([*parts, _linked(text[at:])])


def _linked(text):
    parts, at = [], 0
    for found in _ADDRESS.finditer(text):
        parts += [escape(text[at : found.start()]), Markup('<a href="{0}">{0}</a>').format(found[0])]
        at = found.end()
    return Markup("").join([*parts, escape(text[at:])])


def coloured(text, language="python"):
    """A program as what goes into <code>; plain text where nothing is known of the language."""
    try:
        lexer = get_lexer_by_name(language, stripnl=False)  # with a newline at the end: some lexers drop a line without
    except ClassNotFound:
        return escape(text)
    return Markup(highlight(text, lexer, _FORMATTER).rstrip("\n"))


def duration(seconds):
    """0.0000131 -> "13.1 us"; three digits that count."""
    unit, factor = ("s", 1) if seconds >= 1 else ("ms", 1e3) if seconds >= 1e-3 else ("us", 1e6)
    return f"{seconds * factor:.3g} {unit}"


def paragraphs(text):
    """A docstring: what is indented, or begins as a list or a session of Python, keeps its lines."""
    parts = []
    for block in re.split(r"\n\s*\n", text.strip()):
        lines = block.split("\n")
        if any(line.startswith("  ") for line in lines) or lines[0].startswith((">>> ", "- ")):
            parts.append(Markup('<pre tabindex="0" class="text"><code>{}</code></pre>').format(block))
        elif block:
            parts.append(Markup("<p>{}</p>").format(inline(" ".join(lines))))
    return Markup("\n").join(parts)
