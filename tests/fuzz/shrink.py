"""Makes a failing program small: takes statements out, blocks apart and expressions down to parts while it fails."""

import ast


def bodies(tree):
    """Every list of statements, outermost first."""
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody", "handlers", "cases"):
            found = getattr(node, field, None)
            if isinstance(found, list) and found:
                yield node, field, found


def without(tree, edits):
    """Texts of the program with one edit each; the tree is as before after each."""
    for edit, undo in edits:
        edit()
        try:
            text = ast.unparse(ast.fix_missing_locations(tree))
        finally:
            undo()
        yield text


def removals(tree):
    """Without runs of statements, long ones first. A body that must not be empty becomes `pass`."""
    for node, field, found in list(bodies(tree)):
        size = len(found)
        while size:
            for at in range(0, len(found), size):
                kept = found[:at] + found[at + size :]
                if not kept and field == "body":
                    if isinstance(found[0], ast.Pass):
                        continue
                    kept = [ast.Pass()]
                yield (
                    lambda n=node, f=field, k=kept: setattr(n, f, k),
                    lambda n=node, f=field, k=found: setattr(n, f, k),
                )
            size //= 2


def unwrappings(tree):
    """A block replaced by what is inside."""
    for node, field, found in list(bodies(tree)):
        for at, inner in enumerate(found):
            if not isinstance(inner, (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.Match)):
                continue
            body = inner.cases[0].body if isinstance(inner, ast.Match) else inner.body
            kept = found[:at] + body + found[at + 1 :]
            yield lambda n=node, f=field, k=kept: setattr(n, f, k), lambda n=node, f=field, k=found: setattr(n, f, k)


def simplifications(tree):
    """An expression replaced by a part of itself, or by 1."""
    for node in list(ast.walk(tree)):
        for field, value in ast.iter_fields(node):
            if isinstance(value, list):
                for at, one in enumerate(value):
                    yield from replaced(value, at, one)
            elif isinstance(value, ast.expr) and not isinstance(value, ast.Constant):
                for part in parts(value):
                    yield (
                        lambda n=node, f=field, p=part: setattr(n, f, p),
                        lambda n=node, f=field, v=value: setattr(n, f, v),
                    )


def replaced(found, at, one):
    if not isinstance(one, ast.expr) or isinstance(one, ast.Constant):
        return
    for part in parts(one):
        yield lambda p=part: found.__setitem__(at, p), lambda: found.__setitem__(at, one)


def parts(expression):
    if isinstance(getattr(expression, "ctx", None), (ast.Store, ast.Del)):
        return
    yield ast.Constant(1)
    yield from (child for child in ast.iter_child_nodes(expression) if isinstance(child, ast.expr))


def shrink(source, fails, steps=2000):
    """The smallest program found for which `fails(source)` is true. `steps`: how often it may be asked."""
    tried = {source}
    changed = True
    while changed and steps > 0:
        changed = False
        for make in (removals, unwrappings, simplifications):
            again = True
            while again and steps > 0:
                again = False
                tree = ast.parse(source)
                for text in without(tree, make(tree)):
                    if text in tried or len(text) >= len(source):
                        continue
                    tried.add(text)
                    steps -= 1
                    if steps <= 0:
                        break
                    if fails(text):
                        source, again, changed = text, True, True
                        break
    return source
