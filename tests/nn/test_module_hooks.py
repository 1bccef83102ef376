"""Hooks of modules: on gradients, on state dicts, of all modules; extra state; submodules by path."""

import collections

import pytest

import minidynamo as torch
from minidynamo.utils.hooks import RemovableHandle

nn = torch.nn
x = torch.tensor([[1.0, 2.0]])


def layer():
    made = nn.Linear(2, 2, bias=False)
    nn.init.constant_(made.weight, 0.5)
    return made


def noted(log, tag):
    def hook(module, *grads):
        log.append((tag, *[[None if g is None else g.tolist() for g in each] for each in grads]))

    return hook


@pytest.mark.parametrize("compiled", [False, True])
def test_full_backward_hooks_see_gradients(compiled):
    log, made = [], layer()
    made.register_full_backward_hook(noted(log, "after"))
    made.register_full_backward_pre_hook(noted(log, "before"))
    made.register_full_backward_hook(noted(log, "first"), prepend=True)
    given = x.clone().requires_grad_()
    call = torch.compile(made) if compiled else made
    call(given).sum().backward()
    ones, back = [[[1.0, 1.0]]], [[[1.0, 1.0]]]
    assert log == [("before", ones), ("first", back, ones), ("after", back, ones)]
    assert given.grad.tolist() == [[1.0, 1.0]] and made.weight.grad.tolist() == [[1.0, 2.0]] * 2


def test_full_backward_hooks_change_gradients():
    made, given = layer(), x.clone().requires_grad_()
    pre = made.register_full_backward_pre_hook(lambda module, grads: (grads[0] * 2,))
    post = made.register_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * outputs[0],))
    made(given).sum().backward()
    assert given.grad.tolist() == [[4.0, 4.0]] and made.weight.grad.tolist() == [[2.0, 4.0]] * 2
    pre.remove(), post.remove()
    given.grad = None
    made(given).sum().backward()
    assert given.grad.tolist() == [[1.0, 1.0]]


def test_what_takes_no_part_is_none_or_zero():
    class Two(nn.Module):
        def forward(self, a, b, c=None):
            return a * b, b, 7

    log, made = [], Two()
    made.register_full_backward_hook(noted(log, "hook"))
    a, b = torch.ones(2, requires_grad=True), torch.ones(2)
    made(a, b)[0].sum().backward()
    assert log == [("hook", [[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], None, None])]
    log.clear()
    with torch.no_grad():
        made(a, b)
    assert log == []


def test_hooks_without_inputs_that_require_grad():
    log, made = [], layer()
    made.register_full_backward_hook(noted(log, "hook"))
    with pytest.warns(UserWarning):
        made(x).sum().backward()
    assert log == [("hook", [None], [[[1.0, 1.0]]])]


@pytest.mark.parametrize("answer, kind", [((1, 2), RuntimeError), (3, TypeError)])
def test_wrong_answers_of_backward_hooks(answer, kind):
    for register in ("register_full_backward_hook", "register_full_backward_pre_hook"):
        made = layer()
        getattr(made, register)(lambda *_: answer)
        with pytest.raises(kind):
            made(x.clone().requires_grad_()).sum().backward()
    with pytest.raises(NotImplementedError):
        layer().register_backward_hook(lambda *_: None)


def test_hooks_of_all_modules():
    log, every = [], nn.modules.module
    model = nn.Sequential(layer(), nn.ReLU())
    handles = [
        every.register_module_forward_pre_hook(lambda m, a: log.append(("pre", type(m).__name__))),
        every.register_module_forward_hook(lambda m, a, o: log.append(("post", type(m).__name__))),
        every.register_module_full_backward_hook(lambda m, i, o: log.append(("back", type(m).__name__))),
    ]
    model[1].register_forward_hook(lambda m, a, o: log.append("own"))
    try:
        model(x.clone().requires_grad_()).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    wanted = [("pre", "Sequential"), ("pre", "Linear"), ("post", "Linear"), ("pre", "ReLU"), ("post", "ReLU"), "own"]
    wanted += [("post", "Sequential"), ("back", "ReLU"), ("back", "Linear"), ("back", "Sequential")]
    assert log == wanted
    log.clear()
    model(x)
    assert log == ["own"]


