"""Heat flowing through a metal plate, one compiled step called ten thousand times: the cost of a call.

The plate is small, so what counts is what happens around the arithmetic: checking that the compiled code still
fits its arguments (guards), starting it, and handing back its result. The time loop itself is plain Python.
"""

import numpy as np
from measure import begin, check, first_call, print_times, race

import minidynamo as torch

DIFFUSION = 0.2


def step(u):
    """One explicit time step; the rim of the plate keeps its temperature."""
    middle = u[1:-1, 1:-1]
    flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4.0 * middle
    after = u.clone()
    after[1:-1, 1:-1] = middle + DIFFUSION * flow
    return after


def step_numpy(u):
    middle = u[1:-1, 1:-1]
    flow = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - np.float32(4) * middle
    after = u.copy()
    after[1:-1, 1:-1] = middle + np.float32(DIFFUSION) * flow
    return after


def run(one_step, u, steps):
    for _ in range(steps):
        u = one_step(u)
    return u


def bars(profile, hottest):
    """One character per temperature, blank to full."""
    return "".join(" .:-=+*#%@"[min(9, int(10 * value / hottest))] for value in profile)


def main():
    options = begin(__doc__)
    size, steps = (16, 200) if options.quick else (32, 10_000)
    plate = np.zeros((size, size), dtype=np.float32)
    plate[0, :] = 100.0  # one hot edge
    start = torch.from_numpy(plate).to(options.device)
    compiled = torch.compile(step, fullgraph=True)

    _, seconds = first_call(lambda: compiled(start), options.device)
    print(f"A plate of {size} x {size}; the first call, which traces and compiles, took {seconds * 1e3:.0f} ms.")
    print("From the hot edge to the cold one, along the middle:")
    for count in (0, steps // 100, steps // 10, steps):
        u = run(compiled, start, count)
        print(f"  after {count:6,} steps  |{bars(u[:, size // 2].tolist(), 100.0)}|  mean {u.mean().item():7.4f}")

    check("against NumPy", u, run(step_numpy, plate, steps), absolute=1e-3)
    check("against plain execution", run(compiled, start, 50), run(step, start, 50), 0, 0)
    check("the input is left alone", start[1:], np.zeros((size - 1, size)), 0, 0)
    print("Checked: equal to plain execution to the bit after 50 steps, to NumPy after all.\n")

    contestants = [
        ("compiled", lambda: run(compiled, start, steps)),
        ("plain (uncompiled)", lambda: run(step, start, steps)),
        ("NumPy", lambda: run(step_numpy, plate, steps)),
    ]
    seconds = race(contestants, 2, options.device)
    print_times({name: value / steps for name, value in seconds.items()}, 1e6, "us per step")


if __name__ == "__main__":
    main()
