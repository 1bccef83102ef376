"""torch.FloatTensor and its kin, Tensor.type, new_tensor, and methods that name other devices."""

import numpy
import pytest

import minidynamo as torch

TYPES = {
    "Float": torch.float32,
    "Double": torch.float64,
    "Half": torch.float16,
    "BFloat16": torch.bfloat16,
    "Byte": torch.uint8,
    "Char": torch.int8,
    "Short": torch.int16,
    "Int": torch.int32,
    "Long": torch.int64,
    "Bool": torch.bool,
}


@pytest.mark.parametrize("name, dtype", TYPES.items())
def test_every_type(name, dtype):
    kind = getattr(torch, f"{name}Tensor")
    assert kind is getattr(torch, f"{name}Tensor") and kind.dtype is dtype and not kind.is_cuda
    made = kind([[1, 0], [1, 1]])
    assert made.dtype is dtype and made.tolist() == torch.tensor([[1, 0], [1, 1]], dtype=dtype).tolist()
    assert made.type() == f"torch.{name}Tensor" == torch.typename(made)
    assert repr(kind) == f"<class 'torch.{name}Tensor'>"
    assert isinstance(made, kind) and isinstance(made, (int, kind)) and not isinstance(3, kind)
    others = [getattr(torch, f"{other}Tensor") for other in TYPES if other != name]
    assert not any(isinstance(made, other) for other in others)
    assert not isinstance(made, getattr(torch.cuda, f"{name}Tensor"))
    source = torch.tensor([1.0, 0.0])
    for spelling in (dtype, kind, f"torch.{name}Tensor"):
        assert source.type(spelling).dtype is dtype
        assert made.type(spelling) is made
    assert kind(made).data_ptr() == made.data_ptr()


def test_sizes_and_data():
    assert torch.FloatTensor().shape == (0,)
    assert torch.FloatTensor(2, 3).shape == (2, 3) == torch.FloatTensor(torch.Size([2, 3])).shape
    assert torch.FloatTensor(size=(4,)).shape == (4,) == torch.FloatTensor(numpy.int64(4)).shape
    assert torch.FloatTensor((2, 3)).tolist() == [2.0, 3.0] == torch.FloatTensor(data=[2, 3]).tolist()
    assert torch.LongTensor([1.7, 2]).tolist() == [1, 2]
    assert torch.LongTensor(numpy.array([[1.5], [2.0]])).tolist() == [[1], [2]]
    assert torch.FloatTensor(range(3)).tolist() == [0.0, 1.0, 2.0]
    assert torch.FloatTensor([torch.tensor(1), torch.tensor(2)]).tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda: torch.FloatTensor(2.0), TypeError),
        (lambda: torch.FloatTensor(2, 3.0), TypeError),
        (lambda: torch.FloatTensor("abc"), TypeError),
        (lambda: torch.FloatTensor(None), TypeError),
        (lambda: torch.FloatTensor({1: 2}), TypeError),
        (lambda: torch.FloatTensor([1], [2]), TypeError),
        (lambda: torch.FloatTensor([1], dtype=torch.float32), TypeError),
        (lambda: torch.FloatTensor([1], requires_grad=True), TypeError),
        (lambda: torch.FloatTensor(torch.ones(2, dtype=torch.float64)), TypeError),
        (lambda: torch.FloatTensor(-1), RuntimeError),
        (lambda: torch.FloatTensor([1], device="cuda"), RuntimeError),
        (lambda: torch.cuda.FloatTensor([1.0]), TypeError),
        (lambda: torch.ones(2).type("torch.FooTensor"), ValueError),
        (lambda: torch.ones(2).type(float), ValueError),
        (lambda: torch.ones(2).type(3), TypeError),
        (lambda: torch.ones(2).type("torch.cuda.FloatTensor"), RuntimeError),
        (lambda: torch.ones(2).type(torch.float64, copy=True), TypeError),
        (lambda: torch.ones(2).cuda(), AssertionError),
        (lambda: torch.ones(2).cuda(non_blocking=True), AssertionError),
        (lambda: torch.ones(2).cuda(0), RuntimeError),
        (lambda: torch.ones(2).cuda("cpu"), RuntimeError),
        (lambda: torch.ones(2).xpu(), AssertionError),
        (lambda: torch.ones(2).pin_memory(), RuntimeError),
        (lambda: torch.ones(2).new_tensor("a"), TypeError),
        (lambda: torch.ones(2).new_tensor(), TypeError),
        (lambda: torch.nn.Linear(2, 2).cuda(), AssertionError),
        (lambda: torch.nn.Linear(2, 2).type(torch.cuda.FloatTensor), RuntimeError),
    ],
)
def test_refusals(call, kind):
    with pytest.raises(kind):
        call()


