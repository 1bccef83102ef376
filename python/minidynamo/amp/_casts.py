"""Which ops change the dtypes of their operands under autocast on the CPU, and how calls of them are reached.

While autocast is on in some thread these functions and methods are replaced, where programs find them, by ones that
cast first; with the end of the last such region they are back. A function that a program has kept under a name of its
own before, as `from torch import bmm` does, is not reached.
"""

import functools
import importlib
import threading

from .. import _C

_ROOT = __package__.rpartition(".")[0]
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
_NARROW = (_C.float16, _C.bfloat16)
_lock = threading.Lock()


class _State(threading.local):
    """What autocast is set to in this thread."""

    def __init__(self):
        self.enabled = {}  # by kind of device
        self.dtypes = {}
        self.caches = True
        self.nesting = 0
        self.inside = False  # an op that has cast is running: those it is made of do not cast
        self.cache = {}
        self.disabled = None  # what keeps compiled code from running


state = _State()


def lowered(value):
    """Floats but float64 in the dtype of the region. Of leaves that require grad one copy is kept in the region."""
    dtype = state.dtypes.get("cpu", _C.bfloat16)
    if not isinstance(value, _C.Tensor) or not value.is_floating_point():
        return value
    if value.dtype in (dtype, _C.float64) or value.device.type != "cpu":
        return value
    kept = state.caches and value.requires_grad and value.is_leaf and _C.is_grad_enabled()
    if not kept or value.is_sparse:
        return value.to(dtype)
    key = (id(value), dtype)
    if key not in state.cache:
        state.cache[key] = (value, value.to(dtype))
    return state.cache[key][1]


def widened(value):
    """Narrow floats in float32."""
    is_narrow = isinstance(value, _C.Tensor) and value.dtype in _NARROW and value.device.type == "cpu"
    return value.float() if is_narrow else value


def _cast(values, rule):
    if isinstance(values, (list, tuple)) and not isinstance(values, _C.Size):
        made = [_cast(value, rule) for value in values]
        return made if isinstance(values, list) or type(values) is not tuple else tuple(made)
    return rule(values)


def _always(rule):
    return lambda args, kwargs: rule


def _einsum_rule(args, kwargs):
    """Contractions are products; other sums are not. In the form with letters only."""
    if not isinstance(args[0], str) or len(args) < 3:
        return lowered if not isinstance(args[0], str) else None
    terms, _, result = args[0].replace(" ", "").partition("->")
    counted = [letter for letter in set(terms) if letter.isalpha() and sum(letter in t for t in terms.split(",")) > 1]
    result = result if "->" in args[0] else [letter for letter in terms if terms.count(letter) == 1]
    return lowered if any(letter not in result for letter in counted) else None


def _inner_rule(args, kwargs):
    return lowered if any(isinstance(a, _C.Tensor) and a.dim() > 1 for a in args) else None


def _pad_rule(args, kwargs):
    pad = args[1] if len(args) > 1 else kwargs.get("pad", ())
    mode = args[2] if len(args) > 2 else kwargs.get("mode", "constant")
    return widened if mode == "replicate" or (mode == "reflect" and len(pad) <= 4) else None


def _index_copy_rule(args, kwargs):
    dtypes = [a.dtype for a in (*args, *kwargs.values()) if isinstance(a, _C.Tensor) and a.is_floating_point()]
    if len(set(dtypes)) < 2:
        return None
    widest = functools.reduce(_C.promote_types, dtypes)
    return lambda value: value.to(widest) if isinstance(value, _C.Tensor) and value.is_floating_point() else value


_RULES = {name: _always(lowered) for name in _LOWER.split()}
_RULES |= {name: _always(widened) for name in _WIDEN.split()}
_RULES |= {"einsum": _einsum_rule, "inner": _inner_rule, "pad": _pad_rule, "index_copy": _index_copy_rule}


def _casting(function, choose):
    """`function`, which casts its operands first where autocast is on in this thread."""

    @functools.wraps(function, updated=())
    def call(*args, **kwargs):
        if not state.enabled.get("cpu") or state.inside or kwargs.get("out") is not None:
            return function(*args, **kwargs)
        rule = choose(args, kwargs)
        if rule is None:
            return function(*args, **kwargs)
        args = [_cast(value, rule) for value in args]
        kwargs = {name: _cast(value, rule) for name, value in kwargs.items()}
        state.inside = True
        try:
            return function(*args, **kwargs)
        finally:
            state.inside = False

    return call


@functools.cache
def _replacements():
    """(holder, name, function, what stands there while autocast is on) for every place programs find an op in."""
    modules = ("", ".nn.functional", ".linalg", ".special", ".functional", "._C")
    holders = [importlib.import_module(_ROOT + name) for name in modules]
    made, found = {}, []
    for holder in (*holders, _C.Tensor):
        for name, choose in _RULES.items():
            function = vars(holder).get(name)
            if callable(function) and not isinstance(function, type):
                key = (id(function), name)
                made.setdefault(key, _casting(function, choose))
                found.append((holder, name, function, made[key]))
    return found


_count = 0  # of threads that have autocast on


def _begin():
    """Replaces the functions. Compiled code, which knows nothing of autocast, is not used in this thread meanwhile."""
    global _count
    from .._dynamo import config

    state.disabled = config.patch(disable=True)
    state.disabled.__enter__()
    with _lock:
        _count += 1
        if _count == 1:
            for holder, name, _, casting in _replacements():
                setattr(holder, name, casting)


def _end():
    """Puts everything back."""
    global _count
    with _lock:
        _count -= 1
        if _count == 0:
            for holder, name, function, _ in _replacements():
                setattr(holder, name, function)
    state.disabled.__exit__(None, None, None)
    state.disabled = None


def enable(kind, enabled):
    """Switches autocast for a kind of device in this thread; only that of the CPU changes anything."""
    before = state.enabled.get(kind, False)
    if kind == "cpu" and enabled and not before:
        _begin()
    state.enabled[kind] = enabled
    if kind == "cpu" and before and not enabled:
        _end()
