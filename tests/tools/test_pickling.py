"""Compiled functions in pickles: where a plain function can go, a compiled one can."""

import concurrent.futures
import copy
import multiprocessing
import pathlib
import pickle
import subprocess
import sys

import cloudpickle
import dill
import joblib
import pytest

import minidynamo as torch
from tools import pickled_functions as the

PROTOCOLS = range(2, pickle.HIGHEST_PROTOCOL + 1)
BY_NAME = {
    "decorated": lambda: the.decorated,
    "recursive": lambda: the.recursive,
    "method": lambda: the.Holder.method,
    "static": lambda: the.Holder.static,
}
BY_CONTENT = {"other": lambda: the.other, "partial": lambda: the.partial, "builtin": lambda: the.builtin}


def options(f):
    return torch._C._options_of(f)


@pytest.mark.parametrize("make", BY_NAME.values(), ids=BY_NAME)
@pytest.mark.parametrize("way", [pickle, cloudpickle, dill], ids=lambda way: way.__name__)
def test_a_name_that_leads_to_the_function_is_all_that_is_written(make, way):
    f = make()
    assert way.loads(way.dumps(f)) is f
    for protocol in PROTOCOLS:
        assert len(pickle.dumps(f, protocol)) < 100


@pytest.mark.parametrize("make", BY_CONTENT.values(), ids=BY_CONTENT)
@pytest.mark.parametrize("way", [pickle, cloudpickle, dill], ids=lambda way: way.__name__)
def test_what_was_compiled_is_compiled_again_with_its_options(make, way):
    f = make()
    loaded = way.loads(way.dumps(f))
    assert loaded is not f and type(loaded) is type(f)
    assert options(loaded) == options(f)
    assert (loaded.__name__, loaded.__module__, loaded.__doc__) == (f.__name__, f.__module__, f.__doc__)
    assert loaded(torch.ones(2)).tolist() == f(torch.ones(2)).tolist()


def test_what_cannot_be_found_fails_as_a_plain_function_does():
    for f in (the.anonymous, the.nested()):
        with pytest.raises((pickle.PicklingError, AttributeError)) as plainly:
            pickle.dumps(f.__wrapped__)
        with pytest.raises(type(plainly.value)) as compiled:
            pickle.dumps(f)
        assert str(compiled.value) == str(plainly.value)


@pytest.mark.parametrize("way", [cloudpickle, dill], ids=lambda way: way.__name__)
def test_by_value(way):
    x = torch.tensor([1.0, 2.0])
    assert way.loads(way.dumps(the.anonymous))(x).tolist() == [4, 8]
    loaded = way.loads(way.dumps(the.nested()))
    assert loaded(x).tolist() == [5, 10]
    assert options(loaded)[2] is True


def test_attributes_of_a_function_go_with_it():
    f = torch.compile(lambda x: x, backend="eager")
    f.note = [1]
    assert cloudpickle.loads(cloudpickle.dumps(f)).note == [1]


@pytest.mark.parametrize("name", ["eager", "aot_eager", "blocks", "llvm"])
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_backends_with_a_name_go_by_it(name, mode):
    f = torch.compile(the.plain, backend=name, mode=mode if name == "llvm" else None, dynamic=False)
    loaded = pickle.loads(pickle.dumps(f))
    assert options(loaded) == options(f)


def test_a_registered_backend_is_that_of_the_place_of_arrival():
    @torch._dynamo.register_backend(name="of_the_test")
    def local(gm, example_inputs):
        return gm.forward

    f = torch.compile(the.plain, backend="of_the_test")
    data = pickle.dumps(f)
    assert options(pickle.loads(data))[0] is local
    registered = torch._dynamo.eval_frame._registered
    try:
        del registered["of_the_test"]
        with pytest.raises(torch._dynamo.exc.InvalidBackend):
            pickle.loads(data)
    finally:
        registered.pop("of_the_test", None)


