"""torch.distributed with one process, and the modules of torch.nn.parallel."""

import pytest

import minidynamo as torch
import minidynamo.distributed as dist
from minidynamo import nn
from minidynamo.nn.parallel import DistributedDataParallel

PLACE = "tcp://127.0.0.1:29500"
VARIABLES = {"RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "29500"}


@pytest.fixture
def group():
    dist.init_process_group("gloo", init_method=PLACE, rank=0, world_size=1)
    yield dist.group.WORLD
    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.fixture
def environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


@pytest.mark.parametrize(
    "given",
    [
        {"init_method": PLACE, "rank": 0, "world_size": 1},
        {"init_method": PLACE + "?rank=0&world_size=1"},
        {"init_method": "file:///tmp/nowhere", "rank": 0, "world_size": 1},
        {"store": object(), "rank": 0, "world_size": 1},
        {},
        {"init_method": "env://"},
    ],
)
@pytest.mark.parametrize("backend", ["gloo", "GLOO", "cpu:gloo", None])
def test_ways_to_begin(given, backend, environment):
    for name, value in VARIABLES.items():
        environment.setenv(name, value)
    assert not dist.is_initialized() and dist.group.WORLD is None
    dist.init_process_group(backend, **given)
    try:
        assert dist.is_initialized() and (dist.get_rank(), dist.get_world_size()) == (0, 1)
        assert dist.get_backend() == ("undefined" if backend is None else backend.lower())
        with pytest.raises(ValueError, match="already"):
            dist.init_process_group(backend, **given)
    finally:
        dist.destroy_process_group()
    assert not dist.is_initialized()


@pytest.mark.parametrize("missing", VARIABLES)
def test_the_environment_has_to_be_complete(missing, environment):
    for name, value in VARIABLES.items():
        if name != missing:
            environment.setenv(name, value)
    with pytest.raises(ValueError, match=missing):
        dist.init_process_group("gloo")


@pytest.mark.parametrize(
    "given, kind",
    [
        ({"backend": "nccl", "init_method": PLACE, "rank": 0, "world_size": 1}, RuntimeError),
        ({"backend": "cpu:gloo,cuda:nccl", "init_method": PLACE, "rank": 0, "world_size": 1}, RuntimeError),
        ({"backend": "pigeon", "init_method": PLACE, "rank": 0, "world_size": 1}, AssertionError),
        ({"init_method": "mail://somewhere", "rank": 0, "world_size": 1}, RuntimeError),
        ({"init_method": PLACE, "rank": 0}, ValueError),
        ({"init_method": PLACE, "world_size": 1}, ValueError),
        ({"init_method": "tcp://127.0.0.1", "rank": 0, "world_size": 1}, ValueError),
        ({"init_method": PLACE, "rank": 1, "world_size": 1}, ValueError),
        ({"init_method": PLACE, "store": object(), "rank": 0, "world_size": 1}, AssertionError),
        ({"store": object()}, AssertionError),
        ({"init_method": PLACE, "rank": 0, "world_size": 2}, NotImplementedError),
    ],
)
def test_ways_not_to_begin(given, kind):
    with pytest.raises(kind):
        dist.init_process_group(**given)
    assert not dist.is_initialized()


def test_nothing_works_before_the_beginning():
    x = torch.ones(2)
    for call in (
        dist.get_rank,
        dist.get_world_size,
        dist.get_backend,
        dist.barrier,
        dist.new_group,
        lambda: dist.all_reduce(x),
        lambda: dist.broadcast(x, 0),
        lambda: dist.all_gather([x], x),
        lambda: torch.utils.data.distributed.DistributedSampler(range(3)),
        lambda: DistributedDataParallel(nn.Linear(2, 2)),
    ):
        with pytest.raises(ValueError, match="init_process_group"):
            call()
    with pytest.raises(AssertionError):
        dist.destroy_process_group()
    assert dist.is_available() and dist.is_gloo_available() and not dist.is_nccl_available()


def test_operations_that_leave_a_tensor_as_it_is(group):
    x = torch.tensor([1.0, 2.0])
    for call in (
        lambda **more: dist.all_reduce(x, **more),
        lambda **more: dist.all_reduce(x, op=dist.ReduceOp.AVG, **more),
        lambda **more: dist.broadcast(x, 0, **more),
        lambda **more: dist.broadcast(x, group_src=0, **more),
        lambda **more: dist.reduce(x, dst=0, op=dist.ReduceOp.MAX, **more),
        lambda **more: dist.barrier(**more),
    ):
        assert call() is None and call(group=group) is None
        work = call(async_op=True)
        assert work.wait() and work.is_completed() and work.is_success() and work.exception() is None
    assert x.tolist() == [1.0, 2.0]


def test_operations_that_copy(group):
    x, zero = torch.tensor([[1.0, 2.0]], requires_grad=True), torch.zeros(1, 2)
    for call in (
        lambda out: dist.all_gather([out], x),
        lambda out: dist.all_gather_into_tensor(out, x),
        lambda out: dist.gather(x, [out], dst=0),
        lambda out: dist.gather(x, [out]),
        lambda out: dist.scatter(out, [x], src=0),
        lambda out: dist.scatter(out, [x]),
        lambda out: dist.reduce_scatter(out, [x]),
        lambda out: dist.reduce_scatter_tensor(out, x),
        lambda out: dist.all_to_all([out], [x]),
        lambda out: dist.all_to_all_single(out, x),
        lambda out: dist.all_to_all_single(out, x, [1], [1]),
    ):
        out = zero.clone()
        assert call(out) is None
        assert out.tolist() == [[1.0, 2.0]] and not out.requires_grad


def test_objects(group):
    sent, received = {"a": [1, 2]}, [None]
    dist.all_gather_object(received, sent)
    assert received == [sent] and received[0] is not sent
    dist.gather_object("x", received, dst=0)
    assert received == ["x"]
    dist.scatter_object_list(received, [3], src=0)
    assert received == [3]
    both = [1, sent]
    dist.broadcast_object_list(both, src=0)
    assert both == [1, sent]
    with pytest.raises(ValueError):
        dist.all_gather_object([None, None], 1)


@pytest.mark.parametrize(
    "call, kind",
    [
        (lambda x: dist.all_reduce([1]), TypeError),
        (lambda x: dist.all_reduce(x, op=3), TypeError),
        (lambda x: dist.all_reduce(x, op=dist.ReduceOp.BAND), RuntimeError),
        (lambda x: dist.all_reduce(x, group=3), TypeError),
        (lambda x: dist.broadcast(x), ValueError),
        (lambda x: dist.broadcast(x, 0, group_src=0), ValueError),
        (lambda x: dist.broadcast(x, 1), RuntimeError),
        (lambda x: dist.reduce(x, 1), RuntimeError),
        (lambda x: dist.all_gather([], x), RuntimeError),
        (lambda x: dist.all_gather([torch.zeros(3)], x), RuntimeError),
        (lambda x: dist.all_gather([x.double()], x), ValueError),
        (lambda x: dist.all_gather(x, x), TypeError),
        (lambda x: dist.all_gather_into_tensor(torch.zeros(1, 2), x), RuntimeError),
        (lambda x: dist.gather(x), ValueError),
        (lambda x: dist.gather(x, [x], dst=1), RuntimeError),
        (lambda x: dist.scatter(x), ValueError),
        (lambda x: dist.all_to_all_single(x, x, [1, 1]), RuntimeError),
        (lambda x: dist.send(x, 0), ValueError),
        (lambda x: dist.recv(x, 1), RuntimeError),
        (lambda x: dist.new_group([1]), ValueError),
        (lambda x: dist.new_group([0, 1]), ValueError),
        (lambda x: dist.new_group([]), ValueError),
        (lambda x: dist.ReduceOp("sum"), TypeError),
        (lambda x: dist.get_group_rank(dist.group.WORLD, 1), ValueError),
    ],
)
def test_refusals(group, call, kind):
    with pytest.raises(kind):
        call(torch.ones(2))


def test_groups(group):
    small = dist.new_group([0])
    assert (dist.get_rank(small), dist.get_world_size(small), small.rank(), small.size()) == (0, 1, 0, 1)
    assert dist.get_process_group_ranks(small) == [0] and dist.get_backend(small) == "gloo"
    assert dist.get_group_rank(small, 0) == dist.get_global_rank(small, 0) == 0
    assert dist.get_rank(dist.GroupMember.NON_GROUP_MEMBER) == -1
    dist.destroy_process_group(small)
    with pytest.raises(ValueError, match="destroyed"):
        dist.barrier(small)
    dist.barrier()


def test_local_rank(environment):
    environment.delenv("LOCAL_RANK", raising=False)
    assert dist.get_node_local_rank(3) == 3
    with pytest.raises(RuntimeError):
        dist.get_node_local_rank()
    environment.setenv("LOCAL_RANK", "2")
    assert dist.get_node_local_rank() == 2


def test_samplers_ask_the_group(group):
    sampler = torch.utils.data.distributed.DistributedSampler(range(5), shuffle=False)
    assert (sampler.num_replicas, sampler.rank, list(sampler)) == (1, 0, [0, 1, 2, 3, 4])


def test_data_parallel():
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    parallel = nn.DataParallel(model, device_ids=[0], output_device=0, dim=1)
    assert parallel is not model and parallel.module is model and parallel.device_ids == []
    assert list(parallel.state_dict()) == ["module.0.weight", "module.0.bias"]
    x = torch.ones(4, 3)
    assert torch.equal(parallel(x), model(x))
    with pytest.raises(TypeError):
        parallel(x, y=3)
    with pytest.raises(RuntimeError):
        nn.parallel.data_parallel(model, x)
    assert nn.parallel.DataParallel is nn.DataParallel


def test_distributed_data_parallel(group):
    model = nn.Linear(3, 2)
    parallel = DistributedDataParallel(model, find_unused_parameters=True, static_graph=True, process_group=group)
    assert parallel.module is model and list(parallel.state_dict()) == ["module.weight", "module.bias"]
    assert parallel.device.type == "cpu"
    x = torch.ones(4, 3)
    parallel(x).sum().backward()
    assert model.weight.grad.tolist() == [[4.0] * 3] * 2
    with parallel.no_sync():
        assert not parallel.require_backward_grad_sync
        parallel(x).sum().backward()
    assert model.weight.grad.tolist() == [[8.0] * 3] * 2 and parallel.require_backward_grad_sync
    parallel.load_state_dict(parallel.state_dict())
    assert not parallel.eval().training and not model.training
    assert torch.allclose(torch.compile(parallel)(x), parallel(x))


@pytest.mark.parametrize(
    "given, kind",
    [
        ({"device_ids": [0]}, ValueError),
        ({"output_device": 1}, ValueError),
        ({"mixed_precision": object()}, NotImplementedError),
        ({"device_mesh": object()}, NotImplementedError),
        ({"module": nn.ReLU()}, RuntimeError),
        ({"module": nn.Linear(2, 2).requires_grad_(False)}, RuntimeError),
        ({"module": 3}, AttributeError),
    ],
)
def test_what_cannot_be_distributed(group, given, kind):
    with pytest.raises(kind):
        DistributedDataParallel(**{"module": nn.Linear(2, 2), **given})
    with pytest.raises(NotImplementedError):
        DistributedDataParallel(nn.Linear(2, 2)).register_comm_hook(None, print)
