"""Module: what it takes for its own, how it is walked, saved, loaded, called and shown."""

import collections
import copy
import pickle

import numpy as np
import pytest

import minidynamo as torch

nn = torch.nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 4)
        self.inner = nn.Sequential(nn.ReLU(), nn.Linear(4, 2, bias=False))
        self.scale = nn.Parameter(torch.ones(2))
        self.register_buffer("offset", torch.zeros(2))
        self.register_buffer("cache", torch.zeros(1), persistent=False)

    def forward(self, x):
        return self.inner(self.first(x)) * self.scale + self.offset


def raises(kind, text, function, *args, **kwargs):
    with pytest.raises(kind) as caught:
        function(*args, **kwargs)
    assert caught.value.args[0] == text


def test_parameter_is_a_tensor_that_shares_memory():
    data = torch.tensor([1.0, 2.0])
    p = nn.Parameter(data)
    assert isinstance(p, torch.Tensor) and p.requires_grad and not data.requires_grad
    assert repr(p) == "Parameter containing:\ntensor([1., 2.], requires_grad=True)"
    assert repr(nn.Parameter(data, False)) == "Parameter containing:\ntensor([1., 2.])"
    data[0] = 5
    assert p.tolist() == [5, 2]
    assert type(p + 1) is torch.Tensor and type(p.view(2, 1)) is torch.Tensor and type(p.detach()) is torch.Tensor
    assert type(copy.deepcopy(p)) is nn.Parameter and type(pickle.loads(pickle.dumps(p))) is nn.Parameter
    assert nn.Parameter().shape == (0,)
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(torch.ones(2, dtype=torch.int32))


def test_copies_of_parameters_have_elements_and_nothing_else():
    p = nn.Parameter(torch.ones(3, 2)[:, 0])
    p.grad, p.note = torch.ones(3), "here"
    p.register_hook(lambda g: g * 100)
    first, second = copy.deepcopy([p, p])
    assert first is second and type(first) is nn.Parameter and first.grad is None and not hasattr(first, "note")
    (first * 2).sum().backward()
    assert first.grad.tolist() == [2, 2, 2] and p.grad.tolist() == [1, 1, 1]
    assert not copy.deepcopy(nn.Parameter(torch.ones(2), requires_grad=False)).requires_grad
    m = nn.Linear(2, 2)
    m(torch.ones(1, 2)).sum().backward()
    again = copy.deepcopy(m)
    assert all(q.grad is None and torch.equal(q, old) for q, old in zip(again.parameters(), m.parameters()))
    # One that a subclass made is of the subclass, as are its copies.
    kind = type("Own", (nn.Parameter,), {})
    assert type(copy.deepcopy(kind(torch.ones(2)))) is kind


def test_names_in_order():
    m = Block()
    assert [n for n, _ in m.named_parameters()] == ["scale", "first.weight", "first.bias", "inner.1.weight"]
    assert [n for n, _ in m.named_buffers()] == ["offset", "cache"]
    assert [n for n, _ in m.named_modules()] == ["", "first", "inner", "inner.0", "inner.1"]
    assert [n for n, _ in m.named_children()] == ["first", "inner"]
    assert len(list(m.parameters())) == 4 and len(list(m.parameters(recurse=False))) == 1
    assert [n for n, _ in m.named_parameters(prefix="m", recurse=False)] == ["m.scale"]
    assert m.get_submodule("inner.1") is m.inner[1] and m.get_submodule("") is m
    assert m.get_parameter("first.bias") is m.first.bias and m.get_buffer("offset") is m.offset
    raises(AttributeError, "Block has no attribute `q`", m.get_submodule, "q.e")
    raises(AttributeError, "`scale` is not an nn.Module", m.get_submodule, "scale")
    raises(AttributeError, "`first` is not an nn.Parameter", m.get_parameter, "first")
    raises(AttributeError, "`scale` is not a buffer", m.get_buffer, "scale")
    assert {"first", "scale", "offset", "forward"} <= set(dir(m)) and "0" not in dir(m.inner)


def test_shared_members_are_named_once():
    m = nn.Module()
    m.a = nn.Linear(2, 2)
    m.b = m.a
    m.c = nn.Linear(2, 2)
    m.c.weight = m.a.weight
    assert [n for n, _ in m.named_parameters()] == ["a.weight", "a.bias", "c.bias"]
    assert len(list(m.named_parameters(remove_duplicate=False))) == 6
    assert [n for n, _ in m.named_children()] == ["a", "c"]


