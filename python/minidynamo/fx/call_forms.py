"""How calls of functions are written down: with which arguments by name, and that they are written down at all.

Functions of this package that are Python compositions of ops would be traced through; while values are traced, their
code first looks for a traced one among the arguments.
"""

import functools
import inspect
import sys
import types

from .. import _C, _checks, _ops
from .._lock import process_lock
from ..nn import functional as _layers
from .function_names import PACKAGE, qualified_name

# Functions that are written in Python in torch record arguments with a default by name, all of them.
_SIGNATURES = """
torch.functional.cdist(x1, x2, p=2.0, compute_mode='use_mm_for_euclid_dist_if_necessary')
torch.functional.meshgrid(*tensors, indexing=None)
torch.functional.norm(input, p='fro', dim=None, keepdim=False, out=None, dtype=None)
torch.functional.split(tensor, split_size_or_sections, dim=0)
torch.functional.tensordot(a, b, dims=2, out=None)
torch.functional.unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None)
torch.functional.unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)
torch.nn.functional.adaptive_avg_pool2d(input, output_size)
torch.nn.functional.adaptive_max_pool1d(input, output_size, return_indices=False)
torch.nn.functional.adaptive_max_pool2d(input, output_size, return_indices=False)
torch.nn.functional.batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05)
torch.nn.functional.binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction='mean')
torch.nn.functional.binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None)
torch.nn.functional.celu(input, alpha=1.0, inplace=False)
torch.nn.functional.cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', label_smoothing=0.0)
torch.nn.functional.dropout(input, p=0.5, training=True, inplace=False)
torch.nn.functional.elu(input, alpha=1.0, inplace=False)
torch.nn.functional.embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False)
torch.nn.functional.fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1)
torch.nn.functional.glu(input, dim=-1)
torch.nn.functional.group_norm(input, num_groups, weight=None, bias=None, eps=1e-05)
torch.nn.functional.hardsigmoid(input, inplace=False)
torch.nn.functional.hardswish(input, inplace=False)
torch.nn.functional.hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False)
torch.nn.functional.huber_loss(input, target, reduction='mean', delta=1.0, weight=None)
torch.nn.functional.interpolate(input, size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None, antialias=False)
torch.nn.functional.kl_div(input, target, size_average=None, reduce=None, reduction='mean', log_target=False)
torch.nn.functional.l1_loss(input, target, size_average=None, reduce=None, reduction='mean')
torch.nn.functional.layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-05)
torch.nn.functional.leaky_relu(input, negative_slope=0.01, inplace=False)
torch.nn.functional.log_softmax(input, dim=None, _stacklevel=3, dtype=None)
torch.nn.functional.max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)
torch.nn.functional.max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)
torch.nn.functional.max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False)
torch.nn.functional.mish(input, inplace=False)
torch.nn.functional.mse_loss(input, target, size_average=None, reduce=None, reduction='mean', weight=None)
torch.nn.functional.nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean')
torch.nn.functional.normalize(input, p=2.0, dim=1, eps=1e-12, out=None)
torch.nn.functional.pad(input, pad, mode='constant', value=None)
torch.nn.functional.relu(input, inplace=False)
torch.nn.functional.relu6(input, inplace=False)
torch.nn.functional.rms_norm(input, normalized_shape, weight=None, eps=None)
torch.nn.functional.selu(input, inplace=False)
torch.nn.functional.silu(input, inplace=False)
torch.nn.functional.smooth_l1_loss(input, target, size_average=None, reduce=None, reduction='mean', beta=1.0)
torch.nn.functional.softmax(input, dim=None, _stacklevel=3, dtype=None)
torch.nn.functional.softmin(input, dim=None, _stacklevel=3, dtype=None)
torch.nn.functional.threshold(input, threshold, value, inplace=False)
torch.nn.functional.unfold(input, kernel_size, dilation=1, padding=0, stride=1)
"""  # noqa: E501  one signature a line
# Functions of torch that call others, or methods, and are seen through.
_SEEN_THROUGH = ("upsample",)
_depth = 0
_lock = process_lock()


