"""Attributes that C code computes are not mistaken for methods; frames without tensors are left alone."""

import subprocess
import sys

import numpy as np

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.testing import CompileCounter


def x():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def test_fields_of_a_foreign_object():
    def f(v):
        kind = np.dtype("float32")
        return v + 1, kind.fields is None, kind.itemsize, str(kind), 1 if kind.isnative else 2

    same(f, x)


def test_gradients_nobody_asked_for():
    """A guard on `grad` passes: the second call compiles nothing."""

    class Odd(torch.Tensor):
        @property
        def grad(self):
            return 5

    def f(v):
        return v + (1 if v.grad is None else 2)

    counter = CompileCounter()
    compiled = torch.compile(f, backend=counter)
    for _ in range(3):
        assert compiled(*x()).tolist() == [2, 3, 4]
    assert counter.frame_count == 1
    odd = torch.ones(3).as_subclass(Odd)
    assert compiled(odd).tolist() == f(odd).tolist()


def test_fields_of_an_exception():
    def f(v):
        try:
            raise OSError(3, "text")
        except OSError as error:
            return v + 1, error.errno, error.filename is None, error.with_traceback is not None

    same(f, x)


def test_fields_of_a_generator():
    def f(v):
        g = (k for k in range(3))
        first = next(g)
        return v + first, bool(g.gi_running), g.gi_yieldfrom is None, hasattr(g, "nothing")

    same(f, x)


def test_missing_attribute_of_a_generator():
    def f(v):
        try:
            return (k for k in range(3)).nothing
        except AttributeError as error:
            return v + 1, str(error)

    same(f, x, breaks=())


def test_frames_of_numpy_are_left_alone():
    def f(v):
        return v + 1, np.binary_repr(3)

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(f, backend="eager")(*x())
    assert torch._dynamo.utils.counters["frames"]["total"] == 2  # f and a resume function


PROGRAM = """
import minidynamo as torch

class Quiet:
    def __enter__(self):
        self.seen = []
    def __exit__(self, *error):
        self.seen.append(error)

@torch.compile(backend="eager")
def f(x):
    with Quiet():
        x = x + 1
        torch._dynamo.graph_break()
        return x * 2

f(torch.ones(2))
f(torch.ones(2))
"""


def test_frames_without_tensors_are_said_to_be_skipped_once(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    env = {"PYTHONPATH": ":".join(sys.path), "TORCH_LOGS": "+dynamo", "TORCH_LOGS_FORMAT": "%(message)s"}
    done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True, check=True)
    skipped = [line for line in done.stderr.split("\n") if line.startswith("skipping because no torch.*")]
    assert skipped == [
        f"skipping because no torch.* __enter__             {path} 5",
        f"skipping because no torch.* __exit__             {path} 7",
    ]
    assert "start tracing __enter__" not in done.stderr
