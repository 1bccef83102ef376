"""docs/api.md lists what there is."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_the_table_is_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "tools/api_table.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_table_names_what_there_is():
    text = (ROOT / "docs/api.md").read_text()
    for row in ("| `sin` |", "| `add_` |", "| `Linear` |", "| `allow_rnn` |"):
        assert row in text
