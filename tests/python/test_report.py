"""Layouts of errors and logged breaks, character by character."""

import builtins
import inspect
import logging

import pytest

from minidynamo import _logging
from minidynamo._dynamo import config, event_logs, exc, message, report, source_text
from minidynamo._dynamo.utils import counters

LINK = "https://pytorch-labs.github.io/compile-graph-break-site/gb/gb0124.html"
PARTS = (124, "Title", "the context", "It cannot.", ["do this", "or that"])
MESSAGE = (
    "Title\n  Explanation: It cannot.\n  Hint: do this\n  Hint: or that\n\n  Developer debug context: the context\n\n"
    f" For more details about this graph break, please visit: {LINK}\n"
    " Explained offline by: python -m minidynamo explain GB0124"
)
ADVICE = (
    "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to "
    'minidynamo). For even more developer context, set TORCH_LOGS="+dynamo"\n\n'
)


@pytest.fixture
def program(tmp_path):
    """A file with known lines, and its frames."""
    path = tmp_path / "program.py"
    path.write_text("def f(x):\n    return g(x)\ndef g(x):\n    return   x.item()\n")
    return str(path), [(str(path), 2, "f"), (str(path), 4, "g")]


@pytest.fixture
def logged(monkeypatch):
    """Messages of the graph_breaks artifact and the dynamo log, all levels."""
    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append((record.levelname, record.getMessage()))

    monkeypatch.delenv("TORCH_LOGS", raising=False)
    monkeypatch.delenv("MINIDYNAMO_LOGS", raising=False)
    report.forget()
    counters.clear()
    _logging.set_logs(dynamo=logging.DEBUG, graph_breaks=True)
    handler = Keep()
    root = logging.getLogger("minidynamo")
    others, root.handlers[:] = root.handlers[:], [handler]
    yield records
    root.handlers[:] = others
    _logging.set_logs()
    report.forget()
    counters.clear()


def test_message():
    assert report.break_message(*PARTS) == MESSAGE


def test_message_without_hints_keeps_the_empty_line():
    assert "It cannot.\n\n\n  Developer" in report.break_message(124, "Title", "c", "It cannot.", [])


def test_message_of_title_only_break():
    assert report.break_message(-1, "STORE_ATTR-caused graph break", "", "", []) == "STORE_ATTR-caused graph break"


def test_a_code_of_our_own_has_no_page():
    text = report.break_message(9000, "Title", "c", "It cannot.", ["Do."])
    command = " Explained offline by: python -m minidynamo explain GB9000"
    assert "visit" not in text and text.endswith(f"Developer debug context: c\n\n{command}")


def test_registry_url_moves_the_link():
    with config.patch(registry_url="https://example.org/x/"):
        assert "visit: https://example.org/x/gb/gb0124.html\n" in report.break_message(*PARTS)
    with config.patch(registry_url=""):
        assert "visit" not in report.break_message(*PARTS) and "explain GB0124" in report.break_message(*PARTS)


MARKED = """\
def f(x):
    if x:
\treturn "日本語" + x.item() + 1
    return foo(x, x.item(
        ), [1,
            2,
            3,
            4, 5])
"""


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ((3, (3, 22, 30)), 'return "日本語" + x.item() + 1\n                  ~~~~~~^^'),
        ((3, (3, 8, 34)), 'return "日本語" + x.item() + 1\n       ~~~~~~~~~~~~~~~~~~~~^~~'),
        ((3, (3, 1, 34)), 'return "日本語" + x.item() + 1'),
        ((2, (2, 7, 8)), "if x:\n   ^"),
        ((2, (-1, -1, -1)), "if x:"),
        ((4, (5, 18, 9)), "return foo(x, x.item(\n              ~~~~~~^\n    ), [1,\n    ^"),
        (
            (4, (6, 11, 14)),
            "return foo(x, x.item(\n       ^^^^^^^^^^^^^^\n    ), [1,\n    ^^^^^^\n        2,\n        ^^",
        ),
        ((99, (99, 1, 2)), ""),
    ],
)
def test_carets_are_under_what_was_executed(tmp_path, place, shown):
    path = tmp_path / "marked.py"
    path.write_text(MARKED)
    text = report.stack_text([(str(path), place[0], "f", place[1])])
    assert text.startswith(
        f'  File "{path}", line {place[0]}, in f\n' + (f"    {shown}".replace("\n", "\n    ") if shown else "")
    )


