"""torch.export: a module as one graph of its parameters, buffers and inputs, with what makes it callable."""

from .._absent import absent_names as _absent_names
from . import graph_signature as graph_signature
from .call_graph import ModuleCallEntry as ModuleCallEntry
from .call_graph import ModuleCallSignature as ModuleCallSignature
from .decompositions import CustomDecompTable as CustomDecompTable
from .decompositions import default_decompositions as default_decompositions
from .dims import Dim as Dim
from .dims import DimHint as _DimHint
from .dims import dims as dims
from .files import load as load
from .files import save as save
from .program import ExportedProgram as ExportedProgram
from .program import export as export
from .shape_collections import AdditionalInputs as AdditionalInputs
from .shape_collections import ShapesCollection as ShapesCollection
from .signature import ExportGraphSignature as ExportGraphSignature
from .unflattened import FlatArgsAdapter as FlatArgsAdapter
from .unflattened import UnflattenedModule as UnflattenedModule
from .unflattened import unflatten as unflatten

__all__ = """
    AdditionalInputs CustomDecompTable Dim ExportGraphSignature ExportedProgram FlatArgsAdapter ModuleCallEntry
    ModuleCallSignature ShapesCollection UnflattenedModule default_decompositions dims export export_for_training load
    register_dataclass save unflatten
""".split()


def register_dataclass(cls, *, serialized_type_name=None):
    """Instances of a dataclass may be arguments and results of exported modules. ValueError for other classes."""
    from ..utils._pytree import SUPPORTED_NODES
    from ..utils._pytree import register_dataclass as register

    if cls not in SUPPORTED_NODES:
        register(cls, serialized_type_name=serialized_type_name)


export_for_training = export
Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = _DimHint("AUTO"), _DimHint("DYNAMIC"), _DimHint("STATIC")

__getattr__ = _absent_names(__name__)
