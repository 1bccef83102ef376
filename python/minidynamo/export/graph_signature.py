"""torch.export.graph_signature: what the inputs and outputs of an exported graph are."""

from .._absent import absent_names as _absent_names
from .signature import ExportGraphSignature as ExportGraphSignature
from .signature import InputKind as InputKind
from .signature import OutputKind as OutputKind

__getattr__ = _absent_names(__name__)
