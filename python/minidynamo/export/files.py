"""Exported programs in files."""

from .program import ExportedProgram


def save(ep, f, *, extra_files=None, opset_version=None, pickle_protocol=2):
    """Writes an exported program: its module, arguments and shapes, from which load() exports it again."""
    from .. import serialization

    if not isinstance(ep, ExportedProgram):
        raise TypeError(f"The 'ep' parameter must be an instance of 'ExportedProgram', got '{type(ep).__name__}'")
    serialization.save({"exported": ep._recipe, "files": dict(extra_files or {})}, f)


def load(f, *, extra_files=None, expected_opset_version=None):
    """An exported program that save() has written. The file may run code: it is as trusted as a pickle."""
    from .. import serialization
    from .program import export

    content = serialization.load(f, weights_only=False)
    if extra_files is not None:
        extra_files.update(content["files"])
    module, args, kwargs, shapes = content["exported"]
    return export(module, args, kwargs, dynamic_shapes=shapes)
