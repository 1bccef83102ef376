"""torch.cuda, torch.accelerator and their kin on a machine without a card: what can be asked, and what is refused."""

import importlib
import inspect
import os
import pathlib
import subprocess
import sys

import pytest

import minidynamo as torch
import minidynamo._dynamo


def test_nothing_is_available():
    for name in ("cuda", "xpu", "mps", "accelerator"):
        module = getattr(torch, name)
        assert module.is_available() is False
        assert module.device_count() == 0
    assert torch.accelerator.current_accelerator() is None
    assert torch.accelerator.current_accelerator(check_available=True) is None
    assert not torch.cuda.is_bf16_supported()
    assert torch.backends.mps.is_available() is torch.backends.cuda.is_built() is torch.backends.cudnn.is_available()
    assert torch.backends.cudnn.version() is None
    assert torch.version.cuda is None
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1 and torch.cpu.current_device() == "cpu"


def test_each_module_has_functions_of_its_own():
    for name in ("cuda", "xpu", "mtia", "mps", "accelerator"):
        module = getattr(torch, name)
        assert module.is_available.__module__ == module.__name__ and module.is_available.__doc__
    assert torch.cuda.manual_seed.__module__ == "minidynamo.cuda.random"
    assert torch.xpu.memory_stats is torch.xpu.memory.memory_stats and torch.xpu.random.get_rng_state_all() == []
    assert str(inspect.signature(torch.xpu.set_rng_state)) == "(new_state, device='xpu')"
    assert torch.mtia.get_rng_state_all() == [] and torch.mtia.memory_stats() == {} and torch.mtia.is_bf16_supported()
    for call in (torch.mtia.current_device, torch.mtia.synchronize, torch.mtia.empty_cache):
        with pytest.raises(RuntimeError, match="MTIA backend"):
            call()
    with pytest.raises(AssertionError, match="not compiled with MTIA enabled"):
        torch.mtia.init()
    with pytest.warns(FutureWarning, match="memory_reserved"):
        assert torch.cuda.memory_cached() == 0
    for kind in (torch.cuda.CUDAGraph, torch.cuda.MemPool, torch.xpu.XPUGraph, torch.mtia.Event):
        with pytest.raises(RuntimeError, match="has none"):
            kind()


def test_compiled_code_asks():
    def f(x):
        for module in (torch.cuda, torch.xpu, torch.mtia, torch.mps, torch.accelerator):
            if module.is_available() or module.device_count():
                return x.sin()
        return x + torch.cuda.memory_allocated()

    with torch._dynamo.config.patch(trace_more=True):  # else counts and sizes break, as the registry has it
        assert torch.compile(f, fullgraph=True)(torch.ones(2)).tolist() == [1, 1]
    torch._dynamo.reset()
    assert torch.compile(f)(torch.ones(2)).tolist() == [1, 1]


@pytest.mark.parametrize("name", ["cuda", "xpu"])
def test_what_does_nothing(name):
    module = getattr(torch, name)
    before = torch.get_rng_state()
    for call in (module.manual_seed, module.manual_seed_all):
        assert call(3) is None
        with pytest.raises(ValueError):
            call("x")
        with pytest.raises(TypeError):
            call(None)
    assert module.empty_cache() is None and module.seed() is None and module.seed_all() is None
    assert module.memory_allocated() == module.max_memory_allocated() == module.memory_reserved() == 0
    assert module.get_rng_state_all() == [] and module.set_rng_state_all([]) is None
    with module.device(-1), module.device_of(torch.ones(2)), module.stream(None):
        pass
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("name", ["cuda", "xpu"])
@pytest.mark.parametrize(
    "call", ["synchronize", "current_device", "get_device_name", "get_device_properties", "init", "initial_seed"]
)
def test_what_needs_a_device_says_so(name, call):
    with pytest.raises(AssertionError, match=f"not compiled with {name.upper()} enabled"):
        getattr(getattr(torch, name), call)()


