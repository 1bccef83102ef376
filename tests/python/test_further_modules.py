"""Smaller modules of torch: futures, symbols, gradients of convolutions, places of names that live elsewhere."""

import importlib
import threading

import pytest

import minidynamo as torch

F = torch.nn.functional
# Modules, names in them, and where the same objects are public.
PLACES = {
    "_functorch.apis": ("grad vmap grad_and_value", "func"),
    "_functorch.vmap": ("vmap", "func"),
    "_functorch.eager_transforms": ("jacrev jacfwd hessian vjp jvp functionalize linearize", "func"),
    "_functorch.functional_call": ("functional_call stack_module_state", "func"),
    "export.dynamic_shapes": ("Dim dims ShapesCollection AdditionalInputs", "export"),
    "export.exported_program": ("ExportedProgram ModuleCallEntry ModuleCallSignature default_decompositions", "export"),
    "functional": ("stft istft unravel_index lu pca_lowrank svd_lowrank", ""),
    "types": ("SymInt SymFloat SymBool", ""),
}


@pytest.mark.parametrize("place", PLACES)
def test_names_have_two_places(place):
    names, public = PLACES[place]
    home = importlib.import_module(f"minidynamo.{public}".rstrip("."))
    for name in names.split():
        assert getattr(importlib.import_module(f"minidynamo.{place}"), name) is getattr(home, name)


def test_symbols_of_sizes():
    def f(x):
        n = x.shape[0]
        return x * n if isinstance(n, (int, torch.SymInt)) and not isinstance(n, torch.SymFloat) else x

    for size in (3, 4, 5):
        x = torch.ones(size)
        assert torch.equal(torch.compile(f, fullgraph=True)(x), f(x)) and f(x)[0] == size
    assert not isinstance(True, torch.SymBool) and not isinstance(1, torch.SymInt)
    for kind in (torch.SymFloat, torch.SymBool):
        with pytest.raises(TypeError):
            kind(1)


def test_futures():
    future, seen = torch.futures.Future(), []
    future.add_done_callback(lambda f: seen.append(f.value()))
    later = future.then(lambda f: f.value() + 1).then(lambda f: f.value() * 10)
    failed = future.then(lambda f: 1 // 0)
    assert not future.done()
    with pytest.raises(RuntimeError, match="no result yet"):
        future.value()
    thread = threading.Thread(target=future.set_result, args=(4,))
    thread.start()
    assert future.wait() == 4 and later.wait() == 50
    thread.join()
    assert seen == [4] and future.done()
    with pytest.raises(ZeroDivisionError):
        failed.wait()
    with pytest.raises(RuntimeError, match="already completed"):
        future.set_result(1)
    assert torch.futures.wait_all([future, later]) == [4, 50]
    assert torch.futures.collect_all([]).wait() == []
    with pytest.raises(ZeroDivisionError):
        torch.futures.wait_all([later, failed])
    with pytest.raises(AssertionError):
        torch.futures.Future().set_exception("text")
    torch.futures.Future[int]()


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_gradients_of_convolutions(dims):
    x = torch.rand(2, 4, *[6] * dims, dtype=torch.float64).requires_grad_()
    w = torch.rand(6, 2, *[3] * dims, dtype=torch.float64).requires_grad_()
    options = dict(stride=2, padding=1, dilation=1, groups=2)
    out = getattr(F, f"conv{dims}d")(x, w, None, **options)
    rows = torch.rand_like(out)
    wanted = torch.autograd.grad(out, (x, w), rows)
    of_input = getattr(torch.nn.grad, f"conv{dims}d_input")(x.shape, w, rows, **options)
    of_weight = getattr(torch.nn.grad, f"conv{dims}d_weight")(x, w.shape, rows, **options)
    torch.testing.assert_close((of_input, of_weight), wanted)


def test_vectors_of_tensors():
    from minidynamo import _utils

    tensors = [torch.arange(4.0).reshape(2, 2), torch.ones(3), torch.zeros(())]
    flat = _utils._flatten_dense_tensors(tensors)
    assert flat.shape == (8,)
    assert all(map(torch.equal, _utils._unflatten_dense_tensors(flat, tensors), tensors))
    assert [len(group) for group in _utils._take_tensors(tensors, 20)] == [1, 2]


def test_modules_may_be_walked_twice():
    layer = torch.nn.Linear(1, 1)
    twice = torch.nn.Sequential(layer, layer)
    assert len(list(twice.modules())) == 2 and len(list(twice.modules(remove_duplicate=False))) == 3


def test_texts():
    config = importlib.import_module("minidynamo.__config__")
    assert "minidynamo" in config.show() and "get_num_threads" in config.parallel_info()
    from minidynamo.nn.common_types import _size_2_t

    assert int in _size_2_t.__args__
    from minidynamo.utils.model_zoo import load_url

    assert load_url is torch.hub.load_state_dict_from_url
