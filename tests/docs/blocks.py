"""The code blocks of a page, what is expected of each, and how expected and real output are compared.

The first word after the fence says what a block is, the rest how it is meant:

- `python`: runs, in one process and namespace for all such blocks of the page; `python new` begins a namespace.
- `python NAME.py`: a file beside the page's programs, for `console` blocks and imports.
- `console`: lines `$ command`, each run by bash and followed by what it prints; a last line is `(exit status 1)`.
- `output`: what the block before it prints. A block that prints and has none must print nothing.
- `mermaid`: a picture.
- any word, `not run: REASON`: for readers only. tests/docs/test_code_blocks.py counts them.

In what is printed, `...` stands for anything within a line, a line `...` for any lines. Times ("12.7 us"), ratios
("3.5 x"), rates ("46 GB/s"), addresses and ids are compared as such, whatever their digits.
"""

import dataclasses
import re

from markdown_it import MarkdownIt

FENCED = ("python", "console", "output", "mermaid")
VARYING = (
    (re.compile(r"(?<![\w.])\d[\d,]*(\.\d+)?(e-?\d+)? ?(ns|us|ms|s|seconds|milliseconds)\b"), "TIME"),
    (re.compile(r"(?<![\w.])\d[\d,]*(\.\d+)? ?(x|GB/s|MB/s|kB/s|MB|kB)(?!\w)"), "AMOUNT"),
    (re.compile(r"\b0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{12}"), "UUID"),
    (re.compile(r"(check_(?:type|obj)_id\((?:[^()]|\([^()]*\))*, )\d+"), r"\1ID"),
)


class PageError(ValueError):
    """A block that says of itself neither how it is run nor why not."""


@dataclasses.dataclass
class Block:
    kind: str  # the first word after the fence
    rest: str  # what follows it
    text: str
    line: int  # of the fence, from 1
    output: "Block" = None  # of a python block

    @property
    def reason(self):
        """Why it is not run; "" if it is."""
        return self.rest.partition("not run:")[2].strip()

    @property
    def file(self):
        return self.rest if self.kind == "python" and re.fullmatch(r"[\w/]+\.py", self.rest) else ""


def blocks_of(text):
    """The blocks of a page in order; `output` blocks are parts of those they belong to."""
    found = []
    for token in MarkdownIt("commonmark").enable("table").parse(text):
        if token.type == "code_block":
            raise PageError(f"line {token.map[0] + 1}: an indented block says nothing of itself; fence it")
        if token.type != "fence":
            continue
        kind, _, rest = token.info.strip().partition(" ")
        block = Block(kind, rest.strip(), token.content, token.map[0] + 1)
        if kind == "output":
            if not found or found[-1].kind != "python" or found[-1].output or found[-1].reason or found[-1].file:
                raise PageError(f"line {block.line}: output of which block?")
            found[-1].output = block
            continue
        if kind not in FENCED and not block.reason:
            raise PageError(
                f"line {block.line}: {kind or 'a block without a word'} is neither run nor 'not run: reason'"
            )
        if kind == "python" and block.rest and not (block.reason or block.file or block.rest == "new"):
            raise PageError(f"line {block.line}: {block.rest!r} is no name of a file, nor 'new', nor 'not run: reason'")
        found.append(block)
    return found


def commands_of(text):
    """[(command, what it is to print)] of a console block; a command may go on after a backslash."""
    found, going_on = [], False
    for line in text.splitlines():
        if going_on:
            found[-1][0].append(line)
        elif line.startswith("$ "):
            found.append(([line[2:]], []))
        elif not found:
            raise PageError(f"a console block begins with '$ ', not with {line!r}")
        else:
            found[-1][1].append(line)
            continue
        going_on = line.endswith("\\")
    return [("\n".join(command), "\n".join(printed)) for command, printed in found]


def plain(text):
    """Lines without spaces at their ends, what varies replaced by words."""
    for pattern, word in VARYING:
        text = pattern.sub(word, text)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n").split("\n")


def agrees(expected, printed):
    """Whether a program printed what a page shows."""
    lines = []
    for line in plain(expected):
        if line.strip() == "...":
            lines.append(r"(?:[^\n]*\n)*?")
        else:
            lines.append(r"[^\n]*".join(re.escape(part) for part in line.split("...")) + "\n")
    return re.fullmatch("".join(lines), "\n".join(plain(printed)) + "\n") is not None
