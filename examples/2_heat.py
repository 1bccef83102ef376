"""Heat flowing through a plate, one compiled step called ten thousand times: the cost of a call.

The plate is small, so what is measured is mostly what happens around the arithmetic: checking that the compiled code
still fits (guards), starting it, and handing its result back.
"""

import numpy as np
from measure import arguments, best_seconds, print_times

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


def main():
    options = arguments(__doc__.split("\n")[0])
    size, steps = (16, 200) if options.quick else (32, 10_000)
    plate = np.zeros((size, size), dtype=np.float32)
    plate[0, :] = 100.0  # one hot edge
    start = torch.from_numpy(plate)
    compiled = torch.compile(step, fullgraph=True)

    ours = run(compiled, start, steps)
    print(f"plate of {size} x {size}, {steps:,} steps: {ours.mean().item():.4f} degrees on average")
    assert np.allclose(ours.numpy(), run(step_numpy, plate, steps), rtol=1e-4, atol=1e-3)
    assert torch.equal(run(compiled, start, 50), run(step, start, 50))
    assert start.sum().item() == plate.sum()  # the input was left alone

    times = [
        (name, best_seconds(lambda f=f, u=u: run(f, u, steps), 2) / steps)
        for name, f, u in [("compiled", compiled, start), ("plain (eager)", step, start), ("NumPy", step_numpy, plate)]
    ]
    print_times(times, 1e6, "us per step")


if __name__ == "__main__":
    main()