def test_state_dict_hooks():
    log, model = [], nn.Sequential(layer(), nn.ReLU())
    model[0].register_state_dict_pre_hook(lambda m, prefix, keep: log.append((prefix, keep)))
    model[0].register_state_dict_post_hook(lambda m, state, prefix, about: state.update({prefix + "more": about}))
    model._register_state_dict_hook(lambda m, state, prefix, about: dict(state))
    state = model.state_dict(keep_vars=True)
    assert log == [("0.", True)] and type(state) is dict and state["0.more"] == {"version": 1}
    model[1].register_state_dict_post_hook(lambda *_: {})
    with pytest.raises(RuntimeError):
        model.state_dict()


def test_load_state_dict_hooks():
    log, model = [], nn.Sequential(layer())

    def renamed(state, prefix, about, strict, missing, unexpected, errors):
        state[prefix + "weight"] = state.pop(prefix + "older")

    model[0]._register_load_state_dict_pre_hook(renamed)
    model[0].register_load_state_dict_pre_hook(lambda module, state, prefix, *_: log.append((module, prefix)))
    model.register_load_state_dict_post_hook(lambda module, keys: keys.unexpected_keys.clear())
    found = model.load_state_dict({"0.older": torch.ones(2, 2), "0.unknown": x})
    assert str(found) == "<All keys matched successfully>" and log == [(model[0], "0.")]
    assert model[0].weight.tolist() == [[1.0, 1.0]] * 2
    model.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(AssertionError):
        model.load_state_dict({"0.older": x.expand(2, 2)})


