"""IPython's autoreload: a compiled function that a reload has made anew takes the place of the old one."""

from .. import _C


def _both_compiled(old, new):
    return isinstance(old, _C.CompiledFunction) and isinstance(new, _C.CompiledFunction)


def follow(autoreload):
    """Adds a rule to those by which `autoreload` brings what other modules hold up to date; once."""
    rules = getattr(autoreload, "UPDATE_RULES", None)
    update = getattr(autoreload, "update_function", None)
    if isinstance(rules, list) and update is not None and all(rule[0] is not _both_compiled for rule in rules):
        rules.append((_both_compiled, update))
