"""Programs that run graphs, as users of torch.fx write them: what they print, and the values they compute."""

import operator

from fx.tracing_programs import filled, ramp


def small_net(torch):
    return filled(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)))


def profiling_interpreter(torch, fx):
    class Profiler(fx.Interpreter):
        def __init__(self, module):
            super().__init__(module)
            self.runs = {}
            self.count = 0

        def run(self, *args):
            self.count += 1
            return super().run(*args)

        def run_node(self, n):
            self.runs[n.name] = self.runs.get(n.name, 0) + 1
            return super().run_node(n)

    profiler = Profiler(fx.symbolic_trace(small_net(torch)))
    values = [profiler.run(ramp(torch, 2, 3)) for _ in range(2)]
    return [str(profiler.runs), str(profiler.count), str(list(profiler.env))], values


def swapping_interpreter(torch, fx):
    class Swapped(fx.Interpreter):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target is torch.sigmoid else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            return args[0].sub(1) if target == "add" else super().call_method(target, args, kwargs)

    gm = fx.symbolic_trace(lambda x, y=2: torch.sigmoid(x).add(y) * 2)
    return [], [Swapped(gm).run(ramp(torch, 3)), fx.Interpreter(gm).run(ramp(torch, 3), 5)]


def partial_run(torch, fx):
    gm = fx.symbolic_trace(lambda x, y: (torch.relu(x) + 1) * y)
    relu = next(n for n in gm.graph.nodes if n.target is torch.relu)
    runner = fx.Interpreter(gm, garbage_collect_values=False)
    value = runner.run(ramp(torch, 3), 2, initial_env={relu: torch.ones(3)})
    boxed = [ramp(torch, 3), 3]
    return [str(sorted(n.name for n in runner.env))], [value, fx.Interpreter(gm).boxed_run(boxed), len(boxed)]


def transformer(torch, fx):
    class Negated(fx.Transformer):
        def call_function(self, target, args, kwargs):
            return super().call_function(torch.neg if target is torch.sigmoid else target, args, kwargs)

        def call_method(self, target, args, kwargs):
            if target == "neg":
                return args[0] * 3
            return super().call_method(target, args, kwargs)

        def call_module(self, target, args, kwargs):
            return super().call_module(target, args, kwargs) + 1

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.net = small_net(torch)
            self.p = torch.nn.Parameter(torch.ones(2))

        def forward(self, x, k=2):
            return torch.sigmoid(self.net(x)).neg() * self.p + k

    gm = Negated(fx.symbolic_trace(Net())).transform()
    return [gm.code, str(gm)], [gm(ramp(torch, 2, 3))]


def shapes_noted(torch, fx):
    gm = fx.symbolic_trace(small_net(torch))
    result = fx.passes.shape_prop.ShapeProp(gm).propagate(ramp(torch, 2, 3))
    texts = [
        f"{n.name} {n.meta['tensor_meta'].dtype} {tuple(n.meta['tensor_meta'].shape)} {n.meta['tensor_meta'].stride}"
        for n in gm.graph.nodes
    ]
    nested = fx.symbolic_trace(lambda x: (torch.split(x, 1), x.shape[0]))
    fx.passes.shape_prop.ShapeProp(nested).propagate(ramp(torch, 2, 3))
    texts += [f"{n.name} {n.meta['type'].__name__}" for n in nested.graph.nodes if n.op != "output"]
    return [*texts, gm.print_readable(print_output=False)], [result]


