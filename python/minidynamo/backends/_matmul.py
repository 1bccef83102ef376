"""How precise products may be, and in which order their sums go: what GPUs may do beside the defined order.

torch.set_float32_matmul_precision, backends.cuda.matmul and backends.mkldnn.matmul name the same thing. The CPU
computes in float32 and in the defined order whatever is set.
"""

from .. import _C
from . import _settings

_FP32 = {"highest": "ieee", "high": "tf32", "medium": "bf16"}
# What is set; "none" as `fp32_precision` until one of the spellings is used.
_level = "highest"
cuda_precision = "none"
generic_precision = "none"  # of torch.backends, for what has no precision of its own
fold_order = "defined"
convolutions = None  # whether the program allows or forbids tf32 for convolutions; None: it has said nothing
mkldnn_matmul = _settings.Precision("mkldnn", "matmul")


def _tell():
    """To the kernels: they ask at every product, so that compiled graphs follow too."""
    _C._set_product_freedom(fold_order == "any", allows_tf32(), convolutions is True)


def set_fold_order(value):
    """'defined' or 'any': whether products of float16 and bfloat16 on GPUs may be added in another order."""
    global fold_order
    _settings.one_of("defined", "any")(value, "fold_order")
    fold_order = value
    _tell()


def allow_convolutions(value):
    """Whether convolutions of float32 on GPUs may be computed in tf32; None: as if nothing had been said."""
    global convolutions
    convolutions = value
    _tell()


def set_generic_precision(value):
    """`torch.backends.fp32_precision`."""
    global generic_precision
    generic_precision = value
    _tell()


def set_float32_matmul_precision(precision):
    """Keeps 'highest', 'high' or 'medium': with the latter two GPUs may multiply in tf32; the CPU computes in float32.

    Another text warns and changes nothing; RuntimeError for what is no text.
    """
    global _level, cuda_precision
    if not isinstance(precision, str):
        raise RuntimeError(f"set_float32_matmul_precision: precision is a str, got {type(precision).__name__}")
    if precision not in _FP32:
        import warnings

        warnings.warn(f"{precision} is none of 'highest', 'high' and 'medium'; nothing was set", stacklevel=2)
        return
    _level = precision
    cuda_precision = "ieee" if precision == "highest" else "tf32"
    mkldnn_matmul.fp32_precision = _FP32[precision]
    _tell()


def get_float32_matmul_precision():
    """What was set, 'highest' at first."""
    return _level


def allows_tf32():
    """Whether products of float32 on GPUs may be computed in tf32."""
    return (generic_precision if cuda_precision == "none" else cuda_precision) == "tf32"


def set_cuda_precision(value):
    """`fp32_precision` of backends.cuda.matmul: 'none', 'ieee' or 'tf32'."""
    global _level, cuda_precision
    _settings.precision_of("cuda", lacks=("bf16",))(value, "fp32_precision")
    cuda_precision = value
    _level = "high" if value == "tf32" else "highest"
    _tell()
