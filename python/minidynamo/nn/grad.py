"""torch.nn.grad: gradients of convolutions by themselves, for who writes a backward pass by hand."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.backward import grad
from ..autograd.grad_mode import enable_grad
from . import functional as _layers


def _gradient(dims, of_input, given, sizes, grad_output, *rest):
    """Of the operand with these sizes, where `given` is the other one: by a convolution with zeros in its place."""
    with enable_grad():
        given = given.detach()
        sought = _C.zeros(tuple(sizes), dtype=given.dtype, device=given.device).requires_grad_()
        pair = (sought, given) if of_input else (given, sought)
        out = getattr(_layers, f"conv{dims}d")(*pair, None, *rest)
    return grad(out, sought, grad_output)[0]


def conv1d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Of conv1d: the gradient of the input from that of the output."""
    return _gradient(1, True, weight, input_size, grad_output, stride, padding, dilation, groups)


def conv1d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Of conv1d: the gradient of the weight from that of the output."""
    return _gradient(1, False, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Of conv2d: the gradient of the input from that of the output."""
    return _gradient(2, True, weight, input_size, grad_output, stride, padding, dilation, groups)


def conv2d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Of conv2d: the gradient of the weight from that of the output."""
    return _gradient(2, False, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Of conv3d: the gradient of the input from that of the output."""
    return _gradient(3, True, weight, input_size, grad_output, stride, padding, dilation, groups)


def conv3d_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
    """Of conv3d: the gradient of the weight from that of the output."""
    return _gradient(3, False, input, weight_size, grad_output, stride, padding, dilation, groups)


__getattr__ = _absent_names(__name__)
