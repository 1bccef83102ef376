"""Programs that change guarded state between calls of one function, run plain and compiled side by side."""

import minidynamo as torch
from frontend.differential import Seen
from minidynamo._dynamo.testing import CompileCounter


def follow(program, prepare):
    """Everything the calls of `program(call)` showed, in order. `call(f, *args)` runs prepare(f), made once per f."""
    shown, prepared = [], {}

    def call(f, *args, **kwargs):
        if id(f) not in prepared:
            prepared[id(f)] = (f, prepare(f))
        seen = Seen(prepared[id(f)][1], args, kwargs)
        shown.append(seen.summary())
        return seen.value

    program(call)
    return shown


def agrees(program, frames=None, backends=("eager", "llvm")):
    """`program` shows the same plain and compiled; `frames` graphs are compiled on the way."""
    expected = follow(program, lambda f: f)
    counter = CompileCounter()
    for backend in (counter, *backends):
        torch._dynamo.reset()
        found = follow(program, lambda f, backend=backend: torch.compile(f, backend=backend))
        for number, (want, got) in enumerate(zip(expected, found, strict=True)):
            for part in want:
                assert got[part] == want[part], (
                    f"{part} of call {number} differs:\n{got[part]}\ninstead of\n{want[part]}"
                )
    if frames is not None:
        assert counter.frame_count == frames, f"{counter.frame_count} graphs instead of {frames}"