def test_assignment():
    m = nn.Module()
    m.w = nn.Parameter(torch.ones(2))
    raises(
        TypeError,
        "cannot assign 'torch.FloatTensor' as parameter 'w' (torch.nn.Parameter or None expected)",
        setattr, m, "w", torch.ones(2),
    )  # fmt: skip
    m.w = None
    assert m.w is None and list(m.parameters()) == []
    m.s = nn.ReLU()
    raises(TypeError, "cannot assign 'int' as child module 's' (torch.nn.Module or None expected)", setattr, m, "s", 3)
    m.register_buffer("b", torch.ones(2))
    text = "cannot assign 'int' as buffer 'b' (torch.nn.Buffer, torch.Tensor or None expected)"
    raises(TypeError, text, setattr, m, "b", 3)
    m.b = torch.zeros(3)
    assert list(m.state_dict()) == ["b"]
    m.plain = torch.ones(1)
    assert "plain" not in m.state_dict()
    m.plain = nn.Parameter(torch.ones(1))  # moves to where parameters are
    assert "plain" in m.state_dict() and "plain" not in vars(m)
    m.kept = nn.Buffer(torch.ones(1), persistent=False)
    assert [n for n, _ in m.named_buffers()] == ["b", "kept"] and "kept" not in m.state_dict()
    del m.b, m.s, m.plain
    raises(AttributeError, "'Module' object has no attribute 'b'", getattr, m, "b")
    raises(AttributeError, "'Module' object has no attribute 'b'", delattr, m, "b")


def test_registration_errors():
    m = nn.Module()
    raises(KeyError, 'buffer name can\'t contain "."', m.register_buffer, "a.b", None)
    raises(KeyError, 'parameter name can\'t be empty string ""', m.register_parameter, "", None)
    raises(TypeError, "module name should be a string. Got int", m.add_module, 3, None)
    raises(KeyError, 'module name can\'t contain ".", got: a.b', m.add_module, "a.b", None)
    raises(KeyError, "attribute 'training' already exists", m.register_buffer, "training", None)
    raises(
        TypeError, "cannot assign 'int' object to buffer 'c' (torch Tensor or None required)", m.register_buffer, "c", 3
    )
    raises(TypeError, "int is not a Module subclass", m.add_module, "c", 3)


@pytest.mark.parametrize(
    "what, value",
    [("parameters", lambda: nn.Parameter(torch.ones(2))), ("module", nn.ReLU)],
)
def test_assignment_before_init(what, value):
    class Early(nn.Module):
        def __init__(self):
            self.a = value()

    raises(AttributeError, f"cannot assign {what} before Module.__init__() call", Early)


def test_no_forward():
    raises(NotImplementedError, 'Module [Module] is missing the required "forward" function', nn.Module(), 1)


def test_modes_and_dtypes():
    m = Block()
    weight = m.first.weight
    assert m.eval() is m and not any(x.training for x in m.modules())
    assert m.train() is m and all(x.training for x in m.modules())
    raises(ValueError, "training mode is expected to be boolean", m.train, 1)
    m.double()
    assert m.first.weight is weight and weight.dtype == torch.float64 and m.offset.dtype == torch.float64
    m.register_buffer("count", torch.tensor(3))
    m.to(torch.float16)
    assert m.scale.dtype == torch.float16 and m.count.dtype == torch.int64
    m.to("cpu", dtype=torch.float32)
    assert m.scale.dtype == torch.float32
    text = "nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=torch.int32"
    raises(TypeError, text, m.to, torch.int32)
    assert not any(p.requires_grad for p in m.requires_grad_(False).parameters())
    seen = []
    m.apply(seen.append)
    assert seen[-1] is m and len(seen) == 5


def test_state_dict_round_trip(tmp_path):
    m, other = Block(), Block()
    x = torch.randn(5, 3)
    state = m.state_dict()
    assert list(state) == ["scale", "offset", "first.weight", "first.bias", "inner.1.weight"]
    assert not state["scale"].requires_grad and state["scale"].data_ptr() == m.scale.data_ptr()
    torch.save(state, tmp_path / "m")
    scale = other.scale
    assert str(other.load_state_dict(torch.load(tmp_path / "m"))) == "<All keys matched successfully>"
    assert other.scale is scale and torch.equal(other(x), m(x))
    assigned = Block()
    assigned.load_state_dict(m.state_dict(keep_vars=True), assign=True)
    assert assigned.scale is m.scale
    again = pickle.loads(pickle.dumps(m))
    assert torch.equal(again(x), m(x)) and torch.equal(copy.deepcopy(m)(x), m(x))


