"""torch._dynamo.testing and torch._dynamo.utils: what tests of programs for torch call; run(), default backends."""

import collections
import logging
import unittest

import numpy
import pytest

import minidynamo as torch
import minidynamo._dynamo.testing as testing
from minidynamo._dynamo import utils

v = torch.tensor
A = v([1.0, 2.0])
NAN = v([float("nan"), 1.0])
Named = collections.namedtuple("Named", "a b")


@pytest.mark.parametrize(
    "ref, res, options, expected",
    [
        (A, A + 1e-6, {}, True),
        (A, A + 1e-3, {}, False),
        (A, A + 1e-3, {"tol": 1e-2}, True),
        (A, A.double(), {}, False),
        (A, A.double(), {"exact_dtype": False}, True),
        (NAN, NAN, {}, False),
        (NAN, NAN, {"equal_nan": True}, True),
        ((A,), [A], {}, True),
        ([A], [A, A], {}, False),
        ({"q": A}, {"q": A}, {}, True),
        (1, 2, {}, False),
        (1.0, 1.00000001, {}, True),
        (1.0, 1.1, {}, False),
        ("a", "b", {}, False),
        (None, A, {}, False),
        (True, 1, {}, True),
        (v([1, 2]), v([1, 3]), {}, False),
        (numpy.ones(2), numpy.ones(2), {}, True),
        ({1, 2}, {1, 2}, {}, True),
        (A, A * 1.0001, {"cos_similarity": True}, True),
        (A, v([2.0, -1.0]), {"cos_similarity": True}, False),
        (v(1.0), 1.0, {}, True),
        (Named(A, 1), Named(A, 1), {}, True),
        (torch.zeros(0), torch.zeros(0), {}, True),
        (v([1e10]), v([1.00001e10]), {}, True),
        (float("nan"), float("nan"), {"equal_nan": True}, True),
        (A, A + 1e-3, {"fp64_ref": A.double() + 1e-3}, True),
        (A, A + 1e-3, {"fp64_ref": A.double()}, False),
    ],
)
def test_same(ref, res, options, expected, caplog):
    with caplog.at_level(logging.CRITICAL):
        assert testing.same(ref, res, **options) is expected


def test_what_same_refuses():
    with pytest.raises(AssertionError, match="keys"):
        utils.same({"q": A}, {"p": A})
    for value in (object(), range(2), torch.float32, 1j):
        with pytest.raises(RuntimeError, match="knows nothing"):
            utils.same(value, value)
    assert utils.bitwise_same(A, A.clone()) and not utils.bitwise_same(A, A + 1e-6)
    assert utils.bitwise_same(NAN, NAN, equal_nan=True) and utils.rmse(A, A + 1).item() == 1


@pytest.mark.parametrize(
    "size, stride", [((2, 3), (3, 1)), ((2, 3), (1, 2)), ((2, 3), (6, 2)), ((0, 3), (3, 1)), ((), ()), ((2, 2), (0, 1))]
)
def test_rand_strided(size, stride):
    made = testing.rand_strided(size, stride)
    assert made.shape == size and made.stride() == stride
    assert not testing.rand_strided(size, stride, torch.int64, extra_size=2).any()


def test_texts_of_graphs():
    head = "class G(nn.Module):\n\n    def forward(self, x):\n"
    text = f"{head}        # sum\n        y = x + 1  \n        \n\n        return y\n\n\n"
    assert testing.normalize_gm(text) == f"{head}        y = x + 1\n\n        return y\n"
    assert testing.strip_comment("a\n# b\nc  # d") == "a\nc  # d"
    assert testing.empty_line_normalizer("a\n\n\nb\n") == "a\nb\n"
    assert testing.remove_optimized_module_prefix("_orig_mod.a._orig_mod") == "a._orig_mod"


def test_losses_and_copies():
    x = torch.ones(2, requires_grad=True)
    assert testing.requires_bwd_pass([1, (x,)]) and not testing.requires_bwd_pass((A, None))
    assert testing.reduce_to_scalar_loss([x, x * 2]).item() == 1.5
    assert testing.reduce_to_scalar_loss({"a": x * 3}).item() == 3
    for refused in (testing.requires_bwd_pass, testing.reduce_to_scalar_loss):
        with pytest.raises(NotImplementedError):
            refused("text")
    assert testing.clone_me(None) is None and testing.clone_me(x * 1).is_leaf
    x.grad = torch.ones(2)
    view = torch.arange(24.0).reshape(4, 6)[:, ::2]
    copy, other = utils.clone_inputs([x, view])
    assert copy.requires_grad and copy.grad.tolist() == [1, 1] and copy.grad is not x.grad
    assert other.stride() == (6, 2) and torch.equal(other, view) and other.data_ptr() != view.data_ptr()
    assert utils.clone_input(torch.ones(1).expand(3)).stride() == (1,)
    assert utils.clone_input(torch.zeros(0, 2)).shape == (0, 2)
    with pytest.raises(AssertionError):
        utils.clone_inputs({"a": 1})


