"""Importing in a subinterpreter of either kind raises ImportError at once and leaves the main interpreter as it was."""

import os
import subprocess
import sys

import pytest

PROGRAM = """
import faulthandler, sys
faulthandler.dump_traceback_later(60, exit=True)
FIRST
try:
    import _interpreters as interpreters
    new = lambda: interpreters.create("isolated" if ISOLATED else "legacy")
except ImportError:
    import _xxsubinterpreters as interpreters
    new = lambda: interpreters.create(isolated=ISOLATED)
code = '''
for _ in range(2):
    try:
        import MODULE
    except ImportError as error:
        text = str(error)
    else:
        text = "imported"
    assert "main interpreter" in text, text
'''
for _ in range(2):
    one = new()
    failed = interpreters.run_string(one, code)
    assert failed is None, failed
    interpreters.destroy(one)
import minidynamo
assert minidynamo.compile(lambda x: x + 1)(minidynamo.ones(2)).tolist() == [2.0, 2.0]
"""

FORGOTTEN = """
import sys
import minidynamo
for name in [n for n in sys.modules if n == "minidynamo" or n.startswith("minidynamo.")]:
    if name != "minidynamo._C":
        del sys.modules[name]
import minidynamo
assert minidynamo.compile(lambda x: x + 1)(minidynamo.ones(2)).tolist() == [2.0, 2.0]
"""


def run(program):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("module", ["minidynamo", "minidynamo._C", "minidynamo.nn"])
@pytest.mark.parametrize("isolated", [True, False], ids=["isolated", "legacy"])
@pytest.mark.parametrize("first", ["import minidynamo", ""], ids=["after", "before"])
def test_a_subinterpreter_is_refused(module, isolated, first):
    run(PROGRAM.replace("FIRST", first).replace("ISOLATED", repr(isolated)).replace("MODULE", module))


def test_imported_again_after_it_was_forgotten():
    run(FORGOTTEN)
