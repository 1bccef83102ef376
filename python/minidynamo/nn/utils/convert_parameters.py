"""torch.nn.utils.convert_parameters: parameters as one vector, and back."""

from ... import _C
from ..._absent import absent_names as _absent_names


def parameters_to_vector(parameters):
    """All elements, one tensor after the other, as one of shape (n,); TypeError for tensors on several devices."""
    parameters = list(parameters)
    if len({str(p.device) for p in parameters}) > 1:
        raise TypeError("parameters on several devices make no vector")
    return _C.cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    """Each parameter's data becomes a view of its part of `vec`. TypeError unless that is a tensor."""
    if not isinstance(vec, _C.Tensor):
        raise TypeError(f"vec: a tensor is needed, got a {type(vec).__name__}")
    start = 0
    for parameter in parameters:
        part = vec[start : start + parameter.numel()]
        parameter.data = part.view(parameter.shape).detach()
        start += parameter.numel()


__getattr__ = _absent_names(__name__)