def test_load_errors():
    m = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.BatchNorm1d(4))
    state = m.state_dict()
    del state["0.weight"]
    state["zz"] = torch.ones(2)
    state["0.bias"] = torch.ones(5)
    state["2.bias"] = 3
    raises(
        RuntimeError,
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.weight". \n'
        '\tUnexpected key(s) in state_dict: "zz". \n'
        "\tsize mismatch for 0.bias: copying a param with shape torch.Size([5]) from checkpoint, "
        "the shape in current model is torch.Size([4]).\n"
        '\tWhile copying the parameter named "2.bias", expected torch.Tensor or Tensor-like object from checkpoint '
        "but received <class 'int'>",
        m.load_state_dict, state,
    )  # fmt: skip
    state["0.bias"], state["2.bias"] = torch.ones(4), torch.ones(4)
    found = m.load_state_dict(state, strict=False)
    assert found == (["0.weight"], ["zz"]) and m[0].bias.tolist() == [1, 1, 1, 1]
    raises(TypeError, "Expected state_dict to be dict-like, got <class 'int'>.", m.load_state_dict, 3)
    counted = m.state_dict()
    del counted["2.num_batches_tracked"]
    with pytest.raises(RuntimeError, match="Missing"):
        m.load_state_dict(counted)
    m.load_state_dict(dict(counted))  # without a version: from before batches were counted


def test_hooks_run_in_order_and_change_values():
    m, order = nn.Identity(), []

    def pre(module, args):
        order.append(("pre", args[0]))
        return args[0] + 1

    def post(module, args, output):
        order.append(("post", args[0], output))
        return output * 10

    handles = [m.register_forward_pre_hook(pre), m.register_forward_hook(post)]
    m.register_forward_hook(lambda module, args, output: order.append("first"), prepend=True)
    assert m(1) == 20 and order == [("pre", 1), "first", ("post", 2, 2)]
    with handles[0]:
        pass
    handles[1].remove()
    assert m(1) == 1
    m.register_forward_pre_hook(lambda module, args, kwargs: ((), {"input": 7}), with_kwargs=True)
    assert m(1) == 7

    class Failing(nn.Module):
        def forward(self, x):
            raise ZeroDivisionError

    failing, seen = Failing(), []
    failing.register_forward_hook(lambda *args: seen.append(args[1:]), always_call=True)
    failing.register_forward_hook(lambda *args: seen.append("no"))
    with pytest.raises(ZeroDivisionError):
        failing(1)
    assert seen == [((1,), None)]


def test_text():
    assert repr(nn.Sequential(nn.Linear(3, 4), nn.ReLU(True), nn.LayerNorm(4))) == (
        "Sequential(\n"
        "  (0): Linear(in_features=3, out_features=4, bias=True)\n"
        "  (1): ReLU(inplace=True)\n"
        "  (2): LayerNorm((4,), eps=1e-05, elementwise_affine=True, bias=True)\n"
        ")"
    )
    assert (
        repr(nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh()])) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n)"
    )
    assert repr(nn.ModuleDict({"a": nn.GELU()})) == "ModuleDict(\n  (a): GELU(approximate='none')\n)"
    assert repr(nn.ParameterList([torch.ones(2), 3])) == (
        "ParameterList(\n    (0): Parameter containing: [torch.float32 of size 2]\n    (1): Object of type: int\n)"
    )


