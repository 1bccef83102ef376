"""torch.autograd.variable: the old name of tensors, by the path older programs import it from."""

from .._absent import absent_names as _absent_names
from .function import Variable as Variable

__getattr__ = _absent_names(__name__)
