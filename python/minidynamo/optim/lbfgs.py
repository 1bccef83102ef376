"""torch.optim.lbfgs: a quasi-Newton method, for losses that are not noisy."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import enable_grad, no_grad
from .line_search import StrongWolfe
from .optimizer import Optimizer, _check_lr
from .update_terms import to_scalar

__all__ = ["LBFGS"]

_KEPT = ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss")  # from step to step
_LEAST_CURVATURE = 1e-10


class LBFGS(Optimizer):
    """L-BFGS (Liu and Nocedal, "On the limited memory BFGS method for large scale optimization", 1989).

    `step(closure)` makes up to `max_iter` iterations with up to `max_eval` calls of `closure`, which clears the
    gradients, computes the loss, calls backward() and gives the loss. It ends early when the largest gradient is at
    most `tolerance_grad`, or the change of a parameter or of the loss at most `tolerance_change`. `history_size` pairs
    of flat tensors with the elements of all parameters are kept. `line_search_fn` is None, for steps of length `lr`,
    or "strong_wolfe".

    Raises ValueError for a negative lr and for more than one parameter group; `step` raises RuntimeError for another
    `line_search_fn`.
    """

    def __init__(
        self,
        params,
        lr=1,
        max_iter=20,
        max_eval=None,
        tolerance_grad=1e-7,
        tolerance_change=1e-9,
        history_size=100,
        line_search_fn=None,
    ):
        _check_lr(lr)
        options = dict(
            lr=lr,
            max_iter=max_iter,
            max_eval=max_iter * 5 // 4 if max_eval is None else max_eval,
            tolerance_grad=tolerance_grad,
            tolerance_change=tolerance_change,
            history_size=history_size,
            line_search_fn=line_search_fn,
        )
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS optimizes one parameter group only")

    @property
    def _params(self):
        return self.param_groups[0]["params"]

    def _flat_grad(self):
        grads = [_C.zeros_like(p) if p.grad is None else p.grad for p in self._params]
        return _C.cat([grad.reshape(-1) for grad in grads], 0)

    def _move(self, length, direction):
        first = 0
        for param in self._params:
            param.add_(direction[first : first + param.numel()].view_as(param), alpha=length)
            first += param.numel()

    @no_grad()
    def step(self, closure):
        """Minimises for some iterations; gives the loss of the first call of `closure`."""
        if len(self.param_groups) != 1:
            raise AssertionError(f"LBFGS optimizes one parameter group, not {len(self.param_groups)}")
        closure = enable_grad()(closure)
        state = self.state[self._params[0]]  # of all parameters
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        state["func_evals"] += 1
        grad = self._flat_grad()
        if grad.abs().max() <= self.param_groups[0]["tolerance_grad"]:
            return first_loss
        memory = {name: state.get(name) for name in _KEPT}
        self._iterate(closure, state, memory, float(first_loss), grad)
        state.update(memory)
        return first_loss

    def _iterate(self, closure, state, memory, loss, grad):
        group = self.param_groups[0]
        lr, tolerance = to_scalar(group["lr"]), group["tolerance_change"]
        calls = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            first = state["n_iter"] == 1
            if first:
                memory.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
            else:
                self._remember(memory, grad)
                memory["d"] = self._newton_direction(state, memory, grad)
            memory["prev_flat_grad"] = grad.clone()
            memory["prev_loss"] = loss
            memory["t"] = min(1.0, 1.0 / grad.abs().sum()) * lr if first else lr
            slope = grad.dot(memory["d"])
            if slope > -tolerance:
                break
            if group["line_search_fn"] is not None:
                loss, grad, made = self._search(closure, memory, (loss, grad, slope), group["max_eval"] - calls)
            else:
                self._move(memory["t"], memory["d"])
                made = 0
                if iteration != group["max_iter"]:  # the next step() evaluates there anyway
                    loss, grad, made = float(closure()), self._flat_grad(), 1
            calls += made
            state["func_evals"] += made
            if (
                calls >= group["max_eval"]
                or grad.abs().max() <= group["tolerance_grad"]
                or memory["d"].mul(memory["t"]).abs().max() <= tolerance
                or abs(loss - memory["prev_loss"]) < tolerance
            ):
                break

    def _search(self, closure, memory, start, max_evaluations):
        name = self.param_groups[0]["line_search_fn"]
        if name != "strong_wolfe":
            raise RuntimeError(f"line_search_fn has to be None or 'strong_wolfe', not {name!r}")
        direction, places = memory["d"], [param.clone() for param in self._params]

        def evaluate(length):
            self._move(length, direction)
            found = float(closure()), self._flat_grad()
            for param, place in zip(self._params, places):
                param.copy_(place)
            return found

        search = StrongWolfe(evaluate, direction, start, max_evaluations)
        loss, grad, memory["t"] = search.search(memory["t"])
        self._move(memory["t"], direction)
        return loss, grad, search.evaluations

    def _remember(self, memory, grad):
        """Adds the last change of the gradient and of the parameters to the history, unless it is not convex there."""
        change, moved = grad.sub(memory["prev_flat_grad"]), memory["d"].mul(memory["t"])
        curvature = change.dot(moved)
        if not curvature > _LEAST_CURVATURE:
            return
        if len(memory["old_dirs"]) == self.param_groups[0]["history_size"]:
            for name in ("old_dirs", "old_stps", "ro"):
                memory[name].pop(0)
        memory["old_dirs"].append(change)
        memory["old_stps"].append(moved)
        memory["ro"].append(1.0 / curvature)
        memory["H_diag"] = curvature / change.dot(change)

    def _newton_direction(self, state, memory, grad):
        """Minus the gradient times the inverse Hessian that the history describes: the two loops of L-BFGS."""
        history = list(zip(memory["old_dirs"], memory["old_stps"], memory["ro"]))
        weights = state.setdefault("al", [None] * self.param_groups[0]["history_size"])
        direction = grad.neg()
        for index, (change, moved, ratio) in reversed(list(enumerate(history))):
            weights[index] = moved.dot(direction) * ratio
            direction.add_(change, alpha=-weights[index])
        direction = direction.mul(memory["H_diag"])
        for index, (change, moved, ratio) in enumerate(history):
            direction.add_(moved, alpha=weights[index] - change.dot(direction) * ratio)
        return direction


__getattr__ = _absent_names(__name__)
