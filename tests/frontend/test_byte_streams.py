"""With config.trace_more, an io.BytesIO whose place at the frame's entry says how much a read gives: branches on that
are guards, only the bytes wait for the run."""

import io
import struct

import pytest

import minidynamo as torch
from frontend.differential import Defects
from minidynamo._dynamo import config
from minidynamo._dynamo.testing import CompileCounter


@pytest.fixture(autouse=True)
def trace_more():
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with config.patch(trace_more=True, force_replace=True):
        yield
    torch._dynamo.reset()


EMPTY = b""


def stream(at=0, content=bytes(range(11))):
    file = io.BytesIO(content)
    file.seek(at)
    return file


def outcome(function, *args):
    try:
        value = function(*args)
    except Exception as error:
        return type(error), str(error)
    return type(value), value


def same_at_all_places(function, *args):
    """Plain and compiled give the same and leave the stream in the same place, wherever it stands at first."""
    compiled = torch.compile(function)
    with Defects() as defects:
        for at in (0, 3, 8, 9, 10, 11, 20) * 2:
            plain, own = stream(at), stream(at)
            assert outcome(compiled, own, *args) == outcome(function, plain, *args)
            assert own.tell() == plain.tell()
    assert defects == []


def unsigned_short(file):
    data = file.read(2)
    if len(data) == 2:
        return struct.unpack("<H", data)[0]
    raise ValueError("not enough data")


def two_reads(file, n):
    first = file.read(n)
    second = file.read(1)
    if not first and n != 0:
        return "nothing"
    if len(first) < n:
        return "short", first
    return first, second, file.tell(), first[0], len(second)


def rest(file, n):
    if file.tell() >= n:
        return None
    kept = [file.read(1), file.read()]
    return kept, file.tell(), file.read(), bool(kept[1])


@pytest.mark.parametrize("n", [0, 1, 2, 5, 11, 12])
@pytest.mark.parametrize("function", [two_reads, rest])
def test_places_and_sizes(function, n):
    same_at_all_places(function, n)


def test_sizes_that_change():
    compiled = torch.compile(two_reads)
    for at in range(13):
        for n in (2, 3, 1, 0, 4):
            assert outcome(compiled, stream(at), n) == outcome(two_reads, stream(at), n)


def test_numbers_in_bytes():
    same_at_all_places(unsigned_short)
    compiled = torch.compile(unsigned_short)
    before = torch._dynamo.utils.counters["graph_break"].total()
    for at in range(9):
        compiled(stream(at))
    assert torch._dynamo.utils.counters["graph_break"].total() == before


def test_one_entry_for_all_places():
    counter = CompileCounter()

    def f(x, file):
        return x + 1, file.tell(), file.tell() < 100

    compiled = torch.compile(f, backend=counter)
    for at in (3, 7, 0, 1, 12):
        assert compiled(torch.ones(2), stream(at))[1:] == (at, True)
    assert counter.frame_count == 1


@pytest.mark.parametrize(
    "look",
    [
        lambda d: d == b"\0\1",
        lambda d: d != b"\0\1",
        lambda d: d < b"\1",
        lambda d: d in {b"\0\1"},
        lambda d: {d: 1}[d],
        lambda d: d is d,
        lambda d: d is EMPTY,
        lambda d: d is None,
        lambda d: d + b"a",
        lambda d: b"a" + d,
        lambda d: d * 2,
        lambda d: d % 1,
        lambda d: d[-1],
        lambda d: d[:1],
        lambda d: d[5],
        lambda d: d["a"],
        lambda d: [*d],
        lambda d: 1 in d,
        lambda d: hash(d),
        lambda d: str(d),
        lambda d: f"{d!r}",
        lambda d: d.hex(),
        lambda d: d.nothing,
        lambda d: d.decode(),
        lambda d: isinstance(d, bytes) and not isinstance(d, str),
        lambda d: type(d) is bytes,
        lambda d: d(),
        lambda d: max(d),
        lambda d: sorted(d),
        lambda d: bytes(d),
        lambda d: bytearray(d),
        lambda d: int.from_bytes(d, "big"),
        lambda d: struct.unpack("<I", d),
        lambda d: struct.unpack(d, d),
        lambda d: struct.unpack("BB", d),
        lambda d: (d[0] + 1, d[0] == 0, not d[1]),
        lambda d: list(range(d[1])),
        lambda d: b"abc"[d[1]],
        lambda d: f"{d[1]}",
        lambda d: (lambda *a, **k: (a, k))(*d, d=d),
    ],
)
def test_whoever_looks_at_the_bytes(look):
    def f(file):
        return look(file.read(2))

    same_at_all_places(f)


def test_streams_that_fail():
    def closed():
        file = stream()
        file.close()
        return file

    for make in (closed, lambda: stream(5), closed, lambda: None):
        for f in (unsigned_short, lambda file: file.tell(), lambda file: file.read()):
            assert outcome(torch.compile(f), make()) == outcome(f, make())


def test_another_stream_and_the_same_twice():
    def f(a, b):
        x = a.read(2)
        y = b.read(3)
        return x, y, a.tell(), b.tell()

    compiled = torch.compile(f)
    for _ in range(3):
        assert compiled(stream(1), stream(2)) == f(stream(1), stream(2))
        one, other = stream(1), stream(1)
        assert compiled(one, one) == f(other, other)


def test_writes_between():
    def f(file):
        before = file.tell()
        data = file.read(2)
        file.write(b"abc")
        return before, data, file.tell(), file.getvalue(), file.read(2)

    same_at_all_places(f)


def test_tensors_beside():
    def f(x, file):
        y = x * 2
        data = file.read(2)
        return y + len(data), data, file.tell()

    compiled = torch.compile(f)
    for at in (0, 3, 10, 11):
        plain, own = f(torch.ones(2), stream(at)), compiled(torch.ones(2), stream(at))
        assert own[0].tolist() == plain[0].tolist() and own[1:] == plain[1:]


def test_a_stream_let_go():
    class Holder:
        def __init__(self):
            self.file = stream(11)

        def end(self):
            data = self.file.read(1)
            if not data:
                self.file = None
            return data

    compiled = torch.compile(Holder.end)
    for _ in range(3):
        holder = Holder()
        assert compiled(holder) == b"" and holder.file is None
    assert not torch._dynamo.utils.counters["graph_break"]
