"""Writes the C++ file that holds the ahead-of-time kernels as PTX: embed_kernels.py OUT FILE.ptx...

Texts are compressed, one for each file. What an entry needs of its file's text (head, tables, functions, the entry) is
noted as pieces, so that a driver is given just that. Entries that do nothing are left out.
"""

import re
import sys
from pathlib import Path

import zstandard

NAME = re.compile(r"[\w$]+")


def lines_of(text: str) -> list[str]:
    lines = (re.sub(r"\s*//.*", "", line).rstrip() for line in text.splitlines())
    return [line.lstrip() if line[:1].isspace() else line for line in lines if line.strip()]


def end_of_body(lines: list[str], at: int) -> int:
    """The line that closes the function which begins at `at`; calls are in braces of their own."""
    depth = 0
    for i in range(at, len(lines)):
        depth += (lines[i] == "{") - (lines[i] == "}")
        if lines[i] == "}" and depth == 0:
            return i
    raise ValueError(f"no end of {lines[at]}")


def end_of_declaration(lines: list[str], at: int) -> int | None:
    """The line that ends the declaration of a function whose body comes later; None: the body is here."""
    end = next(i for i in range(at, len(lines)) if lines[i] == "{" or lines[i].endswith(";"))
    return None if lines[end] == "{" else end


def items_of(lines: list[str]) -> list[tuple[str, str, str]]:
    """(kind, name, text) of the head, of tables and functions, and of entries, in the order of the text.

    The declaration of a function has the function's name with a semicolon.
    """
    items, head, at = [], [], 0
    while at < len(lines):
        line = lines[at]
        if ".entry " in line or ".func " in line:
            declared = end_of_declaration(lines, at)
            end = declared or end_of_body(lines, at)
            text = "\n".join(lines[at : end + 1]) + "\n"
            if found := re.search(r"\.entry (\w+)\(", text):
                body = text[text.index("\n{\n") + 3 :]
                if re.sub(r"\.reg .*\n", "", body) != "ret;\n}\n":
                    items.append(("entry", found[1], text))
            else:
                found = re.search(r"\.func\s+(?:\([^)]*\)\s*)?([\w$]+)", text)
                assert found, text
                items.append(("part", found[1] + (";" if declared else ""), text))
            at = end + 1
        elif re.match(r"\.(version|target|address_size)", line):
            head.append(line)
            at += 1
        else:
            found = re.search(r"([\w$]+)(?:\[\d*\])?\s*(?:=|;)", line)
            assert found, line
            items.append(("part", found[1], line + "\n"))
            at += 1
    return [("head", "", "\n".join(head) + "\n"), *items]


def needed(entry: str, parts: dict[str, str]) -> set[str]:
    names, open_texts = set(), [entry]
    while open_texts:
        for name in set(NAME.findall(open_texts.pop())) & parts.keys() - names:
            names |= {name, f"{name};"} & parts.keys()
            open_texts.append(parts[name])
    return names


def main() -> None:
    arrays, texts, pieces, entries = [], [], [], []
    packer = zstandard.ZstdCompressor(level=zstandard.MAX_COMPRESSION_LEVEL)
    for number, file in enumerate(sorted(sys.argv[2:])):
        items = items_of(lines_of(Path(file).read_text()))
        parts = {name: text for kind, name, text in items if kind == "part"}
        places, at = {}, 0
        for _, name, text in items:
            places[name] = f"{{{at}, {len(text)}}}"
            at += len(text)
        whole = "".join(text for _, _, text in items).encode()
        packed = ",".join(map(str, packer.compress(whole)))
        arrays.append(f"constexpr unsigned char text_{number}[] = {{{packed}}};")
        texts.append(f"    {{text_{number}, sizeof text_{number}, {len(whole)}}},")
        for kind, name, text in items:
            if kind != "entry":
                continue
            wanted = needed(text, parts)
            used = ["", *(n for k, n, _ in items if k == "part" and n in wanted), name]
            entries.append((name, f'    {{"{name}", {number}, {len(pieces)}, {len(used)}}},'))
            pieces += [f"    {places[n]}," for n in used]
    lines = [
        "// Written by backend/device_blocks/embed_kernels.py: PTX, compressed, and what of it each entry needs.",
        '#include "backend/device_blocks/embedded.h"',
        "namespace md::device_blocks {",
        "namespace {",
        *arrays,
        "constexpr EmbeddedText kTexts[] = {",
        *texts,
        "};",
        "constexpr EmbeddedPiece kPieces[] = {",
        *pieces,
        "};",
        "constexpr EmbeddedEntry kEntries[] = {",
        *(row for _, row in sorted(entries)),
        "};",
        "}  // namespace",
        "std::span<const EmbeddedText> embedded_texts() { return kTexts; }",
        "std::span<const EmbeddedPiece> embedded_pieces() { return kPieces; }",
        "std::span<const EmbeddedEntry> embedded_entries() { return kEntries; }",
        "}  // namespace md::device_blocks",
    ]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
