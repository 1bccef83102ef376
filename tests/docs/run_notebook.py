"""Runs a notebook from beginning to end in a kernel of its own, in a fresh shell's environment.

.venv/bin/python tests/docs/run_notebook.py --write NOTEBOOK    stores the outputs of this run in it
"""

import os
import pathlib
import re
import sys
import tempfile

import nbformat
from nbclient import NotebookClient

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = ("MINIDYNAMO_", "TORCH", "PYTHON", "PYTEST", "COVERAGE")


def packages():
    return os.environ.get("MINIDYNAMO_PACKAGES") or str(ROOT / "python")


def run(path):
    """The notebook with the outputs of this run. Raises nbclient's CellExecutionError where a cell fails."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    place = packages()
    kept = {k: v for k, v in os.environ.items() if not k.startswith(SETTINGS)}
    with tempfile.TemporaryDirectory(prefix="minidynamo-notebook-") as folder:
        own = {"PYTHONPATH": place, "IPYTHONDIR": folder, "JUPYTER_PLATFORM_DIRS": "1", "HOME": folder, "NO_COLOR": "1"}
        # The kernel is this Python, whatever kernels are installed.
        client = NotebookClient(notebook, timeout=100, kernel_name="python3", resources={"metadata": {"path": folder}})
        client.create_kernel_manager()
        client.km.kernel_spec.argv[0] = sys.executable
        client.execute(env={**kept, **own})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of the day
    return notebook


def texts(notebook):
    """What each code cell prints and gives, as one text a cell."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            parts = [o.get("text") or o.get("data", {}).get("text/plain", "") for o in cell.outputs]
            yield re.sub(r"/tmp/ipykernel_\d+/\d+\.py", "CELL", "".join(parts))


def main():
    path = pathlib.Path(sys.argv[-1]).resolve()
    notebook = run(path)
    if "--write" in sys.argv:
        nbformat.write(notebook, path)
    else:
        print("\n".join(texts(notebook)))


if __name__ == "__main__":
    main()
