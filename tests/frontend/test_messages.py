"""What a compilation tells: errors of calls that do not fit, warnings, the lines that follow a trace."""

import logging
import re
import subprocess
import sys
import threading
import warnings

import pytest

import minidynamo as torch
from minidynamo._dynamo.exc import TorchRuntimeError
from minidynamo._dynamo.source_marks import marked_source

FAILED = "Dynamo failed to run FX node with fake tensors: "
A = "FakeTensor(..., size=(3,))"
B = "FakeTensor(..., size=(4,))"
WHOLE = "FakeTensor(..., size=(2, 3), dtype=torch.int64)"


def increased(a, b, i):
    a += b
    return a


CALLS = {
    f"call_function <built-in function add>(*({A}, {B}), **{{}}): got RuntimeError(": lambda a, b, i: a + b,
    f"call_function <built-in function iadd>(*({A}, {B}), **{{}}): got RuntimeError(": increased,
    f"call_method view(*({A}, 4), **{{}}): got RuntimeError(": lambda a, b, i: a.view(4),
    f"call_method add_(*({A}, {B}), **{{}}): got RuntimeError(": lambda a, b, i: a.add_(b),
    f"call_function <built-in function getitem>(*({A}, 'k'), **{{}}): got TypeError(": lambda a, b, i: a["k"],
    f"call_method fill_(*({A}, {B}), **{{}}): got RuntimeError('fill_ only": lambda a, b, i: a.fill_(b),
}


def arguments():
    return torch.ones(3), torch.ones(4), torch.ones(2, 3, dtype=torch.int64)


@pytest.mark.parametrize(("text", "f"), CALLS.items(), ids=[c.split("(")[0] for c in CALLS])
def test_failed_call(text, f):
    with pytest.raises(TorchRuntimeError) as info:
        torch.compile(f, fullgraph=True)(*arguments())
    assert str(info.value).startswith(FAILED + text)
    assert "\n\nfrom user code:\n   File " in str(info.value)
    with pytest.raises(Exception) as plain:  # noqa: PT011  whatever it is, it is the same
        f(*arguments())
    assert repr(info.value.__cause__) == repr(plain.value)
    with pytest.raises(type(plain.value), match=re.escape(str(plain.value))):
        torch.compile(f)(*arguments())


@pytest.mark.parametrize("f", [lambda a, b, i: a.sum(dim=5), lambda a, b, i: a[7], lambda a, b, i: a.unsqueeze(9)])
def test_places_that_are_not_there(f):
    """Said as they are, as torch does, with the line."""
    with pytest.raises(IndexError) as plain:
        f(*arguments())
    with pytest.raises(IndexError) as info:
        torch.compile(f, fullgraph=True)(*arguments())
    assert str(info.value).startswith(str(plain.value) + "\n\nfrom user code:\n   File ")


def test_failed_call_of_a_function():
    def f(a, b, i):
        return torch.cat([a, i], dim=0)

    with pytest.raises(TorchRuntimeError) as info:
        torch.compile(f, fullgraph=True)(*arguments())
    call = (
        rf"call_function <built-in method cat of type object at 0x\w+>\(\*\(\[{re.escape(A)}, {re.escape(WHOLE)}\],\)"
    )
    assert re.match(re.escape(FAILED) + call + r", \*\*\{'dim': 0\}\): got ", str(info.value))


def test_frame_that_fails_is_logged(caplog):
    logger = logging.getLogger("minidynamo._dynamo")
    torch._dynamo.reset()
    logger.addHandler(caplog.handler)
    level = logger.level
    try:
        torch._logging.set_logs(dynamo=logging.INFO)
        logger.addHandler(caplog.handler)
        with pytest.raises(RuntimeError):
            torch.compile(lambda a, b, i: a + b)(*arguments())
    finally:
        torch._logging.set_logs()
        logger.removeHandler(caplog.handler)
        logger.setLevel(level)
    assert any("WON'T CONVERT <lambda>" in r.getMessage() and FAILED in r.getMessage() for r in caplog.records)


def test_only_c_functions_warn():
    def named(x):
        return x + len(threading.current_thread().name)

    def identified(x):
        return x + (threading.get_ident() > 0)

    for f, expected in ((named, 0), (identified, 1)):
        torch._dynamo.reset()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.compile(f)(torch.ones(2))
        assert sum("is implemented in C" in str(w.message) for w in caught) <= expected


