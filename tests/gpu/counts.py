"""What the graphs of fault_graphs.py execute and access, by the emulated driver's counts: counts.json, which may
only get better: work that is done twice gives the right bits.

    .venv/bin/python -m tests.gpu.counts --write
"""

import argparse
import json
import os
import pathlib

from .emulated_driver import LIBRARY, Driver

RATCHET = pathlib.Path(__file__).with_name("counts.json")
COUNTED = (
    "warp_instructions",
    "global_loads",
    "global_stores",
    "global_load_bytes",
    "global_store_bytes",
    "global_load_sectors",
    "global_store_sectors",
    "shared_accesses",
    "shared_conflicts",
    "barriers",
)


def totals(driver):
    """Of the launches since the last reset, in the order of COUNTED."""
    launches = driver.launches().values()
    return [sum(launch[what] for launch in launches) for what in COUNTED]


def kept():
    return json.loads(RATCHET.read_text())


def worse(before, now):
    """What has grown, in words, or ""."""
    return ", ".join(f"{what} {a} -> {b}" for what, a, b in zip(COUNTED, before, now, strict=True) if b > a)


def counted():
    from .fault_graphs import graphs
    from .launched_graph import LaunchedGraph

    driver, found = Driver(LIBRARY), {}
    for name, function, inputs, dynamic in graphs():
        graph = LaunchedGraph(function, inputs, dynamic)
        driver.library.mdEmulatorReset()
        if how := graph.differs(driver):
            raise SystemExit(f"{name}: {how}")
        found[name] = totals(driver)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--write", action="store_true", required=True)
    options.parse_args()
    os.environ["MINIDYNAMO_CUDA_DRIVER"] = "none"
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in counted().items())
    RATCHET.write_text(f"{{\n{rows}\n}}\n")


if __name__ == "__main__":
    main()
