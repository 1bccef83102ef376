"""Programs that are run on both kinds of devices, plain and compiled, and give the same.

    @twin
    def softmax(device, compiled):      `compiled` is torch.compile, or leaves functions as they are
        x = numbers(2, 3, device=device)
        return compiled(lambda x: x.softmax(1))(x)

Results are compared in whole: types, dtypes, sizes, strides, gradients asked for, the bits of elements, the texts of
errors and warnings, and how many frames, graphs and breaks there were. Tensors have to be on the device.
"""

import functools
import re
import warnings

import minidynamo as torch

WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


_drawn_from = torch.Generator()


def numbers(*sizes, device="cpu", grad=False, dtype=torch.float32):
    """Random numbers that are the same wherever they are, and draw from no default stream."""
    made = torch.randn(*sizes, device="cpu", generator=_drawn_from)
    return made.to(device, dtype).requires_grad_(grad)


def caught(*calls):
    """What each call returns or raises."""
    out = []
    for call in calls:
        try:
            out.append(call())
        except Exception as error:  # noqa: BLE001  errors are compared as well
            out.append(error)
    return out


def twin(program=None, *, compiles=True, anywhere=False):
    """`compiles`: also compiled. `anywhere`: results need not be on the device."""
    if program is None:
        return functools.partial(twin, compiles=compiles, anywhere=anywhere)

    def test():
        plain, there = _run(program, "cpu", _as_it_is), _run(program, "cuda", _as_it_is)
        _compare(plain, there, anywhere)
        if compiles:
            here = _run(program, "cpu", torch.compile)
            _compare(here, _run(program, "cuda", torch.compile), anywhere)

    test.__name__ = program.__name__
    return test


def _as_it_is(function=None, **_):
    return function if function is not None else (lambda given: given)


def _run(program, device, compiled):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(0)
    _drawn_from.manual_seed(0)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        result = program(device, compiled)
    counters = torch._dynamo.utils.counters
    counts = counters["stats"]["unique_graphs"], counters["frames"]["total"], sum(counters["graph_break"].values())
    return result, counts, [without_device(str(w.message)) for w in warned]


def _compare(here, there, anywhere):
    _same(here[0], there[0], "result", anywhere)
    assert here[1] == there[1], f"graphs, frames, breaks: {here[1]} on the CPU, {there[1]} on the device"
    assert here[2] == there[2], f"warnings: {here[2]}, {there[2]}"


def without_device(text):
    """A text as it is on any device."""
    text = re.sub(r",? ?device='cuda(:0)?'", "", text)
    return re.sub(r"cuda:0|cuda|cpu", "DEVICE", text)


def _same(here, there, place, anywhere):
    assert type(here) is type(there), f"{place}: {here!r} on the CPU, {there!r} on the device"
    if isinstance(here, torch.Tensor):
        _same_tensor(here, there, place, anywhere)
    elif isinstance(here, dict):
        assert list(here) == list(there), f"{place}: {list(here)}, {list(there)}"
        for key in here:
            _same(here[key], there[key], f"{place}[{key!r}]", anywhere)
    elif isinstance(here, (list, tuple)):
        assert len(here) == len(there), f"{place}: {len(here)}, {len(there)}"
        for k, pair in enumerate(zip(here, there)):
            _same(*pair, f"{place}[{k}]", anywhere)
    elif isinstance(here, (str, Exception)):
        assert without_device(str(here)) == without_device(str(there)), f"{place}: {here}\n{there}"
    else:
        assert here is there or repr(here) == repr(there), f"{place}: {here!r}, {there!r}"


def _same_tensor(here, there, place, anywhere):
    assert anywhere or there.device.type == "cuda", f"{place} is on {there.device}"
    for what in ("dtype", "layout", "shape", "requires_grad", "is_leaf"):
        assert getattr(here, what) == getattr(there, what), f"{place}.{what}"
    if here.layout != torch.strided:
        return _same_tensor(here.detach().to_dense(), there.detach().to_dense(), place, anywhere)
    assert here.stride() == there.stride() and here.storage_offset() == there.storage_offset(), (
        f"{place}: strides {here.stride()}, {there.stride()}; offsets {here.storage_offset()}, {there.storage_offset()}"
    )
    a, b = (t.detach().resolve_conj().resolve_neg().cpu().contiguous() for t in (here, there))
    if a.is_complex():
        a, b = torch.view_as_real(a), torch.view_as_real(b)
    if a.is_floating_point():
        a, b = (torch.where(t.isnan(), float("nan"), t) for t in (a, b))
        a, b = (t.flatten().view(WORDS[t.element_size()]) for t in (a, b))
    assert torch.equal(a, b), f"{place}: {here.tolist()} on the CPU, {there.tolist()} on the device"
