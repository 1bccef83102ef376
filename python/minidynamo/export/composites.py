"""Operators that the compiler knows as several smaller ones, put together again for the graphs people read."""

from .._ops import ops


def _is(node, name):
    return getattr(node, "op", None) == "call_function" and str(node.target) == name


def _only_user(node):
    return next(iter(node.users)) if len(node.users) == 1 else None


def _rank(node):
    meta = node.meta.get("tensor_meta")
    return len(meta[0]) if meta else None


def _replace(graph, old, target, args, name):
    with graph.inserting_before(old):
        made = graph.create_node("call_function", target, args, {}, name)
    made.meta.update(old.meta)
    old.replace_all_uses_with(made)


def _linear(graph, product):
    """flatten, t, addmm or mm, view: one linear."""
    bias = product.args[0] if _is(product, "aten.addmm.default") else None
    rows, turned = product.args[-2:]
    if not _is(turned, "aten.t.default") or product.kwargs:
        return
    if not (_is(rows, "aten.flatten.default") or _is(rows, "aten.reshape.default")) or _only_user(rows) is not product:
        return
    x, last = rows.args[0], product
    if _rank(x) is None or (_rank(x) > 1 and tuple(rows.args[1:]) != (0, -2)):
        return
    if _rank(x) != 2:
        last = _only_user(product)
        if not _is(last, "aten.view.default"):
            return
    _replace(graph, last, ops.aten.linear.default, (x, turned.args[0]) + (() if bias is None else (bias,)), "linear")


def _dropout(graph, product):
    """rand_like, ge, to, div, mul: one dropout."""
    x, kept = product.args[:2]
    if not _is(kept, "aten.div.Tensor") or _only_user(kept) is not product or not _is(kept.args[0], "aten.to.default"):
        return
    mask = kept.args[0].args[0]
    if not _is(mask, "aten.ge.Scalar") or not _is(mask.args[0], "aten.rand_like.default"):
        return
    drawn, p = mask.args[0], mask.args[1]
    if drawn.args[0] is x and isinstance(p, float) and all(_only_user(n) for n in (kept.args[0], mask, drawn)):
        _replace(graph, product, ops.aten.dropout.default, (x, p, True), "dropout")


_RULES = {"aten.addmm.default": _linear, "aten.mm.default": _linear, "aten.mul.Tensor": _dropout}


def put_together(graph):
    """Changes the graph in place."""
    for node in list(graph.nodes):
        rule = _RULES.get(str(node.target)) if node.op == "call_function" else None
        if rule is not None:
            rule(graph, node)
    for node in reversed(list(graph.nodes)):
        pure = any(_is(node, f"aten.{name}") for name in _PARTS)
        if pure and not node.users:
            graph.erase_node(node)


_PARTS = """flatten.default reshape.default t.default addmm.default mm.default view.default rand_like.default ge.Scalar
to.default div.Tensor mul.Tensor""".split()
