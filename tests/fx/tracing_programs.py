"""Programs that trace, as users of torch.fx write them: what they print, and the values they compute."""

import math
import operator


def filled(module):
    """Parameters and buffers with values that do not depend on a random stream."""
    for number, tensor in enumerate([*module.parameters(), *module.buffers()]):
        if tensor.is_floating_point():
            flat = [abs(math.sin(1.0 + number + 0.37 * k)) + 0.1 for k in range(tensor.numel())]
            tensor.data.copy_(type(tensor.data)(flat).reshape(tensor.shape) if flat else tensor.data)
    return module


def ramp(torch, *shape):
    count = math.prod(shape)
    return torch.tensor([math.sin(0.7 * k) for k in range(count)]).reshape(shape)


def showing(graph_module, *inputs):
    """(texts, values)."""
    return [graph_module.code, str(graph_module.graph)], [graph_module(*inputs)]


def a_module(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.param = torch.nn.Parameter(torch.rand(3, 4))
            self.linear = torch.nn.Linear(4, 5)

        def forward(self, x):
            return self.linear(x + self.param).clamp(min=0.0, max=1.0)

    return showing(fx.symbolic_trace(filled(Net())), ramp(torch, 3, 4))


def a_function(torch, fx):
    def f(x, y, scale: float = 2.0):
        z = torch.relu(x) * scale + y.sum(dim=-1, keepdim=True)
        return z, {"a": [z.t(), (y,)], "b": None}

    gm = fx.symbolic_trace(f)
    return [gm.code, str(gm.graph)], list(gm(ramp(torch, 2, 3), ramp(torch, 2, 3))[:1])


def all_operators(torch, fx):
    def f(x, y):
        parts = [x + y, x - 1, 2 * x, x / y, 3 / x, x // 2, x % 2, x**2, 2**x, -x, +x, abs(x), x @ y.T, 1 + x, 1 - x]
        parts += [x[0], x[..., 1:], x[:, None, ::2], x[(0, 1)]]
        return parts, (x > y, x >= 1, x < y, x <= y, x == y, x != y, ~(x > 0), (x > 0) & (y > 0), (x > 0) ^ (y > 0))

    gm = fx.symbolic_trace(f)
    return [gm.code, str(gm.graph)], gm(ramp(torch, 2, 3) + 2, ramp(torch, 2, 3) + 3)[0]


def methods_and_attributes(torch, fx):
    def f(x):
        n = x.size(0)
        y = x.view(n, -1).transpose(0, 1).contiguous()
        z = y.T.shape[1] * y.reshape(x.shape[0], -1)
        a, b = z.split(1)
        return a.squeeze(0).add_(1), b.unsqueeze(0), x.dim(), z.float().mean().item()

    gm = fx.symbolic_trace(f)
    return [gm.code, str(gm.graph)], list(gm(ramp(torch, 2, 3))[:2])


def functions_of_layers(torch, fx):
    F = torch.nn.functional

    def f(x, w, b):
        y = F.relu(F.linear(x, w, b))
        y = F.softmax(y, dim=-1) + F.gelu(y) + F.layer_norm(y, (2,)) + F.leaky_relu(y, 0.2) + F.elu(y) + F.silu(y)
        y = F.dropout(y, 0.5, training=False) + F.log_softmax(y, -1) + F.hardtanh(y) + F.softplus(y) + F.relu6(y)
        return F.mse_loss(y, y * 2) + F.l1_loss(y, y + 1), F.pad(y, (1, 1)), F.cosine_similarity(y, y)

    gm = fx.symbolic_trace(f)
    return showing(gm, ramp(torch, 4, 3), ramp(torch, 2, 3), ramp(torch, 2))


def functions_of_torch(torch, fx):
    def f(x):
        y = torch.cat([x, x], dim=0) + torch.stack((x, x)).flatten(0, 1)
        top, where = torch.topk(y, 2)
        parts = torch.chunk(y, 2) + torch.split(y, 2)
        z = torch.einsum("ij,kj->ik", y, y) + torch.matmul(y, y.t()) + torch.where(y > 0, y, -y).sum()
        return top, parts[0], z, torch.linalg.norm(y), torch.special.expm1(y), torch.clamp(y, -0.5, 0.5), torch.norm(y)

    return showing(fx.symbolic_trace(f), ramp(torch, 2, 3))


def sequential(torch, fx):
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Sequential(torch.nn.Linear(4, 2)))
    gm = fx.symbolic_trace(filled(net))
    texts, values = showing(gm, ramp(torch, 2, 3))
    return [*texts, str(gm), *gm.state_dict()], values


def layers_opened(torch, fx):
    class Opening(fx.Tracer):
        def is_leaf_module(self, m, module_qualified_name):
            return False

    net = filled(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.LayerNorm(4)))
    gm = fx.GraphModule(net, Opening().trace(net))
    return showing(gm, ramp(torch, 2, 3))


