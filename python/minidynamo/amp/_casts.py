"""Which ops change the dtypes of their operands under autocast: a region is a mode that calls are asked of.

In compiled code a region is a mode of the trace, made anew there; `autocast` and its settings are traced by what stands
at the end of autocast_mode.py.
"""

import functools
import threading

from .. import _C
from .._no_device import is_present
from ..overrides import TorchFunctionMode

# To the dtype of the region: products, and what is made of them.
_LOWER = """
mm matmul __matmul__ __rmatmul__ bmm baddbmm addmm addbmm linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d
conv_transpose3d prelu scaled_dot_product_attention chain_matmul tensordot matrix_power multi_dot vecdot spmm
"""
# To float32: losses, and what loses too much in narrow dtypes.
_WIDEN = """
avg_pool3d max_pool3d max_pool3d_with_indices adaptive_avg_pool3d adaptive_max_pool3d
adaptive_max_pool3d_with_indices max_unpool2d max_unpool3d grid_sample prod quantile nanquantile trace cdist
mse_loss l1_loss smooth_l1_loss huber_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div nll_loss
cross_entropy cosine_embedding_loss hinge_embedding_loss poisson_nll_loss margin_ranking_loss soft_margin_loss
triplet_margin_loss multi_margin_loss multilabel_margin_loss ctc_loss
inverse pinverse cholesky cholesky_inverse cholesky_solve lu_solve geqrf orgqr ormqr polar view_as_complex stft
eig eigh eigvals eigvalsh inv inv_ex cholesky_ex lstsq qr svd svdvals solve cond matrix_rank tensorinv tensorsolve
fft ifft fft2 ifft2 fftn ifftn rfft irfft rfft2 irfft2 rfftn irfftn hfft ihfft
"""
# The same on CUDA devices.
_LOWER_ON_CUDA = """
mm matmul __matmul__ __rmatmul__ bmm baddbmm addmm addmv addr addbmm mv linear conv1d conv2d conv3d conv_tbc
conv_transpose1d conv_transpose2d conv_transpose3d prelu scaled_dot_product_attention chain_matmul multi_dot vecdot
"""
_WIDEN_ON_CUDA = """
acos asin cosh erfinv exp expm1 log log10 log2 log1p reciprocal rsqrt sinh tan pow __pow__ __rpow__ softplus layer_norm
native_layer_norm group_norm rms_norm norm nuclear_norm frobenius_norm cosine_similarity poisson_nll_loss
cosine_embedding_loss nll_loss hinge_embedding_loss kl_div l1_loss smooth_l1_loss huber_loss mse_loss
margin_ranking_loss multilabel_margin_loss soft_margin_loss triplet_margin_loss multi_margin_loss
binary_cross_entropy_with_logits dist pdist cdist renorm logsumexp interpolate upsample
"""
_SUMS_ON_CUDA = "sum prod softmax log_softmax cumsum cumprod vector_norm matrix_norm"
_PROMOTED_ON_CUDA = "addcdiv addcmul atan2 bilinear cross dot vdot grid_sample index_put tensordot scatter_add"
_NARROW = (_C.float16, _C.bfloat16)


class _State(threading.local):
    """What autocast is set to in this thread."""

    def __init__(self):
        self.enabled = {}  # by kind of device
        self.dtypes = {}
        self.caches = True
        self.nesting = 0
        self.cache = {}
        self.regions = {}  # by kind of device, while it is on


state = _State()


def _fits(value, dtype, device):
    """Whether the value is to be converted to `dtype`: floats of that kind of device but float64."""
    if not isinstance(value, _C.Tensor) or not value.is_floating_point():
        return False
    return value.dtype != dtype and value.dtype != _C.float64 and value.device.type == device


def _kept(value, dtype):
    """value.to(dtype); of leaves that require grad one copy is kept in the region."""
    kept = state.caches and value.requires_grad and value.is_leaf and _C.is_grad_enabled()
    if not kept or value.is_sparse:
        return value.to(dtype)
    key = (id(value), dtype)
    if key not in state.cache:
        state.cache[key] = (value, value.to(dtype))
    return state.cache[key][1]


def _cast(values, dtype, narrow_only, keep, device):
    if isinstance(values, (list, tuple)) and not isinstance(values, _C.Size):
        made = [_cast(value, dtype, narrow_only, keep, device) for value in values]
        return made if isinstance(values, list) or type(values) is not tuple else tuple(made)
    if not _fits(values, dtype, device) or (narrow_only and values.dtype not in _NARROW):
        return values
    return keep(values, dtype)


def _converted(value, dtype):
    return value.to(dtype)


def _sums_up(args):
    """Whether an einsum is a product: contractions are, other sums are not. In the form with letters only."""
    if not isinstance(args[0], str) or len(args) < 3:
        return not isinstance(args[0], str)
    terms, _, result = args[0].replace(" ", "").partition("->")
    counted = [letter for letter in set(terms) if letter.isalpha() and sum(letter in t for t in terms.split(",")) > 1]
    result = result if "->" in args[0] else [letter for letter in terms if terms.count(letter) == 1]
    return any(letter not in result for letter in counted)


