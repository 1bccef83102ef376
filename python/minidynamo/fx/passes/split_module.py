"""torch.fx.passes.split_module: a GraphModule cut into submodules that it calls one after the other."""

import operator

from ..._absent import absent_names as _absent_names
from ..graph import Graph
from ..graph_module import GraphModule
from ..node import map_arg

__all__ = ["Partition", "split_module"]


class Partition:
    """The nodes of one submodule, what they take from elsewhere and what others take from them."""

    def __init__(self, name):
        self.name = name
        self.submod_name = f"submod_{name}"
        self.node_names = []
        self.inputs = {}
        self.outputs = {}
        self.dependencies = {}
        self.graph = Graph()
        self.environment = {}
        self.targets = {}

    def __repr__(self):
        parts = {name: list(getattr(self, name)) for name in ("node_names", "inputs", "outputs", "dependencies")}
        return f"name: {self.name},\n" + "".join(f" {name}: {value},\n" for name, value in parts.items())


def split_module(
    m, root_m, split_callback, qualname_map=None, keep_original_order=False, keep_original_node_name=False,
    keep_original_input_name=True, *, partition_affix=None, tuple_return=False,
):  # fmt: skip
    """A GraphModule with a submodule `submod_<p>` for every partition p that `split_callback(node)` gives.

    Inputs, attributes and the output stay outside; submodules run in an order in which each has what it needs, or in
    that of their first nodes (`keep_original_order`). `qualname_map` is filled with the paths in `root_m` of modules,
    by their new paths. RuntimeError if partitions need each other.
    """
    if not keep_original_input_name:
        raise NotImplementedError("split_module: keep_original_input_name=False is not part of minidynamo")
    partitions, places = _assigned(m.graph, split_callback, partition_affix)
    order = list(partitions.values()) if keep_original_order else _in_order(partitions)
    attributes = {}
    for node in m.graph.nodes:
        if node in places:
            made = _copy_into(places[node], node, keep_original_node_name)
            if node.op == "call_module":
                _take_module(places[node], made, root_m, qualname_map)
    base, values = Graph(), {}
    for node in m.graph.nodes:
        if node.op in ("placeholder", "get_attr"):
            values[node] = base.node_copy(node)
            if node.op == "get_attr":
                attributes[node.target] = _value_at(root_m, node.target)
    for partition in order:
        _call(partition, base, values, attributes, tuple_return)
    _copy_output(m.graph, base, values)
    return GraphModule(attributes, base)


def _assigned(graph, split_callback, affix):
    """(name to Partition, node to Partition), with what goes from one to another."""
    partitions, places = {}, {}
    for node in graph.nodes:
        if node.op not in ("placeholder", "get_attr", "output"):
            name = str(split_callback(node))
            name = name if affix is None else f"{affix}_{name}"
            places[node] = partitions.setdefault(name, Partition(name))
            places[node].node_names.append(node.name)
    for node in graph.nodes:
        here = places.get(node)
        for used in node.all_input_nodes:
            there = places.get(used)
            if there is here:
                continue
            if there is not None:
                there.outputs.setdefault(used)
            if here is not None:
                here.inputs.setdefault(used)
                if there is not None:
                    here.dependencies.setdefault(there.name)
    return partitions, places


def _in_order(partitions):
    ready, done = [], set()
    waiting = dict(partitions)
    while waiting:
        free = [p for p in waiting.values() if all(name in done for name in p.dependencies)]
        if not free:
            raise RuntimeError(f"the partitions {', '.join(waiting)} need what each other computes")
        for partition in free:
            ready.append(partition)
            done.add(partition.name)
            del waiting[partition.name]
    return ready


def _copy_into(partition, node, keep_name):
    if any(used in partition.inputs for used in node.all_input_nodes):
        for given in partition.inputs:
            if given not in partition.environment:
                made = partition.graph.placeholder(given.name, type_expr=given.type)
                made.meta = dict(given.meta)
                partition.environment[given] = made
    args, kwargs = (map_arg(value, partition.environment.__getitem__) for value in (node.args, node.kwargs))
    name = node.name if keep_name else None
    made = partition.graph.create_node(node.op, node.target, args, dict(kwargs), name, node.type)
    made.meta = dict(node.meta)
    partition.environment[node] = made
    return made


def _take_module(partition, node, root, qualname_map):
    """Gives the partition the module that a node of it calls, under a name without dots."""
    path = node.target
    node.target = path.replace(".", "_")
    partition.targets[node.target] = _value_at(root, path)
    if qualname_map is not None:
        qualname_map[f"{partition.submod_name}.{node.target}"] = path


def _call(partition, base, values, attributes, tuple_return):
    """Ends a partition's graph and calls its module in the outer one."""
    made = [partition.environment[node] for node in partition.outputs]
    several = len(made) != 1 or tuple_return
    partition.graph.output(tuple(made) if several else made[0])
    attributes[partition.submod_name] = GraphModule(partition.targets, partition.graph)
    result = base.call_module(partition.submod_name, tuple(values[node] for node in partition.inputs))
    for number, node in enumerate(partition.outputs):
        values[node] = base.call_function(operator.getitem, (result, number)) if several else result


def _copy_output(graph, base, values):
    for node in reversed(graph.nodes):
        if node.op == "output":
            base.node_copy(node, values.__getitem__)
            return


def _value_at(module, path):
    for part in path.split("."):
        module = getattr(module, part)
    return module


__getattr__ = _absent_names(__name__)
