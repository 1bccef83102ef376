"""Settings of torch._dynamo.config: defaults, types, aliases, patches by thread and task, the environment."""

import asyncio
import subprocess
import sys
import threading

import pytest

from minidynamo._dynamo import config


@pytest.fixture(autouse=True)
def unchanged():
    before = config.get_config_copy()
    yield
    assert config.get_config_copy() == before


def test_published_defaults():
    wanted = {
        "recompile_limit": 8,
        "accumulated_recompile_limit": 256,
        "fail_on_recompile_limit_hit": False,
        "skip_code_recursive_on_recompile_limit_hit": True,
        "capture_scalar_outputs": False,
        "automatic_dynamic_shapes": True,
        "reorderable_logging_functions": set(),
        "suppress_errors": False,
        "numpy_default_complex": "complex128",
        "trace_numpy": True,
        "allow_rnn": False,
    }
    assert {name: getattr(config, name) for name in wanted} == wanted


def test_unknown_name():
    with pytest.raises(AttributeError, match=r"^torch\._dynamo\.config\.nope does not exist$"):
        _ = config.nope
    with pytest.raises(AttributeError, match="nope does not exist"):
        config.nope = 1
    with pytest.raises(AttributeError, match="nope does not exist"):
        config.patch(nope=1)
    assert not hasattr(config, "nope")


def test_alias_is_the_same_entry():
    with config.patch(cache_size_limit=3):
        assert config.recompile_limit == 3
        config.recompile_limit = 4
        assert config.cache_size_limit == 4


def test_wrong_type():
    with pytest.raises(TypeError, match="recompile_limit must be an int, got '8'"):
        config.recompile_limit = "8"
    with pytest.raises(TypeError, match="recompile_limit"):
        config.patch(recompile_limit=True)


@pytest.mark.parametrize(
    "patch",
    [
        lambda: config.patch(verbose=True),
        lambda: config.patch("verbose", True),
        lambda: config.patch({"verbose": True}),
    ],
)
def test_patch_forms(patch):
    with patch():
        assert config.verbose is True
    assert config.verbose is False

    @patch()
    def decorated():
        return config.verbose

    assert decorated() is True
    assert config.verbose is False


def test_patch_without_entries():
    with pytest.raises(TypeError):
        config.patch()


def test_nested_patches_restore_in_order():
    with config.patch(recompile_limit=1):
        with config.patch(recompile_limit=2, verbose=True):
            assert (config.recompile_limit, config.verbose) == (2, True)
        assert (config.recompile_limit, config.verbose) == (1, False)
    assert config.recompile_limit == 8


def test_patch_ends_on_exception():
    with pytest.raises(ZeroDivisionError), config.patch(recompile_limit=1):
        _ = 1 / 0
    assert config.recompile_limit == 8


def test_assignment_inside_patch_ends_with_it():
    with config.patch(recompile_limit=1):
        config.recompile_limit = 5
        assert config.recompile_limit == 5
    assert config.recompile_limit == 8


def test_assignment_is_for_the_process_and_del_restores():
    config.recompile_limit = 5
    seen = []
    thread = threading.Thread(target=lambda: seen.append(config.recompile_limit))
    thread.start()
    thread.join()
    del config.recompile_limit
    assert seen == [5]
    assert config.recompile_limit == 8


def test_patch_is_not_seen_by_other_threads():
    seen = []
    with config.patch(recompile_limit=1):
        thread = threading.Thread(target=lambda: seen.append(config.recompile_limit))
        thread.start()
        thread.join()
    assert seen == [8]


def test_patches_of_interleaved_tasks_do_not_mix():
    async def task(value):
        with config.patch(recompile_limit=value):
            for _ in range(3):
                await asyncio.sleep(0)
                assert config.recompile_limit == value
        return config.recompile_limit

    async def both():
        return await asyncio.gather(task(1), task(2))

    assert asyncio.run(both()) == [8, 8]


def test_snapshot_is_complete_and_detached():
    with config.patch(recompile_limit=1):
        snapshot = config._snapshot()
    assert snapshot["recompile_limit"] == 1
    assert set(snapshot) == set(config._DEFAULTS)
    assert type(snapshot) is dict


def test_set_valued_default_is_not_shared():
    config.reorderable_logging_functions.add(print)
    del config.reorderable_logging_functions
    assert config.reorderable_logging_functions == set()


def run_with(env):
    code = "from minidynamo._dynamo import config as c; print(c.verbose, c.capture_scalar_outputs, c.disable)"
    import os

    clean = {k: v for k, v in os.environ.items() if not k.startswith(("TORCH", "MINIDYNAMO"))}
    path = os.pathsep.join(sys.path)
    done = subprocess.run(
        [sys.executable, "-c", code], env={**clean, "PYTHONPATH": path, **env}, capture_output=True, text=True
    )
    return done.stdout.split()


def test_environment():
    assert run_with({}) == ["False", "False", "False"]
    assert run_with({"TORCHDYNAMO_VERBOSE": "1"}) == ["True", "False", "False"]
    assert run_with({"TORCHDYNAMO_VERBOSE": "1", "MINIDYNAMO_VERBOSE": "0"}) == ["False", "False", "False"]
    assert run_with({"TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS": "1", "TORCH_COMPILE_DISABLE": "1"}) == [
        "False",
        "True",
        "True",
    ]
