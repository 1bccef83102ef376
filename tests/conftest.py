"""Marks that follow from a test's folder, fixtures, and what is printed at the end of a run.

smoke: a quick set that touches every layer. version_free: searches of the sources and numbers that no Python takes part
in computing, which one Python's suite is enough for; what is recorded of one Python.
"""

import collections
import gc
import os
import pathlib

import pytest
from hypothesis import settings

# Tests are about machine code from the first call on; test_tiers.py is about the time before.
os.environ.setdefault("MINIDYNAMO_BACKGROUND_COMPILE", "0")

import minidynamo  # noqa: E402
from minidynamo._dynamo import config  # noqa: E402

# The same examples every time, so that a failure is a change's own. HYPOTHESIS_PROFILE=exploring draws new ones.
settings.register_profile("reproducible", derandomize=True)
settings.register_profile("exploring", max_examples=500)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "reproducible"))

HERE = pathlib.Path(__file__).resolve().parent
# Quick folders that touch every layer; single tests elsewhere carry the marker themselves.
SMOKE = {"registry", "python", "examples", "pages", "bytecode"}
VERSION_FREE = {"layout", "ulp", "benchmarks", "backend", "site", "docs"}  # docs: tracebacks as one Python marks them
GPU = HERE / "gpu"


def pytest_configure(config):
    """Tests of GPUs find a driver, all others none: a process looks for one once. So each are a run of their own."""
    if not hasattr(config, "workerinput"):  # the workers of a run do as it says
        paths = [pathlib.Path(str(arg).split("::")[0]).resolve() for arg in config.args]
        only_gpu = bool(paths) and all(path.is_relative_to(GPU) for path in paths)
        os.environ["MINIDYNAMO_TESTS_OF_GPUS"] = "1" if only_gpu else "0"
    config.only_gpu = os.environ["MINIDYNAMO_TESTS_OF_GPUS"] == "1"
    if config.only_gpu:
        os.environ.setdefault("MINIDYNAMO_CUDA_DRIVER", "emulated")
    else:
        os.environ["MINIDYNAMO_CUDA_DRIVER"] = "none"


def pytest_ignore_collect(collection_path, config):
    return True if collection_path.is_relative_to(GPU) and not config.only_gpu else None


def pytest_collection_modifyitems(items):
    for item in items:
        folder = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        if folder in SMOKE:
            item.add_marker(pytest.mark.smoke)
        if folder in VERSION_FREE:
            item.add_marker(pytest.mark.version_free)


def pytest_collection_finish():
    """What collecting has made lives to the end: the many collections that tests ask for need not look at it."""
    gc.collect()
    gc.freeze()


def pytest_terminal_summary(terminalreporter):
    """How many frames of CPython's own tests were replaced, and what broke their graphs."""
    frames, breaks = collections.defaultdict(collections.Counter), collections.defaultdict(collections.Counter)
    for report in terminalreporter.getreports("passed") + terminalreporter.getreports("failed"):
        for name, found in report.user_properties:
            if name == "conformance":
                frames[found["way"]].update(found["frames"])
                breaks[found["way"]].update(found["breaks"])
    for way, ends in frames.items():
        every = max(1, sum(ends.values()))
        shares = ", ".join(f"{ends[end] / every:.1%} {end}" for end in ("whole", "partly", "skipped"))
        codes = ", ".join(f"{code} {n}" for code, n in breaks[way].most_common(8))
        terminalreporter.write_line(f"frames of CPython's tests ({way}): {every}, {shares}")
        terminalreporter.write_line(f"graph breaks in their traces: {sum(breaks[way].values())}, {codes}")


@pytest.fixture
def no_defects():
    """Nothing is compiled yet, and nothing is reported as a defect of ours meanwhile."""
    from frontend.differential import Defects

    minidynamo._dynamo.reset()
    with Defects() as defects:
        yield
    assert defects == []


@pytest.fixture(params=[False, True], ids=["by_default", "trace_more"])
def replaced_both_ways(request):
    """Frames are replaced even if their graph is empty, without and with config.trace_more."""
    with config.patch(trace_more=request.param, force_replace=True):
        yield