def test_other_refusals():
    assert torch.cuda.set_device(-1) is None
    with pytest.raises(AssertionError):
        torch.cuda.set_device("cuda:1")
    with pytest.raises(ValueError, match="cuda device"):
        torch.cuda.set_device("cpu")
    for kind in (torch.cuda.Stream, torch.cuda.Event, torch.xpu.Stream, torch.mps.Event):
        with pytest.raises(RuntimeError, match="has none"):
            kind()
        assert not isinstance(3, kind)
    for call in ("current_device_index", "synchronize", "empty_cache", "memory_allocated", "current_stream"):
        with pytest.raises(RuntimeError, match="no accelerator"):
            getattr(torch.accelerator, call)()
    with pytest.raises(RuntimeError):
        torch.mps.synchronize()
    with pytest.raises(RuntimeError), torch.cuda.device(0):
        pass
    with pytest.raises(RuntimeError), torch.accelerator.device_index(0):
        pass
    with torch.accelerator.device_index(None):
        pass
    with pytest.raises(RuntimeError), torch.cuda.nvtx.range("step"):
        pass


SETTINGS = [
    ("cudnn", "enabled", False),
    ("cudnn", "benchmark", True),
    ("cudnn", "deterministic", True),
    ("cudnn", "allow_tf32", False),
    ("cudnn", "benchmark_limit", 3),
    ("cudnn", "fp32_precision", "ieee"),
    ("mkldnn", "enabled", False),
    ("cuda.matmul", "allow_tf32", True),
    ("cuda.matmul", "allow_fp16_reduced_precision_reduction", False),
    ("cuda.matmul", "allow_bf16_reduced_precision_reduction", False),
    ("cudnn.conv", "fp32_precision", "ieee"),
]


@pytest.mark.parametrize("place, name, value", SETTINGS)
def test_settings_hold_what_is_set(place, name, value):
    holder = torch.backends
    for part in place.split("."):
        holder = getattr(holder, part)
    before = getattr(holder, name)
    assert before != value
    try:
        setattr(holder, name, value)
        assert getattr(holder, name) == value
    finally:
        setattr(holder, name, before)
    assert getattr(holder, name) == before


def test_settings_refuse_what_they_cannot_be():
    for name, value in (("enabled", 1), ("benchmark", "yes"), ("fp32_precision", "half"), ("depthwise_kernel", "x")):
        with pytest.raises(RuntimeError, match=name):
            setattr(torch.backends.cudnn, name, value)
    with pytest.raises(AttributeError):
        torch.backends.cuda.matmul.allow_tf23 = True
    with pytest.raises(TypeError):
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = "x"
    with pytest.raises(ValueError):
        torch.backends.opt_einsum.enabled = True


def test_flags_hold_within_a_block():
    cudnn = torch.backends.cudnn
    with cudnn.flags(enabled=True, benchmark=True, deterministic=True, allow_tf32=False):
        assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (True, True, True, False)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (True, False, False, True)
    with pytest.raises(KeyError), cudnn.flags(benchmark=True):
        raise KeyError
    assert not cudnn.benchmark
    with torch.backends.cuda.sdp_kernel(enable_flash=False):
        assert not torch.backends.cuda.flash_sdp_enabled()
    assert torch.backends.cuda.flash_sdp_enabled()


PATH = str(pathlib.Path(torch.__file__).parents[1])
FROZEN = """
import minidynamo as torch
torch.backends.disable_global_flags()
assert torch.backends.flags_frozen()
try:
    torch.backends.cudnn.benchmark = True
except RuntimeError as error:
    assert "flags()" in str(error)
else:
    raise SystemExit("was set")
with torch.backends.cudnn.flags(benchmark=True):
    assert torch.backends.cudnn.benchmark
assert not torch.backends.cudnn.benchmark
"""