@functools.cache
def _binders():
    """Name to a function that takes the arguments and gives them as (positional ones, those with a default)."""
    found = {}
    for line in _SIGNATURES.strip().split("\n"):
        name, _, parameters = line.partition("(")
        found[name] = inspect.signature(eval(f"lambda {parameters.removesuffix(')')}: 0"))
    return found


def _accepted(function):
    """Names of the parameters of a function of this package that is made in Python; None for others."""
    for composed, code, _ in _codes():
        if composed is function:
            return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return None


def known_signature(function):
    """The signature of a function that is written in Python in torch; None for others."""
    return _binders().get(qualified_name(function)) if getattr(function, "__name__", None) else None


def recorded_call(function, args, kwargs):
    """(args, kwargs) as the graph shows a call of `function`."""
    signature = known_signature(function)
    if signature is None:
        return args, kwargs
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    accepted = _accepted(function)
    positional, named = [], {}
    for name, value in bound.arguments.items():
        parameter = signature.parameters[name]
        if parameter.kind is parameter.VAR_POSITIONAL:
            positional.extend(value)
        elif parameter.default is parameter.empty:
            positional.append(value)
        elif accepted is None or name in accepted or value is not parameter.default:
            named[name] = value
    return tuple(positional), named


def _composed_functions():
    """Public functions of this package that are made of ops in Python, and single functions in torch."""
    homes = [_layers, sys.modules[PACKAGE], sys.modules[f"{PACKAGE}.functional"]]
    found = {}
    for home in homes:
        for name, value in vars(home).items():
            composed = isinstance(value, types.FunctionType) and value.__module__.startswith(
                (f"{PACKAGE}.nn.", f"{PACKAGE}.functional")
            )
            if composed and not name.startswith("_") and name not in _SEEN_THROUGH:
                found[value] = None
    return [*found, _checks._assert]


def _overridden(values):
    for value in values:
        if isinstance(value, (tuple, list)):
            found = _overridden(value)
            if found is not None:
                return found
        elif not isinstance(value, _C.Tensor) and hasattr(type(value), "__torch_function__"):
            return type(value)
    return None


def _asking_code(function, is_method=False):
    """Code for `function` that hands a call with a traced argument to its class, and else does what it did.

    With `is_method` it is the first argument that is called: an operator of torch.ops.
    """
    original = types.FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    original.__kwdefaults__ = function.__kwdefaults__

    def called(args, kwargs):
        kind = _overridden((*args, *kwargs.values()))
        if kind is None:
            return original(*args, **kwargs)
        if is_method:
            return kind.__torch_function__(args[0], (kind,), args[1:], kwargs)
        return kind.__torch_function__(function, (kind,), args, kwargs)

    def asking(*args, **kwargs):
        return "called".__call__(args, kwargs)

    code = asking.__code__  # its names would be looked up in the other function's module: it has none but a constant
    constants = tuple(called if value == "called" else value for value in code.co_consts)
    return code.replace(co_consts=constants, co_name=function.__name__, co_filename=__file__)


@functools.cache
def _codes():
    """(function, its code, its asking code) of all composed functions and of operators."""
    operators = [_ops._OwnOp.__call__, _ops._Overload.__call__]
    asking = [(f, f.__code__, _asking_code(f)) for f in _composed_functions()]
    return asking + [(f, f.__code__, _asking_code(f, is_method=True)) for f in operators]


class recording_calls:
    """`with` block, which may be entered again within: composed functions look for traced values."""

    def __enter__(self):
        self._change(1, 1)
        return self

    def __exit__(self, *error):
        self._change(-1, 0)

    def _change(self, by, when):
        global _depth
        with _lock:
            _depth += by
            if _depth == when:
                for function, own, asking in _codes():
                    function.__code__ = asking if when else own