def test_containers():
    s = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh())
    assert len(s) == 3 and s[-1] is s[2] and isinstance(s[:2], nn.Sequential) and len(s[:2]) == 2
    raises(IndexError, "index 5 is out of range", s.__getitem__, 5)
    first = s[0]
    del s[1]
    assert [n for n, _ in s.named_children()] == ["0", "1"] and s[0] is first
    s.append(nn.Identity()).insert(0, nn.Flatten())
    assert [type(m).__name__ for m in s] == ["Flatten", "Linear", "Tanh", "Identity"]
    assert len(s + s) == 8 and len(s * 2) == 8 and isinstance(s.pop(0), nn.Flatten)
    listed = nn.ModuleList([nn.ReLU()])
    listed += [nn.Tanh()]
    assert len(listed) == 2 and isinstance(listed[1:], nn.ModuleList)
    raises(TypeError, "ModuleList.extend should be called with an iterable, but got int", listed.extend, 3)
    named = nn.ModuleDict([("a", nn.ReLU())])
    named["b"] = nn.Tanh()
    assert list(named) == ["a", "b"] and "a" in named and len(named) == 2 and isinstance(named.pop("a"), nn.ReLU)
    raises(ValueError, "ModuleDict update sequence element #0 has length 3; 2 is required", nn.ModuleDict, [(1, 2, 3)])
    values = nn.ParameterDict({"a": torch.ones(2)})
    values["b"] = torch.zeros(1)
    assert isinstance(values["a"], nn.Parameter) and list(values.keys()) == ["a", "b"] and len(values) == 2
    assert [n for n, _ in values.named_parameters()] == ["a", "b"] and values.get("c") is None
    del values["a"]
    raises(KeyError, "a", values.__getitem__, "a")


def test_order_and_text_of_parameter_dicts():
    """Plain dicts come sorted by their keys, which decides the order of parameters()."""
    one, two = torch.ones(2, 1), torch.ones(3, dtype=torch.float64)
    plain = nn.ParameterDict({"z": one, "b": two})
    assert list(plain) == ["b", "z"] and [n for n, _ in plain.named_parameters()] == ["b", "z"]
    for ordered in (collections.OrderedDict(z=one, b=two), [("z", one), ("b", two)]):
        assert list(nn.ParameterDict(ordered)) == ["z", "b"]
    assert list(nn.ParameterDict(nn.ParameterDict([("z", one), ("b", two)]))) == ["z", "b"]
    plain.update({"y": one, "x": 3})
    plain |= {"d": one, "c": one}
    assert list(plain) == list(plain.copy()) == ["b", "z", "x", "y", "c", "d"]
    assert repr(plain).split("\n")[1:4] == [
        "    (b): Parameter containing: [torch.DoubleTensor of size 3]",
        "    (z): Parameter containing: [torch.FloatTensor of size 2x1]",
        "    (x): Object of type: int",
    ]
    assert "[torch.float64 of size 3]" in repr(nn.ParameterList([two]))


def test_init():
    torch.manual_seed(0)
    layer = nn.Linear(100, 50)
    assert float(layer.weight.abs().max()) <= 0.1 and float(layer.weight.abs().max()) > 0.099
    assert float(layer.bias.abs().max()) <= 0.1
    w = torch.empty(300, 200)
    np.testing.assert_allclose(np.abs(nn.init.xavier_uniform_(w).numpy()).max(), (6 / 500) ** 0.5, rtol=1e-3)
    np.testing.assert_allclose(nn.init.xavier_normal_(w).numpy().std(), (2 / 500) ** 0.5, rtol=0.02)
    np.testing.assert_allclose(nn.init.kaiming_normal_(w, nonlinearity="relu").numpy().std(), 0.1, rtol=0.02)
    np.testing.assert_allclose(
        np.abs(nn.init.kaiming_uniform_(w, mode="fan_out").numpy()).max(), (6 / 300) ** 0.5, rtol=1e-3
    )
    t = nn.init.trunc_normal_(w, mean=1.0, std=2.0, a=0.0, b=2.0).numpy()
    assert t.min() >= 0 and t.max() <= 2 and abs(t.mean() - 1) < 0.01 and abs(t.std() - 0.5685) < 0.01
    assert nn.init.zeros_(w).tolist()[0][0] == 0 and nn.init.constant_(w, 3).tolist()[0][0] == 3
    assert nn.init.eye_(torch.empty(2, 3)).tolist() == [[1, 0, 0], [0, 1, 0]]
    text = "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
    raises(ValueError, text, nn.init.xavier_uniform_, torch.empty(3))
    raises(ValueError, "Unsupported nonlinearity x", nn.init.calculate_gain, "x")


def test_unknown_names_say_so():
    with pytest.raises(AttributeError, match="torch 2.13 has no torch.nn.Conv9d either; nearest: torch.nn.Conv"):
        _ = nn.Conv9d
    assert {"Linear", "Module", "functional", "init"} <= set(dir(nn))


def test_errors_about_arguments_name_the_class_that_programs_know():
    for call in (lambda m: m.train(1, 2), lambda m: m.zero_grad(1, 2, 3), lambda m: m.apply()):
        with pytest.raises(TypeError, match=r"^Module\."):
            call(torch.nn.Linear(1, 1))
