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


class Stored:
    """Keeps its values in the instance, under its own name."""

    def __init__(self, default):
        self.default = default

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return self if instance is None else instance.__dict__.get(self.name, self.default)

    def __set__(self, instance, value):
        instance.__dict__[self.name] = value * 2

    def __delete__(self, instance):
        del instance.__dict__[self.name]


class Storing:
    first = Stored(3)
    second = Stored(4)


def test_descriptors_that_store_in_the_instance():
    def made(x):
        o = Storing()
        o.first = x
        for name in ("first", "second"):
            setattr(o, name, getattr(o, name) + 1)
        return o.first * o.second, list(vars(o))

    def passed(x, o):
        o.first = x.sum()
        before = o.first * 2
        del o.first
        o.second = 7
        return before, o.first, o.second

    same(made, lambda: (torch.ones(2),), frames=1, breaks=[])
    same(passed, lambda: (torch.ones(2), Storing()), frames=1, breaks=[])


def test_what_such_a_descriptor_stored_leaves_the_trace():
    def f(x):
        o = Storing()
        o.first = x + 1
        return o

    made = torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))
    assert list(vars(made)) == ["first"] and made.first.tolist() == [4, 4]