def test_flags_can_be_frozen():
    env = {**os.environ, "PYTHONPATH": PATH}
    done = subprocess.run([sys.executable, "-c", FROZEN], capture_output=True, text=True, env=env)
    assert done.returncode == 0, done.stderr


def test_precision_of_products():
    assert torch.get_float32_matmul_precision() == "highest"
    try:
        for level, allows in (("high", True), ("medium", True), ("highest", False)):
            torch.set_float32_matmul_precision(level)
            assert torch.get_float32_matmul_precision() == level
            assert torch.backends.cuda.matmul.allow_tf32 is allows
        torch.backends.cuda.matmul.allow_tf32 = True
        assert torch.get_float32_matmul_precision() == "high"
        with pytest.warns(UserWarning, match="nothing was set"):
            torch.set_float32_matmul_precision("low")
        assert torch.get_float32_matmul_precision() == "high"
        with pytest.raises(RuntimeError):
            torch.set_float32_matmul_precision(3)
    finally:
        torch.set_float32_matmul_precision("highest")


def test_determinism_is_held():
    try:
        torch.use_deterministic_algorithms(True)
        assert torch.are_deterministic_algorithms_enabled() and torch.get_deterministic_debug_mode() == 2
        torch.set_deterministic_debug_mode("warn")
        assert torch.is_deterministic_algorithms_warn_only_enabled() and torch.get_deterministic_debug_mode() == 1
        with pytest.raises(RuntimeError):
            torch.set_deterministic_debug_mode("never")
        with pytest.raises(RuntimeError):
            torch.set_deterministic_debug_mode(3)
        for wrong in (1.0, True):
            with pytest.raises(TypeError):
                torch.set_deterministic_debug_mode(wrong)
        with pytest.raises(TypeError):
            torch.use_deterministic_algorithms(1)
    finally:
        torch.use_deterministic_algorithms(False)
    assert torch.get_deterministic_debug_mode() == 0


def test_modules_of_devices():
    assert torch.get_device_module("cuda") is torch.cuda
    assert torch.get_device_module(torch.device("cpu")) is torch.get_device_module() is torch.cpu
    with pytest.raises(RuntimeError):
        torch.get_device_module(3)
    for name in ("cuda.random", "cuda.memory", "backends.openmp", "backends.mkl", "backends.cpu"):
        assert importlib.import_module(f"minidynamo.{name}")


def test_streams_of_the_cpu():
    stream = torch.cpu.Stream()
    assert torch.cpu.current_stream() is not stream
    with torch.cpu.stream(stream):
        assert torch.cpu.current_stream() is stream
    assert torch.cpu.current_stream() is not stream
    event = torch.cpu.Event()
    event.record()
    event.wait()
    assert event.query() and torch.cpu.synchronize() is None
    with pytest.raises(TypeError):
        torch.cpu.get_capabilities()["sse"] = True


def test_compiled_programs_choose_a_device():
    @torch.compile
    def double(x):
        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        return x.to(device) * 2

    assert torch.equal(double(torch.ones(3)), torch.full((3,), 2.0))


def test_allow_tf32_of_cudnn_sets_the_precisions_of_its_ops():
    cudnn, said = torch.backends.cudnn, importlib.import_module("minidynamo.backends._matmul").allow_convolutions

    def precisions():
        return cudnn.conv.fp32_precision, cudnn.rnn.fp32_precision

    assert cudnn.allow_tf32 and precisions() == ("tf32", "tf32")
    try:
        cudnn.allow_tf32 = False
        assert precisions() == ("none", "none")
        cudnn.rnn.fp32_precision = "ieee"
        with cudnn.flags(allow_tf32=True):
            assert precisions() == ("tf32", "tf32")
        assert cudnn.allow_tf32 is False and precisions() == ("none", "ieee")
        cudnn.allow_tf32 = True
        assert precisions() == ("tf32", "tf32")
    finally:
        cudnn.allow_tf32 = True
        said(None)  # as if nothing had been said: setting True allows, which the other tests' programs do not
