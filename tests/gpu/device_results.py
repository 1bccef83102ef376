"""What tests of single ops on a device share: tensors, and the CPU's bits as the answer."""

import minidynamo as torch

FLOATS = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
DTYPES = (*FLOATS, *INTEGERS, torch.bool)


def made(*shape, dtype=torch.float32, seed=7):
    torch.manual_seed(seed)
    values = torch.randn(*shape, dtype=torch.float64) * 4
    return (values > 0) if dtype == torch.bool else values.to(dtype)


def bits(value):
    if isinstance(value, torch.Tensor):
        return value.dtype, tuple(value.shape), value.stride(), repr(value.cpu().tolist())
    return [bits(v) for v in value]


def same(function, *given):
    expected = bits(function(*given))
    on_device = [g.cuda() if isinstance(g, torch.Tensor) else g for g in given]
    assert bits(function(*on_device)) == expected
    for there, here in zip(on_device, given):
        if isinstance(here, torch.Tensor):
            assert repr(there.tolist()) == repr(here.tolist()), "an operand has been changed"
