"""CPython's own tests have the same outcomes when every Python function they run is compiled.

How large a part of the frames was replaced may only rise: `ratchet.json`, which `python
tests/conformance/test_everything.py` writes anew from what was measured.
"""

import json
import math
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from compare import Comparison  # noqa: E402
from installed import VERSION, skip_unless_installed  # noqa: E402
from modules import COMPILED, PLAIN, QUICK  # noqa: E402
from run import stored  # noqa: E402
from supervise import CpythonModule, run_suite  # noqa: E402

RATCHET = Path(__file__).with_name("ratchet.json")
SLACK = 0.01  # some frames depend on timing and on what was imported before


def shares(c):
    """What the ratchet holds, rounded down."""
    return {
        "whole": math.floor(c.share("whole") * 1000) / 1000,
        "partly": math.floor(c.share("whole", "partly") * 1000) / 1000,
    }


@pytest.mark.parametrize("way", COMPILED)
@pytest.mark.parametrize("module", QUICK)
def test_outcomes_are_the_same(module, way, record_property):
    skip_unless_installed(module)
    suite = CpythonModule(module)
    c = Comparison(stored(suite, PLAIN), run_suite(suite, way))
    assert c.tests, c.plain["log"]
    assert c.unexplained() == [], c.compiled["log"][-3000:]
    assert c.stale() == []
    assert c.has_run()
    rows = json.loads(RATCHET.read_text(encoding="utf-8")).get(VERSION)
    record_property("conformance", {name: c.compiled[name] for name in ("way", "frames", "breaks")})
    print(c.line())
    if rows is not None:
        assert f"{module} {way}" in rows, "not measured yet: python tests/conformance/test_everything.py"
        known, now = rows[f"{module} {way}"], shares(c)
        fallen = {end: (known[end], now[end]) for end in known if now[end] < known[end] - SLACK}
        assert fallen == {}, f"a smaller share of the frames is replaced than before: {fallen}"


def raise_ratchet():
    """Shares that have risen are what is asked for from now on."""
    table = json.loads(RATCHET.read_text(encoding="utf-8"))
    rows = table.setdefault(VERSION, {})
    for module in QUICK:
        suite = CpythonModule(module)
        for way in COMPILED:
            now, known = shares(Comparison(stored(suite, PLAIN), stored(suite, way))), rows.get(f"{module} {way}", {})
            rows[f"{module} {way}"] = {end: max(share, known.get(end, 0.0)) for end, share in now.items()}
    RATCHET.write_text(json.dumps(table, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    raise_ratchet()
