"""Memory formats: the strides calls give for one, what is given back itself, and what is refused."""

import copy
import pickle

import numpy as np
import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.testing import make_tensor

LAST, LAST_3D = torch.channels_last, torch.channels_last_3d
CONTIGUOUS, PRESERVE = torch.contiguous_format, torch.preserve_format
CONVERSIONS = "float double half bfloat16 int long short char byte bool".split()
LIKE = {
    "empty_like": lambda x, **k: torch.empty_like(x, **k),
    "zeros_like": lambda x, **k: torch.zeros_like(x, **k),
    "ones_like": lambda x, **k: torch.ones_like(x, **k),
    "full_like": lambda x, **k: torch.full_like(x, 2, **k),
    "rand_like": lambda x, **k: torch.rand_like(x, **k),
    "randn_like": lambda x, **k: torch.randn_like(x, **k),
    "randint_like": lambda x, **k: torch.randint_like(x, 5, **k),
    "randint_like.low": lambda x, **k: torch.randint_like(x, 2, 5, **k),
}


def images(*sizes):
    sizes = sizes or (2, 3, 4, 5)
    return torch.from_numpy(np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes))


def in_order(sizes, order):
    """Strides of a dense tensor whose dimensions lie in this order, the slowest first."""
    dense = np.empty([sizes[d] for d in order], np.int8).strides
    return tuple(dense[order.index(d)] for d in range(len(sizes)))


CHANNELS_LAST = in_order((2, 3, 4, 5), (0, 2, 3, 1))
SWAPPED = in_order((2, 4, 3, 5), (0, 2, 1, 3))


def test_objects():
    assert repr(LAST) == "torch.channels_last" and type(LAST) is torch.memory_format
    assert repr([CONTIGUOUS, LAST_3D, PRESERVE]) == (
        "[torch.contiguous_format, torch.channels_last_3d, torch.preserve_format]"
    )
    assert pickle.loads(pickle.dumps(LAST)) is LAST is copy.deepcopy(LAST)
    with pytest.raises(TypeError):
        torch.memory_format()


OTHER = torch.zeros(1, dtype=torch.float64)
COPIES = {
    "clone": lambda x, f: x.clone(memory_format=f),
    "torch.clone": lambda x, f: torch.clone(x, memory_format=f),
    "contiguous": lambda x, f: x.contiguous(memory_format=f),
    "to": lambda x, f: x.to(memory_format=f),
    "to dtype": lambda x, f: x.to(torch.float64, memory_format=f),
    "to device": lambda x, f: x.to("cpu", memory_format=f),
    "to other": lambda x, f: x.to(OTHER, memory_format=f),
    "cpu": lambda x, f: x.cpu(memory_format=f),
    "type": lambda x, f: x.type(torch.float64, memory_format=f),
} | {name: lambda x, f, name=name: getattr(x, name)(memory_format=f) for name in CONVERSIONS}


@pytest.mark.parametrize("name", COPIES)
def test_copies(name):
    call = COPIES[name]
    for x in (images(), images().to(memory_format=LAST), images(2, 3, 8, 10)[:, :, ::2, 1::2]):
        result = call(x, LAST)
        assert result.stride() == CHANNELS_LAST and result.is_contiguous(memory_format=LAST)
        assert result.tolist() == call(x, PRESERVE if name != "contiguous" else CONTIGUOUS).tolist()
        assert call(x.contiguous(memory_format=LAST), CONTIGUOUS).is_contiguous()
    assert call(images(2, 3, 1, 4, 5), LAST_3D).stride() == in_order((2, 3, 1, 4, 5), (0, 2, 3, 4, 1))
    for wrong in (images(3, 4, 5), images(2, 3, 4, 5, 6)):
        with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
            call(wrong, LAST)