def own_shape_pass(torch, fx):
    class ShapeNotes:
        def __init__(self, gm):
            self.gm, self.graph, self.modules = gm, gm.graph, dict(gm.named_modules())

        def propagate(self, *args):
            given, env = iter(args), {}

            def load(value):
                return fx.graph.map_arg(value, lambda n: env[n.name])

            for node in self.graph.nodes:
                if node.op == "placeholder":
                    result = next(given)
                elif node.op == "get_attr":
                    result = self.gm.get_parameter(node.target)
                elif node.op == "call_function":
                    result = node.target(*load(node.args), **load(node.kwargs))
                elif node.op == "call_method":
                    first, *rest = load(node.args)
                    result = getattr(first, node.target)(*rest, **load(node.kwargs))
                elif node.op == "call_module":
                    result = self.modules[node.target](*load(node.args), **load(node.kwargs))
                else:
                    return load(node.args[0])
                if isinstance(result, torch.Tensor):
                    node.shape, node.dtype = result.shape, result.dtype
                env[node.name] = result

    gm = fx.symbolic_trace(small_net(torch))
    result = ShapeNotes(gm).propagate(ramp(torch, 2, 3))
    return [f"{n.name} {tuple(n.shape)} {n.dtype}" for n in gm.graph.nodes if n.op != "output"], [result]


def observers(torch, fx):
    class Observer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.low, self.high = float("inf"), float("-inf")

        def forward(self, x):
            self.low, self.high = min(self.low, x.min().item()), max(self.high, x.max().item())
            return x

    gm = fx.symbolic_trace(small_net(torch))
    for node in list(gm.graph.nodes):
        if node.op == "call_module":
            name = f"{node.name}_observer"
            gm.add_submodule(name, Observer())
            with gm.graph.inserting_after(node):
                seen = gm.graph.call_module(name, (node,))
            node.replace_all_uses_with(seen, lambda user, seen=seen: user is not seen)
    gm.graph.lint()
    gm.recompile()
    value = gm(ramp(torch, 2, 3))
    spans = [[m.low, m.high] for m in gm.modules() if isinstance(m, Observer)]
    return [gm.code], [value, spans]


def hooks_inserted(torch, fx):
    kept = []

    def keep(x, name):
        kept.append((name, x.detach().clone()))
        return x

    gm = fx.symbolic_trace(small_net(torch))
    for node in list(gm.graph.nodes):
        if node.op == "call_module":
            with gm.graph.inserting_after(node):
                gm.graph.call_function(keep, (node, node.name))
    gm.recompile()
    value = gm(ramp(torch, 2, 3))
    return [str(gm.graph), str([name for name, _ in kept])], [value, [x for _, x in kept]]


def batched_by_proxies(torch, fx):
    def over_rows(f, in_axes):
        traced = fx.symbolic_trace(f)
        graph, values = fx.Graph(), {}
        tracer = fx.proxy.GraphAppendingTracer(graph)
        for node, axis in zip([n for n in traced.graph.nodes if n.op == "placeholder"], in_axes):
            made = fx.Proxy(graph.node_copy(node), tracer)
            values[node] = made if axis == 0 else made.unsqueeze(0)
        for node in traced.graph.nodes:
            if node.op == "call_function":
                args = fx.node.map_arg(node.args, lambda n: values[n])
                values[node] = node.target(*args, **node.kwargs)
            elif node.op == "output":
                graph.output(values[node.args[0]].node)
        return fx.GraphModule(torch.nn.Module(), graph)

    gm = over_rows(lambda x, y: torch.sin(x) * y + torch.relu(x), (0, None))
    return [gm.code], [gm(ramp(torch, 2, 3), ramp(torch, 3))]


