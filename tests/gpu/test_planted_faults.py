"""A few faults in PTX that the checks of the emulated driver or the results must show: the sample of what
`python -m tests.gpu.faults` does to schedules, which needs a build of its own.
"""

import re

import pytest

import minidynamo as torch

from .emulated_driver import emulated
from .fault_graphs import values
from .launched_graph import LaunchedGraph

F = torch.nn.functional
GRAPHS = {
    "rows": (lambda x: x.sum(1), (values(6, 1000),)),
    "teams": (lambda x: x.sum(1), (values(2, 3000),)),
    "columns": (lambda x: x.sum(0), (values(5000, 33),)),
    "tiles": (lambda x, y: x.t() + y, (values(33, 70), values(70, 33))),
    "layer norm": (lambda x, w, b: F.layer_norm(x, (200,), w, b), (values(9, 200), values(200), values(200))),
    "elements": (lambda x, r: x[:, 1:] * r, (values(9, 150), values(149))),
}
# What a line becomes: a barrier that is not there, a thread further on, an access one element further on.
KINDS = {
    "barrier": (r"^\tbar\.sync.*;$", lambda m: ""),
    "lane": (r"^(\tshfl\.sync\.down\.b32\s.*, )(\d+)(, \d+, -1;)$", lambda m: f"{m[1]}{int(m[2]) + 1}{m[3]}"),
    "index": (
        r"^(\t(?:ld|st)\.(?:global|shared)\.[a-z](\d+).*\[%rd\d+)(\+\d+)?(\].*;)$",
        lambda m: f"{m[1]}+{int(m[3] or 0) + int(m[2]) // 8}{m[4]}",
    ),
}


def planted(text, kind):
    pattern, change = KINDS[kind]
    for match in re.finditer(pattern, text, re.MULTILINE):
        yield match[0].strip(), text[: match.start()] + change(match) + text[match.end() :]


@pytest.mark.parametrize("name", GRAPHS)
def test_noticed(name):
    @emulated(limit="300000")
    def check(driver):
        graph = LaunchedGraph(*GRAPHS[name])
        assert graph.differs(driver) is None
        missed, count = [], 0
        for kind in KINDS:
            found = [(line, graph.differs(driver, [text])) for line, text in planted(*graph.texts, kind)]
            missed += [line for line, how in found if how is None]
            count += len(found)
        assert not missed and count >= 3

    check()
