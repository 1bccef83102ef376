"""A real notebook, run by a kernel: stacks begin at the cell, sources follow edits, reloads and interrupts work."""

import re

import nbclient
import nbformat
import pytest

import minidynamo as torch

CELLS = {
    "logs": """
import minidynamo as torch, os, signal, threading, time
torch._logging.set_logs(graph_breaks=True)""",
    "first": """
@torch.compile(backend="eager")
def f(x):
    print("one")
    return x + 1
f(torch.ones(2))""",
    "called": """
def outer(x):
    return f(x)
torch._dynamo.reset()
outer(torch.ones(2))""",
    "edited": """
@torch.compile(backend="eager")
def f(x):
    y = x * 2
    print("two")
    return y
f(torch.ones(2))""",
    "timed": """%%time
torch._dynamo.reset(); f(torch.ones(2))""",
    "timeit": "%timeit -n1 -r1 torch._dynamo.reset(); f(torch.ones(2))",
    "fullgraph": "torch.compile(f, fullgraph=True)(torch.ones(2))",
    "events": """
events = []
with torch.compiler.on_break(events.append), torch.compiler.on_recompile(events.append):
    torch._dynamo.reset()
    for k in (1, 2):
        torch.compile(lambda x, flag: x if flag else x + 1, backend="eager")(torch.ones(k), k == 1)
    f(torch.ones(1))
for event in events:
    print([(frame["function"], frame["file"].endswith(".py")) for frame in event.stack])""",
    "explained": "torch._dynamo.explain(f)(torch.ones(2))",
    "tensor": "torch.ones(2, 3)",
    "loaded": """
%load_ext autoreload
%autoreload 2
import sys, tempfile, pathlib
folder = tempfile.mkdtemp()
sys.path.insert(0, folder)
source = pathlib.Path(folder, "reloaded_module.py")
source.write_text('''import minidynamo as torch
@torch.compile(backend="eager")
def g(x):
    return x + 1
class K:
    @torch.compile(backend="eager")
    def m(self, x):
        return x * 2
def helper(x):
    return x + 100
''')
import reloaded_module
from reloaded_module import K, g, helper
k = K()
@torch.compile(backend="eager")
def uses(x):
    return helper(x)
print([h(torch.ones(1)).item() for h in (g, reloaded_module.g, k.m, uses)])""",
    "edited module": """
source.write_text(source.read_text().replace("x + 1\\n", "x + 10\\n").replace("* 2", "* 20").replace("100", "200"))
os.utime(source, (time.time() + 5,) * 2)""",
    "reloaded": "print([h(torch.ones(1)).item() for h in (g, reloaded_module.g, k.m, uses)])",
    "interrupted": """
def slow(gm, example_inputs):
    signal.raise_signal(signal.SIGINT)
    return gm.forward
h = torch.compile(lambda x: x + 1, backend=slow)
h(torch.ones(1))""",
    "interrupted later": """
def signalled(x):
    signal.raise_signal(signal.SIGINT)
    return x
i = torch.compile(lambda x: signalled(x + 1) * 2, backend="eager")
i(torch.ones(1))""",
    "after": """
slow = lambda gm, example_inputs: gm.forward
print(torch.compile(lambda x: x + 1, backend=slow)(torch.ones(1)).item())""",
}


@pytest.fixture(scope="module")
def outputs():
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text.strip()) for text in CELLS.values()])
    nbclient.NotebookClient(book, timeout=60, kernel_name="python3", allow_errors=True).execute()
    return {name: cell.outputs for name, cell in zip(CELLS, book.cells)}


def printed(outputs):
    return "".join(o.text for o in outputs if o.output_type == "stream")


def stacks(outputs):
    """Of each logged break: (file, function, source line) of its frames."""
    text = re.sub(r"^V\d{4} \S+ \d+ \S+\] (\[\S+\] )*", "", printed(outputs), flags=re.M)
    found = []
    for part in text.split("User code traceback:")[1:]:
        rows = re.findall(r'  File "(.*?)", line (\d+), in (\S+)\n(?:    (\S.*)\n)?', part.split("\n\n")[0] + "\n")
        found.append([(function, source) for _, _, function, source in rows])
    return found


def test_a_stack_begins_at_the_cell(outputs):
    assert stacks(outputs["first"]) == [[("<module>", "f(torch.ones(2))"), ("f", 'print("one")')]]
    assert stacks(outputs["called"]) == [
        [("<module>", "outer(torch.ones(2))"), ("outer", "return f(x)"), ("f", 'print("one")')]
    ]


def test_sources_are_those_of_the_version_that_runs(outputs):
    assert stacks(outputs["edited"]) == [[("<module>", "f(torch.ones(2))"), ("f", 'print("two")')]]


def test_what_magics_run_begins_there(outputs):
    assert [[row[0] for row in stack] for stack in stacks(outputs["timed"])] == [["<module>", "f"]]
    assert [[row[0] for row in stack] for stack in stacks(outputs["timeit"])] == [["inner", "f"]]


def test_an_error_shows_the_cell_and_nothing_of_the_compiler(outputs):
    (error,) = outputs["fullgraph"]
    trace = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(error.traceback))
    assert error.ename == "Unsupported" and "ipykernel/" not in trace and "site-packages" not in trace
    assert 'print("two")' in error.evalue


def test_stacks_of_events(outputs):
    assert "('f', True)" in printed(outputs["events"])
    assert "_bootstrap" not in printed(outputs["events"]) and "run_cell" not in printed(outputs["events"])


def test_rich_display(outputs):
    for name, words in (("explained", ["GB0059", "<details>"]), ("tensor", ["2 × 3", "float32"])):
        (data,) = [o.data for o in outputs[name] if o.output_type == "execute_result"]
        assert all(word in data["text/html"] for word in words)
        assert "<" not in data["text/plain"] or name == "explained"


def test_reloaded_functions_are_the_new_ones(outputs):
    assert printed(outputs["loaded"]).strip() == "[2.0, 2.0, 2.0, 101.0]"
    assert printed(outputs["reloaded"]).strip() == "[11.0, 11.0, 20.0, 201.0]"


def test_interrupts(outputs):
    for name in ("interrupted", "interrupted later"):
        assert outputs[name][-1].ename == "KeyboardInterrupt"
    assert printed(outputs["after"]).strip() == "2.0"


def made(factor):
    @torch.compile(backend="eager")
    def f(x, more=factor):
        return x * factor + more

    return f


def test_autoreloads_rules_reach_compiled_functions():
    from IPython.extensions import autoreload

    old, new = made(2), made(3)
    held = old
    assert old(torch.ones(1)).item() == 4
    assert autoreload.update_generic(old, new)
    assert held is old and held(torch.ones(1)).item() == 2 * 1 + 3  # closures belong to the function that was first


def test_what_a_function_runs_can_be_assigned():
    f, g = made(2), made(3)
    assert f(torch.ones(1)).item() == 4
    f.__defaults__ = (10,)
    assert f(torch.ones(1)).item() == 12 and f.__wrapped__.__defaults__ == (10,)
    with pytest.raises(ValueError, match="free vars"):
        f.__code__ = (lambda x, more=1: x).__code__
    f.note = 1
    assert f.note == 1 and not hasattr(f.__wrapped__, "note")
    del f.__defaults__
    with pytest.raises(TypeError, match="more"):
        f(torch.ones(1))
    assert g(torch.ones(1)).item() == 6
