"""torch.utils.benchmark: counts of runs, texts, and threads as they were afterwards; names for annotations."""

import pytest

import minidynamo as torch
from minidynamo.utils.benchmark import Compare, Measurement, Timer


def test_runs_are_counted_and_described():
    calls, threads = [], torch.get_num_threads()
    timer = Timer("f()", globals={"f": lambda: calls.append(torch.get_num_threads())}, num_threads=1, label="calls")
    found = timer.timeit(50)
    assert len(calls) == 52 and set(calls) == {1} and torch.get_num_threads() == threads
    assert found.number_per_run == 50 and found.mean == found.median > 0
    assert "calls" in repr(found) and "1 measurement, 50 runs , 1 thread" in repr(found)
    heard = []
    many = timer.blocked_autorange(lambda number, taken: heard.append(taken), min_run_time=0.001)
    assert heard == many.raw_times and sum(heard) >= 0.001
    with pytest.raises(NotImplementedError, match="Python only"):
        Timer("1;", language="cpp")


def test_tables():
    spec = dict(stmt="x", setup="pass", label="add", env=None, num_threads=1)
    rows = [Measurement(2, [2e-6], {**spec, "sub_label": s, "description": d}) for s in "ab" for d in ("old", "new")]
    text = str(Compare(rows))
    assert text.count("1.0") == 4 and "old" in text and "Times are in us." in text
    many = Measurement(1, [1e-6, 2e-6, 4e-6], {**spec, "sub_label": "s", "description": ""})
    assert (many.title, many.median, many.iqr) == ("add: s", 2e-6, pytest.approx(1.5e-6))


def test_names_for_annotations():
    from minidynamo.autograd.variable import Variable
    from minidynamo.types import Device, Number
    from minidynamo.utils.hooks import RemovableHandle

    assert isinstance(torch.ones(1), Variable) and isinstance(1.5, Number) and isinstance(torch.device("cpu"), Device)
    handle = torch.nn.Linear(1, 1).register_forward_hook(lambda *args: None)
    assert isinstance(handle, RemovableHandle)
