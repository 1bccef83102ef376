"""The names of torch.nn: Module, containers, layers, losses."""

from . import init as init
from . import parameter as parameter
from .activation import *  # noqa: F403
from .adaptive_softmax import *  # noqa: F403
from .batch_norm import *  # noqa: F403
from .containers import *  # noqa: F403
from .convolution import *  # noqa: F403
from .distance import *  # noqa: F403
from .dropout import *  # noqa: F403
from .embedding import *  # noqa: F403
from .flatten import *  # noqa: F403
from .instance_norm import *  # noqa: F403
from .lazy import *  # noqa: F403
from .linear import Bilinear as Bilinear
from .linear import Identity as Identity
from .linear import Linear as Linear
from .loss import *  # noqa: F403
from .module import Module as Module
from .multihead_attention import *  # noqa: F403
from .normalization import *  # noqa: F403
from .padding import *  # noqa: F403
from .parallel import DataParallel as DataParallel
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .parameter import UninitializedBuffer as UninitializedBuffer
from .parameter import UninitializedParameter as UninitializedParameter
from .pooling import *  # noqa: F403
from .rearranging import *  # noqa: F403
from .recurrent import *  # noqa: F403
from .recurrent_cells import *  # noqa: F403
from .transformer import *  # noqa: F403
