"""Tensor as a Python object: identity, lifetime, garbage collection, subclasses, copying, pickling, threads."""

import copy
import gc
import pickle
import sys
import threading
import weakref

import pytest

import minidynamo as torch


class Marked(torch.Tensor):
    pass


def test_hash_is_identity():
    x, y = torch.ones(2), torch.ones(2)
    assert hash(x) == id(x)
    assert {x: 1, y: 2}[x] == 1
    assert len({x, y}) == 2


def test_weak_references():
    x = torch.ones(2)
    seen = []
    ref = weakref.ref(x, seen.append)
    assert ref() is x
    del x
    assert ref() is None
    assert seen == [ref]


def test_attributes_and_tracking():
    x = torch.ones(2)
    assert not gc.is_tracked(x)
    x.note = "kept"
    assert gc.is_tracked(x)
    assert x.note == "kept" and x.__dict__ == {"note": "kept"}
    del x.note
    with pytest.raises(AttributeError, match="'Tensor' object has no attribute 'note'"):
        x.note  # noqa: B018
    y = torch.ones(2)
    y.__dict__["deep"] = 1
    assert y.deep == 1 and gc.is_tracked(y)


def test_read_only_attributes():
    x = torch.ones(2)
    for name in ("shape", "dtype", "device", "ndim", "T"):
        with pytest.raises(AttributeError):
            setattr(x, name, None)


def test_cycles_through_attributes_are_collected():
    x = torch.ones(2)
    x.itself = x
    ref = weakref.ref(x)
    del x
    assert ref() is not None
    gc.collect()
    assert ref() is None


def test_storage_dies_with_its_last_view():
    import numpy as np

    class Probe(np.ndarray):
        pass

    array = np.ones(8).view(Probe)
    ref = weakref.ref(array)
    x = torch.from_numpy(array)
    view = x[2:4]
    del array, x
    gc.collect()
    assert ref() is not None
    del view
    gc.collect()
    assert ref() is None


def growth(action):
    """Blocks more after a thousand calls of `action`, three times: other threads allocate in some, a leak in all."""
    for _ in range(200):
        action()
    for _ in range(3):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(1000):
            action()
        gc.collect()
        yield sys.getallocatedblocks() - before


def failing(call):
    def action():
        try:
            call()
        except Exception:
            pass
        else:
            raise AssertionError("expected a failure")

    return action


X = torch.ones(3, 2)
ACTIONS = {
    "operators": lambda: -(X + 1) * X / 2 - X,
    "inplace": lambda: X.clone().add_(1).mul_(X),
    "method": lambda: X.sum(dim=0, keepdim=True),
    "named result": lambda: X.max(0).values,
    "list result": lambda: X.split(1),
    "index": lambda: X[1:, None, ..., 0],
    "setitem": lambda: X.clone().__setitem__((0, slice(None)), 2.0),
    "iterate": lambda: list(X),
    "properties": lambda: (X.shape, X.dtype, X.device, X.T, X.data, X.layout),
    "tensor": lambda: torch.tensor([[1, 2.5], [True, 4]]),
    "tolist": lambda: X.tolist(),
    "repr": lambda: repr(X),
    "numpy": lambda: torch.from_numpy(X.numpy()),
    "subclass": lambda: (X.as_subclass(Marked) + 1).shape,
    "attribute": lambda: setattr(X.clone(), "note", "x"),
    "weakref": lambda: weakref.ref(X.clone()),
    "copies": lambda: (copy.copy(X), copy.deepcopy(X), pickle.loads(pickle.dumps(X))),
    "wrong type": failing(lambda: torch.sin("a")),
    "wrong shape": failing(lambda: X + torch.ones(7)),
    "wrong keyword": failing(lambda: X.sum(nothing=1)),
    "wrong operand": failing(lambda: X + "a"),
    "ragged": failing(lambda: torch.tensor([[1, 2], [3]])),
    "wrong index": failing(lambda: X[9]),
}


@pytest.mark.parametrize("name", ACTIONS)
def test_no_leak(name):
    assert any(blocks < 50 for blocks in growth(ACTIONS[name]))


def test_reference_counts_of_arguments():
    x, number = torch.ones(2), 12345.5
    counts = sys.getrefcount(x), sys.getrefcount(number)
    for _ in range(10):
        x + number, number * x, x.add(number), torch.add(x, other=number)
    assert (sys.getrefcount(x), sys.getrefcount(number)) == counts


