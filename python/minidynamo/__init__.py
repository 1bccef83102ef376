"""minidynamo: a bytecode-tracing compiler with the semantics of PyTorch Dynamo. `import minidynamo as torch`."""

from . import _main_interpreter as _main_interpreter  # isort: skip  first: refuses subinterpreters
from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

try:
    from . import _C as _C
except ImportError as error:
    from ._extension import explained

    raise explained(error) from None
from . import _absent as _absent
from . import _events as _events
from . import _tensor_methods as _tensor_methods
from . import autograd as autograd
from . import fft as fft
from . import linalg as linalg
from . import nn as nn
from . import optim as optim
from . import random as random
from . import special as special
from ._as_torch import install_as_torch as install_as_torch
from ._C import *  # noqa: F403  every op of the table, dtypes, Tensor, Size, device
from ._C import _fourier as _fourier  # what torch.fft is made of
from ._C import _lstm_cell as _lstm_cell  # what nn.LSTM and nn.LSTMCell do in a step
from ._C import _rebuild_tensor as _rebuild_tensor  # pickled tensors name it
from ._C import _rebuild_view as _rebuild_view  # saved ones
from ._C import _safe_softmax as _safe_softmax
from ._checks import _assert as _assert
from ._checks import _check as _check
from ._checks import _check_index as _check_index
from ._checks import _check_is_size as _check_is_size
from ._checks import _check_not_implemented as _check_not_implemented
from ._checks import _check_type as _check_type
from ._checks import _check_value as _check_value
from ._checks import _check_with as _check_with
from ._limits import finfo as finfo
from ._limits import iinfo as iinfo
from ._symbolic_numbers import _sym_log2 as _sym_log2
from ._symbolic_numbers import _sym_sqrt as _sym_sqrt
from ._symbolic_numbers import sym_float as sym_float
from ._symbolic_numbers import sym_fresh_size as sym_fresh_size
from ._symbolic_numbers import sym_int as sym_int
from ._symbolic_numbers import sym_ite as sym_ite
from ._symbolic_numbers import sym_max as sym_max
from ._symbolic_numbers import sym_min as sym_min
from ._symbolic_numbers import sym_not as sym_not
from ._symbolic_numbers import sym_sqrt as sym_sqrt
from ._symbolic_numbers import sym_sum as sym_sum
from .autograd.grad_mode import enable_grad as enable_grad
from .autograd.grad_mode import inference_mode as inference_mode
from .autograd.grad_mode import no_grad as no_grad
from .autograd.grad_mode import set_grad_enabled as set_grad_enabled

__version__ = "0.1.0"
del DisableTorchFunction, DisableTorchFunctionSubclass  # noqa: F821  stay in _C, as in the mirrored namespace
del matrix_power  # noqa: F821  that of linalg.older_names knows negative powers
newaxis = None
from . import _dynamo as _dynamo  # noqa: E402  after the names above, which it uses
from ._dynamo import compile as compile  # noqa: E402
from ._higher_order_ops.cond import cond as cond  # noqa: E402
from ._inplace import *  # noqa: E402, F403
from ._ops import Tag as Tag  # noqa: E402
from ._ops import ops as ops  # noqa: E402
from .functional import batch_norm as batch_norm  # noqa: E402
from .functional import dropout as dropout  # noqa: E402
from .functional import einsum as einsum  # noqa: E402  over the op's own name
from .functional import embedding as embedding  # noqa: E402
from .functional import group_norm as group_norm  # noqa: E402
from .functional import renorm as renorm  # noqa: E402
from .nn.functional import bilinear as bilinear  # noqa: E402
from .nn.functional import cosine_similarity as cosine_similarity  # noqa: E402
from .nn.functional import pairwise_distance as pairwise_distance  # noqa: E402
from .random import fork_rng as fork_rng  # noqa: E402
from .random import get_rng_state as get_rng_state  # noqa: E402
from .random import seed as seed  # noqa: E402
from .random import set_rng_state as set_rng_state  # noqa: E402
from .serialization import load as load  # noqa: E402
from .serialization import save as save  # noqa: E402


def _load(name, missing):
    """Subpackages are reachable without an import of their own, as `minidynamo.fx`; so is what few programs name."""
    from importlib import import_module

    if name in _absent.submodules(__name__):
        return import_module("." + name, __name__)
    return import_module("._on_demand", __name__).find(name, missing)


__getattr__ = _absent.absent_names(__name__, _load)
_tensor_methods.attach()
_absent.answer_imports()
_absent.answer_tensors()
_events.from_environment(__version__)
