"""A call imports nothing of the program's world: neither where nothing can be imported, nor where that would show."""

import os
import subprocess
import sys
import textwrap

import pytest

import minidynamo as torch


def run(program, where=None, compiled=True):
    """What a program prints, which is to say nothing of defects."""
    code = textwrap.dedent(program)
    if not compiled:
        code = "import minidynamo\nminidynamo.compile = lambda f, **_: f\n" + code
    command = [sys.executable, "-c", code]
    if where is not None:
        where.write_text(code)
        command = [sys.executable, str(where)]
    environment = {**os.environ, "PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "defect" not in done.stderr and "Traceback" not in done.stderr, done.stderr
    return done.stdout


MANY_KINDS = """
    import itertools, os, sys
    import minidynamo as torch
    from minidynamo._dynamo.utils import counters
    {before}
    def f(x):
        y = x + 1
        os.getpid()
        return y * list(itertools.accumulate([1, 2, 3]))[1]

    compiled = torch.compile(f)
    {after}
    print(compiled(torch.ones(2)).tolist(), counters["stats"]["unique_graphs"])
"""
LIBRARY = ("ast", "bisect", "copy", "dataclasses", "dis", "inspect", "random", "struct", "typing")


def test_nothing_is_imported_by_a_call():
    for before, after in (
        ("", "sys.path[:], known = [], set(sys.modules)"),
        (f"sys.modules.update(dict.fromkeys({LIBRARY}))", "known = set(sys.modules)"),
    ):
        program = textwrap.dedent(MANY_KINDS).format(before=before, after=after) + "print(set(sys.modules) - known)"
        assert run(program) == "[6.0, 6.0] 2\nset()\n"


def test_files_of_the_program_are_not_taken_for_the_library(tmp_path):
    for name in LIBRARY:
        (tmp_path / f"{name}.py").write_text("print('imported')\ndeepcopy = cast = Random = 1 / 0\n")
    program = textwrap.dedent(MANY_KINDS).format(before="", after="")
    assert run(program, where=tmp_path / "program.py") == "[6.0, 6.0] 2\n"
    (tmp_path / "copy.py").write_text("def deepcopy(x):\n    return x\n")
    program = """
        import copy
        import minidynamo as torch
        x = torch.ones(2)
        print(torch.compile(lambda x: [x + 1, *copy.deepcopy([x])])(x)[1] is x)
    """
    assert run(program, where=tmp_path / "program.py") == "True\n"


def test_calls_in_the_middle_of_an_import():
    """As in a signal handler or a finaliser, which run anywhere."""
    program = """
        import sys
        import minidynamo as torch

        x = torch.ones(2)

        class Finder:
            calls = 0

            def find_spec(self, name, path=None, target=None):
                self.calls += 1
                assert torch.compile(lambda x: [x + 1, x])(x)[0].tolist() == [2, 2]

        finder = Finder()
        sys.meta_path.insert(0, finder)
        print(torch.compile(lambda x: x * 2)(x).tolist(), finder.calls > 0)
    """
    assert run(program) == "[2.0, 2.0] True\n"


def test_without_files_functions_run_as_plain_python():
    program = """
        import resource
        import minidynamo as torch
        from minidynamo._dynamo.utils import counters

        x, before = torch.ones(2), resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
        compiled = torch.compile(lambda x: x + 1)
        print(compiled(x).tolist(), counters["stats"]["unique_graphs"])
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
        print(compiled(x).tolist(), counters["stats"]["unique_graphs"])
    """
    assert run(program) == "[2.0, 2.0] 0\n[2.0, 2.0] 1\n"


@pytest.mark.parametrize(
    "before", ["", "torch.compile(lambda x: x - 1)(torch.ones(2))", "atexit.register(kept.__del__)"]
)
@pytest.mark.parametrize(
    "function",
    [
        "lambda x: x + 1",
        "lambda x: [a + b for a, b in itertools.pairwise([x, x, x])][0]",
        "lambda x: (x + 1, os.getpid())[0] * 2",
        "lambda x: x * Named.A.value",
        "lambda x: copy.deepcopy([x])[0] + 1",
        "lambda x: x + 1 if x.sum() > 0 else x - 1",
    ],
)
def test_functions_called_while_the_interpreter_ends(function, before):
    """When modules are taken apart, in the middle of that, and in a function for the exit."""
    program = f"""
        import atexit, copy, enum, itertools, os, sys
        import minidynamo as torch

        class Named(enum.Enum):
            A = 2.0

        class Last:
            def __init__(self):
                self.f, self.x = torch.compile({function}), torch.ones(2)
                self.print, self.end = print, sys.is_finalizing

            def __del__(self):
                self.print(self.f(self.x).tolist(), self.end())

        kept = Last()
        sys.modules["last"] = ring = Last()
        ring.itself = ring
        {before}
    """
    assert run(program) == run(program, compiled=False)


def test_modules_imported_later_are_traced_as_those_imported_before():
    program = """
        import minidynamo as torch

        x = torch.ones(2)
        torch.compile(lambda x: x + 1)(x)
        import copy, dataclasses, inspect, random, typing

        @dataclasses.dataclass
        class Pair:
            a: object
            b: int

        def f(x):
            d = dataclasses.asdict(Pair(2, 3))
            k = typing.cast(int, 4) + copy.copy([5])[0] + random.Random(3).randrange(6)
            return x * d["a"] * d["b"] + k * inspect.isfunction(f) + len(repr(Pair(1, copy.copy(2))))

        assert torch.compile(f, fullgraph=True)(x).tolist() == f(x).tolist()
    """
    assert run(program) == ""


def test_the_program_sees_its_own_errors_of_imports():
    def f(x):
        y = x + 1
        import no_such_module  # noqa: F401

        return y

    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        torch.compile(f)(torch.ones(2))
