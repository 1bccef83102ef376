"""Prints at the end of a run how the codes of the registry arise."""

import collections
import pathlib
import re
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]


def pytest_terminal_summary(terminalreporter):
    rows = tomllib.loads((ROOT / "registry/graph_breaks.toml").read_text())["break"]
    sources = "".join(path.read_text() for path in sorted((ROOT / "frontend").rglob("*.cpp")))
    listed = set(re.findall(r"\b(?:listed_break|make_listed)<(GB\d{4})", sources))
    versions = [row for row in rows if row["status"] == "raised" and "python" in row]
    counts = collections.Counter(row["status"] for row in rows)
    raised = (
        f"{counts.pop('raised')} raised ({len(listed)} also traced, with trace_more; {len(versions)} on some CPythons)"
    )
    others = ", ".join(f"{n} {status}" for status, n in sorted(counts.items()))
    terminalreporter.write_line(f"graph-break codes: {len(rows)}: {raised}, {others}")
