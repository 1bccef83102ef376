"""torch.nn.utils.clip_grad: makes gradients smaller, in place. `foreach`, a choice of kernels, changes nothing."""

import types
import warnings

from ... import _C
from ..._absent import absent_names as _absent_names
from ...autograd.grad_mode import no_grad
from ...linalg import vector_norm

_TINY = 1e-6  # keeps the factor finite where all gradients are 0; torch's


def _list(tensors):
    return [tensors] if isinstance(tensors, _C.Tensor) else list(tensors)


def _grads(parameters):
    return [p.grad for p in _list(parameters) if p.grad is not None]


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all elements of all tensors, as if they were one vector: a tensor of shape (), 0 for no tensors.

    With `error_if_nonfinite` RuntimeError for one that is infinite or nan.
    """
    tensors = _list(tensors)
    if not tensors:
        return _C.tensor(0.0)
    norm_type = float(norm_type)
    with no_grad():
        norms = [vector_norm(tensor, norm_type) for tensor in tensors]
        total = vector_norm(_C.stack([norm.to(norms[0].device) for norm in norms]), norm_type)
    if error_if_nonfinite and not bool(total.isfinite()):
        raise RuntimeError(f"the norm of order {norm_type} of the gradients is {total.item()} (error_if_nonfinite)")
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Gradients times max_norm / (total_norm + 1e-6) where that is below 1 (Pascanu et al. 2013)."""
    with no_grad():
        factor = (float(max_norm) / (total_norm + _TINY)).clamp(max=1.0)
        for grad in _grads(parameters):
            grad.mul_(factor.to(grad.device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Makes the norm of all gradients together at most `max_norm`; gives the norm they had, as get_total_norm."""
    is_generator = isinstance(parameters, types.GeneratorType)
    parameters = _list(parameters)
    if is_generator and not parameters:
        warnings.warn("no gradients to clip: the generator of parameters is used up", stacklevel=2)
    total = get_total_norm(_grads(parameters), norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of clip_grad_norm_."""
    warnings.warn("clip_grad_norm is the old name of clip_grad_norm_", FutureWarning, stacklevel=2)
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Makes each element of the gradients at least -clip_value and at most clip_value."""
    clip_value = float(clip_value)
    with no_grad():
        for grad in _grads(parameters):
            grad.clamp_(-clip_value, clip_value)


__getattr__ = _absent_names(__name__)