def test_long_expressions_are_cut_and_repeated_frames_counted(tmp_path):
    path = tmp_path / "marked.py"
    path.write_text(MARKED)
    frame = (str(path), 4, "f", (8, 11, 18))
    text = report.stack_text([frame] * 5)
    assert text.count("...<1 lines>...") == 3 and text.endswith("  [Previous line repeated 2 more times]\n")


def test_frames_of_this_package_are_hidden(program):
    file, frames = program
    inside = (message.PACKAGE + "nn/module.py", 3, "__call__")
    assert message.shown([*frames, inside]) == frames
    assert message.shown([inside])[0][0] == __file__
    with config.patch(verbose=True):
        assert message.shown([*frames, inside])[-1] == inside


def test_the_place_of_a_break_is_a_line_of_the_program(program):
    file, frames = program
    library = (inspect.__file__, 5, "signature")
    assert message.place([*frames, library]) == (file, 4)
    assert message.place([library]) == (inspect.__file__, 5)


def test_unsupported_text(program):
    file, frames = program
    error = report.unsupported(*PARTS, frames)
    assert str(error) == (
        f'{MESSAGE}\n\nfrom user code:\n   File "{file}", line 2, in f\n    return g(x)\n'
        f'  File "{file}", line 4, in g\n    return   x.item()\n\n{ADVICE}'
    )


def test_unsupported_attributes(program):
    _, frames = program
    counters.clear()
    error = report.unsupported(*PARTS, frames)
    assert type(error).__mro__[1:3] == (exc.TorchDynamoException, RuntimeError)
    assert (error.gb_code, error.gb_type, error.context) == ("GB0124", "Title", "the context")
    assert (error.explanation, error.hints, error.msg) == ("It cannot.", ["do this", "or that"], MESSAGE)
    assert [(f.lineno, f.name, f.line) for f in error.real_stack] == [
        (2, "f", "return g(x)"),
        (4, "g", "return   x.item()"),
    ]
    assert error.__cause__ is None and error.__suppress_context__ is True
    assert (error.category, error.case_name) == ("unimplemented", None)
    assert counters["unimplemented"] == {MESSAGE: 1}
    error.remove_from_stats()
    assert counters["unimplemented"] == {}


def test_verbose_drops_the_closing_line(program):
    _, frames = program
    with config.patch(verbose=True):
        assert str(report.unsupported(*PARTS, frames)).endswith("    return   x.item()\n")


def test_runtime_error_text(program):
    _, frames = program
    error = report.runtime_error("call_function add(*(a, b), **{})", RuntimeError("bad shapes"), frames)
    assert type(error) is exc.TorchRuntimeError
    assert str(error).startswith(
        "Dynamo failed to run FX node with fake tensors: call_function add(*(a, b), **{}): got "
        "RuntimeError('bad shapes')\n\nfrom user code:\n   File "
    )


def test_internal_error_text():
    cause = KeyError("k")
    error = report.internal_error(cause, [])
    assert str(error) == f"KeyError: 'k'\n{ADVICE}"
    assert error.__cause__ is cause


def test_backend_failed_text():
    def my_backend(gm, inputs):
        pass

    cause = ValueError("no")
    error = report.backend_failed(my_backend, cause)
    assert str(error) == f"backend='my_backend' raised:\nValueError: no\n\n{ADVICE}"
    assert error.inner_exception is cause and error.backend_name == "my_backend"


