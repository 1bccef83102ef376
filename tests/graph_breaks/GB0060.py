"""A test case expects a warning in compiled code."""

CODE = "GB0060"
import unittest
import warnings

import torch


class Case(unittest.TestCase):
    def runTest(self):
        pass


def run(compile):
    case = Case()

    @compile
    def f(x):
        with case.assertWarnsRegex(UserWarning, "old"):
            warnings.warn("old call", UserWarning, stacklevel=2)
        return x + 2

    with torch._dynamo.config.patch(enable_trace_unittest=True):
        return f(torch.ones(2))


def fix(compile):
    case = Case()

    @compile
    def f(x):
        case.assertEqual(x.shape[0], 2)
        return x + 2

    with torch._dynamo.config.patch(enable_trace_unittest=True):
        return f(torch.ones(2))
