"""Every code block of the README and of docs/ runs and prints what the page shows; blocks.py says how they are marked.

A page is a process. `run_page.py --write PAGE` writes what is printed into it; look at the difference then.
"""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import minidynamo
from docs.blocks import PageError, agrees, blocks_of, commands_of

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
# Blocks that are for readers only, by page; each says why.
NOT_RUN = {
    "README.md": 3,
    "docs/command_line.md": 2,
    "docs/gpu_programs.md": 1,
    "docs/guide/from_numba.md": 1,
    "docs/guide/in_ci.md": 2,
    "docs/guide/install.md": 2,
    "docs/testing.md": 2,
}


def run_page(path):
    packages = str(pathlib.Path(minidynamo.__file__).parents[1])  # where the build under test lies
    done = subprocess.run(
        [sys.executable, HERE / "run_page.py", path],
        env={**os.environ, "MINIDYNAMO_PACKAGES": packages}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("page", NAMES)
def test_blocks_print_what_the_page_shows(page):
    blocks = blocks_of((ROOT / page).read_text())
    assert sum(bool(b.reason) for b in blocks) == NOT_RUN.get(page, 0), "blocks for readers only are counted here"
    if not any(b.kind in ("python", "console") and not b.reason for b in blocks):
        return
    for found in run_page(ROOT / page)["differences"]:
        pytest.fail(
            f"{page}:{found['line']}: {found['what']}\n--- shown\n{found['expected']}\n--- printed\n{found['printed']}"
        )


@pytest.mark.parametrize("page", NAMES)
def test_files_of_a_page_are_used(page):
    blocks = blocks_of((ROOT / page).read_text())
    running = "\n".join(b.text for b in blocks if not b.file)
    unused = [b.file for b in blocks if b.file and pathlib.PurePath(b.file).stem not in running]
    assert unused == []


def test_pages_with_blocks_for_readers_exist():
    assert set(NOT_RUN) <= set(NAMES)


@pytest.mark.parametrize(
    ("shown", "printed", "same"),
    [
        ("a\nb", "a\nb\n", True),
        ("a\nb", "a\n", False),
        ("", "", True),
        ("", "a\n", False),
        ("a ... c", "a b c", True),
        ("a ... c", "a b\nc", False),
        ("a\n...\nd", "a\nb\nc\nd", True),
        ("a\n...\nd", "a\nd", True),
        ("a\n...\nd", "a\nb\nc", False),
        ("took 3 us", "took 17.25 ms", True),
        ("took 3 us", "took 3 bytes", False),
        ("2.5 x of 3", "13 x of 3", True),
        ("2.5 x of 3", "2.5 x of 4", False),
        ("at 0x1f", "at 0xabc", True),
        ("tensor([1., 2.])", "tensor([1., 3.])", False),
        ("f(x)*", "f(x)*", True),
    ],
)
def test_output_is_compared(shown, printed, same):
    assert agrees(shown, printed) is same


def test_blocks_say_how_they_run():
    page = (
        "```python a.py\n1\n```\n\n```python\nprint(1)\n```\n\n```output\n1\n```\n\n```sh not run: installs\nx\n```\n"
    )
    file, program, shell = blocks_of(page)
    assert (file.file, program.output.text, shell.reason) == ("a.py", "1\n", "installs")
    assert commands_of("$ a \\\n  b\nc\n$ d\n") == [("a \\\n  b", "c"), ("d", "")]
    for wrong in (
        "    x = 1\n",
        "```\nx\n```\n",
        "```sh\nls\n```\n",
        "```output\nx\n```\n",
        "```python what\nx\n```\n",
    ):
        with pytest.raises(PageError):
            blocks_of(wrong)


def test_differences_are_found_and_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nx = 1\nprint(x)\n```\n\n```output\n2\n```\n\n```python\nprint(x + 1)\nraise ValueError(x)\n```\n\n"
        "```python a.py\nimport sys\nsys.exit(3)\n```\n\n```console\n$ python a.py\n$ echo done\ndone\n```\n"
    )
    found = run_page(page)
    assert found["blocks"] == 4
    assert [d["line"] for d in found["differences"]] == [1, 10, 20]
    assert found["differences"][1]["printed"].endswith("\nValueError: 1\n")
    assert found["differences"][2]["printed"] == "(exit status 3)\n"
    subprocess.run([sys.executable, HERE / "run_page.py", "--write", page], check=True, capture_output=True)
    assert run_page(page)["differences"] == []