def test_first_break_is_logged_with_the_callers_stack(program, logged):
    file, frames = program
    logged_text = report.resumed(*PARTS, frames)
    here = inspect.currentframe()
    level, text = logged[0]
    head, _, stack = text.partition("User code traceback:\n")
    assert (logged_text, level) == (MESSAGE, "DEBUG")
    assert head == f"Graph break in user code at {file}:4\nGraph Break Reason: {MESSAGE}\n\n"
    assert stack.endswith(
        f"in {here.f_code.co_name}\n    logged_text = report.resumed(*PARTS, frames)\n"
        f'                  ~~~~~~~~~~~~~~^^^^^^^^^^^^^^^^\n  File "{file}", line 2, in f\n'
        f'    return g(x)\n  File "{file}", line 4, in g\n    return   x.item()\n'
    )
    assert "_dynamo/report.py" not in stack


def test_second_break_at_a_line_has_no_stack(program, logged):
    file, frames = program
    report.resumed(*PARTS, frames)
    report.resumed(7, "Another", "c", "e", [], frames)
    assert logged[1][1].startswith(
        f"Graph break (user stack suppressed due to duplicate graph break) in user code at {file}:4\n"
        "Graph Break Reason: Another\n"
    )
    assert "User code traceback" not in logged[1][1]
    report.forget()
    report.resumed(*PARTS, frames)
    assert "User code traceback" in logged[2][1]


def test_title_only_break_log(program, logged):
    file, frames = program
    report.resumed(-1, "STORE_ATTR-caused graph break", "", "", [], frames)
    assert logged[0][1].startswith(
        f"Graph break in user code at {file}:4\nGraph Break Reason: STORE_ATTR-caused graph break\n"
        "User code traceback:\n"
    )


def test_verbose_break_log_separates_caller_and_trace(program, logged):
    _, frames = program
    with config.patch(verbose=True):
        for _ in range(2):
            report.resumed(*PARTS, frames)
    for _, text in logged:
        above, line, below = text.partition(
            "\n\n========== most recent `torch.compile` tracing attempt started here ==========\n\n"
        )
        assert line and "report.resumed" in above and "\n\nNOTE: " in below


def test_logging_off_costs_nothing_and_remembers_nothing(program):
    _, frames = program
    report.forget()
    assert report.resumed(*PARTS, frames) == MESSAGE
    assert not event_logs._seen_breaks


def test_fold():
    f = "torch_dynamo_resume_in_{}_at_{}".format
    assert report.fold([("a", 1, "main"), ("a", 4, "f"), ("a", 5, f("f", 4)), ("a", 6, f("f", 5))]) == [
        ("a", 1, "main"),
        ("a", 6, "f"),
    ]
    recursion = [("a", 3, "f"), ("a", 3, "f")]
    assert report.fold(recursion) == recursion
    assert report.fold([("a", 9, f("<lambda>", 2))]) == [("a", 9, "<lambda>")]
    assert report.fold([("b", 4, "f"), ("a", 5, f("f", 4))]) == [("b", 4, "f"), ("a", 5, "f")]


def test_loop_skip_lines(program, logged):
    file, frames = program
    report.skip_in_loop(frames, "f", file, 1)
    reason = (
        f"Skipping frame because there is a graph break in a for/while loop\n<FrameSummary file {file}, line 4 in g>"
    )
    assert logged == [("INFO", reason), ("DEBUG", f"Skipping frame {reason} f{' ' * 21}{file} 1")]


def test_skip_frame_lines(logged):
    reason = "Skip frame due to `torch._dynamo.skip_frame()`. Message: None"
    report.skip_asked(reason, "f", "x.py", 2)
    assert logged == [("DEBUG", f"Skipping frame {reason} f{' ' * 21}x.py 2")]


def test_other_skip_lines(logged):
    report.log_skipping("because no content in function call", "g", "x.py", 3)
    report.log_no_torch("h", "x.py", 4)
    report.log_skipfile("i", "in skipfiles", "y.py")
    assert [text for _, text in logged] == [
        f"Skipping frame because no content in function call g{' ' * 21}x.py 3",
        f"skipping because no torch.* h{' ' * 13}x.py 4",
        "skipping: i (reason: in skipfiles, file: y.py)",
    ]


