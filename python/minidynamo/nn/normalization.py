"""Layers that bring values to a common scale: LayerNorm, RMSNorm, GroupNorm, BatchNorm."""

from .. import _C
from . import functional, init
from .module import Module
from .parameter import Parameter


def _shape_tuple(shape):
    return (shape,) if isinstance(shape, int) else tuple(shape)


class _Affine(Module):
    """A weight of ones and a bias of zeros, or None in their place."""

    def _add_affine(self, shape, weight, bias, device, dtype):
        for name, wanted in (("weight", weight), ("bias", bias)):
            made = Parameter(_C.empty(shape, device=device, dtype=dtype)) if wanted else None
            self.register_parameter(name, made)

    def reset_parameters(self):
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)


class LayerNorm(_Affine):
    """Mean 0 and variance 1 over the last dimensions, then weight and bias."""

    def __init__(self, normalized_shape, eps=1e-5, elementwise_affine=True, bias=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape_tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._add_affine(self.normalized_shape, elementwise_affine, elementwise_affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input):
        return functional.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class RMSNorm(Module):
    """Mean square 1 over the last dimensions, then the weight."""

    def __init__(self, normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None):
        super().__init__()
        self.normalized_shape = _shape_tuple(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        made = _C.empty(self.normalized_shape, device=device, dtype=dtype)
        self.register_parameter("weight", Parameter(made) if elementwise_affine else None)
        self.reset_parameters()

    def reset_parameters(self):
        if self.weight is not None:
            init.ones_(self.weight)

    def forward(self, input):
        return functional.rms_norm(input, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self):
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class GroupNorm(_Affine):
    """Mean 0 and variance 1 over each group of channels, then weight and bias per channel."""

    def __init__(self, num_groups, num_channels, eps=1e-5, affine=True, device=None, dtype=None, *, bias=True):
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        self._add_affine(num_channels, affine, affine and bias, device, dtype)
        self.reset_parameters()

    def forward(self, input):
        return functional.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self):
        return (
            f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, "
            f"bias={self.bias is not None}"
        )


class _BatchNorm(_Affine):
    _version = 2
    _ranks = ()
    _expected = ""

    def __init__(
        self,
        num_features,
        eps=1e-5,
        momentum=0.1,
        affine=True,
        track_running_stats=True,
        device=None,
        dtype=None,
        *,
        bias=True,
    ):
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        self._add_affine(num_features, affine, affine and bias, device, dtype)
        tracked = {
            "running_mean": _C.zeros(num_features, device=device, dtype=dtype),
            "running_var": _C.ones(num_features, device=device, dtype=dtype),
            "num_batches_tracked": _C.tensor(0, dtype=_C.int64, device=device),
        }
        for name, made in tracked.items():
            self.register_buffer(name, made if track_running_stats else None)
        self.reset_parameters()

    def reset_running_stats(self):
        if self.track_running_stats:
            self.running_mean.zero_()
            self.running_var.fill_(1)
            self.num_batches_tracked.zero_()

    def reset_parameters(self):
        self.reset_running_stats()
        super().reset_parameters()

    def forward(self, input):
        if input.dim() not in self._ranks:
            raise ValueError(f"expected {self._expected} input (got {input.dim()}D input)")
        factor = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean of all batches so far
                factor = 1.0 / self.num_batches_tracked.to(self.running_mean.dtype)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        tracking = not self.training or self.track_running_stats
        return functional.batch_norm(
            input,
            self.running_mean if tracking else None,
            self.running_var if tracking else None,
            self.weight,
            self.bias,
            use_batch,
            factor,
            self.eps,
        )

    def extra_repr(self):
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
    ):
        # Version 1 did not count batches.
        key = prefix + "num_batches_tracked"
        if (local_metadata.get("version") or 1) < 2 and self.track_running_stats and key not in state_dict:
            state_dict[key] = self.num_batches_tracked
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class BatchNorm1d(_BatchNorm):
    """Mean 0 and variance 1 per channel of (N, C) or (N, C, L); running values when not training."""

    _ranks = (2, 3)
    _expected = "2D or 3D"


class BatchNorm2d(_BatchNorm):
    """The same for (N, C, H, W)."""

    _ranks = (4,)
    _expected = "4D"