PROGRAM = """
import minidynamo as torch
{setup}
def f(x):
{body}
torch.compile(f, backend="eager", fullgraph={fullgraph})(torch.ones(2))
"""


def lines(body, *, logs="+dynamo", setup="", fullgraph=False, path):
    source = PROGRAM.format(
        setup=setup, body="".join(f"    {line}\n" for line in body.split("\n")), fullgraph=fullgraph
    )
    path.write_text(source)
    env = {"PYTHONPATH": ":".join(sys.path), "TORCH_LOGS": logs, "TORCH_LOGS_FORMAT": "%(message)s"}
    done = subprocess.run([sys.executable, str(path)], env=env, capture_output=True, text=True)
    return done.stderr.replace(str(path), "PROGRAM").split("\n")


def test_untraceable_function_warns_under_fullgraph_too(tmp_path):
    out = "\n".join(
        lines("import threading\nreturn x + threading.get_ident()", fullgraph=True, logs="", path=tmp_path / "p.py")
    )
    assert "UserWarning: `_thread.get_ident` is implemented in C" in out
    assert "Attempted to call function marked as skipped" in out


def test_a_program_that_makes_errors_of_warnings_gets_one(tmp_path):
    setup = "import threading, warnings\nwarnings.simplefilter('error')\n"
    body = "y = x + 1\nreturn y if threading.get_ident() else x"
    out = lines(body, setup=setup, logs="", path=tmp_path / "p.py")
    assert out[0].startswith("Traceback") and not any("defect" in line for line in out)
    assert any(line.startswith("UserWarning: `_thread.get_ident` is implemented in C") for line in out)


def test_a_warning_that_is_an_error_is_raised_once_and_leaves_nothing_behind(no_defects):
    def f(x):
        y = x + 1
        return y * 2 if threading.get_native_id() else x

    compiled = torch.compile(f, backend="eager")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="get_native_id"):
            compiled(torch.ones(2))
        assert compiled(torch.ones(2)).tolist() == [4, 4]
    breaks = torch._dynamo.utils.counters["graph_break"]
    assert sum(times for text, times in breaks.items() if "get_native_id" in text) == 1


def test_open_managers_on_the_stack(tmp_path):
    setup = "class Quiet:\n    def __enter__(self): pass\n    def __exit__(self, *a): pass\n"
    out = lines("with Quiet(), torch.no_grad():\n    return x + 1", setup=setup, path=tmp_path / "p.py")
    both = "[WithExitFunctionVariable(), WithExitFunctionVariable()]"
    assert any(line.startswith("TRACE LOAD_FAST x " + both) for line in out), out
    assert not any("GetAttrVariable" in line for line in out)
    assert any(line.endswith("[GenericContextWrappingVariable(Quiet)]") for line in out)


def test_gradient_mode_is_entered_again_by_its_value(tmp_path):
    out = lines("with torch.no_grad():\n    torch._dynamo.graph_break()\n    return x + 1", path=tmp_path / "p.py")
    start = next(k for k, line in enumerate(out) if line.startswith("TRACE starts_line") and "resume_in_f" in line)
    assert "Step 1: torchdynamo start tracing torch_dynamo_resume_in_f_at_6 PROGRAM:6" in out
    names = [line.split(" [")[0] for line in out[start + 2 : start + 9]]
    assert names[:2] == ["TRACE RESUME 0", "TRACE LOAD_FAST ___stack0"]
    assert "TRACE LOAD_CONST False" in names


def test_calls_are_shown_in_their_line(tmp_path):
    out = "\n".join(lines("y = x * 2\nreturn y.sum() + y[0]", logs="trace_call", path=tmp_path / "p.py"))
    assert "TRACE FX call mul from PROGRAM:5 in f\n    y = x * 2\n        ~~^~~\n" in out
    assert "TRACE FX call sum_1 from PROGRAM:6 in f\n    return y.sum() + y[0]\n           ~~~~~^^\n" in out
    assert "TRACE FX call getitem from PROGRAM:6 in f\n    return y.sum() + y[0]\n                     ~^^^\n" in out


