"""Dtypes of the results of every listed call against call_dtypes.json: what torch 2.13 answers where the float32
operands are of another dtype. null: it raised. (_lstm_cell is no function of torch's: there it is part of nn.LSTM.)"""

import json
import pathlib
import warnings

import pytest

import minidynamo as torch
from tensor.op_calls import CALLS, IN_PLACE_CALLS, operands

pytestmark = pytest.mark.version_free  # promotion, which no Python takes part in

FACTS = json.loads((pathlib.Path(__file__).parent / "call_dtypes.json").read_text())
NAMES = FACTS["dtypes"]
EXPECTED = {call: group["results"] for group in FACTS["groups"] for call in group["calls"]}
# torch rounds integers by the name round() alone; rounding by every name is what the op table can say.
# Its pooling in three dimensions takes no halves, and mvlgamma() no bools.
KNOWN_TO_DIFFER = {"torch.special.round(x)", "torch.nn.functional.avg_pool3d(c[None], 2)", "p.mvlgamma(1)"}


def in_dtype(x, dtype):
    if x.dtype is not torch.float32:
        return x
    return x.to(dtype) if dtype.is_floating_point else torch.nan_to_num(x, 0, 3, -3).to(torch.int64).to(dtype)


def dtypes_of(result):
    if isinstance(result, torch.Tensor):
        return str(result.dtype).removeprefix("torch.")
    return " ".join(dtypes_of(x) for x in result)


def answer(call, name):
    values = {key: in_dtype(x, getattr(torch, name)) for key, x in operands().items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return dtypes_of(eval(call, {"torch": torch, **values}))
    except RuntimeError:
        return None


def test_every_call_has_its_facts():
    assert set(CALLS + IN_PLACE_CALLS) == set(EXPECTED)


@pytest.mark.parametrize("call", [c for c in EXPECTED if c not in KNOWN_TO_DIFFER])
def test_dtypes(call):
    assert [answer(call, name) for name in NAMES] == EXPECTED[call]
