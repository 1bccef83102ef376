"""What a trace assumes of sizes, and whether that is true of all sizes that were promised to work."""

import ast

from .dims import DerivedDim, Dim

_MANY = 97, 3, 4, 5, 8, 11, 64, 1021  # sizes to try, of a Dim without bounds


def size_guards(rows):
    """Conditions on sizes of arguments among recorded guards, as Python expressions of L."""
    return [text for row in rows for text in row.code_list or () if ".size()[" in text and "L[" in text]


class _Sizes(ast.NodeTransformer):
    """`L['x'].size()[0]` becomes `size("L['x']", 0)`."""

    def __init__(self):
        self.used = []

    def visit_Subscript(self, node):
        call = node.value
        is_size = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "size"
        if not is_size:
            return self.generic_visit(node)
        place = (ast.unparse(call.func.value), ast.literal_eval(node.slice))
        self.used.append(place)
        parts = [ast.Constant(value) for value in place]
        return ast.Call(ast.Name("size", ast.Load()), parts, [])


class SizeGuard:
    """One condition."""

    def __init__(self, text):
        self.text = text
        finder = _Sizes()
        tree = ast.fix_missing_locations(ast.Expression(finder.visit(ast.parse(text, mode="eval").body)))
        self.is_of_sizes = all(node.id == "size" for node in ast.walk(tree) if isinstance(node, ast.Name))
        self.used, self._code = finder.used, compile(tree, "<guard>", "eval")

    def holds(self, size):
        """`size(path text, dimension)`; sizes 0 and 1 count as 2: nothing here is made for them alone."""
        return bool(eval(self._code, {"size": lambda path, dim: max(size(path, dim), 2)}))


def path_text(path):
    """The path of a tensor as guards spell it."""
    return "L" + "".join(f"[{step!r}]" for step in path)


def guards_of(rows, paths):
    """SizeGuard of each condition on tensors at these paths."""
    found = []
    for text in dict.fromkeys(size_guards(rows)):
        try:
            guard = SizeGuard(text)
        except (SyntaxError, ValueError):
            continue
        if guard.is_of_sizes and all(path in paths for path, _ in guard.used):
            found.append(guard)
    return found


def _tried(dim):
    least, most = max(dim.root.min, 2), dim.root.max
    within = [n for n in _MANY if n >= least and (most is None or n <= most)]
    return list(dict.fromkeys([*within, least, least + 1 if most is None else most]))


def check_promises(guards, marked, sizes):
    """UserError if a Dim has a size for which a condition fails. `sizes`: path text -> sizes of the example."""
    from .._dynamo.exc import UserError

    named = {}
    for path, spec in marked.items():
        named.update({(path_text(path), d): e for d, e in spec.items() if isinstance(e, (Dim, DerivedDim))})
    for guard in guards:
        involved = [place for place in guard.used if place in named]
        roots = list({named[place].root.__name__: named[place].root for place in involved}.values())
        for k in range(max([len(_tried(root)) for root in roots], default=0)):
            chosen = {r.__name__: _tried(r)[(k + n) % len(_tried(r))] for n, r in enumerate(roots)}

            def size(path, dim, chosen=chosen):
                each = named.get((path, dim))
                return sizes[path][dim] if each is None else each.value(chosen[each.root.__name__])

            if not guard.holds(size):
                names = ", ".join(chosen)
                raise UserError(
                    None,
                    f"Constraints violated ({names})! The module assumes {guard.text}, which is not true of all "
                    f"sizes dynamic_shapes allows. Give {names} other bounds, or one Dim to sizes that are equal.",
                )
