"""torch.nn.modules.fold, a place where names of torch.nn are too: windows as columns, and back."""

from ..._absent import absent_names as _absent_names
from ..module import Module as Module
from ..rearranging import Fold as Fold
from ..rearranging import Unfold as Unfold

__getattr__ = _absent_names(__name__)
