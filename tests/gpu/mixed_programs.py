"""Compiled functions of tensors on several devices: what eager mode computes, by fused kernels of each device."""

import collections
import ctypes
import json
import os

import mixed_random
import numpy

import minidynamo as torch
import minidynamo._dynamo as dynamo
from minidynamo._targets import assembler as _assembler

_EMULATOR = ctypes.CDLL(os.environ["MINIDYNAMO_CUDA_DRIVER"])
for _function in (_EMULATOR.mdEmulatorLaunches, _EMULATOR.mdEmulatorFindings):
    _function.restype = ctypes.c_size_t


def _told(function):
    text = ctypes.create_string_buffer(1 << 20)
    function(text, ctypes.c_size_t(len(text)))
    return json.loads(text.value)


def _launched():
    """{kernel: launches} since the last call."""
    for device in range(torch.cuda.device_count()):
        torch.cuda.synchronize(device)
    assert not _told(_EMULATOR.mdEmulatorFindings)
    counts = collections.Counter()
    for name, of in _told(_EMULATOR.mdEmulatorLaunches).items():
        counts[name.rpartition("_")[0] or name] += of["launches"]
    _EMULATOR.mdEmulatorReset()
    return counts


def _is_same(a, b):
    if a is None or b is None:
        return a is b
    told = [(str(x.device), x.dtype, tuple(x.shape), x.stride(), x.requires_grad) for x in (a, b)]
    x, y = (t.detach().cpu() for t in (a, b))
    x, y = (t.float() if t.dtype in (torch.float16, torch.bfloat16) else t for t in (x, y))
    return told[0] == told[1] and numpy.array_equal(x.numpy(), y.numpy(), equal_nan=not _is_whole(x))


def _is_whole(t):
    return not (t.is_floating_point() or t.is_complex())


def _copies(inputs):
    return [x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, torch.Tensor) else x for x in inputs]


def _outcome(f, inputs, backward):
    given = _copies(inputs)
    _launched()
    made = f(*given)
    results = list(made) if isinstance(made, tuple) else [made]
    if backward:
        torch.autograd.backward(results, [torch.ones_like(r) for r in results])
    launches = _launched()
    tensors = [x for x in given if isinstance(x, torch.Tensor)]
    return [*results, *tensors, *(x.grad for x in tensors if x.requires_grad)], launches


def _check(f, *inputs, kernels, backward=False, calls=(), **options):
    """Results, what inputs hold afterwards and gradients; so many fused kernels on GPUs, and these others."""
    dynamo.reset()
    expected, _ = _outcome(f, inputs, backward)
    compiled = torch.compile(f, fullgraph=True, **options)
    _outcome(compiled, inputs, backward)
    found, launches = _outcome(compiled, inputs, backward)
    assert len(expected) == len(found) and all(map(_is_same, expected, found)), (expected, found)
    fused = {name: n for name, n in launches.items() if name.startswith("fused_")}
    assert sum(fused.values()) == kernels, launches
    assert {*launches} - {*fused} == {*calls}, launches


_X = torch.randn(4, 5)
_H = torch.randn(4, 5)
_N = torch.tensor(2.5)


def numbers_are_parameters():
    x = _X.cuda()
    for number in (_N, _N.double(), _N.int(), _N > 0, _N.half(), _N.bfloat16(), torch.tensor(2**40 + 1)):
        for t in (x, x.double(), x.half(), (x * 9).int()):
            _check(lambda x, n: (x * n + 1, x > n, torch.where(x > 0, x, n)), t, number, kernels=1)
    _check(lambda x: x * torch.tensor(2.0) + torch.tensor(3), x, kernels=1)
    _check(lambda x, n: x * torch.tensor(3.0).to(x.device) + n.to(x), x, _N, kernels=1)
    _check(lambda x, h: x * h[1, 2] + h.sum(0)[3], x, _H, kernels=1)
    _check(lambda x, n: (lambda a, b, c: x * a + b - c)(*n.unbind()), x, torch.randn(3, dtype=torch.float64), kernels=1)
    _check(lambda x, n: x[:0] * n, x, _N, kernels=0)


