"""install_as_torch(), and `python -m minidynamo run --as-torch`: programs written for torch run on this package."""

import os
import subprocess
import sys
import textwrap

import pytest

PATH = ":".join(p for p in sys.path if p)


def run(program, *options, where=None, expect=0):
    """What a program prints that installs the name first; with options it is run by the command line."""
    code = textwrap.dedent(program)
    if where is None:
        command = [sys.executable, "-c", "import minidynamo\nminidynamo.install_as_torch()\n" + code]
    else:
        where.write_text(code)
        command = [sys.executable, "-m", "minidynamo", "run", *options, str(where)]
    env = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert done.returncode == expect, done.stderr
    return done.stdout if expect == 0 else done.stderr


TRAINED = """
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch import Tensor, fx
    from torch.nn import Linear, functional
    from torch.utils.checkpoint import checkpoint
    import torch._dynamo
    from torch._dynamo.utils import counters

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = Linear(3, 2)

        def forward(self, x: Tensor):
            return F.relu(self.layer(x)) + checkpoint(torch.sum, x)

    net = Net()
    compiled = torch.compile(net)
    x = torch.ones(4, 3)
    explained = torch._dynamo.explain(net)(x)
    print(torch.equal(net(x), compiled(x)), counters["stats"]["unique_graphs"] > 0, len(explained.graphs))
"""


def test_programs_for_torch_run(tmp_path):
    assert run(TRAINED) == "True True 1\n"
    assert run(TRAINED, "--as-torch", where=tmp_path / "program.py") == "True True 1\n"
    assert run(TRAINED, "--everything", "--as-torch", where=tmp_path / "program.py").startswith("True")


def test_modules_are_the_same_ones():
    assert (
        run("""
        import sys, importlib, importlib.util
        import torch, torch.nn.attention, torch.fx.experimental.symbolic_shapes as shapes
        import minidynamo.utils.dlpack, torch.utils.dlpack
        assert torch is minidynamo and torch.nn.attention is minidynamo.nn.attention
        assert torch.utils.dlpack is minidynamo.utils.dlpack
        import minidynamo.fx.experimental.symbolic_shapes as own
        assert shapes is own
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] == "torch":
                assert module is sys.modules["minidynamo" + name.removeprefix("torch")], name
                assert module.__name__.startswith("minidynamo"), name
                assert getattr(module.__spec__, "name", module.__name__) == module.__name__, name
        assert importlib.import_module("torch.nn.functional") is minidynamo.nn.functional
        assert importlib.import_module(".init", "torch.nn") is minidynamo.nn.init
        assert importlib.util.find_spec("torch") is not None and importlib.util.find_spec("torch.package") is None
        assert importlib.util.find_spec("torch.nn.init") is not None
        assert torch.__version__ == minidynamo.__version__
        minidynamo.install_as_torch()
        assert len([f for f in sys.meta_path if "as_torch" in getattr(f, "__module__", "")]) == 1
        print("done")
    """)
        == "done\n"
    )


def test_what_is_absent_is_said_in_torch_s_name():
    assert run("""
        def said(statement):
            try:
                exec(statement)
            except ImportError as error:
                print(type(error).__name__, error.name, error)

        said("import torch.package as package")
        said("from torch import package")
        said("from torch.utils import ThroughputBenchmark")
        said("import torch.nn.functionall")
    """) == (
        "ModuleNotFoundError torch.package No module named 'torch.package' "
        "(torch.package, a module of torch 2.13, is not part of minidynamo)\n"
        "ImportError minidynamo cannot import name 'package' from 'minidynamo' "
        "(torch.package, a module of torch 2.13, is not part of minidynamo)\n"
        "ImportError minidynamo.utils cannot import name 'ThroughputBenchmark' from 'minidynamo.utils' "
        "(torch.utils.ThroughputBenchmark, a class of torch 2.13, is not part of minidynamo)\n"
        "ModuleNotFoundError torch.nn.functionall No module named 'torch.nn.functionall' "
        "(torch 2.13 has no torch.nn.functionall either; nearest: torch.nn.functional)\n"
    )


def test_pickles_name_the_modules_there_are():
    assert (
        run("""
        import pickle, torch
        made = pickle.dumps((torch.nn.Linear(2, 3), torch.float32, torch.Size([1]), torch.add))
        assert b"ctorch" not in made and b"minidynamo.nn" in made
        linear, dtype, size, add = pickle.loads(made)
        assert type(linear) is torch.nn.Linear and dtype is torch.float32 and add is torch.add
        print("done")
    """)
        == "done\n"
    )


@pytest.mark.parametrize("first", ["torch", "torch.nn"])
def test_another_torch_that_is_loaded_is_refused(first, tmp_path):
    package = tmp_path / "torch"
    (package / "nn").mkdir(parents=True)
    (package / "__init__.py").write_text("real = True\n")
    (package / "nn/__init__.py").write_text("")
    program = f"""
        import sys
        sys.path.insert(0, {str(tmp_path)!r})
        import {first}, minidynamo
        try:
            minidynamo.install_as_torch()
        except RuntimeError as error:
            print("torch/__init__.py" in str(error), torch.real, sys.modules["torch"] is torch)
    """
    env = {**os.environ, "PYTHONPATH": PATH}
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=100)
    assert done.stdout == "True True True\n", done.stderr
    # Installed before, ours is found, not the one that lies on the path.
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r})\nimport {first}\nprint(torch is minidynamo)"
    assert run(program) == "True\n"


def test_without_it_torch_is_what_it_was():
    program = "import minidynamo, sys; print('torch' in sys.modules, [f for f in sys.meta_path if 'Aliases' in str(f)])"
    env = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    assert done.stdout == "False []\n", done.stderr


def test_a_missing_module_of_a_program_is_reported_as_usual(tmp_path):
    text = run("import torch.package\n", "--as-torch", where=tmp_path / "program.py", expect=1)
    assert text.startswith("Traceback (most recent call last):\n") and "torch.package, a module of torch 2.13" in text
    assert "_as_torch.py" not in text and "program.py" in text


STARTS_OTHERS = """\
import multiprocessing
import torch
import torch.multiprocessing as mp

def work(i, queue):
    if i == 0:
        mp.spawn(work, (queue,), 1) if mp.current_process().name == "first" else queue.put(torch.__name__)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    started = context.Process(target=work, args=(0, queue), name="first")
    started.start()
    print(queue.get(timeout=60))
    started.join()
"""


def test_processes_that_are_started_anew(tmp_path):
    """Those of torch.multiprocessing, of the standard library, and those that they start in turn."""
    assert run(STARTS_OTHERS, "--as-torch", where=tmp_path / "program.py") == "minidynamo\n"
