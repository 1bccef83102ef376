"""torch.multiprocessing: tensors that several processes read and write, queues of them, spawn()."""

import gc
import os
import signal
import time
import weakref
from multiprocessing.reduction import ForkingPickler

import pytest

import minidynamo as torch
import minidynamo.multiprocessing as mp
from minidynamo.multiprocessing import shared_memory

METHODS = ["fork", "spawn"]


def add_one(tensor):
    tensor.detach().add_(1)


def echo(incoming, outgoing):
    while (message := incoming.get()) is not None:
        for tensor in message:
            tensor.detach().mul_(2)
        outgoing.put(message)
        incoming.get()  # the receiver has it


def train(index, model, x, y, steps):
    torch.manual_seed(index)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(steps):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()


def fail(index, where):
    if index == where:
        raise KeyError("lost")
    time.sleep(60)


def leave(index):
    if index == 0:
        os._exit(3)
    time.sleep(60)


def die(index):
    os.kill(os.getpid(), signal.SIGKILL)


def note(index, tensor, base):
    tensor[index] = base + index


def run(method, target, *args):
    process = mp.get_context(method).Process(target=target, args=args)
    process.start()
    process.join(60)
    assert process.exitcode == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bool, torch.bfloat16])
def test_sharing_changes_nothing_else(dtype):
    x = (torch.arange(24) % 3).to(dtype).view(4, 6)[1:, ::2].t()
    expected, sizes, strides = x.tolist(), x.shape, x.stride()
    assert not x.is_shared() and x.share_memory_() is x and x.is_shared()
    assert (x.tolist(), x.shape, x.stride(), x.dtype) == (expected, sizes, strides, dtype)
    place = x.data_ptr()
    assert x.share_memory_().data_ptr() == place
    assert x[1].is_shared() and not x.clone().is_shared()


def test_parameters_stay_parameters():
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    parameters, values = list(model.parameters()), [p.tolist() for p in model.parameters()]
    assert model.share_memory() is model
    assert [id(p) for p in model.parameters()] == [id(p) for p in parameters]
    assert all(t.is_shared() for t in [*model.parameters(), *model.buffers()])
    assert [p.tolist() for p in parameters] == values and all(p.requires_grad and p.is_leaf for p in parameters)
    model(torch.ones(4, 3)).square().sum().backward()
    assert all(p.grad is not None for p in parameters)


def test_other_tensors():
    expanded = torch.tensor([[1.0], [2.0]]).expand(2, 3)
    assert expanded.share_memory_().tolist() == [[1.0] * 3, [2.0] * 3] and expanded.is_shared()
    assert torch.tensor(3.0).share_memory_().item() == 3.0
    assert torch.ones(0, 3).share_memory_().shape == (0, 3)
    with pytest.raises(RuntimeError, match="on the CPU"):
        torch.ones(2, device="meta").share_memory_()


def test_memory_is_given_back():
    x = torch.ones(1000).share_memory_()
    segment = weakref.ref(shared_memory.of(x))
    descriptor = segment().descriptor
    os.fstat(descriptor)
    view = x[3:]
    del x
    gc.collect()
    assert segment() is not None and view.sum() == 997
    del view
    gc.collect()
    assert segment() is None
    with pytest.raises(OSError):
        os.fstat(descriptor)


@pytest.mark.parametrize("method", METHODS)
def test_writes_are_seen(method):
    x = torch.zeros(2, 3).share_memory_()
    run(method, add_one, x)
    assert x.tolist() == [[1.0] * 3] * 2
    parameter = torch.nn.Parameter(torch.zeros(4)).share_memory_()
    run(method, add_one, parameter)
    assert parameter.tolist() == [1.0] * 4 and type(parameter) is torch.nn.Parameter