def own_leaves(torch, fx):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.l = torch.nn.Linear(3, 3)

        def forward(self, x):
            return self.l(x).tanh() if x.sum() > 100 else self.l(x)

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = torch.nn.ModuleList([Block(), Block()])
            self.scale = 3

        def forward(self, x):
            for block in self.blocks:
                x = block(x) * self.scale
            return x

    class Leaves(fx.Tracer):
        def is_leaf_module(self, m, path):
            return isinstance(m, Block) or super().is_leaf_module(m, path)

    net = filled(Net())
    return showing(fx.GraphModule(net, Leaves().trace(net), "Net"), ramp(torch, 2, 3))


def constants_become_attributes(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.plain = torch.ones(3)
            self.register_buffer("stored", torch.ones(3) * 2)
            self.shared = torch.nn.Parameter(torch.ones(3))
            self.nested = torch.nn.ParameterDict({"w": torch.nn.Parameter(torch.ones(3) * 4)})

        def forward(self, x):
            y = x + self.plain + self.stored * self.shared + self.nested["w"] + torch.tensor([1.0, 2.0, 3.0])
            return y + self.plain, torch.ones(3) * x

    gm = fx.symbolic_trace(Net())
    buffers = sorted(name for name, _ in gm.named_buffers())
    return [gm.code, *buffers, *(n for n, _ in gm.named_parameters())], list(gm(ramp(torch, 3)))


def buffers_as_proxies(torch, fx):
    class Buffers(fx.Tracer):
        proxy_buffer_attributes = True

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("b", torch.ones(3))

        def forward(self, x):
            return self.b + x

    net = Net()
    return showing(fx.GraphModule(net, Buffers().trace(net)), ramp(torch, 3))


def shapes_of_parameters_fixed(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(2, 3))

        def forward(self, x):
            if self.w.shape[0] == 2 and self.w.dim() == 2:
                return x @ self.w.t() * self.w.numel()
            return x

    net = Net()
    gm = fx.GraphModule(net, fx.Tracer(param_shapes_constant=True).trace(net))
    return showing(gm, ramp(torch, 2, 3))


def specialised(torch, fx):
    def f(x, flag, n=3, extra=None):
        for _ in range(n):
            x = x + 1 if flag else x * 2
        return x if extra is None else x * extra

    gm = fx.symbolic_trace(f, concrete_args={"flag": False, "n": 2, "extra": None})
    texts, values = showing(gm, ramp(torch, 3), False, 2)
    try:
        gm(ramp(torch, 3), True, 2)
    except AssertionError as error:
        texts.append(str(error))
    return texts, values


def nested_inputs(torch, fx):
    def f(x, d):
        return {"out": x + d["a"] * d["b"][0], "in": [x, d["b"][1]]}

    gm = fx.symbolic_trace(f, concrete_args={"d": {"a": fx.PH, "b": [fx.PH, 7]}})
    given = {"a": ramp(torch, 2), "b": [ramp(torch, 2) + 1, 7]}
    return [gm.code, str(gm.graph)], [gm(ramp(torch, 2), given)["out"]]


def variable_arguments(torch, fx):
    def f(x, *rest, k=2, **named):
        return x * rest[0] + named["b"] * k

    gm = fx.symbolic_trace(f)
    return [gm.code, str(gm.graph)], [gm(ramp(torch, 2), 2, ramp(torch, 2), b=ramp(torch, 2))]


def annotations(torch, fx):
    def f(x: torch.Tensor, y: "int" = 1, z: list[int] | None = None) -> tuple[torch.Tensor, int]:
        return x + y, y

    gm = fx.symbolic_trace(f)
    return [gm.code, str(gm.graph)], [gm(ramp(torch, 2), 4)[0]]


def mathematics_is_recorded(torch, fx):
    def f(x):
        return x / math.sqrt(x.shape[-1]) + math.pi * math.floor(x.size(0) / 2)

    return showing(fx.symbolic_trace(f), ramp(torch, 2, 3))


def wrapped_names(torch, fx):
    source = """
fx.wrap("twice")
fx.wrap("len")

def twice(x, by=2):
    return x * by if x.sum() < 1000 else x

@fx.wrap
def decorated(x):
    return x + 1

def f(x):
    return twice(x, by=len(x)) + decorated(twice(x))
"""
    names = {"fx": fx, "__name__": "__main__"}
    exec(source, names)
    gm = fx.symbolic_trace(names["f"])
    return [gm.code, str(gm.graph)], [gm(ramp(torch, 2))]


def records_calls(torch, fx):
    seen = []

    class Noting(fx.Tracer):
        def create_node(self, kind, target, args, kwargs, name=None, type_expr=None):
            seen.append(f"{kind} {target if isinstance(target, str) else target.__name__}")
            return super().create_node(kind, target, args, kwargs, name, type_expr)

        def call_module(self, m, forward, args, kwargs):
            seen.append(f"module {self.path_of_module(m)}")
            return super().call_module(m, forward, args, kwargs)

    net = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Sigmoid())
    graph = Noting().trace(net)
    return [*seen, str(graph)], []


