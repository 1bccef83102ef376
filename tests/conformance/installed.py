"""Whether CPython's tests are here; where they are not, that is said in the table of .ci/run as well."""

import sys

import pytest
from supervise import ROOT, is_here

VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
PACKAGE = f"Debian: libpython{VERSION}-testsuite"
STAGES = ROOT / "build" / "stages.tsv"


def skip_unless_installed(module):
    if is_here(module):
        return
    row = f"CPython's tests {VERSION}\t0\tNOT FOUND\n"
    STAGES.parent.mkdir(exist_ok=True)
    if not STAGES.exists() or row not in STAGES.read_text(encoding="utf-8"):
        with open(STAGES, "a", encoding="utf-8") as table:
            table.write(row)
    pytest.skip(f"CPython's tests are not installed ({PACKAGE})")
