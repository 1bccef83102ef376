"""Folds over an axis shorter than the lanes of a reduction: the same bits as plain execution, whatever the length."""

import pytest

import minidynamo as torch

LENGTHS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 65]
FOLDS = ["sum", "prod", "amax", "amin", "mean", "var", "argmax", "argmin"]


def values(length, dtype):
    torch.manual_seed(length)
    if dtype.is_floating_point:
        x = torch.randn(37, length, dtype=torch.float64)
        x[3], x[5] = -0.0, float("inf")
        x[7, length // 2] = float("nan")
        x[9], x[11, 0] = 0.0, -0.0
        x[13] = -float("inf")
        return x.to(dtype)
    return torch.randint(-3, 4, (37, length)).to(dtype)


def bits(t):
    kind = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[t.element_size()]
    return torch.where(t != t, torch.zeros_like(t), t).numpy().view(str(kind).removeprefix("torch.")).tolist()


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64, torch.int32, torch.int64], ids=str)
def test_bits_of_short_folds(length, dtype):
    def folds(x):
        made = []
        for name in FOLDS:
            if dtype.is_floating_point or name not in ("mean", "var"):
                made.append(getattr(torch, name)(x * 1, dim=1))
                made.append(torch.isnan(getattr(torch, name)(x, dim=1)))
        made.append(torch.any(x > 1, dim=1))
        made.append(torch.all(x > -2, dim=1))
        return made

    x = values(length, dtype)
    torch._dynamo.reset()
    for got, want in zip(torch.compile(folds, fullgraph=True)(x), folds(x)):
        assert got.dtype == want.dtype and bits(got) == bits(want)