def test_a_local_backend_cannot_be_pickled_and_says_so():
    def local(gm, example_inputs):
        return gm.forward

    f = torch.compile(the.plain, backend=local)
    with pytest.raises(AttributeError, match="local"):
        pickle.dumps(f)
    loaded = cloudpickle.loads(cloudpickle.dumps(f))
    assert loaded(torch.ones(1)).tolist() == [3]


def test_modules_and_objects_that_hold_compiled_functions():
    x = torch.ones(3, 2)
    net = torch.compile(the.Net(), backend=the.interpreted)
    for way in (pickle, cloudpickle, dill):
        loaded = way.loads(way.dumps(net))
        assert type(loaded) is type(net)
        assert loaded(x).tolist() == net(x).tolist()
    holder = pickle.loads(pickle.dumps(the.Holder()))
    assert options(holder.f) == options(the.other)
    assert pickle.loads(pickle.dumps(holder.method))(torch.ones(1)).tolist() == [6]
    bound = torch.compile(holder.plain_method)
    assert pickle.loads(pickle.dumps(bound)).__func__ is the.Holder.plain_method
    assert pickle.loads(pickle.dumps(the.Holder.of_class))(torch.ones(1)).tolist() == [8]


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy])
def test_copies(copied):
    for f in (the.decorated, the.other, the.partial, the.anonymous, the.nested()):
        assert copied(f) is f
    assert copied(the.Holder()).f is the.other


def test_a_module_pickled_by_value_takes_its_functions_with_it():
    cloudpickle.register_pickle_by_value(the)
    try:
        data = cloudpickle.dumps(the.decorated)
    finally:
        cloudpickle.unregister_pickle_by_value(the)
    loaded = cloudpickle.loads(data)
    assert loaded is not the.decorated
    assert loaded(torch.ones(1)).tolist() == [4]


def test_functions_of_a_script_are_compiled_anew_where_they_arrive():
    script = pathlib.Path(the.__file__)
    done = subprocess.run([sys.executable, script], capture_output=True, check=True, timeout=60)
    decorated, other, anonymous, nested, holder, partial, recursive, net = pickle.loads(done.stdout)
    x = torch.tensor([1.0, 2.0])
    assert decorated(x).tolist() == [4, 7]
    assert recursive.__wrapped__.__globals__["recursive"] is recursive  # the name it calls itself by
    assert [f(x).tolist() for f in (other, anonymous, nested, partial)] == [[3, 4], [4, 8], [5, 10], [3, 4]]
    assert recursive(x, 2).tolist() == [3, 4]
    assert (holder.method(x).tolist(), holder.static(x).tolist(), holder.of_class(x).tolist()) == (
        [6, 12],
        [7, 14],
        [8, 16],
    )
    assert holder.f is other and options(other)[1:4] == ("interpreted", True, 1)
    assert net(x).shape == (1,)
    torch._dynamo.reset()
    names = []
    with torch.compiler.on_compile(lambda event: names.append(event.function)):
        decorated(x)
        anonymous(x)
    assert names == ["decorated", "<lambda>"]


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_other_processes(method):
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        calls = [(the.decorated, [4.0]), (the.other, [3.0]), (the.Holder.static, [7.0]), (the.Holder().method, [6.0])]
        assert [pool.submit(the.applied, f, torch.ones(1)).result(60) for f, _ in calls] == [r for _, r in calls]
        assert pool.submit(the.is_the_one_of_its_module, the.decorated).result(60)


def test_joblib():
    """Its workers are given functions by cloudpickle."""
    work = [joblib.delayed(f)(torch.ones(1)) for f in (the.decorated, the.anonymous, the.nested())]
    try:
        assert [r.tolist() for r in joblib.Parallel(n_jobs=1)(work)] == [[4], [4], [5]]
        pool = joblib.Parallel(n_jobs=2, backend="loky", timeout=60)
        assert [r.tolist() for r in pool(work[:2] * 2)] == [[4], [4]] * 2
    finally:
        joblib.externals.loky.get_reusable_executor().shutdown(wait=True)
