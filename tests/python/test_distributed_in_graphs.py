"""Collectives of one process in compiled code, functional ones, meshes, stores and groups of groups."""

import pytest

import minidynamo as torch
import minidynamo.distributed as dist
import minidynamo.distributed._functional_collectives as functional
from minidynamo._dynamo.testing import CompileCounter


@pytest.fixture
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


def reduces(x):
    dist.all_reduce(x, op=dist.ReduceOp.MAX)
    return x + dist.get_world_size()


def gathers_into(x):
    found = torch.zeros(3)
    dist.all_gather_into_tensor(found, x)
    return found + 1


def gathers(x):
    found = [torch.zeros(3)]
    dist.all_gather(found, x)
    return found[0] + 1


def scatters(x):
    found = torch.zeros(3)
    dist.reduce_scatter_tensor(found, x)
    dist.all_to_all_single(found, x)
    return found + 1


def reduces_as_value(x):
    return functional.all_reduce(x, "sum", dist.group.WORLD) + 1


def gathers_as_value(x):
    y = functional.all_gather_tensor(x, 0, [0])
    return functional.wait_tensor(functional.reduce_scatter_tensor(y, "avg", 0, dist.group.WORLD)) + 1


def sends_as_value(x):
    a, b = functional.all_reduce_coalesced([x, x], "max", dist.group.WORLD)
    return functional.broadcast(functional.all_to_all_single(a, None, [3], [0]), 0, dist.group.WORLD) + b * 0 + 1


@pytest.mark.parametrize(
    "f", [reduces, gathers_into, gathers, scatters, reduces_as_value, gathers_as_value, sends_as_value]
)
def test_one_graph(f, group):
    counter = CompileCounter()
    for g in (f, torch.compile(f, backend=counter, fullgraph=True)):
        x = torch.arange(3.0).requires_grad_(f.__name__.endswith("value"))
        y = g(x)
        assert y.tolist() == [1.0, 2.0, 3.0] and x.tolist() == [0.0, 1.0, 2.0]
        if x.requires_grad:
            y.sum().backward()
            assert x.grad.tolist() == [1.0] * 3
    assert counter.frame_count == 1


WRONG = [
    (lambda x: functional.all_reduce(x, "mean", dist.group.WORLD), ValueError),
    (lambda x: functional.all_reduce(x, "sum", 3), ValueError),
    (lambda x: functional.all_reduce(x, "sum", [0, 1]), ValueError),
    (lambda x: functional.all_gather_tensor(x, 4, dist.group.WORLD), IndexError),
    (lambda x: functional.broadcast(x, 2, dist.group.WORLD), RuntimeError),
    (lambda x: functional.all_to_all_single(x, [2], None, dist.group.WORLD), RuntimeError),
    (lambda x: dist.all_gather([3], x), TypeError),
    (lambda x: dist.batch_isend_irecv([]), ValueError),
    (lambda x: dist.P2POp(dist.all_reduce, x, 0), ValueError),
    (lambda x: dist.batch_isend_irecv([dist.P2POp(dist.isend, x, 1)]), RuntimeError),
    (lambda x: dist.new_subgroups(2), ValueError),
    (lambda x: dist.set_debug_level(1), TypeError),
    (lambda x: dist.init_device_mesh("cpu", (2,)), RuntimeError),
    (lambda x: dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "a")), RuntimeError),
    (lambda x: dist.init_device_mesh("cpu", (1,), mesh_dim_names=("a",))["b"], KeyError),
    (lambda x: dist.init_device_mesh("cpu", (1, 1)).get_group(), RuntimeError),
]


@pytest.mark.parametrize("call, error", WRONG)
def test_wrong_arguments(call, error, group):
    with pytest.raises(error):
        call(torch.ones(3))


def test_before_there_is_a_group():
    with pytest.raises(ValueError):
        functional.all_reduce(torch.ones(2), "sum", None)


def test_meshes():
    try:
        mesh = dist.init_device_mesh("cpu", (1, 1), mesh_dim_names=("rows", "columns"))
        assert dist.is_initialized() and mesh.shape == (1, 1) and mesh.size() == mesh.size(0) == 1 and mesh.ndim == 2
        assert mesh["rows"].mesh_dim_names == ("rows",) and mesh.get_group("rows") is dist.group.WORLD
        assert mesh.get_coordinate() == [0, 0] and mesh.get_rank() == mesh.get_local_rank("columns") == 0
        assert mesh == dist.DeviceMesh("cpu", [[0]], mesh_dim_names=("rows", "columns")) != mesh["rows"]
        assert repr(mesh) == "DeviceMesh((rows=1, columns=1), device: 'cpu')" and len(mesh.get_all_groups()) == 2
        x = torch.ones(2)
        assert functional.all_reduce(x, "sum", (mesh, 0)).tolist() == [1.0, 1.0]
        assert functional.all_reduce(x, "sum", mesh["rows"]).tolist() == [1.0, 1.0]
    finally:
        dist.destroy_process_group()


def test_groups_of_groups(group):
    mine, every = dist.new_subgroups(1)
    assert every == [mine] and dist.get_world_size(mine) == 1
    assert dist.get_world_size(dist.new_subgroups_by_enumeration([[0]])[0]) == 1
    x = torch.ones(2)
    dist.all_reduce_coalesced([x, x])
    found = torch.zeros(2)
    assert dist.all_gather_coalesced([[found]], [x], async_op=True).wait() and found.tolist() == [1.0, 1.0]
    assert dist.supports_complex(dist.ReduceOp.SUM) and not dist.supports_complex(dist.ReduceOp.MAX)


def test_levels():
    assert dist.get_debug_level() is dist.DebugLevel.OFF
    dist.set_debug_level(dist.DebugLevel.INFO)
    try:
        assert dist.get_debug_level().name == "INFO"
    finally:
        dist.set_debug_level(dist.DebugLevel.OFF)


@pytest.mark.parametrize(
    "make",
    [
        dist.HashStore,
        lambda: dist.TCPStore("localhost", 29500, 1, True),
        lambda: dist.FileStore("nowhere", 1),
        lambda: dist.PrefixStore("p", dist.HashStore()),
    ],
)
def test_stores(make):
    store = make()
    store.set("a", "x")
    store.append("a", b"y")
    assert isinstance(store, dist.Store) and store.get("a") == b"xy" and store.check(["a"]) and store.add("n", 2) == 2
    assert store.compare_set("a", "no", "z") == b"xy" and store.compare_set("a", "xy", "z") == b"z"
    assert store.compare_set("new", "", "1") == b"1" and store.compare_set("other", "e", "1") == b"e"
    assert store.delete_key("a") and not store.check(["a"]) and store.num_keys() == 2