# --- subclasses -----------------------------------------------------------------------------------


def test_results_of_a_subclass_are_of_the_subclass():
    x = torch.ones(2).as_subclass(Marked)
    assert type(x) is Marked
    for result in (x + 1, 1 - x, x.sum(), torch.sin(x), x[0], -x, x @ x, x.T):
        assert type(result) is Marked
    assert type(x.max(0)[0]) is Marked or type(x.max(0).values) is torch.Tensor
    assert all(type(part) is Marked for part in x.split(1))


def test_subclass_is_made_from_values():
    x = Marked([1.0, 2.0])
    assert type(x) is Marked and x.tolist() == [1.0, 2.0]


def test_subclass_with_constructor_and_slots():
    class Named(torch.Tensor):
        __slots__ = ("name",)

        def __new__(cls, values, name):
            return super().__new__(cls, values)

        def __init__(self, values, name):
            self.name = name

    x = Named([1.0], name="n")
    assert x.name == "n" and x.tolist() == [1.0]


def test_as_subclass_shares_elements():
    x = torch.zeros(2)
    x.as_subclass(Marked).add_(1)
    assert x.tolist() == [1.0, 1.0]
    with pytest.raises(TypeError, match="subclass of Tensor"):
        x.as_subclass(int)


def test_torch_function_sees_calls():
    calls = []

    class Recording(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            calls.append((func.__name__, types, kwargs or {}))
            return super().__torch_function__(func, types, args, kwargs)

    x = torch.ones(2).as_subclass(Recording)
    result = torch.add(x, x, alpha=2)
    assert calls == [("add", (Recording,), {"alpha": 2})]
    assert type(result) is Recording and result.tolist() == [3.0, 3.0]
    calls.clear()
    _ = x + 1, 2 * x, torch.stack([x, x]), x[0]
    assert [name for name, _, _ in calls] == ["add", "mul", "stack", "__getitem__"]


def test_torch_function_of_foreign_objects():
    class Length:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(args)

    assert torch.sin(Length()) == ("sin", 1)
    assert torch.add(torch.ones(1), Length()) == ("add", 2)
    assert torch.ones(1) + Length() == ("add", 2)


def test_torch_function_can_be_switched_off():
    class Refusing(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with torch._C.DisableTorchFunctionSubclass():
                assert not torch._C._is_torch_function_enabled()
                result = func(*args, **(kwargs or {}))
            return "refused", result

    x = torch.ones(2).as_subclass(Refusing)
    text, result = x + 1
    assert text == "refused" and type(result) is torch.Tensor
    assert torch._C._is_torch_function_enabled()


def test_torch_function_that_declines():
    class Declining:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match="no implementation found"):
        torch.sin(Declining())


# --- copying and pickling -------------------------------------------------------------------------


def test_copy_shares_and_deepcopy_does_not():
    x = torch.tensor([1.0, 2.0])
    x.note = ["a"]
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    x.mul_(10)
    x.note.append("b")
    assert shallow.tolist() == [10.0, 20.0] and shallow.note == ["a", "b"]
    assert deep.tolist() == [1.0, 2.0] and deep.note == ["a"]


def test_deepcopy_keeps_identity_inside_a_structure():
    x = torch.ones(2)
    a, b = copy.deepcopy([x, x])
    assert a is b and a is not x


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32, torch.int64, torch.bool])
def test_pickle(dtype):
    x = torch.tensor([[0, 1, 2], [3, 4, 5]], dtype=dtype).t()
    x.note = "n"
    y = pickle.loads(pickle.dumps(x))
    assert y.dtype is dtype and y.shape == (3, 2) and y.tolist() == x.tolist() and y.note == "n"


def test_pickle_of_a_subclass_and_flags():
    x = torch.ones(2, requires_grad=True).as_subclass(Marked)
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is Marked and y.requires_grad


def test_pickle_of_names():
    for thing in (torch.float32, torch.int64, torch.add, torch.tensor, torch.Tensor, torch.Size([1, 2]), torch.strided):
        same = pickle.loads(pickle.dumps(thing))
        assert same is thing or (type(same) is torch.Size and same == thing)
    ones = torch.ones(2, 2)
    for call in (torch.max, torch.min, torch.median, torch.mode, torch.cummax, torch.sort, torch.aminmax):
        result = call(ones) if call is torch.aminmax else call(ones, dim=0)
        again = pickle.loads(pickle.dumps(result))
        assert type(again) is type(result) is getattr(torch.return_types, call.__name__)
        assert [t.tolist() for t in again] == [t.tolist() for t in result]
    assert pickle.loads(pickle.dumps(torch.Tensor.add)) is torch.Tensor.add
    assert pickle.loads(pickle.dumps(torch.device("cuda:1"))) == torch.device("cuda", 1)


