"""Every op that programs can call, on meta tensors: sizes, dtypes, strides, offsets and who shares memory with whom are
those of the call on the CPU, and nothing is computed or drawn.
"""

import warnings

import pytest

import minidynamo as torch
from minidynamo import _C

from .drawn_calls import OPS, call_of, function_of, is_public
from .op_calls import CALLS, IN_PLACE_CALLS, operands

pytestmark = pytest.mark.version_free  # shapes and strides, which no Python takes part in computing

PUBLIC = [name for name, op in OPS.items() if is_public(op)]

# Sizes, or a number of the program, that depend on elements: what is not there is not guessed.
NEEDS_ELEMENTS = {
    "argwhere",
    "bincount",
    "bincount.weights",
    "masked_select",
    "nonzero",
    "nonzero.tuple",
    "where.indices",
    "repeat_interleave.tensor",
    "repeat_interleave.repeats",
    "unique",
    "unique.inverse",
    "unique.counts",
    "unique.both",
    "unique_consecutive",
    "unique_consecutive.inverse",
    "unique_consecutive.counts",
    "unique_consecutive.both",
    "tensor_split.tensor",
}


# What takes elements to the CPU has none to take.
TAKES_ELEMENTS = {"cpu"}
# Refused on the CPU for the elements these calls are drawn with, in some layouts.
LOOKS_AT_ELEMENTS = {"multinomial"}


def described(value, given):
    """All that is known of a result but its elements; `given`: operands, which it may be or share memory with."""
    if isinstance(value, torch.Tensor):
        same = [name for name, t in given.items() if t is value]
        shares = [name for name, t in given.items() if _C._shares_memory(t, value)]
        layout = tuple(value.shape), value.stride(), value.storage_offset(), value.is_contiguous()
        return value.dtype, layout, value.requires_grad, same, shares
    if isinstance(value, (list, tuple)):
        return type(value), [described(v, given) for v in value]
    return repr(value)


def outcome(call, given, device):
    with warnings.catch_warnings(), torch.device(device):
        warnings.simplefilter("ignore")
        try:
            result = function_of(call.replace("device='cpu'", f"device={device!r}"))(**given)
        except Exception as error:
            return type(error).__name__, str(error)
    assert all(t.device.type == device for t in tensors_of(result))
    versions = {name: t._version for name, t in given.items()}
    return described(result, given), versions, {name: described(t, {}) for name, t in given.items()}


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [t for v in value for t in tensors_of(v)] if isinstance(value, (list, tuple)) else []


def spread(t):
    """Every other element of larger memory, from the second on."""
    if t.dim() == 0:
        return t
    return torch.zeros(*t.shape[:-1], t.shape[-1] * 2 + 1, dtype=t.dtype)[..., 1::2]


LAYOUTS = {
    "as they are": lambda t: t,
    "strided": spread,
    "transposed": lambda t: t.transpose(0, -1).contiguous().transpose(0, -1) if t.dim() > 1 else t,
    "float16": lambda t: t.half() if t.is_floating_point() else t,
}


def on_meta(t):
    """The same sizes, strides and offset, over a memory of its own."""
    whole = torch.empty(t.storage_offset() + max(t.numel() * 4, 64), dtype=t.dtype, device="meta")
    return whole.as_strided(tuple(t.shape), t.stride(), t.storage_offset())


def agree(call, layout):
    plain = {name: LAYOUTS[layout](t) for name, t in operands().items()}
    meta = {name: on_meta(t) for name, t in plain.items()}
    expected = outcome(call, plain, "cpu")
    before = torch.get_rng_state().tolist()
    found = outcome(call, meta, "meta")
    assert torch.get_rng_state().tolist() == before
    return found, expected


def refuses(found):
    return isinstance(found[0], str) and "meta" in found[1]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", PUBLIC)
def test_as_on_the_cpu(name, layout):
    call = call_of(name)
    found, expected = agree(call, layout)
    if name in NEEDS_ELEMENTS | TAKES_ELEMENTS:
        assert refuses(found)
    elif name in LOOKS_AT_ELEMENTS and isinstance(expected[0], str):
        assert not isinstance(found[0], str)
    else:
        assert found == expected, call


@pytest.mark.parametrize("call", CALLS + IN_PLACE_CALLS)
def test_listed_calls_as_on_the_cpu(call):
    found, expected = agree(call, "as they are")
    assert found == expected or refuses(found), call
    assert not (refuses(found) and call in IN_PLACE_CALLS)


def test_few_calls_need_elements():
    refused = [call for call in CALLS if refuses(agree(call, "as they are")[0])]
    assert len(refused) < 12, refused
