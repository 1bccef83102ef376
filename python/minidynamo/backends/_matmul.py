"""How precise float32 products of matrices may be, a setting with three spellings. Here they are computed in float32.

torch.set_float32_matmul_precision, backends.cuda.matmul and backends.mkldnn.matmul name the same thing.
"""

from . import _settings

_FP32 = {"highest": "ieee", "high": "tf32", "medium": "bf16"}
# What is set; "none" as `fp32_precision` until one of the spellings is used.
_level = "highest"
cuda_precision = "none"
mkldnn_matmul = _settings.Precision("mkldnn", "matmul")


def set_float32_matmul_precision(precision):
    """Keeps 'highest', 'high' or 'medium'; products are computed in float32 whichever it is.

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


def get_float32_matmul_precision():
    """What was set, 'highest' at first."""
    return _level


def allows_tf32():
    """Whether tf32 products were allowed."""
    return _level != "highest"


def set_cuda_precision(value):
    """`fp32_precision` of backends.cuda.matmul: 'none', 'ieee' or 'tf32'."""
    global _level, cuda_precision
    _settings.precision_of("cuda", lacks=("bf16",))(value, "fp32_precision")
    cuda_precision = value
    _level = "high" if value == "tf32" else "highest"
