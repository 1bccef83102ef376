"""docs/reference/ says what docstrings say, of everything public."""

import importlib.util
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = ROOT / "tools/reference.py"


@pytest.fixture(scope="module")
def tool():
    spec = importlib.util.spec_from_file_location("reference", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_pages_are_up_to_date():
    done = subprocess.run([sys.executable, TOOL, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_pages_name_what_there_is():
    assert "### compile\n" in (ROOT / "docs/reference/compile.md").read_text()
    assert "| `recompile_limit` | `8` |" in (ROOT / "docs/reference/config.md").read_text()
    assert "| `MINIDYNAMO_LOGS` |" in (ROOT / "docs/reference/environment.md").read_text()


def test_what_has_no_text_is_an_error(tool):
    with pytest.raises(tool.Incomplete, match="without text: \\['b'\\]; of nothing: \\['c'\\]"):
        tool.demand("settings", {"a", "b"}, {"a": "", "c": ""})


def test_prose_is_no_markup(tool):
    assert tool.in_markdown("a *b* <c> [d] _e f_g `*h*` reset()") == r"a \*b\* \<c> \[d\] \_e f_g `*h*` `reset()`"
    assert list(tool.paragraphs("One\ntwo.\n\nThree.")) == ["One two.", "Three."]
