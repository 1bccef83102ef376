"""The names of the mirror beside ops: dtypes, Size, device, limits, modes, defaults; what importing costs."""

import math
import subprocess
import sys

import numpy as np
import pytest

import minidynamo as torch

# --- import ---------------------------------------------------------------------------------------


def test_import_leaves_numpy_alone():
    code = (
        "import sys, minidynamo as t; t.ones(2) + 1; print('numpy' in sys.modules); "
        "t.ones(1).numpy(); print('numpy' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split() == ["False", "True"]


def test_unknown_names_say_so():
    with pytest.raises(AttributeError, match=r"torch 2.13 has no torch.einsumm either; nearest: torch.einsum\)"):
        torch.einsumm  # noqa: B018
    assert not hasattr(torch, "einsumm")


def test_constants_and_module():
    assert torch.inf == math.inf and math.isnan(torch.nan) and torch.pi == math.pi and torch.e == math.e
    assert torch.newaxis is None
    assert torch.Tensor.__module__ == torch.Size.__module__ == torch.dtype.__module__ == "minidynamo"
    assert torch.__version__.count(".") == 2


# --- dtypes ---------------------------------------------------------------------------------------


def test_dtype_aliases_and_texts():
    pairs = [
        (torch.float, torch.float32),
        (torch.double, torch.float64),
        (torch.half, torch.float16),
        (torch.short, torch.int16),
        (torch.int, torch.int32),
        (torch.long, torch.int64),
        (torch.cfloat, torch.complex64),
    ]
    assert all(a is b for a, b in pairs)
    assert repr(torch.float32) == str(torch.float32) == "torch.float32"
    assert repr(torch.complex128) == "torch.complex128"
    assert isinstance(torch.qint8, torch.dtype)


def test_dtype_properties():
    assert torch.float16.is_floating_point and torch.float16.itemsize == 2
    assert not torch.int32.is_floating_point and torch.int32.is_signed and torch.int32.itemsize == 4
    assert torch.complex64.is_complex and not torch.uint8.is_signed and not torch.bool.is_signed
    with pytest.raises(TypeError):
        torch.dtype()


@pytest.mark.parametrize("name", ["complex32", "qint8"])
def test_unsupported_dtypes_are_refused(name):
    dtype = getattr(torch, name)
    for make in (
        lambda: torch.tensor([1], dtype=dtype),
        lambda: torch.zeros(2, dtype=dtype),
        lambda: torch.ones(2).to(dtype),
        lambda: torch.arange(3, dtype=dtype),
        lambda: torch.ones(2).sum(dtype=dtype),
    ):
        with pytest.raises(TypeError, match=name):
            make()


def test_promotion():
    assert torch.promote_types(torch.int32, torch.float32) is torch.float32
    assert torch.promote_types(torch.float16, torch.bfloat16) is torch.float32
    assert torch.promote_types(torch.uint8, torch.int8) is torch.int16
    assert torch.result_type(torch.ones(1, dtype=torch.int32), 1.5) is torch.float32
    assert torch.result_type(torch.ones(1, dtype=torch.float64), torch.ones((), dtype=torch.int64)) is torch.float64
    assert torch.result_type(torch.ones(1), torch.ones((), dtype=torch.float64)) is torch.float32
    assert torch.result_type(True, 2) is torch.int64
    assert torch.result_type(torch.ones(2, dtype=torch.bool), torch.ones(3, dtype=torch.bool)) is torch.bool
    with pytest.raises(TypeError):
        torch.promote_types(torch.float32, "float32")
    with pytest.raises(TypeError):
        torch.result_type("a", 1)


def test_default_dtype():
    assert torch.get_default_dtype() is torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor(1.5).dtype is torch.ones(2).dtype is torch.float64
        assert torch.tensor([1, 2]).dtype is torch.int64
        assert (torch.tensor([1, 2]) / 2).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    for wrong in (torch.int32, "float32", None):
        with pytest.raises(TypeError, match="floating-point"):
            torch.set_default_dtype(wrong)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
def test_finfo(dtype):
    ours, theirs = torch.finfo(dtype), np.finfo(ours_name := str(dtype).removeprefix("torch."))
    assert ours.dtype == ours_name
    for field in ("eps", "max", "min", "tiny", "smallest_normal", "resolution"):
        assert getattr(ours, field) == pytest.approx(float(getattr(theirs, field)), rel=1e-3), field
    assert ours.bits == theirs.bits


def test_limits():
    assert torch.iinfo(torch.int32).max == 2**31 - 1 and torch.iinfo(torch.int64).min == -(2**63)
    assert torch.iinfo(torch.uint8).min == 0 and torch.iinfo(torch.uint8).max == 255
    assert repr(torch.iinfo(torch.int32)) == "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)"
    assert repr(torch.finfo(torch.float32)) == (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    )
    assert torch.finfo() == torch.finfo(torch.float32) and torch.finfo(torch.bfloat16).max == 3.3895313892515355e38
    assert torch.finfo(torch.complex64) == torch.finfo(torch.float32)
    for wrong in (torch.int32, torch.bool, torch.qint8):
        with pytest.raises(TypeError):
            torch.finfo(wrong)
    for wrong in (torch.float32, torch.bool, 3):
        with pytest.raises(TypeError):
            torch.iinfo(wrong)


# --- Size, device ---------------------------------------------------------------------------------


def test_size():
    s = torch.ones(2, 3).shape
    assert isinstance(s, torch.Size) and isinstance(s, tuple)
    assert s == (2, 3) and hash(s) == hash((2, 3)) and repr(s) == "torch.Size([2, 3])"
    assert s.numel() == 6 and torch.Size([]).numel() == 1
    assert type(s[0]) is int and type(s[:1]) is torch.Size
    assert type(s + (4,)) is torch.Size and type(s * 2) is torch.Size
    a, b = s
    assert (a, b) == (2, 3)
    with pytest.raises(TypeError, match="item 1 is 'float'"):
        torch.Size([1, 2.5])
    assert torch.Size([np.int64(2)]) == (2,)


def test_device():
    cpu = torch.device("cpu")
    assert repr(cpu) == "device(type='cpu')" and str(cpu) == "cpu" and cpu.type == "cpu" and cpu.index is None
    second = torch.device("cuda", 1)
    assert second == torch.device("cuda:1") and hash(second) == hash(torch.device("cuda:1"))
    assert second.index == 1 and repr(second) == "device(type='cuda', index=1)" and second != cpu
    assert torch.ones(1).device == cpu and torch.device(cpu) is cpu
    for wrong in ("nowhere", "cpu:", "cpu:x", ":1", "cuda:99999999"):
        with pytest.raises(RuntimeError, match="device"):
            torch.device(wrong)
    with pytest.raises(RuntimeError):
        torch.device("cuda:1", 1)
    with pytest.raises(TypeError):
        torch.device(1.5)


def test_other_devices_are_refused():
    for make, kind in (
        (lambda: torch.tensor([1], device="cuda"), AssertionError),
        (lambda: torch.zeros(2, device=torch.device("cuda")), AssertionError),
        (lambda: torch.ones(2).to("cuda"), AssertionError),
        (lambda: torch.as_tensor([1], device="mps"), RuntimeError),
    ):
        with pytest.raises(kind, match="CPU|cpu"):
            make()


# --- modes ----------------------------------------------------------------------------------------


def test_grad_modes_nest():
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
        with torch.set_grad_enabled(True):
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    assert torch.is_grad_enabled()


def test_grad_modes_restore_after_exceptions():
    with pytest.raises(ValueError), torch.no_grad():
        raise ValueError
    assert torch.is_grad_enabled()


def test_grad_modes_decorate():
    @torch.no_grad()
    def off():
        "doc"
        return torch.is_grad_enabled()

    @torch.no_grad
    def bare():
        return torch.is_grad_enabled()

    @torch.set_grad_enabled(False)
    def switched():
        return torch.is_grad_enabled()

    @torch.inference_mode
    def inference(depth=2):
        return inference(depth - 1) if depth else torch.is_inference_mode_enabled()

    assert (off(), bare(), switched(), inference()) == (False, False, False, True)
    assert off.__name__ == "off" and off.__doc__ == "doc"
    assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()


def test_set_grad_enabled_acts_at_once():
    torch.set_grad_enabled(False)
    try:
        assert not torch.is_grad_enabled()
    finally:
        torch.set_grad_enabled(True)


def test_inference_mode():
    with torch.inference_mode():
        assert torch.is_inference_mode_enabled() and not torch.is_grad_enabled()
        with torch.inference_mode(False):
            assert not torch.is_inference_mode_enabled()
        assert torch.is_inference_mode_enabled()
    assert not torch.is_inference_mode_enabled() and torch.is_grad_enabled()


def test_requires_grad_follows_grad_mode():
    x = torch.ones(2, requires_grad=True)
    assert (x + 1).requires_grad and not (x > 0).requires_grad and not x.detach().requires_grad
    with torch.no_grad():
        assert not (x + 1).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        torch.ones(2, dtype=torch.int64).requires_grad_()
    with pytest.raises(RuntimeError, match="requires grad"):
        x.numpy()
    assert x.detach().numpy().tolist() == [1.0, 1.0]


# --- the rest -------------------------------------------------------------------------------------


def test_seeds():
    torch.manual_seed(7)
    first = torch.rand(4).tolist()
    assert torch.initial_seed() == 7
    assert torch.rand(4).tolist() != first
    torch.manual_seed(7)
    assert torch.rand(4).tolist() == first
    torch.manual_seed(-1)
    torch.manual_seed(2**64 - 1)
    for wrong, error in ((2**64, ValueError), ("a", ValueError), (None, TypeError)):
        with pytest.raises(error):
            torch.manual_seed(wrong)


def test_threads_setting():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    with pytest.raises(RuntimeError, match="positive"):
        torch.set_num_threads(0)
    with pytest.raises(TypeError, match="expects an int"):
        torch.set_num_threads("2")


def test_questions():
    x = torch.ones(2, 3)
    assert torch.is_tensor(x) and not torch.is_tensor([1])
    assert torch.is_floating_point(x) and not torch.is_floating_point(x > 0)
    assert torch.numel(x) == x.numel() == x.nelement() == 6
    with pytest.raises(TypeError, match="must be Tensor, not int"):
        torch.numel(3)
