"""torch.nn.modules.lazy, a place where names of torch.nn are too: modules whose sizes are set by the first call."""

from ..._absent import absent_names as _absent_names
from ..lazy import LazyModuleMixin as LazyModuleMixin
from ..parameter import is_lazy as is_lazy

__getattr__ = _absent_names(__name__)
