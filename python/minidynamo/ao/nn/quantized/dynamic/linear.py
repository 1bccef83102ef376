"""A linear layer of 8-bit weights: inputs are rounded to 7 bits by their own range, results are float32."""

from ..... import _C
from .....nn import Module
from .....nn import functional as F
from .....quantized_tensors import chosen_steps, quantize_per_channel, quantize_per_tensor


class Linear(Module):
    """What torch.ao.quantization.quantize_dynamic() puts in the place of nn.Linear."""

    def __init__(self, in_features, out_features, bias_=True, dtype=_C.qint8):
        super().__init__()
        if dtype is not _C.qint8:
            raise RuntimeError(f"Unsupported dtype specified for dynamic quantized Linear: {dtype}")
        self.in_features, self.out_features, self.dtype = in_features, out_features, dtype
        bias = _C.zeros(out_features) if bias_ else None
        self.set_weight_bias(quantize_per_tensor(_C.zeros(out_features, in_features), 1.0, 0, dtype), bias)

    def set_weight_bias(self, w, b):
        """Takes a quantised weight and a bias, or None."""
        self._weight, self._bias = w, b
        self._numbers = w.dequantize()

    def weight(self):
        """The weight, quantised."""
        return self._weight

    def bias(self):
        """The bias, or None."""
        return self._bias

    def forward(self, x):
        if x.numel() == 0:
            return F.linear(x, self._numbers, self._bias)
        scale, zero_point = chosen_steps(x, 0, 127)
        inverse = _C.tensor(1.0 / scale, dtype=_C.float32).item()
        places = _C.round(x * inverse + zero_point).clamp(0, 127)
        return F.linear((places - zero_point) * scale, self._numbers, self._bias)

    @classmethod
    def from_float(cls, mod, use_precomputed_fake_quant=False):
        """One with the weights of an nn.Linear, rounded as the observer of `mod.qconfig` says."""
        from ....quantization import default_dynamic_qconfig

        qconfig = getattr(mod, "qconfig", None) or default_dynamic_qconfig
        observer = qconfig.weight()
        observer(mod.weight)
        if observer.dtype is not _C.qint8:
            raise RuntimeError(f"Unsupported dtype specified for dynamic quantized Linear: {observer.dtype}")
        made = cls(mod.in_features, mod.out_features, mod.bias is not None, observer.dtype)
        bias = None if mod.bias is None else mod.bias.detach().clone()
        made.set_weight_bias(quantised_weight(mod.weight.detach().float(), observer), bias)
        return made.train(mod.training)

    def _get_name(self):
        return "DynamicQuantizedLinear"

    def extra_repr(self):
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self.dtype}"
        return f"{text}, qscheme={self._weight.qscheme()}"

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "_packed_params.dtype"] = self.dtype
        destination[prefix + "_packed_params._packed_params"] = (self._weight, self._bias)

    def _load_from_state_dict(self, state_dict, prefix, metadata, strict, missing_keys, unexpected_keys, error_msgs):
        self.dtype = state_dict.pop(prefix + "_packed_params.dtype", self.dtype)
        packed = state_dict.pop(prefix + "_packed_params._packed_params", None)
        if packed is None:
            missing_keys.append(prefix + "_packed_params._packed_params")
        else:
            self.set_weight_bias(*packed)
        super()._load_from_state_dict(state_dict, prefix, metadata, False, missing_keys, unexpected_keys, error_msgs)


def quantised_weight(weight, observer):
    """The weight as what an observer of it says."""
    scale, zero_point = observer.calculate_qparams()
    if scale.numel() > 1 or "channel" in str(observer.qscheme):
        return quantize_per_channel(weight, scale.double(), zero_point.long(), observer.ch_axis, observer.dtype)
    return quantize_per_tensor(weight, float(scale), int(zero_point), observer.dtype)
