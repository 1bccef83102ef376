"""torch.utils.data: datasets, the orders they are read in, and loaders of batches, with worker processes or not."""

from ..._absent import absent_names as _absent_names
from . import dataloader as dataloader
from . import dataset as dataset
from . import distributed as distributed
from . import sampler as sampler
from ._utils.collate import default_collate as default_collate
from ._utils.collate import default_convert as default_convert
from ._utils.worker import get_worker_info as get_worker_info
from .dataloader import DataLoader as DataLoader
from .dataset import (
    ChainDataset as ChainDataset,
)
from .dataset import (
    ConcatDataset as ConcatDataset,
)
from .dataset import (
    Dataset as Dataset,
)
from .dataset import (
    IterableDataset as IterableDataset,
)
from .dataset import (
    StackDataset as StackDataset,
)
from .dataset import (
    Subset as Subset,
)
from .dataset import (
    TensorDataset as TensorDataset,
)
from .dataset import (
    random_split as random_split,
)
from .distributed import DistributedSampler as DistributedSampler
from .sampler import (
    BatchSampler as BatchSampler,
)
from .sampler import (
    RandomSampler as RandomSampler,
)
from .sampler import (
    Sampler as Sampler,
)
from .sampler import (
    SequentialSampler as SequentialSampler,
)
from .sampler import (
    SubsetRandomSampler as SubsetRandomSampler,
)
from .sampler import (
    WeightedRandomSampler as WeightedRandomSampler,
)

__getattr__ = _absent_names(__name__)
