"""Runs CPython's own test modules from code that went through our decoder and assembler.

python reassembled.py MODE test.test_x...: MODE is roundtrip's. Prints one JSON object; exit status 0 if all passed.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import signal
import sys
import types

from minidynamo._C import _bytecode


class Count:
    """How many code objects were replaced."""

    codes = 0


def reassemble(code, mode):
    Count.codes += 1
    constants = tuple(reassemble(c, mode) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return _bytecode.roundtrip(code.replace(co_consts=constants), mode)


class Loader(importlib.machinery.SourceFileLoader):
    """Compiles from source, never from or to a cache."""

    mode = 0

    def get_code(self, name):
        path = self.get_filename(name)
        return reassemble(self.source_to_code(self.get_data(path), path), self.mode)


class Finder(importlib.abc.MetaPathFinder):
    """Everything written in Python that is imported from now on."""

    def find_spec(self, name, path=None, target=None):
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec and type(spec.loader) is importlib.machinery.SourceFileLoader:
            spec.loader = Loader(spec.loader.name, spec.loader.path)
        return spec


def main(mode, *modules):
    Loader.mode = int(mode)
    sys.meta_path.insert(0, Finder())
    import json  # these and what they need go through the finder too
    import unittest

    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromName(m) for m in modules)
    result = unittest.TextTestRunner(stream=sys.stderr, verbosity=0).run(suite)
    bad = [str(test) for test, _ in result.failures + result.errors] + [str(t) for t in result.unexpectedSuccesses]
    print(json.dumps({"codes": Count.codes, "tests": result.testsRun, "skipped": len(result.skipped), "bad": bad}))
    return 1 if bad or not result.testsRun else 0


if __name__ == "__main__":
    # What runs in the background of a shell inherits Ctrl-C ignored; CPython's tests count on its exception.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(main(*sys.argv[1:]))
