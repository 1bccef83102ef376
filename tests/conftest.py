"""Which tests are the smoke set: run on every supported Python found, not only on the main one."""

import pathlib

import pytest

HERE = pathlib.Path(__file__).resolve().parent
# Quick folders that touch every layer; single tests elsewhere carry the marker themselves.
SMOKE = {"registry", "python", "examples", "pages", "bytecode"}


def pytest_collection_modifyitems(items):
    for item in items:
        if item.path.is_relative_to(HERE) and item.path.relative_to(HERE).parts[0] in SMOKE:
            item.add_marker(pytest.mark.smoke)
