"""torch.utils.hooks: what registering a hook gives back."""

from .._absent import absent_names as _absent_names
from ..nn.hooks import RemovableHandle as RemovableHandle

__getattr__ = _absent_names(__name__)