def test_skipped_break_and_wont_convert(program, logged):
    file, frames = program
    cause = report.unsupported(*PARTS, frames)
    error = report.unsupported(66, "Outer", "c", "e", [], frames)
    report.skip_at_break("f", file, 1, error, cause)
    chained = (
        f"torch._dynamo.exc.Unsupported: {MESSAGE}\n\nThe above exception was the direct cause of the following "
        f"exception:\n\ntorch._dynamo.exc.Unsupported: {error}"
    )
    stack = f'  File "{file}", line 2, in f\n    return g(x)\n  File "{file}", line 4, in g\n    return   x.item()\n'
    assert logged == [
        ("DEBUG", f"Graph break: skip: from user code at:\n{stack}{chained}"),
        ("INFO", f"WON'T CONVERT f {file} line 1 \ndue to: \n{chained}"),
    ]


def test_suppressed_errors_are_warnings(program, logged):
    file, frames = program
    with config.patch(suppress_errors=True):
        report.skip_after("f", file, 1, report.unsupported(*PARTS, frames))
    assert logged[0][0] == "WARNING"


def test_recompile_text_and_error(logged):
    text = (
        "Recompiling function f in x.py:1\n    triggered by the following guard failure(s):\n"
        "    - 0/1: n == 3\n    - 0/0: n == 2"
    )
    report.on_recompile("f", "x.py", 1, [["0/1: n == 3"], ["0/0: n == 2"]])
    assert ("DEBUG", text) in logged
    with config.patch(error_on_recompile=True), pytest.raises(exc.RecompileError) as info:
        report.on_recompile("f", "x.py", 1, [["0/1: n == 3"], ["0/0: n == 2"]])
    assert str(info.value) == text


def test_limit_is_reported_once_per_code_object(logged):
    for key in ("a", "a", "b", None, None):
        report.on_limit("recompile_limit", 8, "f", "x.py", 1, "0/7: n == 9", key)
    assert [level for level, _ in logged] == ["WARNING"] * 4
    assert logged[0][1].startswith(
        "torch._dynamo hit config.recompile_limit (8)\n   function: 'f' (x.py:1)\n   last reason: 0/7: n == 9\n"
        'To log all recompilation reasons, use TORCH_LOGS="recompiles".\nTo diagnose recompilation issues, see https://'
    )


def test_limit_errors():
    assert str(report.limit_error("recompile_limit", True)).startswith("recompile_limit reached with fullgraph=True. ")
    assert str(report.limit_error("recompile_limit", False)) == (
        "recompile_limit reached, because fail_on_recompile_limit_hit = True this is a HARD failure"
    )


def test_item_advice_once(program, logged, monkeypatch):
    file, frames = program
    monkeypatch.setattr(report.message, "_warned", set())
    report.warn_item(frames)
    report.warn_item(frames)
    assert len(logged) == 1 and logged[0][0] == "WARNING"
    assert logged[0][1].endswith(
        f'Graph break: from user code at:\n  File "{file}", line 2, in f\n    return g(x)\n'
        f'  File "{file}", line 4, in g\n    return   x.item()\n'
    )


def test_untraceable_warning_once(monkeypatch):
    monkeypatch.setattr(report.message, "_warned", set())
    with pytest.warns(UserWarning, match="^why\nhint$") as seen:
        report.warn_untraceable("why", ["hint"])
        report.warn_untraceable("why", ["hint"])
    assert len(seen) == 1 and seen[0].filename == __file__


def test_lines_are_read_without_the_programs_import(tmp_path, monkeypatch):
    file = tmp_path / "lines.py"
    file.write_text("first\nsecond\n")
    monkeypatch.setattr(builtins, "__import__", lambda name, *args, **kwargs: pytest.fail(f"import of {name}"))
    assert source_text.line(str(file), 2) == "second\n"
