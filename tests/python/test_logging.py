"""set_logs and TORCH_LOGS: which artifacts and modules speak, prefixes, files, and what is refused."""

import logging
import os
import re
import subprocess
import sys

import pytest

from minidynamo import _logging
from minidynamo._logging.names import ARTIFACTS, BITS
from minidynamo._logging.output import PrefixFormatter


@pytest.fixture(autouse=True)
def off_afterwards(monkeypatch):
    monkeypatch.delenv("TORCH_LOGS", raising=False)
    monkeypatch.delenv("MINIDYNAMO_LOGS", raising=False)
    _logging.set_logs()
    yield
    monkeypatch.undo()
    _logging.set_logs()


def enabled():
    return {name for name in ARTIFACTS if _logging.get_artifact_logger(name).isEnabledFor(logging.DEBUG)}


def test_off_by_default_but_warnings_pass():
    assert enabled() == set()
    assert _logging._enabled_mask == 0
    assert logging.getLogger("minidynamo._dynamo").isEnabledFor(logging.WARNING)


def test_artifacts_one_by_one():
    _logging.set_logs(graph_breaks=True, guards=True, recompiles=False)
    assert enabled() == {"graph_breaks", "guards"}
    assert _logging._enabled_mask == BITS["graph_breaks"] | BITS["guards"]
    _logging.set_logs()
    assert enabled() == set()
    assert _logging._enabled_mask == 0


def test_dynamo_debug_brings_its_artifacts():
    _logging.set_logs(dynamo=logging.DEBUG)
    wanted = {"graph_code", "graph_breaks", "guards", "recompiles", "trace_source", "trace_call", "trace_bytecode"}
    assert enabled() == wanted
    assert _logging._enabled_mask & BITS["dynamo_debug"] and _logging._enabled_mask & BITS["dynamo_info"]
    assert not _logging._enabled_mask & BITS["bytecode"]


def test_dynamo_info_brings_no_artifact():
    _logging.set_logs(dynamo=logging.INFO)
    assert enabled() == set()
    assert _logging._enabled_mask == BITS["dynamo_info"]


@pytest.mark.parametrize(
    "call, error, text",
    [
        ({"nope": 1}, TypeError, r"set_logs\(\) got an unexpected keyword argument 'nope'"),
        (
            {"dynamo": True},
            ValueError,
            "Unrecognized log level for log dynamo: True, valid level values are: 50,40,30,20,10,0",
        ),
        ({"guards": 3}, ValueError, "Expected bool to enable artifact guards"),
    ],
)
def test_set_logs_refuses(call, error, text):
    with pytest.raises(error, match=text):
        _logging.set_logs(**call)


def test_modules():
    _logging.set_logs(modules={"torch._dynamo.report": logging.INFO})
    assert logging.getLogger("minidynamo._dynamo.report").isEnabledFor(logging.INFO)
    assert not logging.getLogger("minidynamo._dynamo").isEnabledFor(logging.INFO)
    _logging.set_logs()
    assert not logging.getLogger("minidynamo._dynamo.report").isEnabledFor(logging.INFO)


def test_prefix_on_every_line():
    record = logging.LogRecord("minidynamo.__guards", logging.DEBUG, __file__, 7, "one\ntwo %s", (2,), None)
    _logging.set_compile_id("3/1_2")
    try:
        lines = PrefixFormatter().format(record).split("\n")
    finally:
        _logging.set_compile_id("")
    head = r"V\d{4} \d\d:\d\d:\d\d\.\d{3}000 \d+ \S*test_logging\.py:7\] \[3/1_2\] \[__guards\] "
    assert re.fullmatch(head + "one", lines[0]) and re.fullmatch(head + "two 2", lines[1])
    plain = logging.LogRecord("minidynamo._dynamo", logging.WARNING, __file__, 7, "x", (), None)
    assert re.fullmatch(r"W\d{4} \S+ \d+ \S+:7\] x", PrefixFormatter().format(plain))


def run(env, code):
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "MINIDYNAMO"))}
    env = {**clean, "PYTHONPATH": os.pathsep.join(sys.path), **env}
    return subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)


SAY = """
import logging
from minidynamo import _logging
_logging.get_artifact_logger("guards").debug("the guards")
logging.getLogger("minidynamo._dynamo").info("the info")
print(_logging._enabled_mask)
"""


@pytest.mark.parametrize(
    "setting, guards, info",
    [
        ("guards", True, False),
        ("-guards", True, False),
        ("dynamo", False, True),
        ("+dynamo", True, True),
        ("+dynamo,-dynamo", False, False),
        ("all", False, True),
        ("torch._dynamo", False, True),
        ("guards, bytecode", True, False),
    ],
)
def test_environment_grammar(setting, guards, info):
    err = run({"TORCH_LOGS": setting, "TORCH_LOGS_FORMAT": "%(message)s"}, SAY).stderr.splitlines()
    assert ("the guards" in err, "the info" in err) == (guards, info)


def test_our_variable_wins():
    done = run({"TORCH_LOGS": "guards", "MINIDYNAMO_LOGS": "bytecode"}, SAY)
    assert done.stdout == f"{BITS['bytecode']}\n"


def test_output_file(tmp_path):
    out = tmp_path / "log.txt"
    run({"TORCH_LOGS": "guards", "TORCH_LOGS_OUT": str(out)}, SAY)
    assert out.read_text().endswith("[__guards] the guards\n")


@pytest.mark.parametrize("setting", ["help", "+help"])
def test_help(setting):
    done = run({"TORCH_LOGS": setting}, SAY)
    assert done.stdout == "0\n" and "Traceback" not in done.stderr
    assert "graph_breaks" in done.stderr and "TORCH_LOGS_OUT" in done.stderr


def test_wrong_name_is_reported_and_the_program_goes_on():
    done = run({"TORCH_LOGS": "guards,nope"}, SAY)
    assert done.stdout == "0\n" and "Traceback" not in done.stderr
    assert done.stderr.count("Invalid log settings: guards,nope, must be a comma separated list") == 1
    assert "Valid settings:" in done.stderr


def test_environment_setting_is_not_replaced(monkeypatch, capsys):
    monkeypatch.setenv("TORCH_LOGS", "guards")
    _logging.set_logs(bytecode=True)
    assert "has no effect" in capsys.readouterr().err
    assert enabled() == set()
