"""Graph.lint(): what has to be true of a graph before code is made of it."""


def lint(graph):
    """RuntimeError, ValueError or AssertionError naming the first node that is out of order."""
    seen, names = set(), set()
    for node in graph.nodes:
        if node.graph is not graph:
            raise RuntimeError(f"Node {node} is in the list of a graph that it does not belong to")
        for used in node.all_input_nodes:
            _check_input(graph, node, used, seen)
        if node.name in names:
            raise RuntimeError(f"two nodes have the name {node.name}")
        seen.add(node)
        names.add(node.name)
    if graph.owning_module is not None:
        for node in graph.nodes:
            if node.op in ("get_attr", "call_module") and not graph._is_elsewhere(node):
                _check_target(graph.owning_module, node)


def _check_input(graph, node, used, seen):
    if used.graph is not graph:
        raise RuntimeError(
            f"Argument '{used}' of Node '{node}' belongs to another graph: copies of nodes need an arg_transform that "
            "maps what they use to nodes of this graph (Graph.node_copy)"
        )
    if used not in seen:
        raise RuntimeError(f"Argument '{used}' of Node '{node}' is used before it is defined: move it to the front")


def _check_target(module, node):
    from ..nn import Module

    found = module
    parts = node.target.split(".")
    for number, part in enumerate(parts):
        if not hasattr(found, part):
            raise RuntimeError(
                f"Node {node} has the target '{node.target}', but there is no '{part}' in "
                f"'{'.'.join(parts[:number]) or type(module).__name__}'"
            )
        found = getattr(found, part)
    if node.op == "call_module" and not isinstance(found, Module):
        raise RuntimeError(f"Node {node} calls '{node.target}', which is a {type(found).__name__} and no Module")