@pytest.mark.parametrize("name", LIKE)
def test_like(name):
    call, x = LIKE[name], images()
    swapped, last = x.transpose(1, 2), x.to(memory_format=LAST)
    assert call(x, memory_format=LAST).stride() == CHANNELS_LAST
    for keep in ({}, {"memory_format": None}, {"memory_format": PRESERVE}):
        assert call(swapped, **keep).stride() == SWAPPED and call(last, **keep).stride() == CHANNELS_LAST
        assert call(x.expand(6, 2, 3, 4, 5), **keep).is_contiguous()
    assert call(swapped, memory_format=CONTIGUOUS).is_contiguous()
    for sizes in ((2, 0, 3, 3), (2, 3, 0, 4), (0, 3, 2, 2)):
        strides = torch.empty(sizes, memory_format=LAST).stride()
        assert call(torch.empty(sizes), memory_format=LAST).stride() == strides
    with pytest.raises(RuntimeError):
        call(x[0], memory_format=LAST)
    with pytest.raises(TypeError, match=r"memory_format.*must be torch.memory_format, not str"):
        call(x, memory_format="channels_last")
    if not name.startswith("randint"):
        leaf = call(x, memory_format=LAST, requires_grad=True)
        (leaf * 2).sum().backward()
        assert leaf.is_leaf and leaf.grad.stride() == CHANNELS_LAST and leaf.grad.unique().item() == 2
    else:
        with pytest.raises(RuntimeError):
            call(torch.arange(24).reshape(1, 2, 3, 4), memory_format=LAST, requires_grad=True)


def test_random_numbers_are_those_of_other_formats():
    x = images()
    for call in (LIKE["rand_like"], LIKE["randn_like"], LIKE["randint_like"]):
        torch.manual_seed(1)
        drawn = call(x, memory_format=LAST)
        torch.manual_seed(1)
        assert drawn.tolist() == call(x).tolist()


def test_empty_and_resize():
    assert torch.empty(2, 3, 4, 5, memory_format=LAST).stride() == CHANNELS_LAST
    assert torch.empty((2, 0, 3, 3), memory_format=LAST).stride() == (0, 1, 0, 0)
    assert torch.empty((2, 3), memory_format=None).is_contiguous()
    for format, sizes in ((PRESERVE, (2, 3, 4, 5)), (LAST_3D, (2, 3, 4, 5)), (LAST, (2, 3))):
        with pytest.raises(RuntimeError):
            torch.empty(sizes, memory_format=format)
        with pytest.raises(RuntimeError):
            torch.zeros(3).resize_(sizes, memory_format=format)
    assert torch.zeros(3).resize_(2, 3, 4, 5, memory_format=LAST).stride() == CHANNELS_LAST
    template = images().to(memory_format=LAST)
    for format, strides in ((None, images().stride()), (CONTIGUOUS, images().stride()), (PRESERVE, CHANNELS_LAST)):
        assert torch.zeros(3).resize_as_(template, memory_format=format).stride() == strides
    square = images(2, 2).t()
    assert square.resize_(2, 2).stride() == (1, 2)
    assert square.resize_(2, 2, memory_format=CONTIGUOUS).stride() == (2, 1)


def test_what_has_the_format_is_given_back():
    x = images()
    last = x.to(memory_format=LAST)
    assert last.to(memory_format=LAST) is last is last.contiguous(memory_format=LAST) is last.float(memory_format=LAST)
    assert x.to(memory_format=CONTIGUOUS) is x and last.to(memory_format=PRESERVE) is last
    swapped = x.transpose(1, 2)
    assert swapped.to(memory_format=CONTIGUOUS) is swapped  # in no other format, so taken for this one
    assert last.clone(memory_format=LAST) is not last and last.to(memory_format=LAST, copy=True) is not last
    one = torch.empty(2, 1, 4, 4)  # in both formats
    assert one.contiguous(memory_format=LAST) is one


def test_is_contiguous():
    x = images()
    last = x.to(memory_format=LAST)
    asked = [t.is_contiguous(memory_format=f) for t in (x, last, x[0]) for f in (CONTIGUOUS, LAST, LAST_3D, PRESERVE)]
    assert asked == [True, False, False, True, False, True, False, False, True, False, False, True]
    assert not torch.empty(0, 3, 2, 2).is_contiguous(memory_format=LAST)
    for wrong in ({"memory_format": None}, {"memory_format": "a"}):
        with pytest.raises(TypeError):
            x.is_contiguous(**wrong)
        with pytest.raises(TypeError):
            x.contiguous(**wrong)
    with pytest.raises(TypeError):
        x.clone(LAST)
    with pytest.raises(RuntimeError):
        last.contiguous(memory_format=PRESERVE)


def _described(result):
    parts = result if isinstance(result, tuple) else (result,)
    return [(t.stride(), t.dtype, t.tolist()) if isinstance(t, torch.Tensor) else t for t in parts]


