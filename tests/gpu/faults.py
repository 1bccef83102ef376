"""Faults planted in the programs of GPUs, one at a time: are they noticed, by a check or by a wrong bit?

    .venv/bin/python -m tests.gpu.faults [--most 2000] [--seed 0] [--list]

A fault is a change of the PTX that the driver is about to load: a barrier left out, a value taken from another lane, a
comparison that goes one further or the other way, a constant off by one, a condition turned around. It is noticed if a
check of the emulated driver fires or a result differs from the CPU's. Prints what was not noticed, and the share.
"""

import argparse
import collections
import ctypes
import os
import pathlib
import random
import re
import signal
import sys

os.environ.setdefault("MINIDYNAMO_CUDA_DRIVER", "emulated")
os.environ.setdefault("MINIDYNAMO_BACKGROUND_COMPILE", "0")
os.environ["PYTORCH_NO_CUDA_MEMORY_CACHING"] = "1"  # the ends of tensors are seen
os.environ["MINIDYNAMO_EMULATOR_DEVICES"] = "sm_90:1G"
sys.path[:0] = [
    str(pathlib.Path(__file__).resolve().parents[1]),
    str(pathlib.Path(__file__).resolve().parents[2] / "python"),
]

import numpy  # noqa: E402

import minidynamo as torch  # noqa: E402

LIBRARY = pathlib.Path(torch.__file__).with_name("libminidynamo_cuda_emulated.so")
CHANGE = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p, ctypes.c_size_t)
SECONDS = 20  # for one program
COMPARED = {"lt": "le", "le": "lt", "gt": "ge", "ge": "gt", "eq": "ne", "ne": "eq"}


def _next_number(match):
    return f"{match[1]}{int(match[2]) + 1};"


KINDS = {
    "barrier left out": (re.compile(r"^\tbar\.sync.*;$", re.M), lambda m: ""),
    "another lane": (
        re.compile(r"^(\tshfl\.sync\.down\.b32 .*, )(\d+)(, \d+, -1;)$", re.M),
        lambda m: f"{m[1]}{int(m[2]) ^ 1}{m[3]}",
    ),
    "one further": (
        re.compile(r"^(\tsetp\.)(lt|le|gt|ge)(\.[su]\d\d .*;)$", re.M),
        lambda m: m[1] + COMPARED[m[2]] + m[3],
    ),
    "the other way": (re.compile(r"^(\t)@(!?)(%p\d+ bra)", re.M), lambda m: f"{m[1]}@{'' if m[2] else '!'}{m[3]}"),
    "off by one": (re.compile(r"^(\tadd\.s(?:32|64) .*, )(-?\d+);$", re.M), _next_number),
    "another place": (
        re.compile(r"^(\t(?:shl\.b(?:32|64)|mul\.wide\.u32|mul\.lo\.s64) .*, )(\d+);$", re.M),
        _next_number,
    ),
    "another mask": (re.compile(r"^(\tand\.b32 .*, )(\d+);$", re.M), lambda m: f"{m[1]}{int(m[2]) >> 1};"),
}


def sites(text):
    """(kind, start, end, replacement) of each place where a fault can be."""
    found = []
    for kind, (pattern, change) in KINDS.items():
        found += [(kind, m.start(), m.end(), change(m)) for m in pattern.finditer(text)]
    return sorted(found, key=lambda site: site[1])


class Planter:
    """Stands between the product and the driver: reads texts, or changes the one with a number."""

    def __init__(self):
        self.library = ctypes.CDLL(str(LIBRARY))
        self.texts, self.fault = {}, None
        self.callback = CHANGE(self.change)
        self.library.mdEmulatorChangeTexts(self.callback)

    def change(self, text, size, to, room):
        source = ctypes.string_at(text, size).decode()
        self.texts.setdefault(source, len(self.texts))
        if not self.fault or self.fault[0] != source:
            return 0
        _, (_, start, end, replacement) = self.fault
        changed = (source[:start] + replacement + source[end:]).encode()
        ctypes.memmove(to, changed, min(len(changed), room))
        return len(changed)


