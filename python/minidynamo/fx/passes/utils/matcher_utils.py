"""torch.fx.passes.utils.matcher_utils: where a graph has the same nodes as a pattern."""

import copy
import itertools
from dataclasses import dataclass, field

from ...._absent import absent_names as _absent_names
from ...function_names import same_function
from ...node import Node

__all__ = ["InternalMatch", "SubgraphMatcher"]


@dataclass
class InternalMatch:
    """One place: nodes of the pattern and what stands for them. `anchors` are the last nodes of the pattern."""

    anchors: list
    nodes_map: dict = field(default_factory=dict)
    placeholder_nodes: list = field(default_factory=list)
    returning_nodes: list = field(default_factory=list)
    name_node_map: dict = field(default_factory=dict)

    def __copy__(self):
        return InternalMatch(
            self.anchors, dict(self.nodes_map), list(self.placeholder_nodes), list(self.returning_nodes)
        )


class SubgraphMatcher:
    """Finds the places of `graph.match(other)` where the pattern is.

    Placeholders of the pattern stand for anything. `match_output` wants the output to match, `match_placeholder` inputs
    to be inputs; `remove_overlapping_matches` keeps the first of those that share nodes; `ignore_literals` lets
    constants differ.
    """

    def __init__(
        self, pattern, match_output=False, match_placeholder=False, remove_overlapping_matches=True,
        ignore_literals=False,
    ):  # fmt: skip
        self.pattern = pattern
        self.match_output = match_output
        self.match_placeholder = match_placeholder
        self.remove_overlapping_matches = remove_overlapping_matches
        self.ignore_literals = ignore_literals
        if len(pattern.nodes) == 0:
            raise ValueError("a pattern needs at least an input and an output, and this graph is empty")
        for node in pattern.nodes:
            if node.op != "output" and not node.is_impure() and not node.users:
                raise AssertionError(f"nothing uses Node {node} of the pattern: take it out (eliminate_dead_code)")
        self.pattern_placeholder_nodes = [n for n in pattern.nodes if n.op == "placeholder"]
        output = pattern.output_node()
        self.pattern_returning_nodes = output.all_input_nodes
        if match_output:
            self.pattern_anchors = [output]
        else:
            self.pattern_anchors = [n for n in output.all_input_nodes if len(n.users) == 1]

    def match(self, graph, node_name_match=""):
        """The InternalMatch of every place; `node_name_match` limits them to last nodes with that in their names."""
        candidates = [
            [n for n in graph.nodes if self._could_be(anchor, n) and node_name_match in n.name]
            for anchor in self.pattern_anchors
        ]
        found = []
        for nodes in itertools.product(*candidates):
            match = self._match_at(nodes) if nodes else None
            if match is not None and self._is_contained(match):
                found.append(match)
        return _without_overlaps(found) if self.remove_overlapping_matches else found

    def _match_at(self, nodes):
        match = InternalMatch(list(self.pattern_anchors))
        for anchor, node in zip(self.pattern_anchors, nodes):
            match = self._extended(anchor, node, match)
            if match is None:
                return None
        mapped = match.nodes_map
        match.placeholder_nodes = [mapped[n] for n in self.pattern_placeholder_nodes if n in mapped]
        match.returning_nodes = [mapped[n] for n in self.pattern_returning_nodes]
        return match

    def _could_be(self, pattern_node, node):
        if not self.match_placeholder and pattern_node.op == "placeholder":
            return True
        if pattern_node.op != node.op:
            return False
        if pattern_node.op in ("placeholder", "output"):
            return True
        if pattern_node.op == "get_attr":
            return self._same_attributes(pattern_node, node)
        if pattern_node.op == "call_module":
            return type(_value_at(pattern_node)) is type(_value_at(node))
        return same_function(pattern_node.target, node.target)

    def _same_attributes(self, pattern_node, node):
        values = [_value_at(n) for n in (pattern_node, node)]
        if type(values[0]) is not type(values[1]):
            return False
        return not isinstance(values[0], (int, float, str)) or self.ignore_literals or values[0] == values[1]

    def _extended(self, pattern_node, node, match):
        """`match` with these nodes, and all they use, matched too; None if they do not match."""
        if not isinstance(node, Node):
            allowed = pattern_node.op == "placeholder" and not self.match_placeholder
            same = match.nodes_map.setdefault(pattern_node, node) if allowed else None
            return match if allowed and type(same) is type(node) and same == node else None
        if pattern_node in match.nodes_map:
            return match if match.nodes_map[pattern_node] is node else None
        if node in match.nodes_map.values() or not self._could_be(pattern_node, node):
            return None
        match = copy.copy(match)
        match.nodes_map[pattern_node] = node
        if pattern_node.op == "placeholder":
            return match
        if len(pattern_node.args) != len(node.args) or list(pattern_node.kwargs) != list(node.kwargs):
            return None
        pattern_values = [*pattern_node.args, *pattern_node.kwargs.values()]
        return self._extended_by(pattern_values, [*node.args, *node.kwargs.values()], match)

    def _extended_by(self, pattern_value, value, match):
        if isinstance(pattern_value, Node):
            return self._extended(pattern_value, value, match)
        if isinstance(pattern_value, (list, tuple)):
            if not isinstance(value, (list, tuple)) or len(value) != len(pattern_value):
                return None
            for one, other in zip(pattern_value, value):
                match = self._extended_by(one, other, match)
                if match is None:
                    return None
            return match
        if isinstance(value, Node):
            return None
        if isinstance(pattern_value, slice) and isinstance(value, slice):
            parts = [(s.start, s.stop, s.step) for s in (pattern_value, value)]
            return self._extended_by(*parts, match)
        equal = type(pattern_value) is type(value) and pattern_value == value
        return match if self.ignore_literals or equal else None

    def _is_contained(self, match):
        """True if nobody outside uses what is only inside the pattern, so that it can be replaced."""
        outside = {*self.pattern_placeholder_nodes, *self.pattern_returning_nodes}
        inside = {node for node in match.nodes_map.values() if isinstance(node, Node)}
        return all(
            user in inside
            for pattern_node, node in match.nodes_map.items()
            if pattern_node not in outside and pattern_node.op != "get_attr" and isinstance(node, Node)
            for user in node.users
        )


def _without_overlaps(matches):
    """The matches that share no node with an earlier one."""
    taken, kept = set(), []
    for match in matches:
        own = {n for p, n in match.nodes_map.items() if p.op not in ("placeholder", "output", "get_attr")}
        if not own & taken:
            taken |= own
            kept.append(match)
    return kept


def _value_at(node):
    """The attribute or module a node refers to, None where its graph has no module."""
    found = node.graph.owning_module
    for part in node.target.split("."):
        found = getattr(found, part, None)
    return found


__getattr__ = _absent_names(__name__)
