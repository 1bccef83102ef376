"""Properties and limits of dtypes, names without tensors, and how tensors of small dtypes print."""

import pytest

import minidynamo as torch


def test_properties_of_dtypes():
    table = {
        torch.float16: (2, True, True),
        torch.bfloat16: (2, True, True),
        torch.int8: (1, False, True),
        torch.int16: (2, False, True),
        torch.uint8: (1, False, False),
    }
    for dtype, (size, floating, signed) in table.items():
        assert (dtype.itemsize, dtype.is_floating_point, dtype.is_signed) == (size, floating, signed)
        assert not dtype.is_complex and dtype.to_real() is dtype
    assert torch.half is torch.float16 and torch.short is torch.int16
    assert torch.float16.to_complex() is torch.complex32 and torch.bfloat16.to_complex() is torch.complex64


def test_limits():
    f16, bf16 = torch.finfo(torch.float16), torch.finfo(torch.bfloat16)
    assert (f16.max, f16.min, f16.eps, f16.tiny, f16.bits, f16.resolution) == (
        65504.0, -65504.0, 2**-10, 2**-14, 16, 0.001)  # fmt: skip
    assert (bf16.max, bf16.eps, bf16.smallest_normal, bf16.bits) == (3.3895313892515355e38, 2**-7, 2**-126, 16)
    u8, i16 = torch.iinfo(torch.uint8), torch.iinfo(torch.int16)
    assert (u8.min, u8.max, u8.bits, i16.min, i16.max) == (0, 255, 8, -32768, 32767)
    assert repr(f16) == (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, smallest_normal=6.10352e-05, "
        "tiny=6.10352e-05, dtype=float16)"
    )
    for call in (lambda: torch.finfo(torch.int8), lambda: torch.iinfo(torch.float16)):
        with pytest.raises(TypeError):
            call()


def test_complex_dtypes_of_other_widths_are_names_without_tensors():
    assert torch.cfloat is torch.complex64 and torch.cdouble is torch.complex128 and torch.complex64.is_complex
    for call in (lambda: torch.zeros(2, dtype=torch.complex32), lambda: torch.ones(2).to(torch.chalf)):
        with pytest.raises(TypeError, match="minidynamo has no"):
            call()


TEXTS = {
    "torch.tensor([0.1, 1000.0], dtype=torch.bfloat16)": "tensor([1.0010e-01, 1.0000e+03], dtype=torch.bfloat16)",
    "torch.tensor([0.1, 65504.0], dtype=torch.float16)": "tensor([9.9976e-02, 6.5504e+04], dtype=torch.float16)",
    "torch.tensor([1e-05, 1.0], dtype=torch.float16)": "tensor([1.0014e-05, 1.0000e+00], dtype=torch.float16)",
    "torch.tensor([1.0, 2.0], dtype=torch.float16)": "tensor([1., 2.], dtype=torch.float16)",
    "torch.tensor([[1, 200], [3, 4]]).byte()": "tensor([[  1, 200],\n        [  3,   4]], dtype=torch.uint8)",
    "torch.tensor([], dtype=torch.int16)": "tensor([], dtype=torch.int16)",
    "torch.tensor(0.1, dtype=torch.bfloat16)": "tensor(0.1001, dtype=torch.bfloat16)",
    "torch.tensor(-128, dtype=torch.int8)": "tensor(-128, dtype=torch.int8)",
    "torch.tensor([float('nan'), float('inf'), 1.5]).half()": "tensor([   nan,    inf, 1.5000], dtype=torch.float16)",
    "torch.zeros(0, 3, dtype=torch.bfloat16)": "tensor([], size=(0, 3), dtype=torch.bfloat16)",
}


@pytest.mark.parametrize("expression", TEXTS)
def test_text(expression):
    assert str(eval(expression)) == TEXTS[expression]
