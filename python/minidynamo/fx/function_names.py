"""How graphs name functions: as torch spells them, and with the object of this package that the spelling stands for.

`torch` in generated code is this package. Functions that torch implements natively have homes there such as
`torch._C._nn`; modules of those names are made here, with the functions that code may mention.
"""

import builtins
import functools
import sys
import types

from .. import _C
from ..nn import functional as _layers

PACKAGE = __package__.partition(".")[0]
# Names in torch.functional rather than in torch itself.
_COMPOSED = """atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul einsum
    meshgrid norm split tensordot unique unique_consecutive""".split()
# Of torch.nn.functional: those that are torch's own functions, and those of torch._C._nn.
_LAYERS_OF_TORCH = """adaptive_avg_pool1d avg_pool1d bilinear celu_ channel_shuffle conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d cosine_similarity hardshrink pairwise_distance pdist
    pixel_shuffle pixel_unshuffle prelu relu_ rrelu_ selu_ threshold_""".split()
_NATIVE_LAYERS = """avg_pool2d avg_pool3d elu_ gelu hardtanh_ leaky_relu_ linear one_hot scaled_dot_product_attention
    softplus softshrink""".split()
_NATIVE = {"linalg": ("_linalg", "linalg_"), "special": ("_special", "special_")}
METHODS = (types.MethodDescriptorType, types.WrapperDescriptorType, type(_C.Tensor.add))


def _spelled(space, name):
    """What torch calls the function `name` of `space`, which is "", "linalg", "nn.functional" or the like."""
    if space == "nn.functional":
        if name == "logsigmoid":
            return "torch._C._nn.log_sigmoid"
        if name in _LAYERS_OF_TORCH:
            return f"torch.{name}"
        return f"torch._C._nn.{name}" if name in _NATIVE_LAYERS else f"torch.nn.functional.{name}"
    if space in _NATIVE:
        home, prefix = _NATIVE[space]
        return f"torch._C.{home}.{prefix}{name}"
    if space == "":
        if name not in vars(sys.modules[PACKAGE]):
            return f"torch._C.{name}"
        return f"torch.functional.{name}" if name in _COMPOSED else f"torch.{name}"
    return f"torch.{space}.{name}"


@functools.cache
def install_native_spaces():
    """Makes the modules torch._C._nn, torch._C._linalg and torch._C._special."""
    for home in ("_nn", "_linalg", "_special"):
        if not hasattr(_C, home):
            setattr(_C, home, types.ModuleType(f"{PACKAGE}._C.{home}"))
    for name in _NATIVE_LAYERS:
        if hasattr(_layers, name):
            setattr(_C._nn, name, getattr(_layers, name))
    if hasattr(_layers, "logsigmoid"):
        _C._nn.log_sigmoid = _layers.logsigmoid
    for space, (home, prefix) in _NATIVE.items():
        module = sys.modules[f"{PACKAGE}.{space}"]
        for name, function in _C._namespaces.get(space, {}).items():
            setattr(getattr(_C, home), prefix + name, getattr(module, name, function))


def _own_home(function):
    """(space, name) of a function of this package; None if it is none, or not public."""
    module = getattr(function, "__module__", None) or ""
    name = getattr(function, "__name__", None)
    if module.partition(".")[0] != PACKAGE or not name:
        return None
    if isinstance(function, type(_C.add)):
        space, _, name = function.__qualname__.rpartition(".")
        return space, name
    for space in ("nn.functional", "", "linalg", "special"):
        home = sys.modules.get(f"{PACKAGE}.{space}".rstrip("."))
        if getattr(home, "__dict__", {}).get(name) is function:
            return space, name
    return None


def qualified_name(target):
    """What code calls a function by: "torch.add", "torch.nn.functional.relu", "__main__.f".

    Raises RuntimeError for a function that no module holds under its name.
    """
    name = getattr(target, "__name__", None)
    if name and getattr(builtins, name, None) is target:
        return name
    if isinstance(target, METHODS):
        owner = target.__objclass__ if hasattr(target, "__objclass__") else _C.Tensor
        return f"torch.Tensor.{name}" if owner is _C.Tensor else f"{owner.__module__}.{owner.__qualname__}.{name}"
    spelling = getattr(target, "_graph_target", None)
    if spelling:
        return f"torch.{spelling}"
    home = _own_home(target)
    if home is not None:
        return _spelled(*home)
    if not name:
        raise RuntimeError(f"a graph calls functions by name, and {target!r} has none")
    if name == "<lambda>":
        name = target.__qualname__
    module = getattr(target, "__module__", None) or ""
    if module.partition(".")[0] == PACKAGE:
        module = "torch" + module.removeprefix(PACKAGE)
    return f"{module}.{name}"


def short_name(target):
    """The name a node that calls `target` is given, before it is made one of its own."""
    spelling = getattr(target, "_graph_target", None)
    if spelling:  # "ops.aten.add.Tensor"
        return "_".join(spelling.split(".")[2:])
    home = _own_home(target)
    return target.__name__ if home is None else _spelled(*home).rpartition(".")[2]


def is_from_torch(target):
    """True if generated code finds it through the name `torch`."""
    module = getattr(target, "__module__", None)
    if isinstance(target, METHODS) or getattr(target, "_graph_target", None):
        return True
    return isinstance(module, str) and module.partition(".")[0] == PACKAGE


def same_function(one, other):
    """True for one function under two names: torch.conv2d and torch.nn.functional.conv2d are one in torch."""
    if one is other or one == other:
        return True
    homes = [callable(f) and _own_home(f) for f in (one, other)]
    return all(homes) and _spelled(*homes[0]) == _spelled(*homes[1])