@pytest.mark.parametrize("method", METHODS)
def test_queues(method):
    context = mp.get_context(method)
    there, back = context.Queue(), context.Queue()
    process = context.Process(target=echo, args=(there, back))
    process.start()
    whole = torch.arange(6.0).view(2, 3)
    sent = [whole[:, 1:], torch.tensor([1, 2]), torch.nn.Parameter(torch.ones(2)), torch.ones(0, 2), torch.tensor(2.0)]
    expected = [(t * 2).tolist() for t in sent]
    for _ in range(2):
        there.put(sent)
        received = back.get(timeout=60)
        assert [t.tolist() for t in received] == expected == [t.tolist() for t in sent]
        assert [t.dtype for t in received] == [t.dtype for t in sent]
        assert type(received[2]) is torch.nn.Parameter and received[2].requires_grad
        received[1][0] = 7
        assert sent[1][0] == 7
        received[1][0] = 2
        there.put("seen")
        expected = [(t * 2).tolist() for t in sent]
    there.put(None)
    process.join(60)
    assert process.exitcode == 0


def test_what_cannot_be_sent():
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        ForkingPickler.dumps(x * 2)
    ForkingPickler.dumps(torch.ones(2, device="meta"))


@pytest.mark.parametrize("method", METHODS)
def test_several_processes_train_one_model(method):
    torch.manual_seed(0)
    x = torch.randn(64, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]])
    model = torch.nn.Linear(3, 1).share_memory()
    before = torch.nn.functional.mse_loss(model(x), y).item()
    mp.start_processes(train, (model, x, y, 60), nprocs=2, start_method=method)
    assert torch.nn.functional.mse_loss(model(x), y).item() < before / 100


def test_spawn():
    x = torch.zeros(3)
    assert mp.spawn(note, (x, 10.0), nprocs=3) is None
    assert x.is_shared() and x.tolist() == [10.0, 11.0, 12.0]
    started = mp.start_processes(note, (x, 5.0), nprocs=2, join=False, start_method="fork")
    assert len(started.pids()) == 2
    while not started.join(timeout=30):
        pass
    assert x.tolist() == [5.0, 6.0, 12.0] and started.join()
    assert not any(os.path.exists(name) for name in started.error_files)


@pytest.mark.parametrize(
    "function, args, kind, text, facts",
    [
        (fail, (1,), "ProcessRaisedException", "KeyError: 'lost'", {"error_index": 1}),
        (leave, (), "ProcessExitedException", "process 0 terminated with exit code 3", {"exit_code": 3}),
        (die, (), "ProcessExitedException", "terminated with signal SIGKILL", {"signal_name": "SIGKILL"}),
    ],
)
def test_failures_are_told_and_end_the_others(function, args, kind, text, facts):
    started = mp.start_processes(function, args, nprocs=2, join=False, start_method="fork")
    with pytest.raises(getattr(mp, kind), match=text) as caught:
        while not started.join():
            pass
    assert {name: getattr(caught.value, name) for name in facts} == facts
    assert not any(process.is_alive() for process in started.processes)
    assert not any(os.path.exists(name) for name in started.error_files)


def test_names():
    import multiprocessing

    for name in multiprocessing.__all__:
        assert getattr(mp, name) is getattr(multiprocessing, name)
    assert mp.get_sharing_strategy() in mp.get_all_sharing_strategies()
    mp.set_sharing_strategy("file_system")
    assert mp.get_sharing_strategy() == "file_system"
    mp.set_sharing_strategy("file_descriptor")
    with pytest.raises(AssertionError):
        mp.set_sharing_strategy("pigeon")
    with pytest.warns(FutureWarning):
        mp.spawn(note, (torch.zeros(1), 0.0), nprocs=1, start_method="fork")
    with pytest.raises(ValueError):
        mp.start_processes(note, (), start_method="teleport")


def test_compiled_functions_use_shared_tensors():
    weight = torch.tensor([2.0, 3.0], requires_grad=True).share_memory_()
    run_ = torch.compile(lambda x: (x * weight).sum())
    assert run_(torch.ones(2)).item() == 5.0
    run("fork", add_one, weight)
    assert run_(torch.ones(2)).item() == 7.0
    run_(torch.ones(2)).backward()
    assert weight.grad.tolist() == [1.0, 1.0]
