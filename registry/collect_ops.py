"""Writes a list of ops: one MD_OP(Struct) line for each op struct in the given headers, in file order."""

import re
import sys
from pathlib import Path

STRUCT = re.compile(r"^struct (\w+)[^;{]*\{(.*?)^\};", re.MULTILINE | re.DOTALL)
DECL = re.compile(r"static constexpr OpDecl decl\b")


def collect(headers: list[str]) -> list[str]:
    """Names of the structs that carry a declaration; a base struct without one is shared code, not an op."""
    names = []
    for header in headers:
        for name, text in STRUCT.findall(Path(header).read_text()):
            if DECL.search(text):
                names.append(name)
    twice = {n for n in names if names.count(n) > 1}
    if twice:
        sys.exit(f"op structs declared twice: {', '.join(sorted(twice))}")
    return names


def main() -> None:
    """collect_ops.py OUT HEADER..."""
    out, headers = Path(sys.argv[1]), sys.argv[2:]
    text = "".join(f"MD_OP({name})\n" for name in collect(headers))
    out.parent.mkdir(parents=True, exist_ok=True)
    if not out.exists() or out.read_text() != text:  # what is unchanged stays as old as it is: nothing is rebuilt
        out.write_text(text)


if __name__ == "__main__":
    main()