def _copied(name):
    def function(x):
        y = COPIES[name](x * 1, LAST)
        return y, y + 1, COPIES[name](y, LAST) is y, COPIES[name](x * 2, CONTIGUOUS)

    return function


def _made_like(name):
    def function(x):
        y, swapped = LIKE[name](x, memory_format=LAST), LIKE[name](x.transpose(1, 2))
        if name == "empty_like":  # what lies in fresh memory may be NaN, which no factor makes zero
            return y.fill_(1), swapped.fill_(0)
        return y, swapped * 0

    return function


def _asked(x):
    y = x.contiguous(memory_format=LAST)
    return x + (1 if y.is_contiguous(memory_format=LAST) else 0) - (2 if y.is_contiguous() else 0)


def _laid_out(x):
    return (x.to(memory_format=LAST) * 3).clone(memory_format=CONTIGUOUS).exp()


def _gradient_through(function):
    def gradient(x):
        leaf = (x / 100).requires_grad_()
        result = function(leaf)
        result.sum().backward()
        return result.detach(), leaf.grad

    return gradient


@pytest.mark.parametrize("name", [*(name for name in COPIES if name != "type"), *LIKE, "is_contiguous", "gradient"])
def test_compiled_like_plain(name):
    """Strides, elements, identity are those of plain calls, with sizes as numbers and as symbols."""
    torch._dynamo.reset()  # the functions made for the names are one code object
    function = _copied(name) if name in COPIES else _made_like(name) if name in LIKE else _asked
    counter = CompileCounter()
    calls = [function, *(torch.compile(function, backend=b, fullgraph=True) for b in (counter, "inductor"))]
    if name == "gradient":
        calls = [_gradient_through(f) for f in (_laid_out, torch.compile(_laid_out, fullgraph=True))]
    for x in (images(), images(3, 2, 5, 4), images().to(memory_format=LAST), images(4, 3, 2, 7)):
        results = []
        for call in calls:
            torch.manual_seed(5)
            results.append(_described(call(x)))
        assert all(result == results[0] for result in results)


def test_formats_are_constants_of_a_trace():
    counter = CompileCounter()

    @torch.compile(backend=counter, fullgraph=True)
    def function(x, format):
        chosen = {"as it is": PRESERVE, "last": LAST}["last"] if format is LAST else format
        return x.clone(memory_format=chosen)

    for format in (LAST, CONTIGUOUS, PRESERVE):
        expected = CHANNELS_LAST if format is LAST else images().stride()
        assert function(images(), format).stride() == function(images(), format).stride() == expected
    assert counter.frame_count == 3
    texts = []

    def backend(graph, inputs):
        texts.append(graph.code)
        return graph

    torch.compile(lambda x: x.to(memory_format=LAST), backend=backend)(images())
    assert "memory_format = torch.channels_last" in texts[0]


def test_modules():
    nn, utils = torch.nn, torch.nn.utils
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Linear(2, 3))
    weight = model[0].weight
    assert model.to(memory_format=LAST) is model and model[0].weight is weight
    assert weight.stride() == in_order((4, 3, 3, 3), (0, 2, 3, 1)) and model[2].weight.is_contiguous()
    assert model.to(torch.float64, memory_format=PRESERVE)[0].weight.stride() == weight.stride()
    assert model.to(memory_format=CONTIGUOUS)[0].weight.is_contiguous()
    with pytest.raises(RuntimeError):
        nn.Conv3d(3, 4, 3).to(memory_format=LAST)
    both = nn.Sequential(nn.Conv3d(3, 4, 3), nn.ConvTranspose2d(3, 4, 3))
    utils.convert_conv2d_weight_memory_format(both, LAST)
    utils.convert_conv3d_weight_memory_format(both, LAST_3D)
    assert both[0].weight.stride() == in_order((4, 3, 3, 3, 3), (0, 2, 3, 4, 1))
    assert both[1].weight.stride() == in_order((3, 4, 3, 3), (0, 2, 3, 1))


def test_make_tensor():
    options = {"dtype": torch.float32, "device": "cpu"}
    assert make_tensor(2, 3, 4, 5, memory_format=LAST, **options).stride() == CHANNELS_LAST
    with pytest.raises(ValueError):
        make_tensor(2, 3, 4, 5, memory_format=LAST, noncontiguous=True, **options)
