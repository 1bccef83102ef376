#!/usr/bin/env python3
"""Whole training steps on minidynamo and, where it is installed, on torch in the same process.

    benchmarks/training.py [--threads N] [--rounds N] [--fused] [PROGRAM ...]      prints JSON

A step is forward, loss, backward, AdamW's step and zero_grad; the next step takes the next of a few batches. Each side
runs it three ways: "plain"; "compiled", which compiles the function from batch to loss and leaves the optimizer plain;
"whole", which compiles the step as one function. All start from the same weights; unless their first losses agree,
nothing is measured. torch.compile takes part where it can build kernels, with its disk cache empty.

ms: the shortest step; all take turns. On one thread it is that thread's processor time, which other work on the machine
changes less than wall time; on more it is wall time. first_ms: wall time of the first step, for compiled ones with all
compilation that it waits for. ready_ms: until machine code made in the background is there as well.

held_mb: how much one forward pass keeps for backward. It is the growth of the process's resident memory by one more
forward pass whose loss is kept, in a process of its own: what passes leave unused, the next ones use first, so memory
that allocators keep is not counted. saved_mb, of plain torch only: bytes of the storages given to
torch.autograd.graph.saved_tensors_hooks, without parameters and the batch, to check held_mb against.
"""

import argparse
import importlib
import importlib.util
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
from kernels import wait_for_kernels
from programs import PAUSE

BATCHES = 16
CHECKED = 4  # losses that have to agree
LEARNT = 0.05  # a loss at which gradients come near the smallest floats, which are slow
CHARACTERS, LENGTH, WIDTH, HEADS, BLOCKS = 65, 128, 256, 8, 4


def mlp(torch):
    nn = torch.nn
    return nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))


def convnet(torch):
    nn = torch.nn
    return nn.Sequential(
        *(nn.Conv2d(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(64 * 5 * 5, 128), nn.ReLU(), nn.Linear(128, 10)),
    )


def gpt(torch):
    """Pre-norm blocks, learnt positions, the head tied to the embedding."""
    nn, functional = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.before_attention, self.before_neurons = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x):
            batch, length, width = x.shape
            parts = self.qkv(self.before_attention(x)).split(width, dim=2)
            q, k, v = (part.view(batch, length, HEADS, width // HEADS).transpose(1, 2) for part in parts)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
            return x + self.down(functional.gelu(self.up(self.before_neurons(x))))

    class Gpt(nn.Module):
        def __init__(self):
            super().__init__()
            self.characters, self.positions = nn.Embedding(CHARACTERS, WIDTH), nn.Embedding(LENGTH, WIDTH)
            self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, CHARACTERS, bias=False)
            self.head.weight = self.characters.weight

        def forward(self, characters):
            x = self.characters(characters) + self.positions.weight
            return self.head(self.norm(self.blocks(x))).flatten(0, 1)

    return Gpt()


def pictures(*shape):
    def draw(rng):
        return rng.standard_normal((64, *shape), dtype=np.float32), rng.integers(0, 10, 64)

    return draw


def texts(rng):
    text = rng.integers(0, CHARACTERS, (8, LENGTH + 1))
    return text[:, :-1], text[:, 1:].flatten()


# name -> (model, arrays of one batch)
PROGRAMS = {"MLP": (mlp, pictures(784)), "convnet": (convnet, pictures(1, 28, 28)), "GPT": (gpt, texts)}
WAYS = ("plain", "compiled", "whole")


def set_weights(torch, model):
    """The same numbers on each side, sized for layers of this width; norms start at one, biases at zero."""
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() > 1:
                scale = 0.02 if "characters" in name or "positions" in name else parameter[0].numel() ** -0.5
                values = scale * rng.standard_normal(tuple(parameter.shape), dtype=np.float32)
                parameter.copy_(torch.from_numpy(values))
            else:
                parameter.fill_(1.0 if "norm" in name.lower() or "before" in name and "weight" in name else 0.0)


class Training:
    """One side and way of a program: `step()` takes a step with the next batch and gives its loss."""

    def __init__(self, torch, program, way, fused=None):
        build, draw = PROGRAMS[program]
        model = build(torch)
        set_weights(torch, model)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=fused)
        rng = np.random.default_rng(1)
        drawn = [[torch.from_numpy(np.ascontiguousarray(part)) for part in draw(rng)] for _ in range(BATCHES)]
        self.torch, self.parameters = torch, list(model.parameters())
        self.batches = itertools.cycle(drawn)

        def loss_of(inputs, targets):
            return torch.nn.functional.cross_entropy(model(inputs), targets)

        self.loss_of = torch.compile(loss_of) if way == "compiled" else loss_of

        def step(inputs, targets):
            loss = self.loss_of(inputs, targets)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        self._step = torch.compile(step) if way == "whole" else step

    def step(self):
        return self._step(*next(self.batches))

    def first(self):
        """The first losses, and how long the first took."""
        start = time.perf_counter()
        losses = [self.step().item()]
        times = {"first_ms": (time.perf_counter() - start) * 1e3}
        wait_for_kernels(self.torch)
        times["ready_ms"] = (time.perf_counter() - start) * 1e3
        for _ in range(CHECKED - 1):
            losses.append(self.step().item())
        wait_for_kernels(self.torch)  # what the steps after the first compiled
        return losses, times


def timed(clock, training):
    start = clock()
    training.step()
    return (clock() - start) * 1e3


def compare(program, losses):
    (first_side, first), *others = losses.items()
    for side, found in others:
        if not np.allclose(found, first, rtol=1e-4):
            sys.exit(f"{program}: losses of {side} are {found}, of {first_side} {first}: nothing was measured")


