"""Which operators handlers are shown for what a program writes: recorded from torch 2.13."""

import pathlib
import sys

import pytest

import minidynamo as torch
import minidynamo.nn.functional as F  # noqa: F401, N812  the texts below name it
from minidynamo.utils._python_dispatch import TorchDispatchMode, _disable_current_modes, _get_current_dispatch_mode

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from dispatched_classes import Log, Slotted, Two, asked, seen  # noqa: E402

x, y, b = torch.ones(3, 4), torch.ones(4, 5), torch.ones(5)
END = 2**63 - 1
MADE = "{'device': device(type='cpu'), 'pin_memory': False}"

CALLS = {
    "x + 1": ["add.Tensor ['T', 1]"],
    "2 * x": ["mul.Tensor ['T', 2]"],
    "2 - x": ["rsub.Scalar ['T', 2]"],
    "2 / x": ["reciprocal.default ['T']", "mul.Tensor ['T', 2]"],
    "x // 2": ["floor_divide.default ['T', 2]"],
    "x % 2": ["remainder.Scalar ['T', 2]"],
    "x ** 2": ["pow.Tensor_Scalar ['T', 2]"],
    "2 ** x": ["pow.Scalar [2, 'T']"],
    "x == 2": ["eq.Scalar ['T', 2]"],
    "x > x": ["gt.Tensor ['T', 'T']"],
    "x.square()": ["pow.Tensor_Scalar ['T', 2]"],
    "x @ y": ["mm.default ['T', 'T']"],
    "x @ y[:, 0]": ["select.int ['T', 1, 0]", "mv.default ['T', 'T']"],
    "x.view(1, 3, 4) @ y": [
        "view.default ['T', [1, 3, 4]]",
        "view.default ['T', [3, 4]]",
        "mm.default ['T', 'T']",
        "_unsafe_view.default ['T', [1, 3, 5]]",
    ],
    "F.linear(x, y.t(), b)": ["t.default ['T']", "t.default ['T']", "addmm.default ['T', 'T', 'T']"],
    "x.sum()": ["sum.default ['T']"],
    "x.sum(-1, keepdim=True)": ["sum.dim_IntList ['T', [-1], True]"],
    "x.mean(0)": ["mean.dim ['T', [0]]"],
    "x.max(1)": ["max.dim ['T', 1]"],
    "x.norm()": ["linalg_vector_norm.default ['T']"],
    "x.softmax(-1)": ["_softmax.default ['T', -1, False]"],
    "F.log_softmax(x, dim=1)": ["_log_softmax.default ['T', 1, False]"],
    "x.T": ["permute.default ['T', [1, 0]]"],
    "x.mT": ["transpose.int ['T', -2, -1]"],
    "x[0]": ["select.int ['T', 0, 0]"],
    "x[1:]": [f"slice.Tensor ['T', 0, 1, {END}]"],
    "x[..., None]": ["unsqueeze.default ['T', 2]"],
    "x[x > 0]": ["gt.Scalar ['T', 0]", "index.Tensor ['T', ['T']]"],
    "x.reshape(-1)": ["view.default ['T', [-1]]"],
    "x.T.reshape(-1)": [
        "permute.default ['T', [1, 0]]",
        "clone.default ['T'] {'memory_format': torch.contiguous_format}",
        "_unsafe_view.default ['T', [12]]",
    ],
    "x.double()": ["_to_copy.default ['T'] {'dtype': torch.float64}"],
    "x.float()": [],
    "torch.cat([x, x])": ["cat.default [['T', 'T']]"],
    "torch.where(x > 0, x, x)": ["gt.Scalar ['T', 0]", "where.self ['T', 'T', 'T']"],
    "x.clamp(min=0)": ["clamp.default ['T', 0]"],
    "F.gelu(x)": ["gelu.default ['T']"],
    "x.clone().add_(1)": ["clone.default ['T']", "add_.Tensor ['T', 1]"],
    "x.clone().zero_()": ["clone.default ['T']", "zero_.default ['T']"],
    "torch.ones(2)": [f"ones.default [[2]] {MADE}"],
    "torch.arange(0, 3)": [f"arange.start [0, 3] {MADE}"],
    "torch.empty(2)": [f"empty.memory_format [[2]] {MADE}"],
    "torch.zeros_like(x)": ["zeros_like.default ['T'] {'pin_memory': False}"],
    "bool(x.sum() > 0)": ["sum.default ['T']", "gt.Scalar ['T', 0]", "_local_scalar_dense.default ['T']"],
    "x.std()": ["std.correction ['T']"],
    "x.chunk(2)": ["split.Tensor ['T', 2]"],
    "x.unbind()": ["unbind.int ['T']"],
    "x.add(x, alpha=2)": ["add.Tensor ['T', 'T'] {'alpha': 2}"],
    "x.scatter(1, torch.ops.aten.zeros.default([3, 1], dtype=torch.int64), 1.0)": [
        "zeros.default [[3, 1]] {'dtype': torch.int64, " + MADE[1:],
        "scatter.value ['T', 1, 'T', 1.0]",
    ],
    "F.conv2d(x.view(1, 1, 3, 4), x[:1, :1].view(1, 1, 1, 1))": [
        "view.default ['T', [1, 1, 3, 4]]",
        "slice.Tensor ['T', 0, 0, 1]",
        "slice.Tensor ['T', 1, 0, 1]",
        "view.default ['T', [1, 1, 1, 1]]",
        "convolution.default ['T', 'T', None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1]",
    ],
}


