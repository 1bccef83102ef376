"""torch.ao.quantization: observers, rounding in training, and models with 8-bit weights in their linear layers."""

from ..._absent import absent_names as _absent_names
from ..._absent import on_demand as _on_demand

_FILES = {
    "observer": """
        FixedQParamsObserver MinMaxObserver MovingAverageMinMaxObserver MovingAveragePerChannelMinMaxObserver
        NoopObserver ObserverBase PerChannelMinMaxObserver PlaceholderObserver RecordingObserver
        UniformQuantizationObserverBase default_debug_observer default_dynamic_quant_observer
        default_fixed_qparams_range_0to1_observer default_fixed_qparams_range_neg1to1_observer
        default_float_qparams_observer default_observer default_per_channel_weight_observer
        default_placeholder_observer default_weight_observer per_channel_weight_observer_range_neg_127_to_127
        weight_observer_range_neg_127_to_127
    """,
    "fake_quantize": """
        FakeQuantize FakeQuantizeBase FixedQParamsFakeQuantize default_dynamic_fake_quant default_fake_quant
        default_fixed_qparams_range_0to1_fake_quant default_fixed_qparams_range_neg1to1_fake_quant
        default_per_channel_weight_fake_quant default_weight_fake_quant disable_fake_quant disable_observer
        enable_fake_quant enable_observer
    """,
    "qconfig": """
        QConfig default_activation_only_qconfig default_debug_qconfig default_dynamic_qat_qconfig
        default_dynamic_qconfig default_per_channel_qconfig default_qat_qconfig default_qconfig
        default_weight_only_qconfig float16_static_qconfig per_channel_dynamic_qconfig
    """,
    "quantize": "quantize_dynamic",
}
_HOMES = {name: file for file, names in _FILES.items() for name in names.split()}
__all__ = sorted(_HOMES)  # noqa: PLE0605  loaded when they are asked for
__getattr__ = _absent_names(__name__, _on_demand(__name__, _HOMES))


def __dir__():
    return sorted({*globals(), *_HOMES})