def start_all(modules, ways, program, fused):
    """side -> a warm Training, and how long first steps took."""
    trainings, losses, rows = {}, {}, {}
    for name, torch in modules.items():
        torch._dynamo.reset()  # of the program before: its entries would be looked through
        for way in ways[name]:
            side = f"{name} {way}"
            trainings[side] = Training(torch, program, way, fused)
            losses[side], rows[side] = trainings[side].first()
    compare(program, losses)
    return trainings, rows


def measure(modules, ways, program, options):
    trainings, rows = start_all(modules, ways, program, options.fused)
    threads, clock = options.threads, time.thread_time if options.threads == 1 else time.perf_counter
    for _ in range(options.rounds):
        for name in modules:
            time.sleep(PAUSE if len(modules) > 1 and threads > 1 else 0)
            for way in ways[name]:
                row, training = rows[f"{name} {way}"], trainings[f"{name} {way}"]
                row["ms"] = min(row.get("ms", float("inf")), *(timed(clock, training) for _ in range(2)))
    for side, training in trainings.items():
        if (loss := training.step().item()) < LEARNT:
            sys.exit(f"{program}: {side} has come to a loss of {loss}: fewer rounds, or more batches")
    return rows


def resident():
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def saved_bytes(torch, training):
    """Of distinct storages that operations save for backward, without those of parameters and the batch."""
    batch = next(training.batches)
    known = {t.untyped_storage().data_ptr() for t in (*batch, *training.parameters)}
    saved = {}

    def pack(tensor):
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            saved[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        loss = training.loss_of(*batch)
    del loss  # kept till here, so that no address is used twice
    return sum(saved.values())


def measure_held(name, way, program="GPT", passes=8):
    """Megabytes, in this process, which should have done nothing else."""
    torch = importlib.import_module(name)
    torch.set_num_threads(1)
    training = Training(torch, program, way)
    training.first()
    kept, sizes = [], []
    for _ in range(passes):
        kept.append(training.loss_of(*next(training.batches)))
        sizes.append(resident())
    growth = [after - before for before, after in itertools.pairwise(sizes)]
    found = {"held_mb": statistics.median(growth[passes // 2 :])}  # the first ones use what the steps left free
    if (name, way) == ("torch", "plain"):
        found["saved_mb"] = saved_bytes(torch, training) / 2**20
    return found


def held_by_side(ways):
    """Each side in a new process."""
    found = {}
    sides = [(name, way) for name, row in ways.items() for way in row if way != "whole"]
    for name, way in sides:
        command = [sys.executable, __file__, "--held", name, way]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"memory of {name} {way}:\n{done.stderr}")
        found[f"{name} {way}"] = json.loads(done.stdout)
    return found


def ways_of(name, torch):
    """The ways a side can run; torch.compile may lack a C++ compiler. Compiles, so that what loads late is loaded."""
    try:
        torch.compile(lambda x: x * 2 + 1)(torch.ones(8))
        return WAYS, None
    except Exception as error:  # whatever the compiler of kernels ran into
        if name != "torch":
            raise
        return WAYS[:1], f"torch.compile cannot run here: {type(error).__name__}: {error}".splitlines()[0]


def ratios(programs):
    """How many times as long torch takes: name -> by program and as geometric mean. minidynamo's side is the first."""
    pairs = {
        "plain": ("minidynamo plain", "torch plain"),
        "compiled, torch plain": ("minidynamo compiled", "torch plain"),
        "compiled": ("minidynamo compiled", "torch compiled"),
        "whole": ("minidynamo whole", "torch whole"),
    }
    found = {}
    for name, (ours, theirs) in pairs.items():
        if all(theirs in rows for rows in programs.values()):
            row = {program: rows[theirs]["ms"] / rows[ours]["ms"] for program, rows in programs.items()}
            found[name] = {**row, "geometric mean": statistics.geometric_mean(row.values())}
    return found


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="of: " + ", ".join(PROGRAMS))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--fused", action="store_true", default=None, help="AdamW(fused=True) on both sides")
    parser.add_argument("--no-compiled-peer", action="store_true", help="do not run torch.compile, which takes minutes")
    parser.add_argument("--held", nargs=2, metavar=("MODULE", "WAY"), help="only memory, of this side, in this process")
    options = parser.parse_args()
    if unknown := set(options.programs) - set(PROGRAMS):
        parser.error(f"no such program: {', '.join(sorted(unknown))}")
    return options


def run(options):
    names = ["minidynamo", *(["torch"] if importlib.util.find_spec("torch") else [])]
    modules, ways, results = {name: importlib.import_module(name) for name in names}, {}, {"threads": options.threads}
    for name, torch in modules.items():
        torch.set_num_threads(options.threads)
        if name == "torch" and options.no_compiled_peer:
            ways[name] = WAYS[:1]
            continue
        ways[name], note = ways_of(name, torch)
        if note:
            results["note"] = note
    results["programs"] = {
        program: measure(modules, ways, program, options) for program in options.programs or PROGRAMS
    }
    results["ratios"] = ratios(results["programs"])
    if options.threads == 1 and "GPT" in results["programs"]:
        results["memory"] = held_by_side(ways)
    return results


def main():
    options = arguments()
    if options.held:
        print(json.dumps(measure_held(*options.held)))
        return
    with tempfile.TemporaryDirectory() as empty:  # nothing from an earlier run
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = empty
        print(json.dumps(run(options)))


if __name__ == "__main__":
    main()
