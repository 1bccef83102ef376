"""What the examples share: options, the check of results, and timing."""

import argparse
import math
import sys
import textwrap
import time

import numpy as np

import minidynamo as torch


def begin(description, devices=True):
    """Prints what the example is about; returns its options. `devices`: it may run on another device than the CPU."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, for tests")
    parser.add_argument("--tiny", action="store_true", help="as small as can be, with no goals: for emulated devices")
    if devices:
        parser.add_argument("--device", type=torch.device, default="cpu", help="where tensors are: cpu, cuda, cuda:1")
    options = parser.parse_args()
    options.quick |= options.tiny
    print(textwrap.dedent(description).strip(), end="\n\n")
    return options


def check(what, ours, expected, relative=1e-4, absolute=1e-5):
    """Ends the program with a message and exit status 1 if the arrays, or tensors anywhere, differ."""
    ours, expected = (x.numpy(force=True) if isinstance(x, torch.Tensor) else np.asarray(x) for x in (ours, expected))
    if ours.shape != expected.shape:
        sys.exit(f"MISMATCH {what}: shape {ours.shape} instead of {expected.shape}")
    if not np.allclose(ours, expected, rtol=relative, atol=absolute):
        sys.exit(f"MISMATCH {what}: values differ by up to {np.abs(ours - expected).max():.3g}")


def check_reached(what, value, least=-math.inf, most=math.inf, options=None):
    """Ends the program with a message and exit status 1 if the value is not between both, or not a number.

    With the option --tiny nothing is asked.
    """
    if options is not None and options.tiny:
        return
    if not least <= value <= most:
        sys.exit(f"NOT REACHED {what}: {value:.6g} instead of " + " to ".join(f"{bound:g}" for bound in (least, most)))


def timed(call, device):
    """Result and seconds of a call, with all that it has left to the device to do."""
    start = time.perf_counter()
    result = call()
    if torch.device(device).type == "cuda":
        torch.cuda.synchronize(device)
    return result, time.perf_counter() - start


def first_call(call, device="cpu"):
    """Result and seconds of the call that traces and compiles."""
    return timed(call, device)


def race(contestants, rounds, device="cpu"):
    """(name, call) pairs, run in turn so that all meet the same machine: the shortest seconds of each by name."""
    torch.compiler.wait_for_kernels()
    best = {name: float("inf") for name, _ in contestants}
    for _ in range(rounds):
        for name, call in contestants:
            best[name] = min(best[name], timed(call, device)[1])
    return best


def print_times(seconds, unit=1e3, name="ms"):
    """Each is compared with the first one."""
    reference = next(iter(seconds.values()))
    for what, value in seconds.items():
        ratio = "" if value is reference else f"{value / reference:8.1f} x the time"
        print(f"  {what:<26}{value * unit:10.3f} {name}{ratio}")
