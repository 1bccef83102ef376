"""docs/conformance.md from the comparisons of a full run."""

import sys
from collections import Counter

from modules import EVERYTHING, FURTHER, MORE

HEAD = """\
# Conformance with CPython {version}

Written by `make conformance`: modules of CPython's own test suite run plainly and with every Python function compiled
(`python -m minidynamo run --everything`), and the outcome (pass, fail, error, skip) of every test is compared. Frames
are calls of Python functions other than generators and coroutines, of the module's own files and of the standard
library's; those of unittest are counted in `test_unittest` only. *whole*: replaced by compiled code to their end;
*partly*: compiled code with graph breaks; *skipped*: run as plain Python. What was inlined into a compiled caller has
no frame and is not counted.
"""


def totals(comparisons):
    frames, functions = Counter(), Counter()
    for c in comparisons:
        frames.update(c.compiled["frames"])
        functions.update(c.compiled["functions"])
    return frames, functions


def share_text(counts):
    every = max(1, sum(counts.values()))
    return ", ".join(f"{counts[end] / every:.1%} {end}" for end in ("whole", "partly", "skipped"))


def summary(what, comparisons):
    tests, same = sum(len(c.tests) for c in comparisons), sum(c.same for c in comparisons)
    frames, functions = totals(comparisons)
    return (
        f"{what}: {len(comparisons)} modules, {tests} tests, {same} ({same / max(1, tests):.2%}) with the same "
        f"outcome. Of {sum(frames.values())} frames {share_text(frames)}; of {sum(functions.values())} functions "
        f"{share_text(functions)} (skipped: in every call).\n"
    )


def section(way, comparisons):
    title = {EVERYTHING: "As by default", MORE: "With `config.trace_more`"}[way]
    lines = [
        f"\n## {title}\n",
        summary("The language and its builtins", [c for c in comparisons if c.module not in FURTHER]),
        summary("Further modules", [c for c in comparisons if c.module in FURTHER]),
        "| module | tests | same | whole | partly | skipped | breaks in traces | frames run plain, by reason |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for c in comparisons:
        breaks, skips = c.codes()
        name = c.module if c.has_run() else f"{c.module} (not run: every frame was skipped)"
        shares = " | ".join(f"{c.share(end):.1%}" for end in ("whole", "partly", "skipped"))
        lines.append(f"| {name} | {len(c.tests)} | {c.same} | {shares} | {breaks} | {skips} |")
    different = [(c, t) for c in comparisons for t in c.different]
    if different:
        lines.append("\n| test whose outcome differs | plain | compiled | why |\n|---|---|---|---|")
        for c, t in different:
            before, after = c.plain["tests"].get(t, "did not run"), c.compiled["tests"].get(t, "did not run")
            lines.append(f"| {t.replace('|', '/')} | {before} | {after} | {c.reason(t) or 'not explained'} |")
    return lines


PACKAGES = "\n## Own tests of packages\n"  # the part of the page that packages.py writes; the other keeps it


def write(rows, path):
    """`rows`: for each module its comparisons, one for each way."""
    lines = [HEAD.format(version=".".join(map(str, sys.version_info[:2])))]
    for comparisons in zip(*rows, strict=True):
        lines += section(comparisons[0].way, comparisons)
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    packages = old[old.index(PACKAGES) :] if PACKAGES in old else ""
    path.write_text("\n".join(lines) + "\n" + packages, encoding="utf-8")


def write_packages(rows, versions, path):
    """`rows`: for each package its comparisons; `versions`: {name: version}."""
    tests, same = sum(len(c.tests) for r in rows for c in r), sum(c.same for r in rows for c in r)
    version = ".".join(map(str, sys.version_info[:2]))
    lines = [
        PACKAGES,
        "Written by `make packages`: the test suites of pure-Python packages, pinned in",
        f"`tests/conformance/packages.toml`, with CPython {version}. Frames are those of the",
        f"package, its tests and the standard library. {same} of {tests} outcomes are the same. *no rule*:",
        "breaks in traces at a form of a construct that has no rule.\n",
        "| package | way | tests | same | plain outcomes | whole | partly | skipped | no rule |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for comparisons in rows:
        for c in comparisons:
            outcomes = ", ".join(f"{n} {outcome}" for outcome, n in Counter(c.plain["tests"].values()).most_common())
            shares = " | ".join(f"{c.share(end):.1%}" for end in ("whole", "partly", "skipped"))
            no_rule = sum(c.compiled.get("no_rule", {}).values())
            name = f"{c.module} {versions[c.module]}"
            lines.append(f"| {name} | {c.way} | {len(c.tests)} | {c.same} | {outcomes} | {shares} | {no_rule} |")
    different = [(c, t) for r in rows for c in r for t in c.different]
    if different:
        lines.append("\n| test whose outcome differs | way | plain | compiled | why |\n|---|---|---|---|---|")
        for c, t in different:
            before, after = c.outcomes(t)
            lines.append(f"| {t.replace('|', '/')} | {c.way} | {before} | {after} | {c.reason(t) or 'not explained'} |")
    old = path.read_text(encoding="utf-8") if path.exists() else ""
    path.write_text(old.split(PACKAGES)[0].rstrip("\n") + "\n" + "\n".join(lines) + "\n", encoding="utf-8")