def numbers_in_every_shape_of_kernel():
    _check(lambda x, n: ((x * n).sum(), (x * n).amax(0)), torch.randn(70_000, 4).cuda(), _N, kernels=4)
    _check(lambda x, n: (x / n).softmax(-1), torch.randn(9, 3000).cuda(), _N, kernels=1)
    _check(lambda x, n: torch.nn.functional.layer_norm(x * n, (5,)), _X.cuda(), _N, kernels=1)
    _check(lambda x, n: (x + x.t() * n).sum(0) * n, torch.randn(70, 70).cuda(), _N, kernels=1)
    z, n = torch.randn(3, dtype=torch.complex64), torch.tensor(1 + 2j)
    _check(lambda z, n: z * n + 1, z.cuda(), n, kernels=1)


def numbers_are_computed_first():
    def f(x, n, m):
        y = x.sin()
        a = n * 2 + m
        z = y * a
        b = a.exp()
        return z + b * x, a, b

    _check(f, _X.cuda(), _N, _N.double(), kernels=1)


def numbers_of_the_gpu():
    _check(lambda x, h: (x * h.sum(), h * x.sum().cpu(), x.amax().to("cpu") + 1), _X.cuda(), _H, kernels=1)
    _check(lambda x, n: n.clone().copy_(x.sum()) + n, _X.cuda(), _N, kernels=1)
    _check(lambda x, n: (x.mean() + n, n - x[0, 0]), _X.cuda(), _N, kernels=2)


def parts_on_each_device():
    def f(x, h):
        return (x * 2 + 1).relu(), (h * 3).exp() - h, torch.zeros(5) + h

    _check(f, _X.cuda(), _H, kernels=1)
    _check(lambda x, h: (x.sin() * 2 + h.cuda(), (x + 1).cpu() * h + 1), _X.cuda(), _H, kernels=1)
    _check(lambda x: x + torch.arange(5.0).to(x.device), _X.cuda(), kernels=1)
    _check(lambda x, h: ((x - h.cuda()) ** 2).mean().cpu() * 2, _X.cuda(), _H, kernels=1)
    _check(lambda x, h: h.clone().copy_(x * 2) * 2, _X.cuda(), _H, kernels=1)
    _check(lambda x, h: x.t().cpu() + h.t(), _X.cuda(), _H, kernels=0)
    _check(lambda x, h: (x.double().cpu(), h.to("cuda", torch.int32), h[:, ::2].cuda()), _X.cuda(), _H, kernels=1)


def there_and_back():
    def f(x, h):
        y = (x @ h.cuda().t()).relu().cpu() + 1
        return y.cuda().softmax(-1), y

    _check(f, _X.cuda(), _H, kernels=2, calls=["product"])


def two_gpus():
    def f(x, y, n):
        return (x * n).cuda(1) + y.exp(), (y * n + 1).to(x.device) * x, (x.sum().cpu() + y.sum().cpu()) * n

    _check(f, _X.cuda(0), _X.cuda(1), _N, kernels=3)
    _check(lambda x, n: (x.cuda(1) * n).cpu(), _X.cuda(0), _N, kernels=1)


def writes():
    def f(x, h, n):
        x.add_(1).mul_(n)
        h.add_(x.cpu())
        n.add_(1)
        x[1].sub_(n)
        x[0] = h[0]
        h[:, 1] = n
        return x * n

    _check(f, _X.cuda(), _H, _N, kernels=3, calls=["copy"])
    _check(lambda x, n: (x.copy_(n), x.t().sub_(n * 2))[0] * 1, _X.cuda(), _N, kernels=1, calls=["copy"])
    _check(lambda x, h: (x.copy_(h), h.zero_())[0] + 1, _X.cuda(), _H, kernels=1, calls=["copy"])