def iteration_and_truth_by_tracer(torch, fx):
    class Bold(fx.Tracer):
        def to_bool(self, obj):
            return True

        def iter(self, obj):
            return iter([obj[0], obj[1]])

        def keys(self, obj):
            return iter(["a", "b"])

    def f(x, d):
        if x.sum() > 0:
            x = x + 1
        first, second = iter(x)
        return first * second, {**d}

    net = torch.nn.Module()
    return [str(Bold().trace(f)), fx.GraphModule(net, Bold().trace(f)).code], []


def named_tuples(torch, fx):
    def f(x):
        high, where = torch.max(x, dim=1)
        result = torch.sort(x)
        return high, where, result.values, result[1]

    gm = fx.symbolic_trace(f)
    return [gm.code], [gm(ramp(torch, 2, 3))[0], gm(ramp(torch, 2, 3))[2]]


def operators_module(torch, fx):
    def f(x, y):
        return operator.add(x, y), operator.getitem(x, 0), operator.neg(x), operator.matmul(x, y.t())

    return showing(fx.symbolic_trace(f), ramp(torch, 2, 3), ramp(torch, 2, 3))


def gradients(torch, fx):
    net = filled(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)))
    gm = fx.symbolic_trace(net)
    x = ramp(torch, 5, 3).requires_grad_()
    gm(x).pow(2).mean().backward()
    return [*dict(gm.named_parameters())], [x.grad, *(p.grad for p in gm.parameters())]


PROGRAMS = [
    a_module, a_function, all_operators, methods_and_attributes, functions_of_layers, functions_of_torch, sequential,
    layers_opened, own_leaves, constants_become_attributes, buffers_as_proxies, shapes_of_parameters_fixed, specialised,
    nested_inputs, variable_arguments, annotations, mathematics_is_recorded, wrapped_names, records_calls,
    iteration_and_truth_by_tracer, named_tuples, operators_module, gradients,
]  # fmt: skip
