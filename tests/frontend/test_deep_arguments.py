"""Walks down deeply nested arguments, and deep results: any depth gives what plain Python gives, with small stacks too,
and the work grows with the depth, not with its square."""

import json
import os
import subprocess
import sys

import pytest

LINKED = """
def nested(depth):
    h = None
    for _ in range(depth): n = Node(); n.v = 1; n.next = h; h = n
    return h
def walk(x, n):
    s = 0
    while n is not None: s += n.v; n = n.next
    return x + s
"""

SHAPES = {
    "list": """
def nested(depth):
    l = []
    for _ in range(depth): l = [l]
    return l
def walk(x, l):
    n = 0
    while l: l = l[0]; n += 1
    return x + n
""",
    "dict": """
def nested(depth):
    l = {}
    for _ in range(depth): l = {"k": l}
    return l
def walk(x, l):
    n = 0
    while l: l = l["k"]; n += 1
    return x + n
""",
    "tuple": """
def nested(depth):
    l = ([],)
    for _ in range(depth): l = (l,)
    return l
def walk(x, l):
    n = 0
    while l: l = l[0]; n += 1
    return x + n
""",
    "slots": 'class Node: __slots__ = ("v", "next")\n' + LINKED,
    "attributes": "class Node: pass\n" + LINKED,
    "result": """
def nested(depth):
    return depth
def walk(x, depth):
    l = []
    for _ in range(depth): l = [l]
    return x + 1, l
""",
    "made_and_dropped": """
def nested(depth):
    return depth
def walk(x, depth):
    l = []
    for _ in range(depth): l = [l]
    return x + 1
""",
}

PROGRAM = """
import sys, threading
import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

def flat(value):
    depth = 0
    if isinstance(value, tuple):
        value, inner = value
        while inner: inner = inner[0]; depth += 1
    return value.tolist(), depth

def body():
    for depth in DEPTHS:
        data = nested(depth)
        counter = CompileCounter()
        c = torch.compile(walk, backend=counter)
        torch._dynamo.reset()
        x = torch.zeros(1)
        expected = flat(walk(x, data))
        for _ in range(2):
            assert flat(c(x, data)) == expected, depth
        if depth <= COMPILED or depth >= PLAIN:
            assert counter.frame_count == (depth <= COMPILED), depth
        while isinstance(data, list) and data: data = data[0]

threading.stack_size(STACK)
thread = threading.Thread(target=body)
failed = []
threading.excepthook = lambda a: (failed.append(1), sys.__excepthook__(*a[:3]))
thread.start(); thread.join()
sys.exit(len(failed))
"""


def run(program):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    command = [sys.executable, "-X", "faulthandler", "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=env)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def check(shape, depths, compiled, plain, stack):
    """Up to the depth `compiled` there is a graph, from `plain` on the frame runs plain; between, the stack decides."""
    program = PROGRAM.replace("DEPTHS", repr(depths)).replace("STACK", str(stack))
    run(SHAPES[shape] + program.replace("COMPILED", str(compiled)).replace("PLAIN", str(plain)))


DEPTHS = (50, 101, 300, 2_000, 20_000)
STACKS = {"tiny": 256 * 1024, "small": 2 * 1024 * 1024, "usual": 8 * 1024 * 1024}
# What a result refers to is visited recursively, as far as the stack reaches; arguments are not.
RESULTS = {"tiny": 101, "small": 300, "usual": 2_000}


@pytest.mark.parametrize("stack", STACKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_deep_arguments_and_results(shape, stack):
    # CPython 3.13 itself crashes where it drops deeper objects with so small a stack.
    crashes = stack == "tiny" and sys.version_info >= (3, 13)
    compiled, plain = (RESULTS[stack], DEPTHS[-1]) if shape == "result" else (DEPTHS[-1], DEPTHS[-1] + 1)
    check(shape, DEPTHS[:3] if crashes else DEPTHS, compiled, plain, STACKS[stack])


@pytest.mark.parametrize("shape", ["list", "dict", "slots"])
def test_beyond_the_limit_the_frame_runs_plain(shape):
    check(shape, (70_000,), 0, 70_000, STACKS["usual"])


@pytest.mark.parametrize("shape", ["list", "dict", "slots", "attributes"])
def test_texts_of_guards_grow_with_the_depth(shape):
    counts = """
import json
import minidynamo as torch
sizes = []
for depth in (2_000, 4_000):
    with torch._dynamo.eval_frame.recording() as record:
        compiled = torch.compile(walk, backend=record.backend)  # entries live as long as it does
        compiled(torch.zeros(1), nested(depth))
        rows = record.guards()
    sizes.append([len(rows), sum(len(str(r)) for r in rows)])
print(json.dumps(sizes))
"""
    (few, short), (many, long) = json.loads(run(SHAPES[shape] + counts))
    assert few > 1000 and many < 2.2 * few and long < 2.4 * short