def a_counter_is_read_before_and_after():
    def f(x, n):
        a = x * n
        n.add_(1)
        return a, x * n

    _check(f, _X.cuda(), _N, kernels=1)
    _check(lambda x, n: (x.mul_(n), n.mul_(2), x.add_(n))[0] * 1, _X.cuda(), _N, kernels=1)


def gradients():
    x, h, n = _X.cuda().requires_grad_(), _H.clone().requires_grad_(), _N.clone().requires_grad_()
    _check(lambda x, n: (x * n + 1).relu(), x, n, kernels=2, calls=["fill"], backward=True)
    _check(lambda x, n: torch.where(x > 0, x * 2, n), x, n, kernels=2, calls=["fill"], backward=True)
    _check(lambda x, h, n: (x * n).cpu() * h + n, x, h, n, kernels=2, backward=True)
    _check(lambda x, h: ((x - h.cuda()) ** 2).mean().cpu() * 2, x, h, kernels=3, backward=True)
    n = n.detach().double().requires_grad_()
    _check(lambda x, n: (x.abs() + 1) ** n, x, n, kernels=2, calls=["fill"], backward=True)


def gradients_are_where_their_tensors_are():
    x, n = _X.cuda().requires_grad_(), _N.clone().requires_grad_()
    (((x * n).sum() * n).cpu() + n).backward()
    assert x.grad.is_cuda and not n.grad.is_cuda
    assert n.grad.allclose(2 * n * x.cpu().sum() + 1)


def sizes_that_vary():
    dynamo.reset()

    def f(x, h, n):
        return (x * n + h.cuda()).sum(0) * h.shape[0], h.sum(1) + n

    compiled = torch.compile(f, dynamic=True, fullgraph=True)
    for rows, columns in ((3, 5), (17, 100), (40, 1500)):
        x, h = torch.randn(rows, columns).cuda(), torch.randn(rows, columns)
        expected = f(x, h, _N)
        _launched()
        found = compiled(x, h, _N)
        assert sum(_launched().values()) == 1
        assert all(map(_is_same, expected, found))


def sizes_of_values():  # such graphs run op by op
    calls = ["Gt", "add", "coordinates", "count", "place", "read_at"]
    _check(lambda x, h: (x[x > 0].cpu() * 2, h.nonzero()), _X.cuda(), _H, kernels=0, calls=calls)


def branches():
    def f(x, h, n):
        return torch.cond(n > 2, lambda x, h: (x * 2, h.cuda() * n), lambda x, h: (x - 1, h.cuda()), (x, h))

    for n in (_N, -_N):
        dynamo.reset()
        x = _X.cuda()
        expected, found = f(x, _H, n), torch.compile(f, fullgraph=True)(x, _H, n)
        assert all(map(_is_same, expected, found))


def random_numbers():
    def f(x):
        return x * torch.rand_like(x) + torch.rand(4, 5).cuda(), torch.rand(3), torch.rand(3, device="cuda")

    dynamo.reset()
    made = []
    for each in (f, torch.compile(f, fullgraph=True)):
        torch.manual_seed(3)
        made.append([*each(_X.cuda()), *each(_X.cuda())])
    assert all(map(_is_same, *made))


def positions_on_the_cpu():
    x = _X.cuda()
    _check(lambda x: x[torch.tensor([2, 0])] * 2 + 1, x, kernels=1, calls=["read_at"])

    def f(x, where):
        x[where] = 0.5
        return x * 2

    _check(f, x, torch.tensor([1, 3]), kernels=1, calls=["write_at", "copy"])


