"""Functions that captured backward passes call: hooks, and what is added to the grad of a leaf."""

from .. import _C
from .._absent import absent_names as _absent_names
from .eval_frame import disable, is_compiling
from .marked_callables import dont_skip_tracing


@dont_skip_tracing
def call_hook(hooks, tensor, hook_type):
    """Calls the hooks of a table, {number: function}; gives the gradient that goes on, laid out as `tensor` is.

    `hook_type`: "tensor_pre_hook", with a gradient, or "post_acc_grad_hook", with a leaf whose grad was added to.
    """
    if hook_type == "post_acc_grad_hook":
        return _call_after(hooks, tensor)
    if not is_compiling():
        found = _C._run_grad_hooks(hooks, tensor)
        return found if found.stride() == tensor.stride() else _laid_out(found, tensor)
    found = tensor
    for hook in list(hooks.values()):
        answer = hook(found)
        if answer is not None:
            found = answer if _fits(answer, found) else _refused(answer, found, hook)
    return found if found.stride() == tensor.stride() else _laid_out(found, tensor)


@dont_skip_tracing
def _call_after(hooks, leaf):
    if not is_compiling():
        return _C._run_hooks_after(hooks, leaf)
    for hook in list(hooks.values()):
        if hook(leaf) is not None:
            _refused_after(leaf)


@dont_skip_tracing
def _fits(answer, before):
    return isinstance(answer, _C.Tensor) and answer.shape == before.shape and answer.dtype == before.dtype


@dont_skip_tracing
def _laid_out(tensor, like):
    return _C.full_like(like, 0).copy_(tensor)


@disable
def _refused(answer, before, hook):
    """Raises what the hook's answer is worth; or gives it, for what is no tensor of ours."""
    return _C._run_grad_hooks({0: lambda gradient: answer}, before)


@disable
def _refused_after(leaf):
    _C._run_hooks_after({0: lambda leaf: leaf}, leaf)


@dont_skip_tracing
def call_accumulate_grad(variable, grad, has_post_hooks, given=False):
    """Adds to `variable.grad`. `given`: nobody else will have the memory of `grad`, which may become that."""
    if not is_compiling() or not variable.is_leaf:
        return _C._accumulate_grad(variable, grad, given)
    before = variable.grad
    if before is not None:
        before.add_(grad)
    elif not variable.is_contiguous():
        variable.grad = _laid_out(grad, variable)
    else:
        variable.grad = grad.contiguous() if given else grad.clone().contiguous()


__getattr__ = _absent_names(__name__)
