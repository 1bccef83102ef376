"""torch.ao.quantization.observer: modules that watch values go by and say how to round them.

A scale and a zero point: a number x is the integer round(x / scale) + zero_point, held in quant_min..quant_max.
"""

import functools

from ... import _C
from ..._absent import absent_names as _absent_names
from ..._limits import finfo
from ...nn import Module
from ...quantized_tensors import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
)

_PER_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)
_EPS = finfo(_C.float32).eps
_SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)
# By dtype: its range, and the one with a bit to spare.
_RANGES = {
    _C.qint8: ((-128, 127), (-64, 63)),
    _C.int8: ((-128, 127), (-64, 63)),
    _C.quint8: ((0, 255), (0, 127)),
    _C.uint8: ((0, 255), (0, 127)),
    _C.qint32: ((-(2**31), 2**31 - 1), (-(2**31), 2**31 - 1)),
    _C.int32: ((-(2**31), 2**31 - 1), (-(2**31), 2**31 - 1)),
    _C.int16: ((-(2**15), 2**15 - 1), (-(2**15), 2**15 - 1)),
    _C.uint16: ((0, 2**16 - 1), (0, 2**16 - 1)),
}


class _Maker:
    """A constructor with some of its arguments; `with_args` adds more."""

    def __init__(self, made):
        self.p, self.callable_args = made, {}

    def __call__(self, *args, **kwargs):
        extra = {name: make() for name, make in self.callable_args.items() if name not in kwargs}
        return self.p(*args, **extra, **kwargs)

    def __repr__(self):
        return repr(self.p) + repr(self.callable_args)

    def with_args(self, **kwargs):
        """The same with these arguments, too."""
        return _Maker(functools.partial(self, **kwargs))

    def with_callable_args(self, **kwargs):
        """The same with arguments that functions give each time."""
        made = _Maker(self.p)
        made.callable_args = {**self.callable_args, **kwargs}
        return made


class ObserverBase(Module):
    """Base of all observers: forward() watches, calculate_qparams() answers."""

    def __init__(self, dtype, is_dynamic=False):
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def forward(self, x):
        raise NotImplementedError(f"{type(self).__name__} has no forward()")

    def calculate_qparams(self, **kwargs):
        """(scale, zero point)."""
        raise NotImplementedError(f"{type(self).__name__} has no calculate_qparams()")

    @classmethod
    def with_args(cls, **kwargs):
        """A maker of such observers with these arguments."""
        return _Maker(functools.partial(cls, **kwargs))

    @classmethod
    def with_callable_args(cls, **kwargs):
        """A maker of such observers with arguments that functions give each time."""
        return _Maker(cls).with_callable_args(**kwargs)


class UniformQuantizationObserverBase(ObserverBase):
    """Of steps of one size: the answer from a least and a largest value."""

    def __init__(
        self,
        dtype=_C.quint8,
        qscheme=per_tensor_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        factory_kwargs=None,
        eps=_EPS,
        is_dynamic=False,
        **kwargs,
    ):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.qscheme, self.reduce_range = qscheme, reduce_range
        self.register_buffer("eps", _C.tensor([eps], **(factory_kwargs or {})))
        if dtype not in _RANGES:
            raise AssertionError(f"Default Observer only works for integer dtypes, not {dtype}")
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            if quant_min > 0 or quant_max < 0:
                raise AssertionError("Used-specified quantization range must include 0.")
            if quant_min >= quant_max:
                raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")
        self.quant_min, self.quant_max = self._range(quant_min, quant_max)

    def _range(self, least, largest):
        if not self.has_customized_qrange:
            return _RANGES[self.dtype][bool(self.reduce_range)]
        if self.reduce_range and self.dtype in (_C.qint8, _C.quint8, _C.int8, _C.uint8):
            return least // 2, largest // 2
        return least, largest

    def _calculate_qparams(self, min_val, max_val):
        if not _seen(min_val, max_val):
            return _C.tensor([1.0]), _C.tensor([0])
        least, largest = self.quant_min, self.quant_max
        low, high = min_val.clamp(max=0.0), max_val.clamp(min=0.0)
        if self.qscheme in _SYMMETRIC:
            scale = _C.maximum(_C.maximum(-low, high) / (float(largest - least) / 2), self.eps)
            middle = 0
            if self.dtype in (_C.quint8, _C.uint8):
                middle = (least + largest) // 2 if self.has_customized_qrange else 128
            elif self.dtype is _C.uint16:
                middle = 2**15
            zero_point = _C.full(low.shape, middle, dtype=_C.int64)
        elif self.qscheme is per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(largest - least)
            scale = _C.where(scale > self.eps, scale, _C.ones_like(scale))
            zero_point = -1 * min_val / scale
        else:
            scale = _C.maximum((high - low) / float(largest - least), self.eps)
            zero_point = (least - _C.round(low / scale).to(_C.int32)).clamp(least, largest)
        return scale.reshape(-1), zero_point.reshape(-1)