def test_pickled_bytes_are_checked():
    with pytest.raises(ValueError, match="more or fewer bytes"):
        torch._rebuild_tensor(b"abc", (2,), torch.float32, False, torch.Tensor)
    with pytest.raises(ValueError, match="negative"):
        torch._rebuild_tensor(b"", (-2,), torch.float32, False, torch.Tensor)
    with pytest.raises(TypeError):
        torch._rebuild_tensor(b"", [2], torch.float32, False, int)


# --- functions ------------------------------------------------------------------------------------


def test_functions_and_methods_describe_themselves():
    assert torch.add.__name__ == "add" and torch.Tensor.add_.__name__ == "add_"
    assert torch.add.__module__ == "minidynamo" and torch.Tensor.add.__qualname__ == "Tensor.add"
    assert repr(torch.add).startswith("<built-in method add of type object at 0x")
    assert repr(torch.Tensor.add) == "<method 'add' of 'torch.Tensor' objects>"
    assert "broadcast" in torch.add.__doc__
    assert torch.Tensor.add.__objclass__ is torch.Tensor


def test_functions_do_not_bind_and_methods_do():
    class Holder:
        f = torch.neg
        m = torch.Tensor.neg

    x = torch.ones(1)
    assert Holder().f(x).tolist() == [-1.0]
    with pytest.raises(TypeError, match="doesn't apply to a 'Holder' object"):
        Holder().m()
    bound = x.neg
    assert bound.__self__ is x and bound().tolist() == [-1.0]


def test_unbound_method_needs_a_tensor():
    with pytest.raises(TypeError, match="needs an argument"):
        torch.Tensor.add()
    with pytest.raises(TypeError, match="doesn't apply to a 'int' object"):
        torch.Tensor.size(3)


# --- threads --------------------------------------------------------------------------------------


def test_threads_share_and_free_tensors():
    shared = torch.arange(1000.0)
    failures = []

    def work():
        try:
            for _ in range(300):
                y = (shared + 1)[::2]
                assert y.tolist()[:2] == [1.0, 3.0]
                assert torch.from_numpy(y.numpy()).sum().item() == sum(range(1, 1000, 2))
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_grad_mode_is_of_the_thread():
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
        assert not torch.is_grad_enabled()
    assert seen == [True]


def test_reversed():
    """The first dimension is reversed, of the type of the tensor; gradients flow, and loops over it compile."""
    x = torch.arange(6.0).view(3, 2).requires_grad_()
    back = reversed(x)
    assert back.tolist() == [[4, 5], [2, 3], [0, 1]] and type(reversed(x.as_subclass(Marked))) is Marked
    (back * torch.tensor([[1.0], [2], [3]])).sum().backward()
    assert x.grad.tolist() == [[3, 3], [2, 2], [1, 1]]
    assert reversed(torch.tensor(3.0)).item() == 3 and reversed(torch.ones(0)).shape == (0,)

    def returns(rewards):
        total, found = 0, []
        for reward in reversed(rewards):
            total = reward + 0.5 * total
            found.insert(0, total)
        return torch.stack(found)

    rewards = torch.tensor([1.0, 2, 4])
    assert returns(rewards).tolist() == torch.compile(returns)(rewards).tolist() == [3, 4, 4]


@pytest.mark.parametrize("given, expected", [((True,), [1]), ((1, False), [1, 0]), ([True, 2], [1, 2])])
def test_bools_are_ints_in_sizes(given, expected):
    made = torch.Size(given)
    assert list(made) == expected and {type(size) for size in made} == {int}
    assert repr(made + (True,)) == repr(torch.Size([*expected, 1]))


def test_sizes_have_64_bits():
    assert torch.Size([2**62]).numel() == 2**62
    with pytest.raises(ValueError, match="64 bits"):
        torch.Size([2**70])


def test_a_shallow_copy_is_a_leaf():
    x = torch.ones(2, requires_grad=True)
    made = copy.copy(x * 2)
    assert made.is_leaf and made.requires_grad and made.grad_fn is None
    with pytest.raises(RuntimeError, match="leaves"):
        copy.deepcopy(x * 2)
