"""torch.optim.lr_scheduler: learning rates that change from epoch to epoch."""

from .._absent import absent_names as _absent_names
from .combined_schedules import ChainedScheduler, SequentialLR
from .cyclic_schedules import CosineAnnealingWarmRestarts, CyclicLR, OneCycleLR
from .decay_schedules import (
    ConstantLR,
    CosineAnnealingLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from .plateau_schedule import ReduceLROnPlateau
from .schedule_base import LRScheduler
from .schedule_base import _LRScheduler as _LRScheduler

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]

__getattr__ = _absent_names(__name__)
