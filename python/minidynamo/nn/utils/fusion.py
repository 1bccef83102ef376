"""torch.nn.utils.fusion: a batch normalisation in evaluation mode as part of the layer before it.

bn(w x + b) = (w s) x + (b - mean) s + shift, with s = gain / sqrt(variance + eps) for each output channel.
"""

import copy

from ... import _C
from ..._absent import absent_names as _absent_names
from ..parameter import Parameter


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    """(weight, bias) as Parameters. Of `bn` the running mean and variance (channels,), eps, gain and shift or None.

    Output channels are dimension 0 of `conv_w`, with `transpose` dimension 1.
    """
    bias = _C.zeros_like(bn_rm) if conv_b is None else conv_b
    shift = _C.zeros_like(bn_rm) if bn_b is None else bn_b
    scale = _C.rsqrt(bn_rv + bn_eps)
    if bn_w is not None:
        scale = scale * bn_w
    shape = [1] * conv_w.dim()
    shape[1 if transpose else 0] = -1
    weight = (conv_w * scale.reshape(shape)).to(conv_w.dtype)
    fused = ((bias - bn_rm) * scale + shift).to(bias.dtype)
    return Parameter(weight, conv_w.requires_grad), Parameter(fused, bias.requires_grad)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    """(weight, bias) as Parameters, of shapes (out, in) and (out,)."""
    return fuse_conv_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b)


def _fused(layer, bn, transpose):
    if layer.training or bn.training:
        raise AssertionError("only layers in evaluation mode can be fused: call eval() first")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("a normalisation without running statistics can not be fused")
    made = copy.deepcopy(layer)
    made.weight, made.bias = fuse_conv_bn_weights(
        made.weight, made.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, transpose
    )
    return made


def fuse_conv_bn_eval(conv, bn, transpose=False):
    """A copy of the convolution that does what both do; AssertionError in training mode or without statistics."""
    return _fused(conv, bn, transpose)


def fuse_linear_bn_eval(linear, bn):
    """A copy of the linear layer that does what both do; AssertionError in training mode, without statistics, and where
    the normalisation has neither as many features as the layer nor one."""
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(f"{bn.num_features} normalised features do not fit {linear.out_features} outputs")
    return _fused(linear, bn, False)


__getattr__ = _absent_names(__name__)
