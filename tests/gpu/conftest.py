"""Tests of GPU programs: none needs a card, all need the emulated driver."""

import os

import pytest

from gpu.emulated_driver import LIBRARY

# Where a test says nothing else, the product finds the emulated driver. Processes that a test starts do, too.
os.environ.setdefault("MINIDYNAMO_CUDA_DRIVER", str(LIBRARY))


@pytest.fixture(scope="session", autouse=True)
def emulated_library():
    if not LIBRARY.exists():
        pytest.fail(f"{LIBRARY.name} is not built: cmake --build build --target cuda_emulated", pytrace=False)
    return LIBRARY
