"""torch.fx.subgraph_rewriter: puts other nodes in the place of those that a pattern describes."""

from collections import namedtuple
from dataclasses import dataclass

from .._absent import absent_names as _absent_names
from ..nn.module import Module
from .graph import Graph
from .graph_module import GraphModule, _copy_attribute
from .node import Node
from .passes.utils.matcher_utils import SubgraphMatcher

__all__ = ["Match", "ReplacedPatterns", "replace_pattern", "replace_pattern_with_filters"]


class Match(namedtuple("Match", "anchor nodes_map")):
    """A place that was replaced: the last node of the pattern, and for nodes of the pattern what stood for them."""

    __slots__ = ()


@dataclass
class ReplacedPatterns:
    """As Match, with the nodes that were put there."""

    anchor: Node
    nodes_map: dict
    replacements: list


def replace_pattern(gm, pattern, replacement):
    """Puts `replacement` wherever the graph of `gm` does what `pattern` does; gives a Match for each place.

    Both are functions or Modules of the same inputs, in the same order. Nodes match if they call the same thing with
    the same constants and matching inputs; inputs of the pattern match anything. Places do not overlap: the first in
    the order of the graph counts. What is inside a place must not be used outside of it.
    """
    replaced = replace_pattern_with_filters(gm, pattern, replacement)
    return [Match(one.anchor, one.nodes_map) for one in replaced]


def replace_pattern_with_filters(
    gm, pattern, replacement=None, match_filters=None, ignore_literals=False, replacement_callback=None,
    node_name_match="",
):  # fmt: skip
    """As replace_pattern(), for the places where every `filter(match, graph, pattern_graph)` is true.

    `ignore_literals` lets constants differ. `replacement_callback(match, graph, pattern_graph)` gives the replacement
    of each place, instead of `replacement`. Gives ReplacedPatterns.
    """
    if (replacement is None) == (replacement_callback is None):
        raise AssertionError(
            "replace_pattern_with_filters() takes a replacement or a replacement_callback, one of both"
        )
    graph, pattern_graph = gm.graph, _graph_of(pattern)
    matcher = SubgraphMatcher(pattern_graph, ignore_literals=ignore_literals)
    matches = [
        match
        for match in matcher.match(graph, node_name_match)
        if all(keep(match, graph, pattern_graph) for keep in match_filters or ())
    ]
    common = None if replacement is None else _graph_of(replacement)
    moved, replaced = {}, []
    for match in matches:
        by = common or _graph_of(replacement_callback(match, graph, pattern_graph))
        replaced.append(_replace(graph, pattern_graph, by, match, moved))
    gm.recompile()
    if isinstance(replacement, Module):
        _take_over_attributes(gm, replacement)
    return replaced


def _graph_of(described):
    from ._symbolic_trace import symbolic_trace

    if isinstance(described, GraphModule):
        return described.graph
    return described if isinstance(described, Graph) else symbolic_trace(described).graph


def _replace(graph, pattern_graph, replacement, match, moved):
    """Puts the nodes of `replacement` into one place; `moved` maps nodes that are gone to those that stand for them."""
    inputs = [n for n in replacement.nodes if n.op == "placeholder"]
    if len(inputs) != len(match.placeholder_nodes):
        raise AssertionError(
            f"the pattern has {len(match.placeholder_nodes)} inputs and the replacement {len(inputs)}: they must "
            "have the same ones"
        )
    values = {}
    for number, node in enumerate(inputs):
        given = match.placeholder_nodes[number]
        match.placeholder_nodes[number] = values[node] = moved.get(given, given) if isinstance(given, Node) else given
    known = set(graph.nodes)
    with graph.inserting_before(_first_user(graph, match.returning_nodes)):
        result = graph.graph_copy(replacement, values)
    results = list(result) if isinstance(result, (list, tuple)) else [result]
    made = [n for n in graph.nodes if n not in known]
    if len(results) != len(match.returning_nodes):
        raise AssertionError(
            f"the pattern returns {len(match.returning_nodes)} values and the replacement {len(results)}"
        )
    for old, new in zip(match.returning_nodes, results):
        old.replace_all_uses_with(new)
        moved[old] = new
    for pattern_node in reversed(pattern_graph.nodes):
        node = match.nodes_map.get(pattern_node)
        if pattern_node.op not in ("placeholder", "output") and not (pattern_node.op == "get_attr" and node.users):
            graph.erase_node(node)
    for pattern_node, node in match.nodes_map.items():
        if isinstance(node, Node):
            match.nodes_map[pattern_node] = moved.get(node, node) if pattern_node.op == "placeholder" else node
    return ReplacedPatterns(match.anchors[0], match.nodes_map, made)


def _first_user(graph, nodes):
    users = {user for node in nodes for user in node.users}
    return next(node for node in graph.nodes if node in users)


def _take_over_attributes(gm, replacement):
    """Gives `gm` the modules, parameters and buffers that nodes of the replacement mention."""
    gm.delete_all_unused_submodules()
    for node in gm.graph.nodes:
        if node.op in ("call_module", "get_attr") and not _has(gm, node.target):
            if not _has(replacement, node.target):
                raise RuntimeError(
                    f"Node {node} of the replacement refers to '{node.target}', which neither module has"
                )
            _copy_attribute(replacement, gm, node.target)
    gm.graph.lint()


def _has(module, path):
    found = module
    for part in path.split("."):
        if not hasattr(found, part):
            return False
        found = getattr(found, part)
    return True


__getattr__ = _absent_names(__name__)
