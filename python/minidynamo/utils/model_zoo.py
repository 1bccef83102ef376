"""torch.utils.model_zoo: the older place of torch.hub.load_state_dict_from_url."""

from .._absent import absent_names as _absent_names
from ..hub import load_state_dict_from_url as load_url

__all__ = ["load_url"]
__getattr__ = _absent_names(__name__)
