"""Tests of GPU programs: none needs a card, all need the emulated driver."""

import pytest

from gpu.emulated_driver import LIBRARY

# The process of the tests itself finds no driver, as other tests in it expect: what needs devices runs in processes of
# its own (child_process.py, emulated_driver.py).


@pytest.fixture(scope="session", autouse=True)
def emulated_library():
    if not LIBRARY.exists():
        pytest.fail(f"{LIBRARY.name} is not built: cmake --build build --target cuda_emulated", pytrace=False)
    return LIBRARY
