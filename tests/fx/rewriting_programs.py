"""Programs that change graphs, as users of torch.fx write them: what they print, and the values they compute."""

import copy
import operator
import pickle

from fx.tracing_programs import filled, ramp


def sines_and_cosines(torch, fx):
    swaps = {torch.sin: torch.cos, torch.cos: torch.sin, "sin": "cos", "cos": "sin"}

    def f(x):
        return torch.sin(x) + x.cos() * torch.cos(x.sin())

    gm = fx.symbolic_trace(f)
    for node in gm.graph.nodes:
        if node.op in ("call_function", "call_method") and node.target in swaps:
            node.target = swaps[node.target]
    before = gm.code
    gm.graph.lint()
    gm.recompile()
    return [before, gm.code], [gm(ramp(torch, 3))]


def one_op_for_another(torch, fx):
    def f(x, y):
        return torch.add(x, y) + (x & y)

    gm = fx.symbolic_trace(f)
    for node in list(gm.graph.nodes):
        if any(node.target == pattern for pattern in (operator.and_, torch.add)):
            with gm.graph.inserting_after(node):
                new = gm.graph.call_function(torch.bitwise_or, node.args, node.kwargs)
                node.replace_all_uses_with(new)
            gm.graph.erase_node(node)
    gm.recompile()
    return [gm.code, str(gm.graph)], [gm(torch.tensor([1, 2]), torch.tensor([4, 3]))]


def decomposition_by_proxies(torch, fx):
    rules = {torch.relu: lambda x: (x > 0) * x, torch.sigmoid: lambda x: 1 / (1 + torch.exp(-x))}

    def f(x):
        return torch.sigmoid(torch.relu(x)) + torch.nn.functional.softmax(x, 0)

    old = fx.symbolic_trace(f)
    graph, values = fx.Graph(), {}
    tracer = fx.proxy.GraphAppendingTracer(graph)
    for node in old.graph.nodes:
        if node.op == "call_function" and node.target in rules:
            args = [fx.Proxy(values[a.name], tracer) if isinstance(a, fx.Node) else a for a in node.args]
            values[node.name] = rules[node.target](*args).node
        else:
            values[node.name] = graph.node_copy(node, lambda n: values[n.name])
    gm = fx.GraphModule(old, graph)
    return [gm.code], [gm(ramp(torch, 3))]


def layers_on_proxies(torch, fx):
    F = torch.nn.functional
    graph = fx.Graph()
    tracer = fx.proxy.GraphAppendingTracer(graph)
    x, w = (fx.Proxy(graph.placeholder(name), tracer) for name in "xw")
    y = F.relu(F.linear(x, w)) + torch.cat([x, x], dim=1).sum()
    graph.output(y.node)
    gm = fx.GraphModule(torch.nn.Module(), graph)
    return [gm.code], [gm(ramp(torch, 2, 3), ramp(torch, 2, 3))]


def activations_replaced(torch, fx):
    net = filled(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2), torch.nn.ReLU()))
    gm = fx.symbolic_trace(net)
    gm.add_submodule("act", torch.nn.Sigmoid())
    modules = dict(gm.named_modules())
    for node in gm.graph.nodes:
        if node.op == "call_module" and isinstance(modules[node.target], torch.nn.ReLU):
            node.target = "act"
    gm.delete_all_unused_submodules()
    gm.graph.lint()
    gm.recompile()
    return [gm.code, str(gm)], [gm(ramp(torch, 2, 3))]


