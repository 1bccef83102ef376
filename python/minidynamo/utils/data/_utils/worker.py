"""A worker process of a DataLoader: reads batches that it is asked for, and sends them back pickled.

Each worker has a connection of its own, so that one that is killed spoils nothing of the others. Messages to a worker
are (task, index) pairs, RESUME for a new epoch, None for the end; answers are (task, kind, value).
"""

import os
import queue
import random
import signal
import sys
import threading
import traceback
import weakref
from multiprocessing.reduction import ForkingPickler

from .... import _C

RESUME = "resume"
DATA, FAILED, ENDED = "data", "failed", "ended"  # kinds of answers
_PARENT_IS_ASKED_FOR = 5.0  # seconds: how often a worker that waits looks whether its parent is alive

parent_ends = weakref.WeakSet()  # of all workers' connections: a fork inherits them, and would keep them open
_info = None


class _ByValue(ForkingPickler):
    """Tensors of batches travel as bytes, also where torch.multiprocessing shares those of other messages."""

    _extra_reducers = {}


class WorkerInfo:
    """What a worker knows of itself: `id`, `num_workers`, `seed`, and `dataset`, its copy. RuntimeError on changes."""

    def __init__(self, **about):
        self.__dict__.update(about)

    def __setattr__(self, name, value):
        raise RuntimeError(f"{name!r} of a {type(self).__name__} can not be assigned")

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{name}={value}' for name, value in vars(self).items())})"


def get_worker_info():
    """The WorkerInfo in a worker process; None elsewhere."""
    return _info


class Failure:
    """An exception on its way from a worker: its type and its traceback as text."""

    def __init__(self, error, worker):
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.kind = type(error)
        self.text = f"{self.kind.__name__} in worker process {worker} of the DataLoader. The worker's own\n{text}"

    def pickled(self, task):
        """The answer to a task; RuntimeError stands for a type that can not be pickled."""
        try:
            return _ByValue.dumps((task, FAILED, self))
        except Exception:  # noqa: BLE001  whatever pickling may raise
            self.kind = RuntimeError
            return _ByValue.dumps((task, FAILED, self))

    def reraise(self):
        """Raises the worker's type with the text; RuntimeError for types that can not be made of a text."""
        text = _Lines(self.text) if issubclass(self.kind, KeyError) else self.text
        try:
            error = self.kind(text)
        except Exception:  # noqa: BLE001  a constructor of the program's own
            error = RuntimeError(text)
        raise error


class _Lines(str):
    """A KeyError shows the repr() of its key: lines have to stay lines."""

    def __repr__(self):
        return str(self)


def _seed(base_seed, worker):
    """Every worker has other random numbers, that follow from the base seed."""
    random.seed(base_seed + worker)
    _C.manual_seed(base_seed + worker)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        entropy = [worker, base_seed & 0xFFFFFFFF, base_seed >> 32, 0]
        numpy.random.seed(numpy.random.SeedSequence(entropy).generate_state(4))


def _receive(connection, parent, messages):
    """A thread's: takes messages as they come, so that the parent never waits for a worker that is busy sending.

    Without a parent, even one that was killed, the process ends here.
    """
    try:
        while True:
            while not connection.poll(_PARENT_IS_ASKED_FOR):
                if os.getppid() != parent:
                    os._exit(1)
            messages.put(connection.recv())
    except (EOFError, OSError):
        messages.put(None)


def _answers(messages, make_fetcher, start, worker):
    """Pickled answers to the messages, one for each task."""
    fetcher = failure = None
    try:
        start()
    except Exception as error:  # noqa: BLE001  told to the parent
        failure = Failure(error, worker)
    exhausted = False
    while (message := messages.get()) is not None:
        if message == RESUME:
            fetcher, exhausted = None, False
            continue
        task, index = message
        if failure is not None:
            yield failure.pickled(task)
            continue
        try:
            if fetcher is None and not exhausted:
                fetcher = make_fetcher()
            if exhausted:
                raise StopIteration
            answer = _ByValue.dumps((task, DATA, fetcher.fetch(index)))
        except StopIteration as error:
            exhausted = make_fetcher.ends
            answer = _ByValue.dumps((task, ENDED, None)) if exhausted else Failure(error, worker).pickled(task)
        except Exception as error:  # noqa: BLE001  told to the parent
            answer = Failure(error, worker).pickled(task)
        yield answer


class FetcherMaker:
    """Makes the fetcher of an epoch; `ends`: it raises StopIteration after its last batch."""

    def __init__(self, kind, dataset, batched, collate_fn, drop_last, ends):
        self.kind, self.ends = kind, ends
        self.arguments = (dataset, batched, collate_fn, drop_last)

    def __call__(self):
        return self.kind(*self.arguments)


def worker_main(connection, make_fetcher, base_seed, worker, num_workers, init_fn):
    """What a worker process runs."""
    global _info
    for inherited in list(parent_ends):
        inherited.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's, which ends its workers
    _C.set_num_threads(1)
    _seed(base_seed, worker)
    dataset = make_fetcher.arguments[0]
    _info = WorkerInfo(id=worker, num_workers=num_workers, seed=base_seed + worker, dataset=dataset)
    messages = queue.SimpleQueue()
    threading.Thread(target=_receive, args=(connection, os.getppid(), messages), daemon=True).start()

    def start():
        if init_fn is not None:
            init_fn(worker)

    try:
        for answer in _answers(messages, make_fetcher, start, worker):
            connection.send_bytes(answer)
    except (BrokenPipeError, ConnectionResetError):  # the parent wants no more
        pass
