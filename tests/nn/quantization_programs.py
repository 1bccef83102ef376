"""Calls of torch.ao.quantization; what torch 2.13 gives is in quantization_values.json."""

import math


def waves(torch, *sizes, k=0.3):
    return ((torch.arange(math.prod(sizes), dtype=torch.float32) * 0.7 + k).sin() * 2).reshape(sizes)


def observers(torch):
    Q = torch.ao.quantization
    return {
        "least and largest": lambda: Q.MinMaxObserver(),
        "symmetric": lambda: Q.MinMaxObserver(dtype=torch.qint8, qscheme=torch.per_tensor_symmetric),
        "unsigned symmetric": lambda: Q.MinMaxObserver(qscheme=torch.per_tensor_symmetric),
        "a bit to spare": lambda: Q.MinMaxObserver(reduce_range=True),
        "four bits": lambda: Q.MinMaxObserver(quant_min=0, quant_max=15),
        "average": lambda: Q.MovingAverageMinMaxObserver(),
        "half average": lambda: Q.MovingAverageMinMaxObserver(averaging_constant=0.5, dtype=torch.qint8),
        "channels": lambda: Q.PerChannelMinMaxObserver(),
        "columns": lambda: Q.PerChannelMinMaxObserver(1, torch.qint8, torch.per_channel_symmetric),
        "real zero points": lambda: Q.default_float_qparams_observer(),
        "average of channels": lambda: Q.MovingAveragePerChannelMinMaxObserver(averaging_constant=0.3),
        "default": lambda: Q.default_observer(),
        "weights": lambda: Q.weight_observer_range_neg_127_to_127(),
        "fixed": lambda: Q.default_fixed_qparams_range_0to1_observer(),
    }


def rounding(torch):
    Q = torch.ao.quantization
    names = "default_fake_quant default_weight_fake_quant default_per_channel_weight_fake_quant"
    names += " default_dynamic_fake_quant default_fixed_qparams_range_neg1to1_fake_quant FakeQuantize"
    return {name: getattr(Q, name) for name in names.split()}


def model(torch):
    layers = torch.nn.Sequential(
        torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(3, 2, bias=False))
    )
    for i, p in enumerate(layers.parameters()):
        p.data.copy_(waves(torch, *p.shape, k=i) * 0.5)
    return layers


def programs(torch):
    """{name: function without arguments}."""
    Q, Linear = torch.ao.quantization, torch.nn.Linear
    data = [waves(torch, 3, 4), waves(torch, 3, 4, k=2) * 3, waves(torch, 3, 4, k=5) - 1]
    halves = torch.tensor([0.05, 0.15, 0.25, 0.35, -0.05])

    def watched(make):
        observer = make()
        for each in data:
            observer(each)
        return observer.calculate_qparams()

    def rounded(make):
        module, x = make(), waves(torch, 3, 4).requires_grad_()
        found = [module(each) for each in data]
        module.apply(Q.disable_observer)
        (module(x) * 2).sum().backward()
        module.apply(Q.disable_fake_quant)
        return [*found, x.grad, module(x * 3).detach()]

    x, zero = waves(torch, 5, 4, k=9) * 3, torch.tensor(3, dtype=torch.int32)
    found = {name: lambda make=make: watched(make) for name, make in observers(torch).items()}
    found |= {name: lambda make=make: rounded(make) for name, make in rounding(torch).items()}
    return found | {
        "halves": lambda: torch.fake_quantize_per_tensor_affine(halves, 0.1, 1, 0, 10),
        "integers of halves": lambda: torch.quantize_per_tensor(halves, 0.1, 1, torch.quint8).int_repr(),
        "tensors": lambda: torch.fake_quantize_per_tensor_affine(waves(torch, 8), torch.tensor(0.1), zero, 0, 10),
        "dynamic": lambda: Q.quantize_dynamic(model(torch), {Linear})(x),
        "dynamic by name": lambda: Q.quantize_dynamic(model(torch), {"0"})(x),
        "dynamic channels": lambda: Q.quantize_dynamic(model(torch), {Linear: Q.per_channel_dynamic_qconfig})(x),
        "weight": lambda: Q.quantize_dynamic(model(torch))[0].weight().int_repr(),
    }


def shown(result):
    """Numbers of a result."""
    if hasattr(result, "dtype"):
        return [str(result.dtype)[6:], list(result.shape), [round(float(x), 4) for x in result.flatten().tolist()]]
    return [shown(part) for part in result]