def refusals():
    """The error is eager mode's, and a graph that would make it is none."""
    x = _X.cuda()
    for f in (
        lambda x, h: x + h,
        lambda x, h: torch.cat([x, h]),
        lambda x, h: x.clone().add_(h),
        lambda x, h: x @ h.t(),
        lambda x, h: x * 2 + torch.ones(5),
        lambda x, h: torch.where(h > 0, x, x),
        lambda x, h: h[torch.zeros(2, dtype=torch.int64, device=x.device)],
        lambda x, h: x.cuda(0) - x.cuda(1),
        lambda x, h: x.index_select(0, torch.tensor([1, 0])),
        lambda x, h: x.gather(1, torch.zeros(4, 1, dtype=torch.int64)),
        lambda x, h: torch.take(h, torch.tensor([1, 0], device=x.device)),
        lambda x, h: x.clone().index_add_(0, torch.tensor([1, 0]), x[:2]),
        lambda x, h: torch.nn.functional.embedding(torch.tensor([1, 0]), x),
    ):
        dynamo.reset()
        told = []
        for each in (f, torch.compile(f)):
            try:
                each(x, _H)
            except RuntimeError as error:
                told.append((type(error), str(error)))
        assert len(told) == 2 and told[0] == told[1] and "on the same device" in told[0][1], told


