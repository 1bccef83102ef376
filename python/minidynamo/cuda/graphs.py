"""torch.cuda.graphs: work of a CUDA device that is kept, and run again as a whole. Without a device there is none."""

import contextlib as _contextlib
import gc as _gc
import itertools as _itertools
import weakref as _weakref

from .. import _C
from .._absent import absent_names as _absent_names
from .._no_device import no_such_object as _no_such_object
from . import streams as _streams

_runtime = _C._cuda
_numbers = _itertools.count(1)
_MODES = ("global", "thread_local", "relaxed")
_owners = _weakref.WeakValueDictionary()  # by pool: the first graph of those that use its memory


def new_pool():
    """A name for memory that several graphs use in turn."""
    return (0, next(_numbers))


def _is_pool(pool):
    return isinstance(pool, (tuple, list)) and len(pool) == 2 and all(isinstance(part, int) for part in pool)


class CUDAGraph(_no_such_object):
    """Work captured between capture_begin() and capture_end(), which replay() runs again on the same memory.

    RuntimeError without a device.
    """

    def __new__(cls, keep_graph=False):
        if not _runtime.is_present():
            return super().__new__(cls)
        made = object.__new__(cls)
        made._graph, made._capturing, made._pool, made._owner = None, None, new_pool(), None
        return made

    def capture_begin(self, pool=None, capture_error_mode="global"):
        """From here on the work of the current stream, which is not the default one, is kept instead of run."""
        if self._graph is not None or self._capturing is not None:
            raise RuntimeError("This CUDAGraph instance already owns a captured graph. reset() it first.")
        if capture_error_mode not in _MODES:
            raise RuntimeError(
                f"Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got {capture_error_mode}"
            )
        if pool is not None and not _is_pool(pool):
            raise TypeError(f"capture_begin(): pool is two ints, from pool() or graph_pool_handle(), not {pool!r}")
        index = _runtime.current_device()
        number = _runtime.current_stream(index)
        if number == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
                "on the default stream.)"
            )
        self._pool = self._pool if pool is None else tuple(pool)
        self._owner = _owners.get(self._pool)
        _runtime.begin_capture(index, number, None if self._owner is None else self._owner._graph)
        self._capturing = index, number

    def capture_end(self):
        """The graph ends here."""
        if self._capturing is None:
            raise RuntimeError("capture_end(): capture_begin() comes first")
        (index, number), self._capturing = self._capturing, None
        self._graph = _runtime.end_capture(index, number)
        self._index = index
        _owners.setdefault(self._pool, self)

    def instantiate(self):
        """Nothing: a captured graph is ready to run."""
        self._expect("instantiate")

    def replay(self):
        """Runs it on the current stream."""
        self._expect("replay")
        self._graph.replay(_runtime.current_stream(self._index))

    def reset(self):
        """Lets go of the work and its memory."""
        if _owners.get(self._pool) is self:
            del _owners[self._pool]
        self._graph = self._owner = None

    def pool(self):
        """The name of its memory, which later captures may use as well."""
        return self._pool

    def _expect(self, what):
        if self._graph is None:
            raise RuntimeError(f"Called CUDAGraph::{what} without a preceding successful capture.")

    def enable_debug_mode(self):
        """Nothing: there is no more to see."""

    def debug_dump(self, debug_path):
        """RuntimeError: graphs are not drawn."""
        raise RuntimeError("CUDAGraph.debug_dump(): minidynamo does not draw graphs of the driver")


class graph(_no_such_object):
    """`with` it the work of a side stream is captured in a CUDAGraph: graph(cuda_graph, pool=None, stream=None).

    RuntimeError without a device.
    """

    default_capture_stream = None

    def __new__(cls, *args, **kwargs):
        return object.__new__(cls) if _runtime.is_present() else super().__new__(cls)

    def __init__(self, cuda_graph, pool=None, stream=None, capture_error_mode="global"):
        if stream is None and graph.default_capture_stream is None:
            graph.default_capture_stream = _streams.Stream()
        self.capture_stream = graph.default_capture_stream if stream is None else stream
        self.stream_ctx = _streams.StreamContext(self.capture_stream)
        self.cuda_graph, self.pool, self.capture_error_mode = cuda_graph, pool, capture_error_mode

    def __enter__(self):
        _runtime.synchronize(self.capture_stream.device_index)
        _gc.collect()
        _runtime.empty_cache()
        self.stream_ctx.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self.stream_ctx.__exit__(None, None, None)
            raise

    def __exit__(self, *error):
        try:
            self.cuda_graph.capture_end()
        finally:
            self.stream_ctx.__exit__(*error)
        return False


def make_graphed_callables(callables, sample_args, num_warmup_iters=3, allow_unused_input=False, pool=None):
    """Functions or modules whose work is captured with these arguments; calls copy theirs there and replay it.

    Gradients flow through it once. RuntimeError where there are no devices.
    """
    if not _runtime.is_present():
        raise RuntimeError("torch.cuda.make_graphed_callables needs CUDA devices, and minidynamo has none")
    from ._graphed import make_graphed_callables as make

    @_contextlib.contextmanager
    def capture():
        made = CUDAGraph()
        with graph(made, pool=pool):
            yield made

    return make(capture, callables, sample_args, num_warmup_iters, allow_unused_input)


__getattr__ = _absent_names(__name__)
