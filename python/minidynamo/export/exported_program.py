"""torch.export.exported_program: what export() gives."""

from .._absent import absent_names as _absent_names
from .call_graph import ModuleCallEntry as ModuleCallEntry
from .call_graph import ModuleCallSignature as ModuleCallSignature
from .decompositions import default_decompositions as default_decompositions
from .program import ExportedProgram as ExportedProgram

__getattr__ = _absent_names(__name__)