def test_types_of_other_tensors():
    assert torch.ones(2, device="meta").type() == "torch.meta.FloatTensor"
    assert torch.nn.Parameter(torch.ones(2)).type() == "torch.FloatTensor"
    assert isinstance(torch.nn.Parameter(torch.ones(2)), torch.FloatTensor)
    assert torch.typename("a") == "str" and torch.typename(torch.FloatTensor) == "torch.FloatTensor"
    assert torch.FloatTensor.abs is torch.Tensor.abs


def test_modules_take_types():
    for kind in (torch.float64, torch.DoubleTensor, "torch.DoubleTensor"):
        assert torch.nn.Linear(2, 2).type(kind).weight.dtype is torch.float64


def test_questions_of_other_devices():
    x = torch.ones(2)
    for kind in ("xpu", "mps", "mkldnn", "ipu", "mtia", "vulkan", "xla", "maia", "sparse_csr", "cuda"):
        assert getattr(x, f"is_{kind}") is False
    assert not x.is_pinned()


def test_new_tensor_takes_dtype_and_device_of_the_first():
    x = torch.ones(2, dtype=torch.float64)
    assert x.new_tensor([1, 2]).dtype is torch.float64
    assert x.long().new_tensor([1.5]).tolist() == [1]
    assert x.new_tensor([1, 2], dtype=torch.int32).dtype is torch.int32
    assert x.new_tensor(3.0, requires_grad=True).requires_grad
    source = torch.ones(2)
    with pytest.warns(UserWarning, match="copies"):
        copied = x.new_tensor(source)
    assert copied.dtype is torch.float64 and copied.data_ptr() != source.data_ptr()
    assert x.new(2, 3).shape == (2, 3) and x.long().new([1, 2]).dtype is torch.int64


def test_default_type():
    try:
        for kind in (torch.DoubleTensor, "torch.DoubleTensor"):
            torch.set_default_tensor_type(kind)
            assert torch.ones(1).dtype is torch.float64 is torch.ones(1).type(torch.Tensor).dtype
            torch.set_default_tensor_type(torch.FloatTensor)
    finally:
        torch.set_default_dtype(torch.float32)
    for wrong in (torch.LongTensor, torch.float32, "torch.cuda.FloatTensor", torch.cuda.FloatTensor):
        with pytest.raises(TypeError):
            torch.set_default_tensor_type(wrong)
    with pytest.raises(ValueError):
        torch.set_default_tensor_type("torch.FooTensor")


def test_compiled():
    def run(x):
        y = x.type(torch.DoubleTensor) * x.new_tensor([1.0, 2.0])
        return y.type("torch.FloatTensor") if isinstance(y, torch.DoubleTensor) and not x.is_xpu else x

    plain, compiled = torch.tensor([1.0, 3.0], requires_grad=True), torch.tensor([1.0, 3.0], requires_grad=True)
    expected, found = run(plain), torch.compile(run)(compiled)
    assert found.dtype is torch.float32 and torch.equal(found, expected)
    expected.sum().backward()
    found.sum().backward()
    assert torch.equal(plain.grad, compiled.grad) and plain.grad.tolist() == [1.0, 2.0]