def _widens_padding(args, kwargs):
    pad = args[1] if len(args) > 1 else kwargs.get("pad", ())
    mode = args[2] if len(args) > 2 else kwargs.get("mode", "constant")
    return mode == "replicate" or (mode == "reflect" and len(pad) <= 4)


def _widest(values):
    """The dtype that floats of several dtypes have in common; None if they are of one."""
    dtypes = [a.dtype for a in values if isinstance(a, _C.Tensor) and a.is_floating_point()]
    return functools.reduce(_C.promote_types, dtypes) if len(set(dtypes)) > 1 else None


_KINDS = {name: "lower" for name in _LOWER.split()} | {name: "widen" for name in _WIDEN.split()}
_KINDS |= {name: name for name in ("einsum", "inner", "pad", "index_copy")}


_KINDS_ON_CUDA = {name: "lower" for name in _LOWER_ON_CUDA.split()}
_KINDS_ON_CUDA |= {name: "widen" for name in _WIDEN_ON_CUDA.split()} | {name: "sum" for name in _SUMS_ON_CUDA.split()}
_KINDS_ON_CUDA |= {name: "promote" for name in _PROMOTED_ON_CUDA.split()} | {"einsum": "lower", "inner": "inner"}
_KINDS_ON_CUDA["binary_cross_entropy"] = "refuse"


def kind_of(name, device):
    """What is done to the operands of a function of that name; None: nothing."""
    return (_KINDS_ON_CUDA if device == "cuda" else _KINDS).get(name)


_C._mark_callable(kind_of, "constant")


def _cast_of(kind, dtype, args, kwargs):
    """(dtype, whether narrow floats alone are converted) for a call; None if its operands stay as they are."""
    if kind == "lower":
        return dtype, False
    if kind == "widen":
        return _C.float32, True
    if kind == "sum":
        return (_C.float32, True) if kwargs.get("dtype") is None else None
    if kind == "einsum":
        return (dtype, False) if _sums_up(args) else None
    if kind == "inner":
        return (dtype, False) if any(isinstance(a, _C.Tensor) and a.dim() > 1 for a in args) else None
    if kind == "pad":
        return (_C.float32, True) if _widens_padding(args, kwargs) else None
    widest = _widest([*args, *kwargs.values()])
    return None if widest is None else (widest, False)


class Region(TorchFunctionMode):
    """Converts operands, and calls the function without looking at what it is made of."""

    def __init__(self, kind, enabled, dtype, keep):
        self.kind, self.enabled, self.dtype, self.keep = kind, enabled, dtype, keep
        self.covered = False  # by a region within
        self.outer = None  # which this one covers

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if not self.enabled or self.covered or self.kind not in ("cpu", "cuda"):
            return func(*args, **kwargs)
        kind = kind_of(func.__name__, self.kind)
        if kind is None:
            inner = _C._inside_of(func)
            if inner is None:
                return func(*args, **kwargs)
            with self:  # a function in Python: its parts are looked at
                return inner(*args, **kwargs)
        if kind == "refuse" and any(_fits(value, None, self.kind) for value in args):
            raise RuntimeError(_REFUSED)
        cast = _cast_of(kind, self.dtype, args, kwargs) if kwargs.get("out") is None else None
        if cast is None:
            return func(*args, **kwargs)
        args = [_cast(value, *cast, self.keep, self.kind) for value in args]
        kwargs = {name: _cast(value, *cast, self.keep, self.kind) for name, value in kwargs.items()}
        return func(*args, **kwargs)


_REFUSED = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast: take the losses "
    "with_logits, which include the sigmoid"
)
_C._set_region_type(Region)


def _take_off(region):
    """Takes a mode off the stack, wherever it stands."""
    above = []
    while (mode := _C._pop_torch_function_stack()) is not region:
        above.append(mode)
    for mode in reversed(above):
        _C._push_on_torch_function_stack(mode)


def _note():
    """Tells compiled code what it is called under."""
    word = 0
    for kind, factor in (("cpu", 1), ("cuda", 4)):
        region = state.regions.get(kind)
        if region is not None and region.dtype in _NARROW:
            word += factor * (1 + _NARROW.index(region.dtype))
    _C._set_autocast_word(word)


def enable(kind, enabled):
    """Switches autocast for a kind of device in this thread: the CPU, and CUDA devices where there are some."""
    state.enabled[kind] = enabled
    known = kind == "cpu" or (kind == "cuda" and is_present())
    if not known or enabled == (kind in state.regions):
        return
    if enabled:
        usual = _C.bfloat16 if kind == "cpu" else _C.float16
        state.regions[kind] = Region(kind, True, state.dtypes.get(kind, usual), _kept)
        _C._push_on_torch_function_stack(state.regions[kind])
    else:
        _take_off(state.regions.pop(kind))
    _note()


def set_dtype(kind, dtype):
    state.dtypes[kind] = dtype
    if kind in state.regions:
        state.regions[kind].dtype = dtype
        _note()
