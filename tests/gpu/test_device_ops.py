"""Every op that programs can call, on tensors of a GPU: the CPU's bits, dtypes, strides and errors.

The calls are those of tests/tensor/test_every_op.py, drawn from the op table. They run through the emulated driver,
whose checks (addresses, races, memory nobody wrote) end a launch.
"""

import re
import warnings

import pytest

import minidynamo as torch
from minidynamo import _C
from tensor.drawn_calls import OPS, call_of, function_of, is_public
from tensor.op_calls import operands
from tensor.test_every_op import CHANGES, UNINITIALISED

PUBLIC = [name for name, op in OPS.items() if is_public(op)]
LEAVES_THE_DEVICE = {"cpu", "to.device", "numpy"}  # what comes from a device is laid out anew

# Ops without a kernel for GPUs, done by the CPU's engine on copies. The list may only become shorter.
ON_THE_CPU = {"fourier_pairs"}


def on_cpu(tensor):
    return torch.view_as_real(tensor).cpu() if tensor.is_complex() else tensor.cpu()


def described(value, call, strides=True):
    if isinstance(value, torch.Tensor):
        bits = None if UNINITIALISED.search(call) else repr(on_cpu(value).tolist())
        return value.dtype, tuple(value.shape), value.stride() if strides else None, bits
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [described(v, call, strides) for v in value]
    return repr(value)


def outcome(name, call, given):
    """What a call gives and what it leaves of its operands; or its error."""
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = described(function_of(call)(**given), call, name not in LEAVES_THE_DEVICE)
        except Exception as error:
            result = type(error).__name__, str(error)
    left = {key: described(value, "") for key, value in given.items()}
    return re.sub(r"cuda(:0)?", "cpu", repr((result, left)))


def on_both(name, how):
    call = call_of(name)
    expected = outcome(name, call, {key: CHANGES[how](t) for key, t in operands().items()})
    with torch.device("cuda"):
        given = {key: CHANGES[how](t.cuda()) for key, t in operands().items()}
        found = outcome(name, call.replace("'cpu'", "'cuda'") if name != "to.device" else call, given)
    return found, expected


@pytest.mark.parametrize("how", CHANGES)
@pytest.mark.parametrize("name", PUBLIC)
def test_as_on_the_cpu(name, how):
    found, expected = on_both(name, how)
    assert found == expected


def test_what_the_cpu_does():
    before = _C._device_calls_on_host()
    for name in PUBLIC:
        on_both(name, "as they are")
    done = {op for op, count in _C._device_calls_on_host().items() if count > before.get(op, 0)}
    assert done - ON_THE_CPU == set(), "these ran by kernels of the device before"
    assert ON_THE_CPU - done == set(), "take these off the list: there is a kernel now"
