"""The names of torch.nn: Module, containers, layers, losses."""

from . import init as init
from . import parameter as parameter
from .activation import (
    CELU as CELU,
)
from .activation import (
    ELU as ELU,
)
from .activation import (
    GELU as GELU,
)
from .activation import (
    GLU as GLU,
)
from .activation import (
    SELU as SELU,
)
from .activation import (
    Hardshrink as Hardshrink,
)
from .activation import (
    Hardsigmoid as Hardsigmoid,
)
from .activation import (
    Hardswish as Hardswish,
)
from .activation import (
    Hardtanh as Hardtanh,
)
from .activation import (
    LeakyReLU as LeakyReLU,
)
from .activation import (
    LogSigmoid as LogSigmoid,
)
from .activation import (
    LogSoftmax as LogSoftmax,
)
from .activation import (
    Mish as Mish,
)
from .activation import (
    PReLU as PReLU,
)
from .activation import (
    ReLU as ReLU,
)
from .activation import (
    ReLU6 as ReLU6,
)
from .activation import (
    Sigmoid as Sigmoid,
)
from .activation import (
    SiLU as SiLU,
)
from .activation import (
    Softmax as Softmax,
)
from .activation import (
    Softmin as Softmin,
)
from .activation import (
    Softplus as Softplus,
)
from .activation import (
    Softshrink as Softshrink,
)
from .activation import (
    Softsign as Softsign,
)
from .activation import (
    Tanh as Tanh,
)
from .activation import (
    Tanhshrink as Tanhshrink,
)
from .activation import (
    Threshold as Threshold,
)
from .attention import MultiheadAttention as MultiheadAttention
from .attention import TransformerEncoder as TransformerEncoder
from .attention import TransformerEncoderLayer as TransformerEncoderLayer
from .containers import ModuleDict as ModuleDict
from .containers import ModuleList as ModuleList
from .containers import ParameterDict as ParameterDict
from .containers import ParameterList as ParameterList
from .containers import Sequential as Sequential
from .convolution import Conv1d as Conv1d
from .convolution import Conv2d as Conv2d
from .convolution import Conv3d as Conv3d
from .convolution import ConvTranspose1d as ConvTranspose1d
from .convolution import ConvTranspose2d as ConvTranspose2d
from .linear import Bilinear as Bilinear
from .linear import Dropout as Dropout
from .linear import Embedding as Embedding
from .linear import Flatten as Flatten
from .linear import Identity as Identity
from .linear import Linear as Linear
from .linear import Unflatten as Unflatten
from .loss import (
    BCELoss as BCELoss,
)
from .loss import (
    BCEWithLogitsLoss as BCEWithLogitsLoss,
)
from .loss import (
    CosineSimilarity as CosineSimilarity,
)
from .loss import (
    CrossEntropyLoss as CrossEntropyLoss,
)
from .loss import (
    HuberLoss as HuberLoss,
)
from .loss import (
    KLDivLoss as KLDivLoss,
)
from .loss import (
    L1Loss as L1Loss,
)
from .loss import (
    MSELoss as MSELoss,
)
from .loss import (
    NLLLoss as NLLLoss,
)
from .loss import (
    PairwiseDistance as PairwiseDistance,
)
from .loss import (
    SmoothL1Loss as SmoothL1Loss,
)
from .module import Module as Module
from .normalization import BatchNorm1d as BatchNorm1d
from .normalization import BatchNorm2d as BatchNorm2d
from .normalization import GroupNorm as GroupNorm
from .normalization import LayerNorm as LayerNorm
from .normalization import RMSNorm as RMSNorm
from .parallel import (
    DataParallel as DataParallel,
)
from .parameter import Buffer as Buffer
from .parameter import Parameter as Parameter
from .pooling import AdaptiveAvgPool1d as AdaptiveAvgPool1d
from .pooling import AdaptiveAvgPool2d as AdaptiveAvgPool2d
from .pooling import AdaptiveMaxPool1d as AdaptiveMaxPool1d
from .pooling import AdaptiveMaxPool2d as AdaptiveMaxPool2d
from .pooling import AvgPool1d as AvgPool1d
from .pooling import AvgPool2d as AvgPool2d
from .pooling import AvgPool3d as AvgPool3d
from .pooling import Fold as Fold
from .pooling import MaxPool1d as MaxPool1d
from .pooling import MaxPool2d as MaxPool2d
from .pooling import MaxPool3d as MaxPool3d
from .pooling import PixelShuffle as PixelShuffle
from .pooling import PixelUnshuffle as PixelUnshuffle
from .pooling import Unfold as Unfold
from .pooling import Upsample as Upsample
from .pooling import UpsamplingBilinear2d as UpsamplingBilinear2d
from .pooling import UpsamplingNearest2d as UpsamplingNearest2d
from .recurrent import (
    GRU as GRU,
)
from .recurrent import (
    LSTM as LSTM,
)
from .recurrent import (
    RNN as RNN,
)
from .recurrent import (
    GRUCell as GRUCell,
)
from .recurrent import (
    LSTMCell as LSTMCell,
)
from .recurrent import (
    RNNBase as RNNBase,
)
from .recurrent import (
    RNNCell as RNNCell,
)
from .recurrent import (
    RNNCellBase as RNNCellBase,
)
