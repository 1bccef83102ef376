"""torch.ao.quantization.fake_quantize: modules that round values as quantising would, while a model trains."""

from ... import _C
from ..._absent import absent_names as _absent_names
from ...fake_quantization import fake_quantize_per_channel_affine, fake_quantize_per_tensor_affine
from ...nn import Module
from ...quantized_tensors import (
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
)
from .observer import (
    _PER_CHANNEL,
    FixedQParamsObserver,
    MovingAverageMinMaxObserver,
    MovingAveragePerChannelMinMaxObserver,
    ObserverBase,
    default_fixed_qparams_range_0to1_observer,
    default_fixed_qparams_range_neg1to1_observer,
)


class FakeQuantizeBase(Module):
    """Base of them: two switches, for watching and for rounding."""

    def __init__(self):
        super().__init__()
        self.register_buffer("fake_quant_enabled", _C.tensor([1], dtype=_C.uint8))
        self.register_buffer("observer_enabled", _C.tensor([1], dtype=_C.uint8))

    def enable_fake_quant(self, enabled=True):
        """Rounds from now on, or no longer."""
        self.fake_quant_enabled[0] = 1 if enabled else 0

    def disable_fake_quant(self):
        """Rounds no longer."""
        self.enable_fake_quant(False)

    def enable_observer(self, enabled=True):
        """Watches from now on, or no longer."""
        self.observer_enabled[0] = 1 if enabled else 0

    def disable_observer(self):
        """Watches no longer."""
        self.enable_observer(False)

    with_args = classmethod(ObserverBase.with_args.__func__)


class FakeQuantize(FakeQuantizeBase):
    """Rounds to the steps that an observer asks for; gradients pass where values were in range."""

    def __init__(
        self, observer=MovingAverageMinMaxObserver, quant_min=None, quant_max=None, is_dynamic=False, **observer_kwargs
    ):
        super().__init__()
        if quant_min is not None and quant_max is not None:
            if quant_min > quant_max:
                raise AssertionError("quant_min must be less than or equal to quant_max")
            observer_kwargs |= {"quant_min": quant_min, "quant_max": quant_max}
        observer_kwargs["is_dynamic"] = is_dynamic
        self.activation_post_process = watching = observer(**observer_kwargs)
        self.quant_min, self.quant_max = watching.quant_min, watching.quant_max
        self.is_dynamic, self.dtype, self.qscheme = is_dynamic, watching.dtype, watching.qscheme
        exact = _C.float if self.qscheme is per_channel_affine_float_qparams else _C.int
        self.register_buffer("scale", _C.tensor([1.0], dtype=_C.float))
        self.register_buffer("zero_point", _C.tensor([0], dtype=exact))
        self.ch_axis = getattr(watching, "ch_axis", -1)
        self.is_per_channel = self.qscheme in _PER_CHANNEL

    def calculate_qparams(self):
        """(scale, zero point) of what was seen."""
        return self.activation_post_process.calculate_qparams()

    def forward(self, X):  # noqa: N803  torch's name
        if self.observer_enabled[0] == 1:
            self.activation_post_process(X.detach())
            for mine, found in zip((self.scale, self.zero_point), self.calculate_qparams()):
                if mine.shape != found.shape:
                    mine.resize_(found.shape)
                mine.copy_(found)
        if self.fake_quant_enabled[0] == 1:
            if self.is_per_channel:
                return fake_quantize_per_channel_affine(
                    X, self.scale, self.zero_point, self.ch_axis, self.quant_min, self.quant_max
                )
            return fake_quantize_per_tensor_affine(X, self.scale, self.zero_point, self.quant_min, self.quant_max)
        return X

    def extra_repr(self):
        return (
            f"fake_quant_enabled={self.fake_quant_enabled}, observer_enabled={self.observer_enabled}, "
            f"quant_min={self.quant_min}, quant_max={self.quant_max}, dtype={self.dtype}, qscheme={self.qscheme}, "
            f"ch_axis={self.ch_axis}, scale={self.scale}, zero_point={self.zero_point}"
        )

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        for name in ("scale", "zero_point"):
            if (held := state_dict.get(prefix + name)) is not None:
                getattr(self, name).resize_(held.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)


class FixedQParamsFakeQuantize(FakeQuantize):
    """Rounds to steps that are known beforehand."""

    def __init__(self, observer):
        super().__init__(observer=observer)
        if type(self.activation_post_process) is not FixedQParamsObserver:
            raise AssertionError("FixedQParamsFakeQuantize takes a FixedQParamsObserver")
        self.scale = self.activation_post_process.scale
        self.zero_point = self.activation_post_process.zero_point

    def calculate_qparams(self):
        return self.scale, self.zero_point


_ACTIVATIONS = dict(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255)
_WEIGHTS = dict(quant_min=-128, quant_max=127, dtype=_C.qint8, reduce_range=False)
default_fake_quant = FakeQuantize.with_args(
    **_ACTIVATIONS, dtype=_C.quint8, qscheme=per_tensor_affine, reduce_range=True
)
default_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver, qscheme=per_tensor_symmetric, **_WEIGHTS
)
default_dynamic_fake_quant = FakeQuantize.with_args(
    **_ACTIVATIONS, is_dynamic=True, dtype=_C.quint8, averaging_constant=1
)
default_per_channel_weight_fake_quant = FakeQuantize.with_args(
    observer=MovingAveragePerChannelMinMaxObserver, qscheme=per_channel_symmetric, ch_axis=0, **_WEIGHTS
)
default_fixed_qparams_range_neg1to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_neg1to1_observer
)
default_fixed_qparams_range_0to1_fake_quant = FixedQParamsFakeQuantize.with_args(
    observer=default_fixed_qparams_range_0to1_observer
)


def _each(name):
    def apply(mod):
        if isinstance(mod, FakeQuantizeBase):
            getattr(mod, name)()

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = f"{name}() of a module that rounds, for `model.apply({name})`."
    return apply


disable_fake_quant, enable_fake_quant = _each("disable_fake_quant"), _each("enable_fake_quant")
disable_observer, enable_observer = _each("disable_observer"), _each("enable_observer")

__getattr__ = _absent_names(__name__)
