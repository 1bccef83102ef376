"""Weak dictionaries by identity, tensors that change places, modules without values."""

import copy
import gc
import weakref

import pytest

import minidynamo as torch
from minidynamo.utils.weak import TensorWeakRef, WeakIdKeyDictionary, WeakIdRef, WeakTensorKeyDictionary


def test_keys_are_objects():
    a, b = torch.ones(2), torch.ones(2)
    table = WeakTensorKeyDictionary()
    table[a], table[b] = 1, 2
    assert (table[a], table[b], len(table), a in table, torch.ones(2) in table, 3 in table) == (
        1,
        2,
        2,
        True,
        False,
        False,
    )
    assert [k is a or k is b for k in table] == [True, True] and len(table.keyrefs()) == 2
    assert copy.copy(table) == table and (table | {a: 5})[a] == 5 and table.get(torch.ones(1), 7) == 7
    del b
    gc.collect()
    assert len(table) == 1 and list(table.values()) == [1] and table.pop(a) == 1
    with pytest.raises(KeyError):
        table[a]
    assert len(WeakIdKeyDictionary({a: 1})) == 1


def test_references():
    t = torch.ones(2)
    ref, other = TensorWeakRef(t), WeakIdRef(t)
    assert ref() is t and other() is t and other == WeakIdRef(t) and hash(other) == id(t)
    del t
    gc.collect()
    assert ref() is None and other() is None
    with pytest.raises(AssertionError):
        TensorWeakRef(3)


def test_tensors_change_places():
    a, b = torch.nn.Parameter(torch.ones(2)), torch.zeros(3, dtype=torch.float64)
    b.note = "b"
    (a * 3).sum().backward()
    holds = [a, b]
    torch.utils.swap_tensors(a, b)
    assert type(a) is torch.Tensor and type(b) is torch.nn.Parameter and holds[0] is a
    assert a.tolist() == [0.0] * 3 and a.dtype == torch.float64 and a.note == "b" and not a.requires_grad
    assert b.tolist() == [1.0, 1.0] and b.grad.tolist() == [3.0, 3.0] and b.requires_grad and a.grad is None
    (b * 2).sum().backward()
    assert b.grad.tolist() == [5.0, 5.0]


def test_tensors_that_stay():
    a, b = torch.ones(2), torch.zeros(2)
    ref = weakref.ref(a)
    with pytest.raises(RuntimeError, match="weakref"):
        torch.utils.swap_tensors(a, b)
    assert ref() is a
    with pytest.raises(RuntimeError, match="gradients"):
        torch.utils.swap_tensors(b, torch.ones(1, requires_grad=True) * 2)
    with pytest.raises(TypeError):
        torch.utils.swap_tensors(b, 3)


def test_modules_without_values():
    made = torch.nn.utils.skip_init(torch.nn.Linear, 2, 3, bias=False)
    assert made.weight.shape == (3, 2) and made.bias is None and made.weight.device.type == "cpu"
    for wrong in (torch.nn.ReLU, int, 3):
        with pytest.raises(RuntimeError):
            torch.nn.utils.skip_init(wrong)


def test_names_of_modules():
    class Named:
        pass

    torch.utils.set_module(Named, "elsewhere")
    assert Named.__module__ == "elsewhere"
    with pytest.raises(TypeError):
        torch.utils.set_module(Named, 3)
