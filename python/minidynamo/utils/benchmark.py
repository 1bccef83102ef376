"""torch.utils.benchmark: how long a statement takes, by the wall clock."""

import statistics
import time
import timeit

from .. import _C
from .._absent import absent_names as _absent_names

__all__ = ["Compare", "Measurement", "Timer"]

_UNITS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
_SHORTEST_ROW = 1e-4  # seconds: reading the clock takes far less


def _unit_of(seconds):
    """The largest unit that is not above a time."""
    return next(((size, name) for size, name in _UNITS if seconds >= size), _UNITS[-1])


class Measurement:
    """Times of runs of a statement: `raw_times` in seconds, each of `number_per_run` runs in a row."""

    def __init__(self, number_per_run, raw_times, task_spec):
        self.number_per_run, self.raw_times, self.task_spec = number_per_run, raw_times, task_spec

    def __getattr__(self, name):
        if name in ("label", "sub_label", "description", "num_threads", "stmt", "setup", "env"):
            return self.task_spec[name]
        raise AttributeError(f"'Measurement' object has no attribute {name!r}")

    @property
    def times(self):
        """Seconds of one run each."""
        return [t / self.number_per_run for t in self.raw_times]

    @property
    def mean(self):
        return statistics.fmean(self.times)

    @property
    def median(self):
        return statistics.median(self.times)

    @property
    def iqr(self):
        """The distance of the quartiles."""
        if len(self.times) < 2:
            return 0.0
        first, _, third = statistics.quantiles(self.times, n=4, method="inclusive")
        return third - first

    @property
    def title(self):
        label = self.label or self.stmt
        return f"{label}: {self.sub_label}" if self.sub_label else label

    def __repr__(self):
        size, unit = _unit_of(self.median)
        one = len(self.raw_times) == 1
        lines = [f"{super().__repr__()}\n{self.title}"]
        lines += [self.description] if self.description else []
        lines += [f"setup: {self.setup}"] if self.setup != "pass" else []
        lines += [f"  {self.median / size:.2f} {unit}"] if one else [f"  Median: {self.median / size:.2f} {unit}"]
        lines += [] if one else [f"  IQR:    {self.iqr / size:.2f} {unit}"]
        threads = "1 thread" if self.num_threads == 1 else f"{self.num_threads} threads"
        count = "1 measurement" if one else f"{len(self.raw_times)} measurements"
        return "\n".join([*lines, f"  {count}, {self.number_per_run} runs , {threads}"])


class Timer:
    """A Python statement to be measured, with `num_threads` threads in operations meanwhile."""

    def __init__(
        self,
        stmt="pass",
        setup="pass",
        global_setup="",
        timer=time.perf_counter,
        globals=None,
        label=None,
        sub_label=None,
        description=None,
        env=None,
        num_threads=1,
        language="py",
    ):
        if global_setup or getattr(language, "value", language) not in ("py", "python", 0):
            raise NotImplementedError("Timer measures statements of Python only")
        self._spec = dict(
            stmt=stmt, setup=setup, label=label, sub_label=sub_label, description=description, env=env,
            num_threads=num_threads,
        )  # fmt: skip
        self._timer = timeit.Timer(stmt, setup, timer, dict(globals or {}))

    def _run(self, number):
        before = _C.get_num_threads()
        _C.set_num_threads(self._spec["num_threads"])
        try:
            return self._timer.timeit(number)
        finally:
            _C.set_num_threads(before)

    def timeit(self, number=1_000_000):
        """`number` runs in a row, after some that do not count."""
        self._run(max(number // 100, 2))
        return Measurement(number, [self._run(number)], self._spec)

    def blocked_autorange(self, callback=None, min_run_time=0.2):
        """Rows of runs until they took `min_run_time` seconds; `callback(number, seconds)` hears of each."""
        self._run(2)  # does not count
        number = 1
        while self._run(number) < max(min_run_time / 1000, _SHORTEST_ROW):
            number *= 10
        times, total = [], 0.0
        while total < min_run_time:
            taken = self._run(number)
            times.append(taken)
            total += taken
            if callback is not None:
                callback(number, taken)
        return Measurement(number, times, self._spec)

    def adaptive_autorange(self, threshold=0.1, *, min_run_time=0.01, max_run_time=10.0, callback=None):
        """blocked_autorange until the quartiles are as near to each other as `threshold` of the median."""
        measured = self.blocked_autorange(callback, min_run_time)
        while measured.iqr > threshold * measured.median and sum(measured.raw_times) < max_run_time:
            number = measured.number_per_run
            measured.raw_times.append(self._run(number))
        return measured


class Compare:
    """Medians in a table: a row for each sub_label and number of threads, a column for each description."""

    def __init__(self, results):
        self._results = list(results)

    def extend_results(self, results):
        """Takes in more of them."""
        self._results.extend(results)

    def trim_significant_figures(self):
        """Nothing: times are shown with one digit behind the point."""

    colorize = highlight_warnings = trim_significant_figures

    def __str__(self):
        if not self._results:
            return ""
        size, unit = _unit_of(min(m.median for m in self._results))
        columns = list(dict.fromkeys(m.description or "" for m in self._results))
        rows = {}
        for m in self._results:
            rows.setdefault((m.label or "", m.num_threads, m.sub_label or m.stmt), {})[m.description or ""] = m.median
        cells = [["label", "threads", "", *columns]]
        for (label, threads, name), found in rows.items():
            cells.append(
                [label, str(threads), name, *[f"{found[c] / size:.1f}" if c in found else "" for c in columns]]
            )
        widths = [max(map(len, column)) for column in zip(*cells)]
        lines = ["  |  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in cells]
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:], f"\nTimes are in {unit}."])

    def print(self):
        """Prints the table."""
        print(self)


__getattr__ = _absent_names(__name__)
