"""torch.export: a module as one graph of its parameters, buffers and inputs, with what makes it callable."""

from .._absent import absent_names as _absent_names
from . import graph_signature as graph_signature
from .dims import Dim as Dim
from .dims import DimHint as _DimHint
from .dims import dims as dims
from .files import load as load
from .files import save as save
from .program import ExportedProgram as ExportedProgram
from .program import export as export
from .signature import ExportGraphSignature as ExportGraphSignature

__all__ = "Dim ExportGraphSignature ExportedProgram dims export export_for_training load save".split()
export_for_training = export
Dim.AUTO, Dim.DYNAMIC, Dim.STATIC = _DimHint("AUTO"), _DimHint("DYNAMIC"), _DimHint("STATIC")

__getattr__ = _absent_names(__name__)
