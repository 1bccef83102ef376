"""Names of torch._dynamo: backends, settings as a whole, optimize(), what tests of compiled code use."""

import collections
import gc
import unittest

import pytest

import minidynamo as torch
import minidynamo._dynamo.testing as testing
from minidynamo._dynamo import config
from minidynamo._dynamo.backends import common, debugging, registry

dynamo = torch._dynamo


def twice(x):
    return x + x


def test_registered_backends():
    def mine_for_names(gm, example_inputs):
        return gm.forward

    assert registry.register_backend(mine_for_names) is mine_for_names
    assert registry.register_debug_backend(mine_for_names, name="debug_for_names") is mine_for_names
    assert "mine_for_names" in dynamo.list_backends() and "debug_for_names" not in dynamo.list_backends()
    assert {"mine_for_names", "debug_for_names", "eager"} <= set(dynamo.list_backends(None))
    assert torch.compile(twice, backend="debug_for_names")(torch.ones(2)).tolist() == [2.0, 2.0]
    dynamo.register_backend(mine_for_names)  # the same again
    with pytest.raises(AssertionError, match="duplicate name"):
        dynamo.register_backend(lambda gm, inputs: gm, name="mine_for_names")
    assert registry.lookup_backend("mine_for_names") is mine_for_names


@pytest.mark.parametrize("backend", [debugging.eager, debugging.eager_noexcept, debugging.aot_eager])
def test_backends_for_debugging(backend):
    assert torch.compile(twice, backend=backend, fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]


def test_example_inputs():
    x = torch.ones(2, dtype=torch.float64)
    assert common.device_from_inputs([3, x]) == x.device and common.dtype_from_inputs([x]) == torch.float64
    assert common.device_from_inputs([]).type == "cpu" and common.dtype_from_inputs([]) == torch.float32
    seen = []

    @common.fake_tensor_unsupported
    def backend(gm, example_inputs):
        seen.extend(example_inputs)
        return gm.forward

    assert torch.compile(twice, backend=backend)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert seen[0].tolist() == [0.0, 0.0]


def test_optimize():
    assert type(dynamo.optimize("eager")).__name__ == "OptimizeContext"
    assert dynamo.optimize("eager", disable=True)(twice) is twice
    with pytest.raises(dynamo.exc.InvalidBackend):
        dynamo.optimize("no_such_backend")
    counter = testing.CompileCounter()
    assert dynamo.optimize(counter, nopython=True)(twice)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert counter.frame_count == 1


def test_forgetting_code_only():
    counter = testing.CompileCounter()
    f = torch.compile(twice, backend=counter)
    f(torch.ones(2))
    dynamo.reset_code_caches()
    f(torch.ones(2))
    dynamo.reset_frame_count()
    assert counter.frame_count == 2 and dynamo.utils.counters["frames"]["total"] == 0


def test_settings_as_a_whole():
    assert config.to_dict() == config.get_config_copy() and config.is_default("recompile_limit")
    saved, hashed = config.save_config(), config.get_hash()
    with config.patch(recompile_limit=3):
        assert config.codegen_config() == "torch._dynamo.config.recompile_limit = 3"
        assert config.get_hash() != hashed and not config.is_default("recompile_limit")
        config.load_config(saved)
        assert config.recompile_limit == 8
        config.load_config({"recompile_limit": 5})
        assert config.shallow_copy_dict()["recompile_limit"] == 5
    assert config.get_hash() == hashed and config.codegen_config() == ""


def test_the_standard_test():
    case = unittest.TestCase()
    testing.standard_test(case, lambda a, b: a * b + 1, 2, expected_ops=2)
    with pytest.raises(AssertionError):
        testing.standard_test(case, lambda a: a * 2, 1, expected_ops=5)


def test_results_of_a_step():
    model = torch.compile(torch.nn.Linear(2, 1), backend="eager")
    x = torch.ones(3, 2, requires_grad=True)
    prediction = model(x)
    loss = prediction.sum()
    loss.backward()
    found = testing.collect_results(model, prediction, loss, (x,))
    assert sorted(found[2]) == ["bias.grad", "weight.grad"] and sorted(found[3]) == ["bias", "weight"]
    assert found[2]["weight.grad"].tolist() == [[3.0, 3.0]] and found[5] == [x.grad]
    assert [n for n, _ in testing.named_parameters_for_optimized_module(model)] == ["weight", "bias"]
    assert testing.named_buffers_for_optimized_module(model) == []


def test_dictionaries_by_identity():
    table, key = dynamo.utils.ExactWeakKeyDictionary(), torch.nn.ReLU()
    table[key] = 1
    table[key] = 2
    assert (table[key], key in table, table.get(3, 4), len(table.values), 3 in table) == (2, True, 4, 1, False)
    del key
    gc.collect()
    assert not table.values and not table.refs


def test_facts():
    module = torch.nn.ReLU()
    assert dynamo.utils.is_compile_supported("cpu") and not dynamo.utils.is_compile_supported("cuda")
    assert not dynamo.utils.nnmodule_has_hooks(module)
    module.register_forward_hook(lambda *args: None)
    assert dynamo.utils.nnmodule_has_hooks(module) and not dynamo.utils.nnmodule_has_hooks(
        module, check_backward_hooks=True
    )
    fields = dynamo.utils.namedtuple_fields
    assert fields(collections.namedtuple("N", "a b")) == ("a", "b")
    assert fields(type(torch.ones(2).max(0))) == ("values", "indices")


def test_operators_over_lists():
    from minidynamo._higher_order_ops import foreach_map, out_dtype

    def f(xs, ys):
        return foreach_map(lambda x, y, k: x * y + k, xs, ys, 2)

    xs = [torch.ones(2), torch.ones(3)]
    counter = testing.CompileCounter()
    for g in (f, torch.compile(f, backend=counter, fullgraph=True)):
        assert [t.tolist() for t in g(xs, xs)] == [[3.0] * 2, [3.0] * 3]
    narrow = torch.full((2, 2), 100, dtype=torch.int8)

    def wide(a):
        return out_dtype(torch.ops.aten.mm.default, torch.int32, a, a)

    for g in (wide, torch.compile(wide, backend=counter, fullgraph=True)):
        assert g(narrow).tolist() == [[20000, 20000]] * 2
    assert counter.frame_count == 2
    for wrong in ((torch.ones(2),), (xs, xs[:1])):
        with pytest.raises(ValueError):
            foreach_map(torch.add, *wrong)
