"""Compiled functions and tensors on a device: guards, constants of traces, moves within graphs, breaks."""

import minidynamo as torch
import minidynamo._dynamo as dynamo
from minidynamo._dynamo.testing import CompileCounter


def apart():
    counter = CompileCounter()
    f = torch.compile(lambda x: (x * 2 + 1).relu(), backend=counter)
    x = torch.tensor([-3.0, 1.0])
    for device in ("cpu", "cuda:0", "cuda:1", "cuda:0", "cpu"):
        made = f(x.to(device))
        assert str(made.device) == device and made.tolist() == [0, 3]
    assert counter.frame_count == 3
    dynamo.reset()


def by_default():
    dynamo.reset()
    f = torch.compile(lambda x, y: torch.softmax(x @ y + x.sum(-1, keepdim=True), -1))
    x, y = torch.randn(4, 4), torch.randn(4, 4)
    assert f(x.cuda(), y.cuda()).tolist() == f(x, y).tolist()


def constants():
    def f(x):
        assert torch.cuda.is_available() and x.device.type == "cuda" and x.is_cuda and not x.is_cpu
        if x.get_device() == 1:
            return x + 1
        return x + torch.ones(2, device=x.device) + torch.zeros(2, device=torch.device("cuda"))

    compiled = torch.compile(f, backend="eager", fullgraph=True)
    x = torch.ones(2)
    assert compiled(x.cuda()).tolist() == [2, 2] and str(compiled(x.cuda(1)).device) == "cuda:1"


def moves():
    def f(x):
        y = (x * 2).to("cuda")
        z = y.cuda().cpu() + x
        return z.to(y.device), y.to("cpu", torch.float64), x.cuda(non_blocking=True)

    counter = CompileCounter()
    for backend in (counter, "eager", None):
        dynamo.reset()
        compiled = torch.compile(f, fullgraph=True, **({"backend": backend} if backend else {}))
        a, b, c = compiled(torch.ones(2))
        assert a.is_cuda and a.tolist() == [3, 3] and b.device.type == "cpu" and b.tolist() == [2, 2] and c.is_cuda
    assert counter.frame_count == 1


def backward():
    def f(x, w):
        return ((x.cuda() @ w).relu().cpu() * 2).sum()

    def run(function):
        torch.manual_seed(0)
        x, w = torch.randn(3, 3, requires_grad=True), torch.randn(3, 3).cuda().requires_grad_()
        made = function(x, w)
        made.backward()
        assert not x.grad.is_cuda and w.grad.is_cuda
        return made.item(), x.grad.tolist(), w.grad.tolist()

    dynamo.reset()
    assert run(torch.compile(f)) == run(torch.compile(f, backend="eager")) == run(f)


def breaks():
    def f(x):
        y = x * 2
        if y.sum().item() > 3:
            return y + 1
        return y - 1

    dynamo.reset()
    counter = CompileCounter()
    assert torch.compile(f, backend=counter)(torch.ones(2, device="cuda")).tolist() == [3, 3]
    assert counter.frame_count == 2


def streams_within():
    side = torch.cuda.Stream()

    def f(x):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x + 1
        torch.cuda.current_stream().wait_stream(side)
        event = torch.cuda.Event()
        event.record()
        return y * 2

    dynamo.reset()
    assert torch.compile(f)(torch.ones(2, device="cuda")).tolist() == [4, 4]
    assert torch.cuda.current_stream() == torch.cuda.default_stream()


def writes_are_undone():
    def f(x, y):
        x.add_(1)
        return x[y]

    dynamo.reset()
    compiled = torch.compile(f, backend="eager")
    x = torch.zeros(2, device="cuda")
    for y in (torch.tensor([0], device="cuda"), torch.tensor([5], device="cuda")):
        try:
            compiled(x, y)
            torch.cuda.synchronize()
        except IndexError:
            pass
    assert x.tolist() == [2, 2]


def random_numbers():
    def f(x):
        return torch.nn.functional.dropout(x, 0.5) + torch.rand(4, device="cuda")

    dynamo.reset()
    x = torch.ones(4, device="cuda")
    torch.manual_seed(3)
    expected = f(x).tolist()
    torch.manual_seed(3)
    assert torch.compile(f)(x).tolist() == expected
    x.requires_grad_()
    torch.manual_seed(3)
    f(x).sum().backward()
    first = x.grad.tolist()
    x.grad = None
    torch.manual_seed(3)
    torch.compile(f)(x).sum().backward()
    assert x.grad.tolist() == first


def default_device():
    def f(x):
        return x + torch.ones(2)

    dynamo.reset()
    compiled = torch.compile(f)
    assert compiled(torch.ones(2)).tolist() == [2, 2]
    with torch.device("cuda"):
        assert compiled(torch.ones(2)).is_cuda
