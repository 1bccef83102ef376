"""CPython's own test modules pass when every code object was decoded, stretched with NOPs and assembled again."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from installed import skip_unless_installed  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
RUNNER = Path(__file__).with_name("reassembled.py")
MODULES = """test_augassign test_binop test_bool test_class test_compare test_contextlib test_contextlib_async
test_coroutines test_dataclasses test_decorators test_dict test_dictcomps test_dynamic test_except_star
test_exception_hierarchy test_exception_variations test_extcall test_fstring test_functools test_generators
test_genexps test_global test_grammar test_iter test_keywordonlyarg test_listcomps test_named_expressions test_opcodes
test_patma test_pow test_property test_raise test_richcmp test_scope test_setcomps test_slice test_string test_super
test_unary test_unpack_ex test_userlist test_with test_yield_from""".split()


def run(mode, module):
    path = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(ROOT / "python")])
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, str(RUNNER), str(mode), f"test.{module}"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=110,
    )
    assert done.stdout.strip(), done.stderr[-2000:]
    return json.loads(done.stdout.splitlines()[-1]), done.stderr


@pytest.mark.parametrize("module", MODULES)
def test_module_passes(module, tmp_path, monkeypatch):
    skip_unless_installed(module)
    monkeypatch.chdir(tmp_path)
    outcome, stderr = run(2, module)
    assert outcome["bad"] == [], stderr[-3000:]
    assert outcome["tests"] > 0 and outcome["codes"] > 0
    print(f"{module}: {outcome['codes']} code objects, {outcome['tests']} tests, {outcome['skipped']} skipped")
