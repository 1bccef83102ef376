"""torch.export.dynamic_shapes: how sizes of exported programs may vary."""

from .._absent import absent_names as _absent_names
from .dims import Dim as Dim
from .dims import dims as dims
from .shape_collections import AdditionalInputs as AdditionalInputs
from .shape_collections import ShapesCollection as ShapesCollection

__getattr__ = _absent_names(__name__)