def programs():
    """Name -> (function, inputs on the CPU): every shape of kernel."""
    numbers = numpy.random.default_rng(1)

    def values(*shape):
        return torch.tensor(numbers.standard_normal(shape).astype("float32"))

    functional = torch.nn.functional
    return {
        "elements": (lambda x, y: (x * y + 1).exp(), (values(7, 150), values(7, 150))),
        "vectors": (lambda x, y: x * y, (values(64, 40), values(64, 40))),
        "broadcast": (lambda x, r, c: x * r + c, (values(13, 21), values(21), values(13, 1))),
        "tiles": (lambda x, y: x.t() + y, (values(70, 45), values(45, 70))),
        "short rows": (lambda x: (x.sum(1), x.amax(1)), (values(37, 5),)),
        "rows": (lambda x: x.sum(1), (values(5, 1000),)),
        "long rows": (lambda x: x.sum(1), (values(2, 9000),)),
        "columns": (lambda x: x.sum(0), (values(50, 40),)),
        "long columns": (lambda x: x.sum(0), (values(5000, 3),)),
        "across": (lambda x: x.t().sum(1), (values(100, 40),)),
        "whole across": (lambda x: x.t().sum(1), (values(1024, 33),)),
        "much across": (lambda x: (x.t().sum(1), x.t().amax(1)), (values(3001, 5),)),
        "whole columns": (lambda x: x.sum(0), (values(1024, 64),)),
        "whole rows": (lambda x: (x.sum(1), x.amin(1)), (values(8, 1024),)),
        "some chunks": (lambda x: x.sum(1), (values(3, 4096),)),
        "parts": (lambda x: x.sum(), (values(70_000),)),
        "softmax": (lambda x: torch.softmax(x, 1), (values(6, 300),)),
        "long softmax": (lambda x: torch.softmax(x, 1), (values(2, 3000),)),
        "layer norm": (
            lambda x, w, b: functional.layer_norm(x, (130,), w, b),
            (values(9, 130), values(130), values(130)),
        ),
    }


def outcome(function, inputs):
    torch._dynamo.reset()
    try:
        results = torch.compile(function, fullgraph=True)(*(x.to("cuda") for x in inputs))
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001  it was noticed
        return f"{type(error).__name__}: {error}"
    results = results if isinstance(results, tuple) else (results,)
    return [r.cpu().numpy() for r in results]


def equal(a, b):
    return not isinstance(a, str) and all(numpy.array_equal(x, y, equal_nan=True) for x, y in zip(a, b, strict=True))


def in_child(work):
    """True, False, or None where the child died: an error that lasts ends with its process."""
    child = os.fork()
    if child == 0:
        os._exit(0 if work() else 1)
    _, status = os.waitpid(child, 0)
    return os.WIFEXITED(status) and os.WEXITSTATUS(status) == 0


def texts_of(function, inputs):
    """Texts that a program loads, asked in a child: the driver is not begun here."""
    reader, writer = os.pipe()

    def work():
        planter = Planter()
        outcome(function, inputs)
        with os.fdopen(writer, "w") as pipe:
            pipe.write("\0".join(planter.texts))
        return True

    child = os.fork()
    if child == 0:
        os.close(reader)
        os._exit(0 if work() else 1)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return text.split("\0")


def is_noticed(function, inputs, expected, text, site):
    def survives():
        signal.alarm(SECONDS)  # a loop without an end is noticed, too
        planter = Planter()
        planter.fault = (text, site)
        return equal(outcome(function, inputs), expected)

    return not in_child(survives)


def run(most, seed, show=False):
    planted, unnoticed = collections.Counter(), []
    every = []
    for name, (function, inputs) in programs().items():
        torch._dynamo.reset()
        results = torch.compile(function, fullgraph=True)(*inputs)
        expected = [r.numpy() for r in (results if isinstance(results, tuple) else (results,))]
        for text in texts_of(function, inputs):
            every += [(name, function, inputs, expected, text, site) for site in sites(text)]
    random.Random(seed).shuffle(every)
    for name, function, inputs, expected, text, site in every[:most]:
        planted[site[0]] += 1
        if not is_noticed(function, inputs, expected, text, site):
            line = text.count("\n", 0, site[1]) + 1
            unnoticed.append((name, site[0], line, text[site[1] : site[2]].strip(), site[3].strip()))
            if show:
                print(*unnoticed[-1], sep=" | ", flush=True)
    return planted, unnoticed, len(every)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--most", type=int, default=2000)
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    planted, unnoticed, every = run(chosen.most, chosen.seed, show=True)
    missed = collections.Counter(kind for _, kind, *_ in unnoticed)
    for kind, count in planted.items():
        print(f"{kind:18} {count:5} planted, {missed[kind]:4} not noticed")
    total = sum(planted.values())
    print(f"{total} of {every} faults planted, {1 - len(unnoticed) / total:.1%} noticed")


if __name__ == "__main__":
    main()