def _seen(min_val, max_val):
    """Whether there were values; AssertionError for a least above the largest."""
    import warnings

    if min_val.numel() == 0 or max_val.numel() == 0 or bool(((min_val == _inf) & (max_val == -_inf)).any()):
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=4)
        return False
    if bool((min_val > max_val).any()):
        raise AssertionError(f"min {min_val} should be less than max {max_val}")
    return True


_inf = float("inf")


class MinMaxObserver(UniformQuantizationObserverBase):
    """The least and the largest value of all that went by."""

    def __init__(
        self,
        dtype=_C.quint8,
        qscheme=per_tensor_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        factory_kwargs=None,
        eps=_EPS,
        is_dynamic=False,
        **kwargs,
    ):
        if qscheme in _PER_CHANNEL:
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric and torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", _C.tensor(_inf, **(factory_kwargs or {})))
        self.register_buffer("max_val", _C.tensor(-_inf, **(factory_kwargs or {})))
        if qscheme is per_tensor_symmetric and reduce_range and dtype is _C.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        low, high = _C.aminmax(x_orig.detach().to(self.min_val.dtype))
        self._take(low, high)
        return x_orig

    def _take(self, low, high):
        self.min_val.copy_(_C.minimum(low, self.min_val))
        self.max_val.copy_(_C.maximum(high, self.max_val))

    def calculate_qparams(self):
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self):
        """Forgets what it saw."""
        self.min_val.copy_(_C.tensor(_inf))
        self.max_val.copy_(_C.tensor(-_inf))


class _MovingAverage:
    """The least and largest of each call, averaged with the weight `averaging_constant`."""

    def _averaged(self, low, high):
        first = (self.min_val == _inf) & (self.max_val == -_inf)
        self.min_val.copy_(_C.where(first, low, self.min_val + self.averaging_constant * (low - self.min_val)))
        self.max_val.copy_(_C.where(first, high, self.max_val + self.averaging_constant * (high - self.max_val)))