def constants_folded(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.nn.Parameter(torch.ones(3) * 2)

        def forward(self, x):
            return x * torch.sin(self.w + 1) + self.w

    gm = fx.symbolic_trace(Net())
    known = {}
    for node in list(gm.graph.nodes):
        if node.op == "get_attr":
            known[node] = gm.get_parameter(node.target).detach()
        elif node.op == "call_function" and node.all_input_nodes and all(n in known for n in node.all_input_nodes):
            known[node] = node.target(*fx.node.map_arg(node.args, lambda n: known[n]))
            gm.register_buffer(f"folded_{node.name}", known[node])
            with gm.graph.inserting_before(node):
                constant = gm.graph.get_attr(f"folded_{node.name}")
            node.replace_all_uses_with(constant)
    gm.graph.eliminate_dead_code()
    gm.recompile()
    return [gm.code, str(sorted(dict(gm.named_buffers())))], [gm(ramp(torch, 3))]


def split(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)
            self.p = torch.nn.Parameter(torch.ones(3))

        def forward(self, x, y):
            first = self.a(x)
            second = self.b(first + y) * self.p
            return (first + second).relu(), y

    net = filled(Net())
    gm = fx.symbolic_trace(net)
    parts = {"a": 0, "add": 0, "b": 1, "mul": 1, "add_1": 2, "relu": 2}
    paths = {}
    cut = fx.passes.split_module.split_module(gm, net, lambda n: parts[n.name], paths)
    texts = [cut.code, str(paths), *(child.code for child in cut.children())]
    return texts, [cut(ramp(torch, 2, 3), ramp(torch, 2, 3)), gm(ramp(torch, 2, 3), ramp(torch, 2, 3))]


def pieces_of_optimization(torch, fx):
    tools = fx.experimental.optimization
    net = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.ReLU(), torch.nn.Linear(3, 1))
    without = tools.remove_dropout(filled(net))
    gm = fx.symbolic_trace(net)
    nodes = [n for n in gm.graph.nodes if n.op == "call_module"]
    modules = dict(gm.named_modules())
    pairs = [tools.matches_module_pattern([torch.nn.Dropout, torch.nn.ReLU], n, modules) for n in nodes]
    tools.replace_node_module(nodes[2], modules, torch.nn.Sigmoid())
    middle = tools.extract_subgraph(gm, nodes[2:], [nodes[1]], [nodes[3]])
    return [without.code, str(pairs), str(gm.get_submodule("2")), middle.code], [
        without(ramp(torch, 2, 3)), middle(ramp(torch, 2, 3))
    ]  # fmt: skip


def errors(torch, fx):
    gm = fx.symbolic_trace(lambda x: x.view(7) + 1)
    found = []

    def noted(call):
        try:
            call()
        except Exception as error:
            found.append(type(error).__name__)

    graph = fx.Graph()
    a = graph.placeholder("a")
    b = graph.call_function(torch.relu, (a,))
    noted(lambda: fx.Interpreter(gm).run(torch.ones(2)))
    noted(lambda: gm(torch.ones(2)))
    noted(lambda: fx.Interpreter(gm).run())
    noted(lambda: graph.erase_node(a))
    noted(lambda: b.args.append(1))
    noted(lambda: graph.call_function(torch.cat, ([a, b],)).args[0].append(1))
    noted(lambda: b.kwargs.update(a=1))
    noted(lambda: graph.create_node("call", "x"))
    noted(lambda: graph.create_node("call_function", torch.relu, [a]))
    noted(lambda: fx.Graph().call_function("relu", (a,)))
    noted(graph.output_node)
    noted(lambda: fx.GraphModule({}, fx.symbolic_trace(torch.nn.Sequential(torch.nn.ReLU())).graph))
    noted(lambda: fx.GraphModule(3, graph))
    noted(lambda: fx.symbolic_trace(lambda x: x if x.sum() > 0 else -x))
    noted(lambda: fx.symbolic_trace(lambda x: [y for y in x]))
    noted(lambda: fx.symbolic_trace(lambda x: len(x)))
    noted(lambda: fx.symbolic_trace(lambda x: range(x)))
    noted(lambda: fx.symbolic_trace(lambda x: torch.relu(x)(operator.add, object())))
    noted(lambda: fx.wrap("f"))
    noted(lambda: fx.wrap(3))
    noted(lambda: fx.Interpreter(gm).fetch_attr("nothing"))
    other = fx.Graph()
    other.call_function(torch.relu, (a,))
    noted(other.lint)
    noted(lambda: other.graph_copy(graph, {})["x"])
    return [str(found)], []


PROGRAMS = [
    profiling_interpreter, swapping_interpreter, partial_run, transformer, shapes_noted, own_shape_pass, observers,
    hooks_inserted, batched_by_proxies, constants_folded, split, pieces_of_optimization, errors,
]  # fmt: skip
