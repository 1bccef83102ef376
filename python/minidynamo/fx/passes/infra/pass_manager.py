"""Several passes in a row, repeated until nothing changes any more."""

import functools

from ...._absent import absent_names as _absent_names
from ...graph_module import GraphModule
from .pass_base import PassResult

__all__ = ["pass_result_wrapper", "this_before_that_pass_constraint", "PassManager"]


def pass_result_wrapper(fn):
    """A pass that gives None or a graph module as one that gives a PassResult."""
    if fn is None:
        return None

    @functools.wraps(fn)
    def wrapped_fn(gm):
        result = fn(gm)
        if isinstance(result, PassResult):
            return result
        return PassResult(result if isinstance(result, GraphModule) else gm, True)

    return wrapped_fn


def this_before_that_pass_constraint(this, that):
    """For PassManager.add_constraint(): `that` may not come before `this`."""
    return lambda a, b: not (a == that and b == this)


class PassManager:
    """Called with a graph module: runs the passes in order, up to `steps` times, while one changes something."""

    def __init__(self, passes=None, constraints=None, steps=None, run_checks_after_each_pass=False,
                 suppress_check_failures=False):  # fmt: skip
        self.passes, self.constraints = list(passes or ()), list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass, self.suppress_check_failures = (
            run_checks_after_each_pass,
            suppress_check_failures,
        )
        self._validated = False

    def add_pass(self, _pass):
        self.passes.append(_pass)
        self._validated = False

    def add_constraint(self, constraint):
        self.constraints.append(constraint)
        self._validated = False

    def validate_constraints(self):
        """RuntimeError for two passes in an order that a constraint forbids."""
        if self._validated:
            return
        for constraint in self.constraints:
            for k, first in enumerate(self.passes):
                for second in self.passes[k + 1 :]:
                    if not constraint(first, second):
                        raise RuntimeError(f"pass schedule constraint violated: {first} comes before {second}")
        self._validated = True

    def add_checks(self, check):
        """A function of a graph module that raises, called after each pass or after the last."""
        self.check = check

    def check(self, module):
        """Nothing, until add_checks()."""

    def __call__(self, module):
        self.validate_constraints()
        self.check(module)
        modified = False
        for _ in range(self.steps):
            changed = False
            for fn in self.passes:
                result = fn(module)
                if not isinstance(result, PassResult) and not hasattr(result, "graph_module"):
                    raise TypeError(f"the pass {fn} should give a PassResult; pass_result_wrapper() makes it do so")
                module, changed = result.graph_module, changed or result.modified
                if isinstance(module, GraphModule):
                    module.recompile()
                if self.run_checks_after_each_pass:
                    self.check(module)
            modified = modified or changed
            if not changed:
                break
        return PassResult(module, modified)


__getattr__ = _absent_names(__name__)