class MovingAverageMinMaxObserver(_MovingAverage, MinMaxObserver):
    """Moving averages of the least and the largest value of each call."""

    def __init__(
        self,
        averaging_constant=0.01,
        dtype=_C.quint8,
        qscheme=per_tensor_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        eps=_EPS,
        is_dynamic=False,
        **kwargs,
    ):
        if qscheme in _PER_CHANNEL:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver's qscheme only support torch.per_tensor_symmetric and "
                f"torch.per_tensor_affine. but got: {qscheme}"
            )
        super().__init__(
            dtype=dtype,
            qscheme=qscheme,
            reduce_range=reduce_range,
            quant_min=quant_min,
            quant_max=quant_max,
            eps=eps,
            is_dynamic=is_dynamic,
            **kwargs,
        )
        self.averaging_constant = averaging_constant
        if is_dynamic and averaging_constant != 1:
            raise NotImplementedError(
                "MovingAverageMinMaxObserver doesn't support dynamic quantization for averaging constant of "
                f"{averaging_constant}"
            )

    def _take(self, low, high):
        self._averaged(low, high)


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """The least and the largest value of each slice of dimension `ch_axis`."""

    def __init__(
        self,
        ch_axis=0,
        dtype=_C.quint8,
        qscheme=per_channel_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        factory_kwargs=None,
        eps=_EPS,
        is_dynamic=False,
        **kwargs,
    ):
        if qscheme not in _PER_CHANNEL:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support torch.per_channel_symmetric, torch.per_channel_affine "
                "and torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", _C.tensor([], **(factory_kwargs or {})))
        self.register_buffer("max_val", _C.tensor([], **(factory_kwargs or {})))
        if qscheme is per_channel_symmetric and reduce_range and dtype is _C.quint8:
            raise NotImplementedError("Cannot reduce range for symmetric quantization for quint8")

    def forward(self, x_orig):
        if x_orig.numel() == 0:
            return x_orig
        rows = x_orig.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)
        low, high = _C.aminmax(rows, dim=1)
        if self.min_val.numel() == 0:
            self.min_val.resize_(low.shape).copy_(low)
            self.max_val.resize_(high.shape).copy_(high)
        else:
            self._take(low, high)
        return x_orig

    def _take(self, low, high):
        self.min_val.copy_(_C.minimum(low, self.min_val))
        self.max_val.copy_(_C.maximum(high, self.max_val))

    def calculate_qparams(self):
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self):
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for name in ("min_val", "max_val"):
            if (held := state_dict.get(prefix + name)) is not None:
                getattr(self, name).resize_(held.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def reset_min_max_vals(self):
        """Forgets what it saw."""
        self.min_val, self.max_val = _C.rand(0), _C.rand(0)


class MovingAveragePerChannelMinMaxObserver(_MovingAverage, PerChannelMinMaxObserver):
    """Moving averages of the least and the largest value of each slice."""

    def __init__(
        self,
        averaging_constant=0.01,
        ch_axis=0,
        dtype=_C.quint8,
        qscheme=per_channel_affine,
        reduce_range=False,
        quant_min=None,
        quant_max=None,
        eps=_EPS,
        is_dynamic=False,
        **kwargs,
    ):
        if is_dynamic:
            raise NotImplementedError("MovingAveragePerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(
            ch_axis=ch_axis,
            dtype=dtype,
            qscheme=qscheme,
            reduce_range=reduce_range,
            quant_min=quant_min,
            quant_max=quant_max,
            eps=eps,
            is_dynamic=is_dynamic,
            **kwargs,
        )
        self.averaging_constant = averaging_constant

    def _take(self, low, high):
        self._averaged(low, high)


class FixedQParamsObserver(ObserverBase):
    """A scale and a zero point that are known beforehand."""

    def __init__(self, scale, zero_point, dtype=_C.quint8, quant_min=0, quant_max=255, is_dynamic=False, **kwargs):
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype=dtype, is_dynamic=is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", _C.tensor([scale], dtype=_C.float))
        self.register_buffer("zero_point", _C.tensor([zero_point], dtype=_C.int))
        self.qscheme = per_tensor_affine

    def forward(self, X):  # noqa: N803  torch's name
        return X

    def calculate_qparams(self):
        return self.scale, self.zero_point


class PlaceholderObserver(ObserverBase):
    """Watches nothing: a dtype for what needs no scale, or gets one when it runs."""

    def __init__(
        self,
        dtype=_C.float32,
        custom_op_name="",
        compute_dtype=None,
        quant_min=None,
        quant_max=None,
        qscheme=None,
        eps=None,
        is_dynamic=False,
    ):
        super().__init__(dtype=dtype, is_dynamic=is_dynamic)
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.quant_min, self.quant_max, self.eps = quant_min, quant_max, eps
        self.custom_op = custom_op_name

    def forward(self, x):
        return x

    def extra_repr(self):
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self):
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")  # noqa: TRY002  as torch's


class RecordingObserver(ObserverBase):
    """Keeps copies of all that went by."""

    def __init__(self, dtype=_C.quint8):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.tensor_val = []

    def forward(self, x):
        self.tensor_val.append(x.clone())
        return x

    def calculate_qparams(self):
        raise Exception("calculate_qparams should not be called for RecordingObserver")  # noqa: TRY002  as torch's

    def get_tensor_value(self):
        """The copies."""
        return self.tensor_val


class NoopObserver(ObserverBase):
    """Watches nothing."""

    def __init__(self, dtype=_C.float16, custom_op_name=""):
        super().__init__(dtype=dtype, is_dynamic=False)
        self.dtype, self.custom_op = dtype, custom_op_name

    def forward(self, x):
        return x

    def calculate_qparams(self):
        raise Exception("calculate_qparams should not be called for NoopObserver")  # noqa: TRY002  as torch's


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=_C.qint8, qscheme=per_tensor_symmetric)
_WITHOUT_LEAST = dict(dtype=_C.qint8, quant_min=-127, quant_max=127, eps=2**-12)
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(qscheme=per_tensor_symmetric, **_WITHOUT_LEAST)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(dtype=_C.qint8, qscheme=per_channel_symmetric)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    qscheme=per_channel_symmetric, **_WITHOUT_LEAST
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=_C.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=_C.quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=_C.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=_C.quint8, quant_min=0, quant_max=255
)

__getattr__ = _absent_names(__name__)