def test_extra_state():
    class Counting(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    first, second = nn.Sequential(Counting()), nn.Sequential(Counting())
    first[0].count = 3
    second.load_state_dict(first.state_dict())
    assert second[0].count == 3
    assert second.load_state_dict({}, strict=False).missing_keys == ["0._extra_state"]
    with pytest.raises(RuntimeError, match="0._extra_state"):
        nn.Sequential(nn.ReLU()).load_state_dict(first.state_dict())
    with pytest.raises(RuntimeError):
        nn.ReLU().get_extra_state()


def test_set_submodule():
    model = nn.Sequential(nn.Sequential(nn.ReLU()), nn.Linear(2, 2))
    model.set_submodule("0.0", nn.Tanh(), strict=True)
    model.set_submodule("0.more", nn.ReLU())
    assert repr(model[0]) == "Sequential(\n  (0): Tanh()\n  (more): ReLU()\n)"
    for target, module, strict, kind in (
        ("", nn.ReLU(), False, ValueError),
        ("0.0", 3, False, ValueError),
        ("9.0", nn.ReLU(), False, AttributeError),
        ("0.other", nn.ReLU(), True, AttributeError),
        ("1.weight", nn.ReLU(), False, AttributeError),
    ):
        with pytest.raises(kind):
            model.set_submodule(target, module, strict)


def test_gradients_follow_their_parameters():
    made = layer()
    made(x).sum().backward()
    made.double()
    assert made.weight.grad.dtype == torch.float64 and made.weight.grad.tolist() == [[1.0, 2.0]] * 2


def test_arguments_of_module():
    with pytest.raises(TypeError):
        nn.Module(3)

    class Base:
        def __init__(self, value):
            self.value = value

    class Both(nn.Module, Base):
        call_super_init = True

    assert Both(5).value == 5


def hook_of(*args):
    return None


def test_tables_hold_the_hooks_themselves():
    layer = torch.nn.Linear(2, 2)
    handles = [
        layer.register_forward_hook(hook_of, with_kwargs=True, always_call=True),
        layer.register_forward_pre_hook(hook_of, with_kwargs=True),
        layer.register_full_backward_hook(hook_of),
        layer.register_full_backward_pre_hook(hook_of),
        layer.register_state_dict_pre_hook(hook_of),
        layer.register_state_dict_post_hook(hook_of),
        layer.register_load_state_dict_pre_hook(hook_of),
        layer.register_load_state_dict_post_hook(hook_of),
    ]
    plain = layer.register_forward_hook(hook_of)
    first = handles[0].id
    tables = {name: table for name, table in vars(layer).items() if "_hooks" in name}
    assert all(type(table) is collections.OrderedDict for table in tables.values())
    assert list(layer._forward_hooks.items()) == [(first, hook_of), (plain.id, hook_of)]
    assert layer._forward_hooks_with_kwargs == layer._forward_hooks_always_called == {first: True}
    assert list(layer._forward_pre_hooks.values()) == list(layer._backward_hooks.values()) == [hook_of]
    assert layer._is_full_backward_hook is True and layer._forward_pre_hooks_with_kwargs == {handles[1].id: True}
    layer.load_state_dict(layer.state_dict())
    for handle in [*handles, plain]:
        handle.remove()
    assert not any(tables.values())


class Doubled:
    """A change of a weight before each call, as published programs write it: found and taken away by its name."""

    def __init__(self, name):
        self.name = name

    def __call__(self, module, inputs):
        setattr(module, self.name, getattr(module, f"{self.name}_orig") * 2)

    @staticmethod
    def apply(module, name):
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, Doubled) and hook.name == name:
                raise RuntimeError("twice")
        weight = module._parameters.pop(name)
        module.register_parameter(f"{name}_orig", weight)
        setattr(module, name, weight.data)
        module.register_forward_pre_hook(Doubled(name))
        return module

    @staticmethod
    def remove(module, name):
        for key, hook in module._forward_pre_hooks.items():
            if isinstance(hook, Doubled) and hook.name == name:
                weight = module._parameters.pop(f"{name}_orig")
                delattr(module, name)
                module.register_parameter(name, weight)
                del module._forward_pre_hooks[key]
                return module
        raise ValueError(name)


@pytest.mark.parametrize("compiled", [False, True])
def test_programs_look_through_the_tables(compiled):
    layer = Doubled.apply(torch.nn.Linear(2, 2, bias=False), "weight")
    x = torch.ones(1, 2)
    call = torch.compile(layer, fullgraph=True) if compiled else layer
    expected = x @ layer.weight_orig.t()
    assert torch.allclose(call(x), expected * 2)
    with pytest.raises(RuntimeError, match="twice"):
        Doubled.apply(layer, "weight")
    Doubled.remove(layer, "weight")
    assert torch.allclose(call(x), expected) and not layer._forward_pre_hooks
    with pytest.raises(ValueError):
        Doubled.remove(layer, "weight")


@pytest.mark.parametrize("compiled", [False, True])
def test_hooks_put_into_the_tables(compiled):
    layer = torch.nn.Linear(2, 2)
    call = torch.compile(layer, fullgraph=True) if compiled else layer
    x = torch.ones(1, 2)
    result = call(x)
    handle = RemovableHandle(layer._forward_hooks)
    layer._forward_hooks[handle.id] = lambda module, args, out: out + 1
    layer.register_forward_hook(lambda module, args, out: out * 2)
    assert torch.allclose(call(x), (result + 1) * 2)
    layer._forward_hooks.move_to_end(handle.id)
    assert torch.allclose(call(x), result * 2 + 1)
    handle.remove()
    assert torch.allclose(call(x), result * 2)
    layer._forward_hooks.clear()
    assert torch.allclose(call(x), result)
    extra = {}
    with RemovableHandle(layer._forward_hooks, extra_dict=extra) as other:
        extra[other.id] = True
    assert extra == {}
