"""The notebooks of docs/notebooks run, and give what is stored in them (times, ratios and addresses aside)."""

import pathlib

import nbformat
import pytest

import minidynamo
from docs.blocks import agrees
from docs.run_notebook import run, texts

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs/notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda p: p.stem)
def both(request):
    """A notebook as it is stored, and after a run."""
    packages = str(pathlib.Path(minidynamo.__file__).parents[1])  # where the build under test lies
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MINIDYNAMO_PACKAGES", packages)
        return nbformat.read(request.param, as_version=4), run(request.param)


def test_outputs_are_those_stored(both):
    stored, ran = both
    for number, (shown, printed) in enumerate(zip(texts(stored), texts(ran), strict=True), 1):
        assert agrees(shown, printed), f"cell {number}\n--- stored\n{shown}\n--- now\n{printed}"


def test_notebooks_are_stored_whole(both):
    """Run in order from a fresh kernel, valid, explained: no two code cells in a row without a word, but for one."""
    stored, _ = both
    nbformat.validate(stored)
    counts = [cell.execution_count for cell in stored.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert stored.cells[0].source.startswith("# ")
    assert "## Where to go next" in stored.cells[-1].source
    assert sum(cell.cell_type == "markdown" for cell in stored.cells) >= len(counts) - 5


def test_six_breaks_become_one_graph():
    stored = nbformat.read(ROOT / "docs/notebooks/six_breaks_to_one_graph.ipynb", as_version=4)
    text = "\n".join(texts(stored))
    assert "7 graphs, 6 breaks" in text
    assert "1 graph, 0 breaks" in text
    assert "compiled as plain: True" in text
