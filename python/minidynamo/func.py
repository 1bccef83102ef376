"""torch.func: functions of functions (vmap, grad, ...), and modules as functions of their parameters."""

import functools as _functools

from . import _C
from ._absent import absent_names as _absent_names
from ._transforms.gradients import grad as grad
from ._transforms.gradients import grad_and_value as grad_and_value
from ._transforms.gradients import jvp as jvp
from ._transforms.gradients import linearize as linearize
from ._transforms.gradients import vjp as vjp
from ._transforms.jacobians import hessian as hessian
from ._transforms.jacobians import jacfwd as jacfwd
from ._transforms.jacobians import jacrev as jacrev
from ._transforms.vmap import vmap as vmap
from .nn.utils import stateless as _stateless


def functionalize(func, *, remove="mutations"):
    """`func` as a function that writes nothing in place to what it makes; its arguments are written as before.

    In eager mode that is `func` itself; graphs lose their writes when they are compiled. RuntimeError unless `remove`
    is "mutations" or "mutations_and_views".
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise RuntimeError(
            f'functionalize(f, remove=...) takes "mutations" and "mutations_and_views", but got {remove!r}'
        )

    @_functools.wraps(func)
    def wrapped(*args, **kwargs):
        return func(*args, **kwargs)

    return wrapped


def debug_unwrap(tensor, *, recurse=True):
    """What a tensor inside vmap, grad and their kin holds, to look at: all examples, without the record of gradients.

    Without `recurse` only the innermost vmap is taken off. A tensor outside of all is given as it is.
    """
    if not isinstance(tensor, _C.Tensor):
        raise TypeError(f"debug_unwrap() takes a tensor, not {type(tensor).__name__}")
    if not _C._transforms():
        return tensor
    levels = tuple(_C._batch_levels(tensor))
    if not levels:
        return tensor.detach()
    return _C._without_levels(tensor, levels if recurse else levels[-1:]).detach()


def _traced_unwrap(tensor, *, recurse=True):
    return tensor


_C._mark_callable(debug_unwrap, "substitute", _traced_unwrap)


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    """module(*args, **kwargs) with tensors given by name, in one dictionary or in several without common names."""
    if isinstance(parameter_and_buffer_dicts, dict):
        named = parameter_and_buffer_dicts
    else:
        named = {name: tensor for given in parameter_and_buffer_dicts for name, tensor in given.items()}
        if len(named) != sum(map(len, parameter_and_buffer_dicts)):
            raise ValueError("functional_call: a name is in more than one of the dictionaries")
    return _stateless.functional_call(module, named, args, kwargs, tie_weights=tie_weights, strict=strict)


def stack_module_state(models):
    """(parameters, buffers) of modules of one class, {name: tensor}, with one entry for each module in dimension 0."""
    if not models:
        raise RuntimeError("stack_module_state: no modules are given")
    if any(type(model) is not type(models[0]) for model in models):
        raise RuntimeError("stack_module_state: the modules are of several classes")
    if any(model.training != models[0].training for model in models):
        raise RuntimeError("stack_module_state: some modules are in training mode, others are not")

    def stacked(of_each):
        first = of_each[0]
        made = {name: _C.stack([tensors[name].detach() for tensors in of_each]) for name in first}
        return {name: tensor.requires_grad_(first[name].requires_grad) for name, tensor in made.items()}

    parameters = stacked([dict(model.named_parameters()) for model in models])
    return parameters, stacked([dict(model.named_buffers()) for model in models])


def replace_all_batch_norm_modules_(root):
    """Batch norms below `root` keep no running statistics from then on, which vmap could not write to. Returns it."""
    for module in root.modules():
        if hasattr(module, "running_mean") and hasattr(module, "num_batches_tracked"):
            module.running_mean = module.running_var = module.num_batches_tracked = None
            module.track_running_stats = False
    return root


__getattr__ = _absent_names(__name__)
