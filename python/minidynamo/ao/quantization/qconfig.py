"""torch.ao.quantization.qconfig: pairs of what watches activations and what watches weights."""

from collections import namedtuple

from ... import _C
from ..._absent import absent_names as _absent_names
from ...nn import Identity, Module
from . import fake_quantize as _fake
from . import observer as _observers


class QConfig(namedtuple("QConfig", ["activation", "weight"])):
    """Makers of an observer (or of what rounds) for activations and for weights."""

    __slots__ = ()

    def __new__(cls, activation, weight):
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use "
                "MyObserver.with_args(x=1) to override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(_observers.default_observer, _observers.default_weight_observer)
default_debug_qconfig = QConfig(weight=_observers.default_weight_observer, activation=_observers.RecordingObserver)
default_per_channel_qconfig = QConfig(_observers.default_observer, _observers.default_per_channel_weight_observer)
default_dynamic_qconfig = QConfig(_observers.default_dynamic_quant_observer, _observers.default_weight_observer)
per_channel_dynamic_qconfig = QConfig(
    _observers.default_dynamic_quant_observer, _observers.default_per_channel_weight_observer
)
float16_static_qconfig = QConfig(*[_observers.PlaceholderObserver.with_args(dtype=_C.float16)] * 2)
default_qat_qconfig = QConfig(_fake.default_fake_quant, _fake.default_weight_fake_quant)
default_dynamic_qat_qconfig = QConfig(_fake.default_dynamic_fake_quant, _fake.default_weight_fake_quant)
default_weight_only_qconfig = QConfig(Identity, _fake.default_weight_fake_quant)
default_activation_only_qconfig = QConfig(_fake.default_fake_quant, Identity)

__getattr__ = _absent_names(__name__)