_OPTIMIZERS = {
    "SGD": dict(lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": dict(lr=0.1, amsgrad=True),
    "AdamW": dict(lr=0.1),
    "NAdam": {},
    "RAdam": dict(lr=0.1),
    "ASGD": dict(lr=0.1, t0=1),
    "RMSprop": dict(momentum=0.5, centered=True),
    "Adagrad": {},
    "Adamax": {},
    "Adadelta": {},
    "Rprop": {},
}


def _steps(name, device, compiled, steps=3):
    numbers = numpy.random.default_rng(0)
    parameters = [torch.tensor(numbers.standard_normal(shape)).float().to(device) for shape in ((4, 5), (7,), (3, 3))]
    optimizer = getattr(torch.optim, name)([p.requires_grad_() for p in parameters], **_OPTIMIZERS[name])
    step, launches = optimizer.step, []
    if compiled:
        step = torch.compile(optimizer.step, fullgraph=True)
    for k in range(steps):
        for p in parameters:
            p.grad = p.detach() * 0.5 + k
        _launched()
        step()
        launches.append(_launched())
    states = [state[key] for state in optimizer.state.values() for key in sorted(state)]
    return parameters, states, launches


def steps_of_optimizers():
    for name in _OPTIMIZERS:
        dynamo.reset()
        plain, _, _ = _steps(name, "cuda", False)
        on_cpu, states_on_cpu, _ = _steps(name, "cpu", True)
        found, states, launches = _steps(name, "cuda", True)
        assert all(map(_is_same, plain, found)), name
        here = [t.detach().cpu() for t in found + states]
        assert all(map(_is_same, (t.detach() for t in on_cpu + states_on_cpu), here)), name
        counters = [t for t in states if t.dim() == 0]
        assert name == "SGD" or (len(counters) >= 3 and not any(t.is_cuda for t in counters)), name
        copies = launches[-1].pop("copy", 0)  # of what is read again after it was written
        assert copies == (6 if name == "ASGD" else 0), launches
        assert all(kernel.startswith("fused_") for kernel in launches[-1]), launches
        assert sum(launches[-1].values()) == 3, launches  # one for each parameter


def counters_on_the_gpu():
    """With capturable=True a captured graph counts as well."""
    for name in ("Adam", "NAdam", "RAdam", "ASGD"):
        dynamo.reset()
        wanted, _, _ = _steps(name, "cuda", False, steps=8)
        numbers = numpy.random.default_rng(0)
        parameters = [torch.tensor(numbers.standard_normal(shape)).float().cuda() for shape in ((4, 5), (7,), (3, 3))]
        given = [p.requires_grad_() for p in parameters]
        optimizer = getattr(torch.optim, name)(given, capturable=True, **_OPTIMIZERS[name])
        graph = None
        for p in parameters:
            p.grad = torch.zeros_like(p)
        for k in range(8):
            for p in parameters:
                p.grad.copy_(p.detach() * 0.5 + k)
            if k < 2:
                step = torch.compile(optimizer.step, fullgraph=True) if k else optimizer.step
                step()
                continue
            if graph is None:
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    optimizer.step()
            graph.replay()
        assert all(map(_is_same, wanted, parameters)), name
        states = [t for state in optimizer.state.values() for t in state.values()]
        assert all(t.is_cuda for t in states), name


def programs_are_told_honestly():
    def f(x, h, n):
        return (x * n + 1).relu(), (h * 2).exp(), x + h.cuda()

    dynamo.reset()
    given = _X.cuda(), _H, _N
    (program,) = dynamo.explain(torch.compile(f, options={"target": "sm_90"}))(*given).programs
    kernels = {kernel.name: kernel for kernel in program.kernels}
    assert [*kernels] == ["fused_mul_add_relu", "fused_mul_exp", "aten::copy_to_device", "fused_add"]
    assert [bool(kernel.text) for kernel in kernels.values()] == [True, False, False, True]
    assert kernels["fused_mul_exp"].why == "it runs on the CPU, where its tensors are"
    assert kernels["aten::copy_to_device"].why == "it copies from one device to another"
    kinds = [argument["kind"] for argument in kernels["fused_mul_add_relu"].arguments]
    assert kinds == ["buffer", "value", "buffer", "rows", "cols", "status"]
    for number in (_N, _N.double(), _N > 0, _N.half(), _N.bfloat16(), _N.to(torch.int8)):
        for target in ("sm_75", "sm_100", "gfx90a"):
            dynamo.reset()
            g = torch.compile(lambda x, n: x * n, options={"target": target})
            (kernel,) = dynamo.explain(g)(given[0], number).programs[0].kernels
            assert kernel.text and (kernel.resources or _assembler.ptxas() is None or target == "gfx90a"), kernel


def _random_outcome(source, seed, devices, way):
    scope = {"torch": torch}
    exec(compile(source, f"<program {seed}>", "exec"), scope)  # noqa: S102  our own
    numbers, grad = numpy.random.default_rng(seed), seed % 2 == 1
    leaves = [
        torch.tensor(numbers.standard_normal(shape).astype("float32")).to(device).requires_grad_(grad)
        for device, shape in zip(devices, ((3, 4), (3, 4), (3, 4), ()), strict=True)
    ]
    inputs = [leaf * 1 for leaf in leaves]
    results = way(scope["f"])(*inputs)
    if grad:
        flowing = [r for r in results if r.requires_grad and not any(r is x for x in inputs)]
        flowing += [x for x in inputs if x.requires_grad and x._version > 0]
        torch.autograd.backward(flowing, [torch.ones_like(r) for r in flowing])
    return [*results, *inputs, *(leaf.grad for leaf in leaves)]


def random_programs():
    """Plain and compiled, and on one device: the same bits."""
    for seed in range(int(os.environ.get("MINIDYNAMO_MIXED_PROGRAMS", "120"))):
        source, there = mixed_random.program(seed), ("cpu", "cuda:0", "cuda:1", "cpu")
        dynamo.reset()
        try:
            expected = _random_outcome(source, seed, there, lambda f: f)
        except RuntimeError as error:  # a program that eager mode refuses to differentiate
            assert "modified by an inplace operation" in str(error), source
            continue
        found = _random_outcome(source, seed, there, torch.compile)
        assert all(map(_is_same, expected, found)), f"{source}\n{expected}\n{found}"
        on_cpu = mixed_random.on_one_device(source)
        alone = _random_outcome(on_cpu, seed, ("cpu",) * 4, torch.compile)
        for a, b in zip(expected, alone, strict=True):
            assert (a is None) == (b is None) and (a is None or _is_same(a.detach().cpu(), b.detach())), source
    _launched()
