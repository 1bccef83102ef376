"""All PTX of the corpus is accepted by ptxas for every architecture, and uses no more than it did."""

import pytest

from . import assembled

pytestmark = pytest.mark.version_free


@pytest.mark.timeout(600)  # where all code has changed, all is assembled
def test_every_kernel_is_assembled_and_none_gets_worse():
    known = assembled.read()
    found = assembled.texts()
    assert len(found) > 700
    changed = {k: texts for k, texts in found.items() if not assembled.is_known(known["kernels"], k, texts)}
    numbers = assembled.assemble(changed)
    refused = [f"{k}, {a}: {row}" for k, rows in numbers.items() for a, row in rows.items() if isinstance(row, str)]
    assert refused == []
    if assembled.version() != known["ptxas"]:
        return  # other numbers are not comparable
    worse = []
    for label, rows in numbers.items():
        if label in known["kernels"]:
            before = known["kernels"][label][1]
            worse += [
                f"{label}, {a}: {', '.join(w)}"
                for a, row in rows.items()
                if a in before and (w := assembled.worse(before[a], row))
            ]
    assert worse == [], "python -m tests.gpu.assembled --write takes it as it is"


@pytest.mark.timeout(600)
def test_kernels_compiled_with_the_library_are_assembled():
    known = assembled.read()
    found = assembled.texts_ahead_of_time()
    assert len(found) > 10, f"the build leaves them in {assembled.AHEAD_OF_TIME}"
    changed = {k: text for k, text in found.items() if not assembled.is_known(known["files"], k, {"": text})}
    numbers = assembled.assemble_files(changed)
    assert [f"{k}, {a}: {row}" for k, rows in numbers.items() for a, row in rows.items() if isinstance(row, str)] == []
    if assembled.version() == known["ptxas"]:
        worse = {
            f"{name}, {a}": found_worse
            for name, rows in numbers.items()
            for a, row in rows.items()
            if (found_worse := assembled.worse(known["files"].get(name, [0, rows])[1][a], row))
        }
        assert worse == {}, "python -m tests.gpu.assembled --write takes it as it is"


def test_what_is_worse():
    assert assembled.worse([32, 0, 0, 0], [33, 0, 0, 0]) == ["registers 32 -> 33"]
    assert assembled.worse([33, 8, 16, 0], [40, 0, 0, 0]) == []
    assert assembled.worse([16, 0, 0, 64], [16, 8, 8, 128]) == ["spills 0 -> 8", "stack 0 -> 8", "shared 64 -> 128"]


def test_an_error_is_told_of_the_kernel_that_has_it():
    good = ".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry kernel() { ret; }\n"
    bad = good.replace("ret;", "nonsense;")
    told = assembled._assemble(("sm_75", [("good", good), ("bad", bad)]))
    assert told["good"][1:] == [0, 0, 0] and "nonsense" in told["bad"]
