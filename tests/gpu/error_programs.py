"""What is refused on devices, and how."""

from programs_support import raises

import minidynamo as torch

MIXED = "Expected all tensors to be on the same device, but found at least two devices, "


def mixtures():
    x, y = torch.ones(3, device="cuda"), torch.ones(3)
    for call in (lambda: x + y, lambda: y * x, lambda: torch.cat([x, y]), lambda: torch.where(x > 0, x, y)):
        with raises(RuntimeError, MIXED):
            call()
    with raises(RuntimeError, MIXED + "cuda:0 and cuda:1!"):
        x + y.cuda(1)
    with raises(RuntimeError, MIXED):
        x.add_(y)
    with raises(RuntimeError, MIXED):
        y.add_(x)
    with raises(RuntimeError, ""):
        torch.add(x, x, out=y)
    with raises(RuntimeError, MIXED):
        torch.nn.functional.linear(x, torch.ones(2, 3))
    with raises(RuntimeError, MIXED):
        torch.nn.Linear(3, 2)(x)


def numbers_may_mix():
    x, one = torch.ones(3, device="cuda"), torch.tensor(2.0)
    assert (x + one).is_cuda and (one * x).tolist() == [2, 2, 2] and x.add_(one).tolist() == [3, 3, 3]
    assert torch.where(x > 0, x, one).is_cuda and x.clamp(one, one).tolist() == [2, 2, 2]
    assert (x + torch.tensor(1, dtype=torch.float64)).dtype == torch.float32
    y = torch.zeros(3)
    with raises(RuntimeError, ""):
        y + torch.tensor(1.0, device="cuda")  # a number of a device is none of the CPU


def positions_may_be_here():
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    i = torch.tensor([1, 0])
    assert x[i].tolist() == [[3, 4, 5], [0, 1, 2]] and x[:, i].is_cuda and x[i > 0].tolist() == [[0, 1, 2]]
    assert x[i.cuda()].tolist() == x[i].tolist()
    x[i] = torch.zeros(3, device="cuda")
    assert x.tolist() == [[0] * 3] * 2
    with raises(IndexError, "out of bounds"):
        x[torch.tensor([5])]
        torch.cuda.synchronize()
    with raises(RuntimeError, ""):
        torch.ones(3)[torch.tensor([0], device="cuda")]


def divisions():
    x = torch.tensor([4, 2], device="cuda")
    for call in (lambda: x // 0, lambda: x % torch.tensor([0, 1], device="cuda")):
        with raises((ZeroDivisionError, RuntimeError), ""):
            call()
            torch.cuda.synchronize()
    assert (x // 2).tolist() == [2, 1]


def questions_of_elements():
    x = torch.ones(2, device="cuda")
    with raises(RuntimeError, "cannot be converted to Scalar"):
        x.item()
    with raises(RuntimeError, "ambiguous"):
        bool(x)


def devices_that_are_none():
    for question in (
        torch.cuda.get_device_properties,
        torch.cuda.get_device_name,
        torch.cuda.get_device_capability,
        lambda index: torch.cuda.can_device_access_peer(index, 0),
    ):
        for index in (2, 99, -1):
            with raises(AssertionError, "Invalid device id"):
                question(index)
    with raises(AssertionError, "Invalid peer device id"):
        torch.cuda.can_device_access_peer(0, 99)
    for call in (torch.cuda.set_device, torch.cuda.synchronize, torch.cuda.get_device_name, torch.cuda.Stream):
        for thing in (1.0, [], b"cuda", torch.float32, object()):
            with raises(ValueError, "Expected a torch.device with a specified index or an integer"):
                call(thing)
    assert torch.cuda.get_device_capability(1) == (8, 0)


def captures_with_wrong_words():
    x = torch.ones(3, device="cuda")
    with (
        raises(RuntimeError, "Unknown capture error mode"),
        torch.cuda.graph(torch.cuda.CUDAGraph(), capture_error_mode="strict"),
    ):
        x + 1
    for pool in ("ab", 3, (1,), (1, "a")):
        with raises(TypeError, "pool is two ints"), torch.cuda.graph(torch.cuda.CUDAGraph(), pool=pool):
            x + 1
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=torch.cuda.graph_pool_handle(), capture_error_mode="relaxed"):
        y = x + 1
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def interfaces_that_are_malformed():
    x = torch.ones(4, device="cuda")
    good = x.__cuda_array_interface__
    address = good["data"][0]

    def tensor(said):
        return torch.as_tensor(type("Array", (), {"__cuda_array_interface__": said, "keep": x})(), device="cuda")

    for name in ("shape", "typestr", "data"):
        with raises(ValueError, f"has no '{name}'"):
            tensor({key: value for key, value in good.items() if key != name})
    wrong = {
        "shape": (4, ("a",), None),
        "data": (5, (None, False), ("a", False), (address,)),
        "strides": ("a", 4, ("a",)),
        "stream": ("a", 1.5),
    }
    for name, values in wrong.items():
        for value in values:
            with raises(TypeError, f"'{name}' is "):
                tensor({**good, name: value})
    for said in ({"data": (-1, False)}, {"data": (2**64, False)}, {"stream": -7}):
        with raises(ValueError, "is no "):
            tensor({**good, **said})
    with raises(TypeError, "is a dict, not NoneType"):
        tensor(None)
    assert tensor({**good, "stream": 1}).tolist() == tensor(good).tolist() == [1] * 4


def gradients_elsewhere():
    for place, other in (("cuda", "cpu"), ("cpu", "cuda"), ("cuda:0", "cuda:1")):
        x, far = torch.ones(4, device=place, requires_grad=True), torch.ones(4, device=other)
        for call in (
            lambda x, g: x.mul(2).backward(g),
            lambda x, g: torch.autograd.grad(x.mul(2), x, grad_outputs=g),
            lambda x, g: torch.autograd.grad([x + 1, x.mul(2)], x, [torch.ones_like(x), g]),
        ):
            for way in (call, torch.compile(call)):
                with raises(RuntimeError, f"expected device {x.device} but got {far.device}"):
                    way(x, far)
        assert x.grad is None
        with raises(RuntimeError, "located on a different device"):
            x.grad = far
        one = torch.tensor(3.0, device=other)  # a number goes where it is wanted
        x.sum().backward(one)
        assert x.grad.device == x.device and x.grad.tolist() == [3] * 4

        class Astray(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x, away):
                ctx.away = away
                return x * 1

            @staticmethod
            def backward(ctx, g):
                return g.to(ctx.away), None

        with raises(RuntimeError, f"expected device {x.device} but got {far.device}"):
            Astray.apply(x, far.device).sum().backward()


def gradients_of_another_kind():
    for place in ("cpu", "cuda"):
        x = torch.ones(4, device=place, requires_grad=True)
        for call in (
            lambda x, g: x.mul(2).backward(g),
            lambda x, g: torch.autograd.grad(x.mul(2), x, grad_outputs=g),
        ):
            for way in (call, torch.compile(call)):
                with raises(RuntimeError, "Mismatch in dtype"):
                    way(x, torch.ones(4, dtype=torch.complex64, device=place))
                with raises(RuntimeError, "Mismatch in shape"):
                    way(x, torch.ones(3, device=place))
        assert x.grad is None
        (got,) = torch.autograd.grad(x.mul(2), x, torch.ones(4, dtype=torch.int64, device=place))
        assert got.dtype == torch.float32 and got.tolist() == [2] * 4
        with raises(RuntimeError, "Mismatch in dtype"):
            torch.view_as_complex(torch.ones(2, 2, device=place, requires_grad=True)).backward(
                torch.ones(2, device=place)
            )
