"""Every numbered example runs, with its own checks, and prints what it promises."""

import os
import pathlib
import subprocess
import sys

import pytest

import minidynamo

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = str(pathlib.Path(minidynamo.__file__).parents[1])  # where the build under test lies
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
PROMISED = {
    "01_option_pricing": ["Value of the book", "to the bit", "compiled", "NumPy"],
    "02_heat_equation": ["after    200 steps", "to the bit", "us per step"],
    "03_image_pipeline": ["Edges cover", "to the bit", "Saved to out/quick/"],
    "04_graph_breaks": [
        "GB0059",
        "GB0007",
        "GB0098",
        "GB0170",
        "GB0124",
        "Graph Break Count: 5",
        "  fix     ",
        "to the bit",
    ],
    "05_digits": ["Accuracy on 450 pictures", "to the bit", "scikit-learn (NumPy)"],
    "06_tiny_gpt": ["weights, made from", "to the bit", "those of the counts", "And God said", "ms per character"],
    "08_pages": [
        "27 of 27 examples ran",
        "GB0007",
        "GB0025",
        "GB0066",
        "GB0112",
        "GB0124",
        "GB0156",
        "GB0170",
    ],
    "07_numpy_programs": ["K-means: 1 graph", "PageRank: 1 graph", "the result is NumPy's", "NumPy  "],
    "09_digits_training": ["it has never seen it reads", "to the bit", "Saved to out/quick/digits_training.png"],
    "10_gpt_training": ["8 losses are those of plain", "are words of the text", "Saved to out/quick/gpt_training.png"],
    "11_oscillator": ["the motion is SciPy's", "within four standard errors", "Saved to out/quick/oscillator.png"],
    "12_digits_vae": ["8 losses are those of plain", "unseen pictures", "Saved to out/quick/digits_vae.png"],
}


def test_all_examples_are_listed():
    assert {path.stem for path in EXAMPLES} == set(PROMISED)


def run(*arguments):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([PACKAGES, os.environ.get("PYTHONPATH", "")])}
    return subprocess.run([sys.executable, *arguments], capture_output=True, text=True, env=env, cwd=ROOT / "examples")


@pytest.mark.smoke
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path):
    done = run(str(path), "--quick")
    assert done.returncode == 0, done.stdout + done.stderr
    for text in PROMISED[path.stem]:
        assert text in done.stdout


@pytest.mark.parametrize("wrong", ["[1.0, 2.5]", "[1.0, 2.0, 3.0]", "[1.0, float('nan')]"])
def test_a_mismatch_ends_an_example(wrong):
    done = run("-c", f"import measure; measure.check('it', {wrong}, [1.0, 2.0]); print('went on')")
    assert done.returncode != 0 and "MISMATCH it" in done.stderr and not done.stdout


@pytest.mark.parametrize("wrong", ["0.97, least=0.98", "1.5, most=1.0", "float('nan'), least=0.0"])
def test_a_goal_that_is_not_reached_ends_an_example(wrong):
    done = run("-c", f"import measure; measure.check_reached('it', {wrong}); print('went on')")
    assert done.returncode != 0 and "NOT REACHED it" in done.stderr and not done.stdout


def test_goals_may_be_met_exactly():
    done = run("-c", "import measure; measure.check_reached('it', 1, least=1, most=1); print('went on')")
    assert done.returncode == 0 and done.stdout == "went on\n"