def test_loop_of_one_instruction_shows_its_call_once(tmp_path):
    body = "for _ in range(3):\n    x = x + 1\nreturn x"
    out = lines(body, logs="trace_call", path=tmp_path / "p.py")
    assert sum(line.startswith("TRACE FX call") for line in out) == 1


def test_lines_around_a_trace(tmp_path):
    out = "\n".join(lines("return x + 1", path=tmp_path / "p.py"))
    order = [
        "torchdynamo start compiling f PROGRAM:4, stack (elided ",
        '  File "PROGRAM", line 7, in <module>',
        "Step 1: torchdynamo start tracing f PROGRAM:4\ncreate_env\nTRACE starts_line PROGRAM:4 in f",
        "wrap_to_fake L['x'] (2,) StatefulSymbolicContext(dynamic_sizes=[<DimDynamic.STATIC: 2>], ",
        "create_graph_input L_x_ L['x'] FakeTensor(..., size=(2,)) at debug_level 0 before=False\n",
        "Step 1: torchdynamo done tracing f (RETURN_VALUE)\nRETURN_VALUE triggered compile\n",
        "COMPILING GRAPH due to GraphCompileReason(reason='return_value', user_stack="
        "[<FrameSummary file PROGRAM, line 5 in f>], graph_break=False)\nTRACED GRAPH\n",
        "Step 2: calling compiler function eager\nStep 2: done compiler function eager\nproduce_guards\n",
        "track_symint L['x'].size()[0] 2 None\ntrack_symint L['x'].stride()[0] 1 None\n",
        "Skipping guard L['x'].size()[0] == 2\n",
        "Skipping guard L['x'].storage_offset() == 0\nGUARDS:\n",
        "+- LAMBDA_GUARD: torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None  # hooks on",
    ]
    at = [out.find(part) for part in order]
    assert -1 not in at and at == sorted(at), (at, out)


def test_compile_ids_in_the_prefix(tmp_path):
    program = tmp_path / "p.py"
    program.write_text(
        "import minidynamo as torch\n\n@torch.compile(backend='eager')\ndef f(x):\n    y = x + 1\n"
        "    torch._dynamo.graph_break()\n    return y * 2\n\nf(torch.ones(2))\nf(torch.ones(3))\n"
    )
    env = {"PYTHONPATH": ":".join(sys.path), "TORCH_LOGS": "dynamo"}
    done = subprocess.run([sys.executable, str(program)], env=env, capture_output=True, text=True)
    ids = re.findall(r"\] \[(\d+/\d+(?:_\d+)?)\] Step 1: torchdynamo start tracing (\w+)", done.stderr)
    resumed = "torch_dynamo_resume_in_f_at_6"
    assert ids == [("0/0", "f"), ("0/0_1", "f"), ("1/0", resumed), ("0/1", "f"), ("0/1_1", "f"), ("1/1", resumed)]


MARKED = {
    "x = f(a + b)": ("f(a + b)", "~^^^^^^^"),
    "y = (a) ** b": ("(a) ** b", "~~~~^^~~"),
    "z = a [0]": ("a [0]", "~^^^^"),
    "w = -a": ("-a", "^^"),
    "ä = ö.sum()": ("ö.sum()", "~~~~~^^"),
}


@pytest.mark.parametrize("line", MARKED)
def test_marks(line, tmp_path):
    path = tmp_path / "marks.py"
    path.write_text(f"    {line}\n")
    part, marks = MARKED[line]
    start = len(f"    {line}".split(part)[0].encode())
    shown = marked_source(str(path), 1, 1, start, start + len(part.encode()), None).split("\n")
    assert shown == [f"    {line}", " " * f"    {line}".index(part) + marks]


def test_marks_of_several_lines(tmp_path):
    path = tmp_path / "marks.py"
    path.write_text("y = g(\n    x + 1,\n    (x *\n     2))\nz = 0\n")
    assert marked_source(str(path), 1, 4, 4, 8, None) == (
        "y = g(\n    ~^\n    x + 1,\n    ^^^^^^\n    (x *\n    ^^^^\n     2))\n     ^^^"
    )
    assert marked_source(str(path), 5, 5, -1, -1, None) == "z = 0"
    assert marked_source(str(tmp_path / "none.py"), 1, 1, 0, 1, None) == ""