def convolution_with_normalisation(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(1, 2, 3)
            self.norm = torch.nn.BatchNorm2d(2)
            self.inner = torch.nn.Sequential(torch.nn.Conv2d(2, 2, 1), torch.nn.BatchNorm2d(2), torch.nn.ReLU())

        def forward(self, x):
            return self.inner(self.norm(self.conv(x)))

    net = filled(Net()).eval()
    gm = fx.symbolic_trace(net)
    modules = dict(gm.named_modules())
    for node in gm.graph.nodes:
        if node.op != "call_module" or not isinstance(modules[node.target], torch.nn.BatchNorm2d):
            continue
        if not isinstance(modules.get(node.args[0].target), torch.nn.Conv2d) or len(node.args[0].users) > 1:
            continue
        fused = torch.nn.utils.fusion.fuse_conv_bn_eval(modules[node.args[0].target], modules[node.target])
        parent, _, name = node.args[0].target.rpartition(".")
        setattr(modules[parent], name, fused)
        node.replace_all_uses_with(node.args[0])
        gm.graph.erase_node(node)
    gm.graph.lint()
    gm.recompile()
    x = ramp(torch, 1, 1, 4, 4)
    ready = fx.experimental.optimization.fuse(net)
    return [gm.code, ready.code], [gm(x), net(x), ready(x)]


def patterns(torch, fx):
    class Net(torch.nn.Module):
        def forward(self, x, w1, w2):
            a = torch.cat([w1, w2]).sum()
            b = torch.cat([w1, w2]).sum()
            return x + a.max() + b.max()

    def pattern(w1, w2):
        return torch.cat([w1, w2]).sum()

    def replacement(w1, w2):
        return torch.stack([w1, w2])

    gm = fx.symbolic_trace(Net())
    matches = fx.replace_pattern(gm, pattern, replacement)
    return [gm.code, *map(str, matches)], [gm(*(ramp(torch, 3) + k for k in range(3)))]


def patterns_that_chain(torch, fx):
    gm = fx.symbolic_trace(lambda x, y: (x.relu().relu() + 1).relu().relu() * y + torch.relu(y * 2))
    first = fx.replace_pattern(gm, lambda a: a.relu().relu(), lambda a: a.relu())
    second = fx.replace_pattern(gm, lambda a, b: a * b, lambda a, b: torch.sub(a, b))
    third = fx.replace_pattern(gm, lambda a: torch.tanh(a), lambda a: a)
    gm.graph.lint()
    return [gm.code, str(first), str(second), str(third)], [gm(ramp(torch, 3), ramp(torch, 3))]


def patterns_of_modules(torch, fx):
    class Pattern(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.a = torch.nn.Linear(3, 3)
            self.b = torch.nn.ReLU()

        def forward(self, x):
            return self.b(self.a(x))

    class Replacement(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.new = torch.nn.Linear(3, 3)
            self.scale = torch.nn.Parameter(torch.ones(3))

        def forward(self, x):
            return self.new(x) * self.scale

    class Net(Pattern):
        def forward(self, x):
            return super().forward(x) + 1

    gm = fx.symbolic_trace(Net())
    matches = fx.replace_pattern(gm, Pattern(), filled(Replacement()))
    return [gm.code, str(gm), str(matches)], [gm(ramp(torch, 2, 3))]


def patterns_with_filters(torch, fx):
    gm = fx.symbolic_trace(lambda x: torch.add(x, 1) + torch.add(x, 2) * torch.add(x, 1))
    rewrite = fx.subgraph_rewriter.replace_pattern_with_filters
    by_hand = rewrite(
        gm, lambda a: torch.add(a, 1), lambda a: a - 1, [lambda match, graph, pattern: "add" in match.anchors[0].name]
    )
    any_number = rewrite(gm, lambda a: torch.add(a, 7), lambda a: a * 10, ignore_literals=True)
    none = rewrite(gm, lambda a: a * 10, lambda a: a, [lambda *given: False])
    return [gm.code, str(by_hand), str(any_number), str(none)], [gm(ramp(torch, 3))]


def patterns_with_several_results(torch, fx):
    def pattern(x):
        y = torch.sin(x)
        return y, torch.cos(y)

    gm = fx.symbolic_trace(lambda x: pattern(x * 2))
    fx.replace_pattern(gm, pattern, lambda x: (torch.tan(x), torch.exp(x)))
    untouched = fx.symbolic_trace(lambda x: torch.cos(torch.sin(x)) * torch.sin(x))
    inner = fx.symbolic_trace(lambda x: (lambda s: torch.cos(s) + s)(torch.sin(x)))
    counts = [len(fx.replace_pattern(g, lambda x: torch.cos(torch.sin(x)), lambda x: x)) for g in (untouched, inner)]
    return [gm.code, untouched.code, inner.code, str(counts)], [*gm(ramp(torch, 3))]


def dead_code(torch, fx):
    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = torch.nn.Linear(2, 2)

        def forward(self, x, unused):
            self.linear(x)
            self.linear.weight.sum()
            x + 1  # a node that nobody uses
            torch.rand_like(x)
            torch._assert(x.shape[0] == 2, "two rows")
            return x * 2

    gm = fx.symbolic_trace(Net())
    changed = [gm.graph.eliminate_dead_code(), gm.graph.eliminate_dead_code()]
    gm.recompile()
    impure = [n.name for n in gm.graph.nodes if n.is_impure()]
    return [gm.code, str(changed), str(impure)], [gm(ramp(torch, 2, 2), None)]


def graph_by_hand(torch, fx):
    graph = fx.Graph()
    x = graph.placeholder("x", type_expr=torch.Tensor)
    k = graph.placeholder("k", default_value=3)
    w = graph.get_attr("deep.w")
    y = graph.call_function(torch.add, (x, w), {"alpha": 2})
    with graph.inserting_before(y):
        early = graph.call_method("neg", (x,))
    with graph.inserting_after(y):
        graph.call_module("deep.layer", (y,))
    y.replace_input_with(w, early)
    z = graph.call_function(operator.mul, (y, k))
    graph.output({"r": (z, [w])})
    root = {"deep.w": torch.ones(2), "deep.layer": torch.nn.ReLU()}
    gm = fx.GraphModule(root, graph, "ByHand")
    order = [f"{n.name}: {[u.name for u in n.users]} {[i.name for i in n.all_input_nodes]}" for n in graph.nodes]
    found = [graph.find_nodes(op="placeholder"), graph.find_nodes(op="call_function", target=torch.add)]
    return [gm.code, str(graph), str(gm), *order, str(found), str(graph.output_node())], [gm(ramp(torch, 2))["r"][0]]


def arguments_changed(torch, fx):
    gm = fx.symbolic_trace(lambda x, y: torch.cat([x, y], dim=0).sum(dim=0))
    cat, total = (n for n in gm.graph.nodes if n.op.startswith("call"))
    x, y = (n for n in gm.graph.nodes if n.op == "placeholder")
    cat.args = ([*cat.args[0], x],)
    cat.update_kwarg("dim", 1)
    total.kwargs = {"dim": 1, "keepdim": True}
    total.insert_arg(1, 0)
    total.args = total.args[:1]
    users = [str(dict(n.users)) for n in gm.graph.nodes]
    cat.prepend(gm.graph.call_function(torch.neg, (x,)))
    moved = next(n for n in gm.graph.nodes if n.target is torch.neg)
    y.append(moved)
    x.replace_all_uses_with(moved, lambda user: user is not moved)
    gm.recompile()
    kinds = [type(cat.args[0]).__name__, type(cat.kwargs).__name__]
    return [gm.code, *users, *kinds, str([n.name for n in reversed(gm.graph.nodes)])], [
        gm(ramp(torch, 2, 2), ramp(torch, 2, 2))
    ]


def copies(torch, fx):
    net = filled(torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU()))
    gm = fx.symbolic_trace(net)
    deep, pickled, shallow = copy.deepcopy(gm), pickle.loads(pickle.dumps(gm)), copy.copy(gm)
    graph = copy.deepcopy(gm.graph)
    for node in deep.graph.nodes:
        if node.op == "call_module" and node.target == "1":
            node.replace_all_uses_with(node.args[0])
            deep.graph.erase_node(node)
    deep.recompile()
    own = deep.get_parameter("0.weight") is not gm.get_parameter("0.weight")
    texts = [g.code for g in (gm, deep, pickled, shallow)] + [str(graph), str(own), type(deep).__name__]
    return texts, [g(ramp(torch, 2, 2)) for g in (gm, deep, pickled, shallow)]


def graphs_joined(torch, fx):
    first = fx.symbolic_trace(lambda x: torch.relu(x) + 1)
    second = fx.symbolic_trace(lambda x: torch.relu(x) * 2)
    graph = fx.Graph()
    x = graph.placeholder("x")
    values = {}
    results = []
    for part in (first, second):
        values = {next(iter(part.graph.nodes)): x}
        results.append(graph.graph_copy(part.graph, values))
    graph.output(tuple(results))
    gm = fx.GraphModule({}, graph)
    return [gm.code, gm.graph.python_code("me").src], [gm(ramp(torch, 3))]


def code_transformed(torch, fx):
    gm = fx.symbolic_trace(lambda x: x + 1)

    def commented(body):
        return ["# hello\n", *body]

    with gm.graph.on_generate_code(lambda current: commented):
        gm.recompile()
        inside = gm.code
    gm.recompile()

    class Named(fx.CodeGen):
        def gen_fn_def(self, free_vars, maybe_return_annotation, **more):
            return super().gen_fn_def([*free_vars, "extra=None"], maybe_return_annotation)

    outside = gm.code
    gm.graph.set_codegen(Named())
    gm.recompile()
    return [inside, outside, gm.code], [gm(ramp(torch, 2), 5)]


def names(torch, fx):
    graph = fx.Graph()
    hints = ["add", "add", "add_5", "add", "sum", "input", "if", "torch", "1a", "", "a.b", "a b", "x_1", "x_1", "A"]
    nodes = [graph.create_node("placeholder", f"p{k}", name=hint) for k, hint in enumerate(hints)]
    nodes += [graph.call_module("Layer.someName.0", ()), graph.call_method("__call__", (nodes[0],))]
    nodes += [
        graph.call_function(f, (nodes[0],)) for f in (torch.nn.functional.conv2d, torch.linalg.norm, abs, operator.and_)
    ]
    return [", ".join(n.name for n in nodes)], []


PROGRAMS = [
    sines_and_cosines, one_op_for_another, decomposition_by_proxies, layers_on_proxies, activations_replaced,
    convolution_with_normalisation, patterns, patterns_that_chain, patterns_of_modules, patterns_with_filters,
    patterns_with_several_results, dead_code, graph_by_hand, arguments_changed, copies, graphs_joined, code_transformed,
    names,
]  # fmt: skip