def test_small_parts():
    assert utils.istype(1, int) and not utils.istype(True, int) and utils.istype(1, (float, int))
    assert utils.istensor(torch.nn.Parameter(A)) and not utils.istensor(1)
    assert utils.is_namedtuple(Named(1, 2)) and utils.is_namedtuple(A.max(0)) and not utils.is_namedtuple((1,))
    assert utils.hashable(1) and not utils.hashable([]) and utils.product([2, 3]) == 6
    assert utils.make_cell(3).cell_contents == 3
    with utils.preserve_rng_state():
        drawn = torch.rand(1)
    assert torch.equal(torch.rand(1), drawn)
    with utils.disable_cache_limit():
        assert torch._dynamo.config.recompile_limit > 1000
    found, seconds = utils.timed(lambda x: x + torch.rand(1), (A,), times=2)
    assert found.shape == (2,) and seconds > 0
    utils.clear_compilation_metrics()
    torch.compile(lambda x: x + 1)(A)
    assert "_compile.compile_inner, 0." in utils.compile_times()
    names, times = utils.compile_times("csv", aggregate=True)
    assert names == ["_compile.compile_inner"] and float(times[0]) > 0 and utils.compile_times("other") is None


def test_unsupported_breaks_graphs():
    def f(x):
        x = x + 1
        return testing.unsupported(x, x) + 2

    counter = testing.CompileCounterWithBackend("eager")
    assert torch.compile(f, backend=counter)(A).tolist() == [4, 5]
    assert counter.frame_count == 2 and testing.unsupported(1, 2) == 2
    with pytest.raises(torch._dynamo.exc.Unsupported):
        testing.optimize_assert("eager")(f)(A)
    recorded = testing.InductorAndRecordGraphs()
    assert torch.compile(lambda x: x * 2, backend=recorded)(A).tolist() == [2, 4] and len(recorded.graphs) == 1


def test_classes_with_settings():
    class Tests(unittest.TestCase):
        def test_limit(self):
            seen.append(torch._dynamo.config.recompile_limit)

        @testing.expectedFailureDynamic
        def test_fails(self):
            raise ValueError

    seen = []
    changed = testing.make_test_cls_with_patches(
        Tests,
        "Few",
        "_few",
        (torch._dynamo.config, "recompile_limit", 2),
        xfail_prop="_expected_failure_dynamic",
    )
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(changed).run(result)
    assert changed.__name__ == "FewTests" and seen == [2] and result.testsRun == 2 and len(result.expectedFailures) == 1


def test_run_compiles_nothing():
    torch._dynamo.reset()

    def f(x):
        return x * 2 if torch.compiler.is_compiling() else x * 3

    compiled = torch.compile(f, backend="eager")
    plain = torch._dynamo.run(compiled)
    assert plain(v(1)).item() == 3
    assert compiled(v(1)).item() == plain(v(1)).item() == 2
    assert torch._dynamo.run()(compiled)(v(1.0)).item() == 3 and compiled(v(1.0)).item() == 2
    with pytest.raises(AssertionError):
        torch._dynamo.run(3)


def test_default_backends():
    assert torch.compiler.get_default_backend() == "inductor"
    counter = testing.CompileCounter()
    try:
        torch.compiler.set_default_backend(counter)
        assert torch.compiler.get_default_backend() is counter
        torch.compile(lambda x: x + 1)(A)
        torch.compile(lambda x: x + 2, backend="eager")(A)
        assert counter.frame_count == 1
        with pytest.raises(TypeError, match="backend"):
            torch.compiler.set_default_backend(3)
    finally:
        torch.compiler.set_default_backend(None)
    assert torch.compiler.get_default_backend() == "inductor"


def test_marks():
    def f(x):
        return x

    assert torch._dynamo.is_dynamo_disable_recursive(f) is None
    assert torch._dynamo.is_dynamo_disable_recursive(torch._dynamo.disable(f)) is True
    assert torch._dynamo.is_dynamo_disable_recursive(torch._dynamo.disable(f, recursive=False)) is False
    torch._dynamo.mark_static_address(A)
    with pytest.raises(TypeError):
        torch._dynamo.mark_static_address(3)
    assert isinstance(torch.compile(torch.nn.Linear(1, 1)), torch._dynamo.OptimizedModule)
    assert torch._C._get_tracing_state() is None and torch.compiler.cudagraph_mark_step_begin() is None

    @torch.compile(fullgraph=True)
    def traced(x):
        return x + 1 if torch._C._get_tracing_state() is None else x

    assert traced(A).tolist() == [2, 3]


def test_functions_of_arrays():
    @torch.compiler.wrap_numpy
    def f(x, more):
        return [numpy.sin(x) + more["y"], 3]

    for call in (f, torch.compile(f, fullgraph=True)):
        found, rest = call(A, {"y": 2.0})
        assert torch.allclose(found, A.sin() + 2) and rest == 3
