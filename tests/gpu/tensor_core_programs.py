"""Products on a device of capability 7.5, whose tensor cores multiply float16 alone, beside one of 9.0."""

import ctypes
import json
import os

import minidynamo as torch

EMULATOR = ctypes.CDLL(os.environ["MINIDYNAMO_CUDA_DRIVER"])
EMULATOR.mdEmulatorLaunches.restype = ctypes.c_size_t


def _launched():
    torch.cuda.synchronize(0)
    torch.cuda.synchronize(1)
    text = ctypes.create_string_buffer(1 << 20)
    EMULATOR.mdEmulatorLaunches(text, ctypes.c_size_t(len(text)))
    EMULATOR.mdEmulatorReset()
    return set(json.loads(text.value))


def _products(dtype, device, m, k, n):
    torch.manual_seed(m)
    a, b = torch.randn(m, k, dtype=torch.float64).to(dtype), torch.randn(k, n, dtype=torch.float64).to(dtype)
    x, y = a.to(device), b.to(device)
    _launched()
    found = [x @ y, x[:, 1:] @ y[1:], x.t().contiguous().t() @ y, x @ y.t().contiguous().t()]
    kernels = {name for name in _launched() if "product" in name}
    exact = a.double() @ b.double()
    for one, expected in zip(found, (exact, a[:, 1:].double() @ b[1:].double(), exact, exact)):
        assert (one.cpu().double() - expected).abs().max() < 0.1
    return kernels


def float16_is_multiplied_half_as_deep():
    torch.backends.cuda.matmul.fold_order = "any"
    kernels = _products(torch.float16, "cuda:0", 70, 41, 66)
    assert kernels == {f"mma_product_64_{layout}_f16_sm_75" for layout in ("dc", "rc", "dd")}, kernels
    assert all(name.endswith("f16_sm_80") for name in _products(torch.float16, "cuda:1", 70, 41, 66))


def other_dtypes_go_by_the_defined_order():
    torch.backends.cuda.matmul.fold_order = "any"
    torch.set_float32_matmul_precision("high")
    assert _products(torch.bfloat16, "cuda:0", 20, 30, 10) == {"product_bf16"}
    assert _products(torch.float32, "cuda:0", 20, 30, 10) == {"product_f32"}
    torch.set_float32_matmul_precision("highest")


def large_tiles():
    torch.backends.cuda.matmul.fold_order = "any"
    x = torch.randn(150, 65, 34, device="cuda:0").half()
    _launched()
    found = x @ x.mT
    assert _launched() == {"mma_product_128_dd_f16_sm_75"}
    assert (found.cpu().double() - x.cpu().double() @ x.cpu().double().mT).abs().max() < 0.1
