"""Hints and explanations name nothing that is not there."""

import re
import tomllib
from pathlib import Path

import pytest

import minidynamo

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "registry/graph_breaks.toml").read_text())["break"]


def named():
    """(name, code) of every torch name in backticks."""
    for row in TABLE:
        for text in [row, *row.get("variant", [])]:
            for sentence in [text.get("explanation", ""), *text.get("hints", [])]:
                for name in re.findall(r"`@?torch\.([\w.]*\w)", sentence):
                    yield name, row["code"]


@pytest.mark.parametrize("name", sorted({name for name, _ in named()}))
def test_name_exists(name):
    found = minidynamo
    for part in name.split("."):
        assert hasattr(found, part), f"torch.{name} of {[code for n, code in named() if n == name]} is not there"
        found = getattr(found, part)
