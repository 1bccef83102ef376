"""torch.fx.experimental.optimization: convolutions with the normalisation after them as one, and what that needs."""

import copy

from ... import nn
from ..._absent import absent_names as _absent_names
from ...nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval
from .._symbolic_trace import symbolic_trace
from ..graph_module import GraphModule
from ..interpreter import Transformer

__all__ = ["extract_subgraph", "fuse", "matches_module_pattern", "remove_dropout", "replace_node_module"]


def _parent_name(target):
    """("a.b", "c") of "a.b.c"."""
    path, _, name = target.rpartition(".")
    return path, name


def matches_module_pattern(pattern, node, modules):
    """True if `node` calls a module of the class pattern[1] on what a module of the class pattern[0] gives.

    `modules` maps paths to modules.
    """
    if not node.args:
        return False
    for kind, called in zip(pattern, (node.args[0], node)):
        if getattr(called, "op", None) != "call_module":
            return False
        if not isinstance(called.target, str) or type(modules.get(called.target)) is not kind:
            return False
    return True


def replace_node_module(node, modules, new_module):
    """Puts `new_module` in the place of the module that `node` calls, in `modules` and in the parent."""
    parent, name = _parent_name(node.target)
    modules[node.target] = new_module
    setattr(modules[parent], name, new_module)


def fuse(model, inplace=False, no_trace=False):
    """The model with each Conv1d, Conv2d, Conv3d or Linear and the batch normalisation after it as one module.

    A traced copy, unless `inplace`; with `no_trace` `model` is a GraphModule already. Modules whose result is used
    elsewhere too, and normalisations without running statistics, stay. The model has to be in evaluation mode:
    AssertionError if not.
    """
    fusions = [
        ((nn.Conv1d, nn.BatchNorm1d), fuse_conv_bn_eval),
        ((nn.Conv2d, nn.BatchNorm2d), fuse_conv_bn_eval),
        ((nn.Linear, nn.BatchNorm1d), fuse_linear_bn_eval),
    ]
    if hasattr(nn, "BatchNorm3d"):
        fusions.append(((nn.Conv3d, nn.BatchNorm3d), fuse_conv_bn_eval))
    if not inplace:
        model = copy.deepcopy(model)
    if not no_trace or not isinstance(model, GraphModule):
        model = symbolic_trace(model)
    modules = dict(model.named_modules())
    for pattern, fused in fusions:
        for node in model.graph.nodes:
            if not matches_module_pattern(pattern, node, modules) or len(node.args[0].users) > 1:
                continue
            layer, norm = modules[node.args[0].target], modules[node.target]
            if not norm.track_running_stats:
                continue
            replace_node_module(node.args[0], modules, fused(layer, norm))
            node.replace_all_uses_with(node.args[0])
            model.graph.erase_node(node)
    return GraphModule(model, model.graph)


def remove_dropout(model):
    """A traced copy of the model without its Dropout modules."""

    class DropoutRemover(Transformer):
        def call_module(self, target, args, kwargs):
            if isinstance(self.submodules[target], nn.Dropout):
                return args[0]
            return super().call_module(target, args, kwargs)

    return DropoutRemover(symbolic_trace(model)).transform()


def extract_subgraph(orig_module, nodes, inputs, outputs):
    """A GraphModule of some nodes of a graph of `orig_module`, as a function from `inputs` to the tuple `outputs`."""
    from ..graph import Graph

    graph, values = Graph(), {}
    for node in inputs:
        values[node] = graph.placeholder(node.name)
    for node in nodes:
        values[node] = graph.node_copy(node, lambda n: values[n])
    graph.output([values[node] for node in outputs])
    graph.lint()
    return GraphModule(orig_module, graph)


__getattr__ = _absent_names(__name__)
