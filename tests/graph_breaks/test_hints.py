"""Every hint of a code that is raised is followed by a program: before it the graph breaks with the text that gives the
hint, after it the program is one graph with plain Python's results."""

import pathlib
import re
import tomllib
import warnings

import pytest

import minidynamo as torch
from graph_breaks import hint_tables, hints_from_0140, hints_to_0059, hints_to_0139  # noqa: F401  they fill the tables
from graph_breaks import test_scenarios as scenarios

ROWS = tomllib.loads((scenarios.ROOT / "registry/graph_breaks.toml").read_text())["break"]
# Hints that no program can follow, or not here.
NOT_FOLLOWED = {
    ("GB0025_silent", 1): "the hint of its code",
    ("GB0052", 1): "nothing restarts that often",
    ("GB0052", 2): "asks for a report",
}


def texts():
    """(id, hints) of what is raised."""
    for row in ROWS:
        if row["status"] in ("raised", "synthetic"):
            yield row["code"], row["hints"]
            for variant in row.get("variant", ()):
                yield f"{row['code']}_{variant['name']}", variant.get("hints", row["hints"])


TEXTS = dict(texts())
FOLLOWED = {(id_, number) for id_, number, _, _ in hint_tables.AFTER}


def pattern(hint):
    return "".join(re.escape(part) if k % 2 == 0 else ".*" for k, part in enumerate(re.split(r"\{(\w+)\}", hint)))


def test_every_hint_is_followed():
    files = pathlib.Path(__file__).parent.glob("GB*.py")  # those for other Pythons as well
    with_fix = {path.stem for path in files if re.search(r"^def fix\(", path.read_text(), re.MULTILINE)}
    wanted = {(id_, number) for id_, hints in TEXTS.items() for number in range(1, len(hints) + 1)}
    known = FOLLOWED | {(code, 1) for code in with_fix} | set(NOT_FOLLOWED)
    assert wanted - known == set()
    assert {id_[:6] for id_, _, _, _ in hint_tables.AFTER} <= {row["code"] for row in ROWS}


@pytest.mark.parametrize("id_", sorted(hint_tables.BEFORE))
def test_the_graph_breaks_before(id_):
    error, _ = scenarios.attempt(hint_tables.BEFORE[id_], scenarios.compiler(fullgraph=True))
    assert isinstance(error, torch._dynamo.exc.Unsupported), error
    assert [bool(re.fullmatch(pattern(hint), got)) for hint, got in zip(TEXTS[id_], error.hints)] == [True] * len(
        TEXTS[id_]
    ), error.hints


@pytest.mark.parametrize(
    ("id_", "number", "elsewhere", "program"),
    hint_tables.AFTER,
    ids=[f"{id_}-{number}-{program.__name__}" for id_, number, _, program in hint_tables.AFTER],
)
def test_the_graph_is_whole_after(id_, number, elsewhere, program):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain_error, want = scenarios.attempt(program, scenarios.plain)
        error, got = scenarios.attempt(program, scenarios.compiler(fullgraph=not elsewhere))
    assert plain_error is None and error is None
    assert scenarios.equal(want, got)
    seen = [m.upper() for m in re.findall(r"gb/(gb\d{4})", str(torch._dynamo.utils.counters))]
    assert id_[:6] not in seen and bool(seen) == elsewhere