@pytest.mark.parametrize("text", CALLS)
def test_operators_shown(text):
    with Log() as log:
        eval(text)
    assert log.calls == [f"aten.{call}" for call in CALLS[text]]


def test_an_overload():
    add = torch.ops.aten.add.Tensor
    assert str(add) == "aten.add.Tensor"
    assert repr(add) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert (add.__name__, add.name(), str(add.overloadpacket)) == ("add.Tensor", "aten::add.Tensor", "aten.add")
    assert str(add._schema) == "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
    assert add is torch.ops.aten.add.Tensor and add.overloadpacket is torch.ops.aten.add
    assert add(b, b, alpha=2).tolist() == [3.0] * 5
    written = torch.ops.aten.add_.Tensor._schema
    assert written.is_mutable and [a.is_write for a in written.arguments] == [True, False, False]
    assert isinstance(add, torch._ops.OpOverload) and isinstance(torch.ops.aten.add, torch._ops.OpOverloadPacket)
    with pytest.raises(AttributeError):
        _ = torch.ops.aten.add.NoSuch


def test_modes_are_asked_from_within():
    with Log() as outer:
        with Log() as inner:
            b.sin()
        with _disable_current_modes():
            b.cos()
        assert _get_current_dispatch_mode() is outer
    assert inner.calls == outer.calls == ["aten.sin.default ['T']"]
    assert _get_current_dispatch_mode() is None
    with pytest.raises(ZeroDivisionError), Log():
        raise ZeroDivisionError
    assert _get_current_dispatch_mode() is None


def test_a_mode_may_answer_otherwise():
    class Other(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            made = func(*args, **(kwargs or {}))
            return made + 1 if func is torch.ops.aten.mul.Tensor else made

    leaf = torch.ones(2, requires_grad=True)
    with Other():
        made = leaf * 3
    made.sum().backward()
    assert made.tolist() == [4.0, 4.0] and leaf.grad.tolist() == [3.0, 3.0]


def test_handlers_are_below_the_record_of_gradients():
    leaf = Slotted(torch.tensor([0.0, 1.0, 2.0]), requires_grad=True)
    made = (leaf * leaf).sum()
    asked.clear()
    (grad,) = torch.autograd.grad(made, leaf)
    assert seen(grad) == ["Slotted", ["Tensor", "torch.float32", False, [0.0, 2.0, 4.0]], False]
    assert asked[-3:] == ["mul.Tensor", "mul.Tensor", "add.Tensor"]


def test_objects_live_as_long_as_their_tensors():
    leaf = Two(torch.zeros(3), torch.ones(3)).requires_grad_()
    middle = leaf.exp()
    end = middle * middle
    del middle  # what backward needs of it is not gone
    end.sum().backward()
    assert leaf.grad.a.tolist() == [2.0, 2.0, 2.0]
    assert leaf.grad.b.sub(2 * torch.ones(1).exp() ** 2).abs().max() < 1e-5


@pytest.mark.parametrize("answer", [NotImplemented, ValueError("no")])
def test_bad_handlers(answer):
    class Bad(torch.Tensor):
        @staticmethod
        def __new__(cls):
            return torch.Tensor._make_wrapper_subclass(cls, (2,))

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            if isinstance(answer, Exception):
                raise answer
            return answer

    with pytest.raises(TypeError if answer is NotImplemented else ValueError):
        Bad() + 1


def test_a_wrapper_needs_a_handler():
    class Plain(torch.Tensor):
        pass

    with pytest.raises(TypeError, match="__torch_dispatch__"):
        torch.Tensor._make_wrapper_subclass(Plain, (2,))


def test_a_class_over_elements_of_its_own():
    class Sub(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            asked.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    part = b.as_subclass(Sub)
    asked.clear()
    made = part * 2
    assert type(made) is torch.Tensor and made.tolist() == [2.0] * 5 and asked == ["aten.mul.Tensor"]
