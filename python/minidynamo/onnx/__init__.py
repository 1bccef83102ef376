"""torch.onnx: names that programs import. ONNX files are not written here, and export() says so."""

import enum

from .._absent import absent_names as _absent_names


class OnnxExporterError(RuntimeError):
    """What torch raises where an export fails."""


class TrainingMode(enum.Enum):
    """How a model would be exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """Which operators an exported model might have."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


def is_in_onnx_export():
    """False: nothing is ever exported."""
    return False


def export(
    model,
    args=(),
    f=None,
    *,
    kwargs=None,
    verbose=None,
    input_names=None,
    output_names=None,
    opset_version=None,
    dynamo=True,
    external_data=True,
    dynamic_shapes=None,
    custom_translation_table=None,
    report=False,
    optimize=True,
    verify=False,
    profile=False,
    dump_exported_program=False,
    artifacts_dir=".",
    export_params=True,
    keep_initializers_as_inputs=False,
    dynamic_axes=None,
    training=TrainingMode.EVAL,
    operator_export_type=OperatorExportTypes.ONNX,
    do_constant_folding=True,
    custom_opsets=None,
    export_modules_as_functions=False,
    autograd_inlining=True,
):
    """NotImplementedError: minidynamo has no writer of ONNX files."""
    raise NotImplementedError(
        "torch.onnx.export: minidynamo writes no ONNX files; to export, give the parameters, as NumPy arrays, to the "
        "same model in torch"
    )


__getattr__ = _absent_names(__name__)
