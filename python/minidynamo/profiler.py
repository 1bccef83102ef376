"""torch.profiler: how long named parts of a program take."""

from ._absent import absent_names as _absent_names
from .autograd.profiler import ProfilerAction as ProfilerAction
from .autograd.profiler import ProfilerActivity as ProfilerActivity
from .autograd.profiler import profile as profile
from .autograd.profiler import record_function as record_function
from .autograd.profiler import schedule as schedule
from .autograd.profiler import supported_activities as supported_activities
from .autograd.profiler import tensorboard_trace_handler as tensorboard_trace_handler

__getattr__ = _absent_names(__name__)
