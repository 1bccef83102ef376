"""torch.ao.quantization.quantize: models with their linear layers replaced by ones of 8-bit weights."""

import copy

from ... import _C
from ..._absent import absent_names as _absent_names
from ...nn import GRU, LSTM, GRUCell, Linear, LSTMCell, RNNCell
from ..nn.quantized import dynamic as _dynamic
from .qconfig import default_dynamic_qconfig

_REPLACED = {Linear: _dynamic.Linear}
_USUAL = (Linear, LSTM, GRU, LSTMCell, RNNCell, GRUCell)


def quantize_dynamic(model, qconfig_spec=None, dtype=_C.qint8, mapping=None, inplace=False):
    """The model (a copy unless `inplace`) with 8-bit weights in the layers that `qconfig_spec` names.

    `qconfig_spec`: a set of classes and names of submodules, or a dict of them to a QConfig; by default all layers that
    torch knows for it. The model itself stays what it is. There are linear layers here: NotImplementedError for
    recurrent ones, and for dtypes but qint8.
    """
    if dtype is not _C.qint8:
        raise NotImplementedError(f"quantize_dynamic: weights are torch.qint8 here, not {dtype}")
    spec = dict.fromkeys(_USUAL, default_dynamic_qconfig) if qconfig_spec is None else qconfig_spec
    if isinstance(spec, (set, frozenset, list, tuple)):
        spec = dict.fromkeys(spec, default_dynamic_qconfig)
    model = model if inplace else copy.deepcopy(model)
    model.eval()
    replaced = {**_REPLACED, **(mapping or {})}
    _replace(model, "", spec, replaced, spec.get("", spec.get(type(model))))
    return model


def _replace(module, prefix, spec, replaced, inherited):
    for name, child in list(module.named_children()):
        path = f"{prefix}.{name}" if prefix else name
        chosen = spec.get(path, spec.get(type(child), inherited))
        if type(child) in replaced and chosen:
            setattr(module, name, _replacement(child, chosen, replaced))
        elif type(child) in _USUAL and chosen:
            raise NotImplementedError(f"quantize_dynamic: there is no {type(child).__name__} of 8-bit weights here")
        else:
            _replace(child, path, spec, replaced, spec.get(path, inherited))


def _replacement(layer, qconfig, replaced):
    layer.qconfig = qconfig
    return replaced[type(layer)].from_float(layer)


__getattr__ = _absent_names(__name__)
