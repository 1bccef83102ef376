"""torch.nn.modules.linear, a place where names of torch.nn are too: products with weights."""

from ..._absent import absent_names as _absent_names
from ..lazy import LazyLinear as LazyLinear
from ..lazy import LazyModuleMixin as LazyModuleMixin
from ..linear import *  # noqa: F403
from ..module import Module as Module
from ..parameter import Parameter as Parameter
from ..parameter import UninitializedParameter as UninitializedParameter

__getattr__ = _absent_names(__name__)
