"""Random numbers: a compiled function draws those that it draws as it is, from the stream of its device."""

from twins import numbers, twin

import minidynamo as torch
from minidynamo import nn
from minidynamo.utils.checkpoint import checkpoint

F = nn.functional


@twin
def streams_of_devices(device, compiled):
    """Each call draws, and so does what comes after it."""
    x = torch.full((2, 5), 0.5, device=device)
    calls = [
        torch.rand_like,
        F.dropout,
        torch.bernoulli,
        lambda x: x.clone().uniform_(),
        lambda x: torch.randint(0, 9, (3,), device=x.device),
        lambda x: torch.randperm(4, device=x.device),
        lambda x: torch.randn(3, device=x.device) + x.sum(),
        lambda x: F.scaled_dot_product_attention(x[None], x[None], x[None], dropout_p=0.5),
        lambda x: torch.multinomial(x, 2),
    ]
    out = []
    for call in calls:
        torch._dynamo.reset()
        torch.manual_seed(1)
        # The other stream is elsewhere: a number that comes from there is seen.
        torch.rand(8, device="cpu" if device == "cuda" else "meta")
        out += [torch.rand(2, device=device), compiled(call)(x), torch.rand(2, device=device)]
    return out


@twin
def states_of_streams(device, compiled):
    module = torch.cuda if device == "cuda" else torch.random
    f = compiled(lambda x: F.dropout(x) + torch.rand_like(x))
    x = torch.ones(6, device=device)
    f(x)
    state = module.get_rng_state()
    first = f(x)
    module.set_rng_state(state)
    again = f(x)
    module.manual_seed(7)
    return first, again, torch.equal(first, again), f(x), module.initial_seed()


@twin
def recomputed(device, compiled):
    """What backward computes again has the numbers that the forward drew."""
    model = nn.Sequential(nn.Linear(3, 5), nn.Dropout(0.3), nn.Tanh()).to(device)
    x = numbers(4, 3, device=device, grad=True)
    torch.manual_seed(0)
    y = compiled(lambda x: checkpoint(model, x, use_reentrant=False))(x)
    y.sum().backward()
    return y, x.grad, torch.rand(2, device=device)


@twin
def broken_off(device, compiled):
    """A draw before a graph break and one behind it."""

    def f(x):
        a = torch.rand_like(x)
        torch._dynamo.graph_break()
        return a, torch.rand_like(x)

    x = torch.ones(3, device=device)
    return compiled(f)(x), compiled(f)(x)


@twin
def seeded_inside(device, compiled):
    def f(x):
        torch.manual_seed(11)
        return torch.rand_like(x)

    x = torch.ones(3, device=device)
    return compiled(f)(x), torch.rand(2, device=device), compiled(f)(x)
