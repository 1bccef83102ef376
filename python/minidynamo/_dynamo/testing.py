"""torch._dynamo.testing: backends that count or keep what they are given, and what tests of compiled code ask for."""

import re
import sys
import threading
import unittest

from .. import _C
from .._absent import absent_names as _absent_names
from . import config
from .comparison import same as same
from .eval_frame import disable, lookup_backend
from .eval_frame import optimize_assert as optimize_assert
from .eval_frame import reset as reset
from .utils import count_calls


class CompileCounter:
    """Backend: runs the graph as it is; `frame_count` graphs with `op_count` call nodes in all."""

    def __init__(self):
        self._lock = threading.RLock()
        self.clear()

    def __call__(self, gm, example_inputs):
        with self._lock:
            self.frame_count += 1
            self.op_count += count_calls(gm.graph)
        return gm.forward

    def clear(self):
        self.frame_count = 0
        self.op_count = 0


class CompileCounterInt(CompileCounter):
    """CompileCounter that also counts the graphs' nodes that stand for numbers of the call."""

    def __call__(self, gm, example_inputs):
        with self._lock:
            self.op_count += sum(isinstance(x, int) for x in example_inputs)
        return super().__call__(gm, example_inputs)


class CompileCounterWithBackend:
    """Backend: counts as CompileCounter does, keeps the graphs in `graphs`, and has `backend` compile them."""

    def __init__(self, backend):
        self.backend = backend
        self._lock = threading.RLock()
        self.clear()

    def __call__(self, gm, example_inputs):
        with self._lock:
            self.frame_count += 1
            self.op_count += count_calls(gm.graph)
            self.graphs.append(gm)
        return lookup_backend(self.backend)(gm, example_inputs)

    def clear(self):
        self.frame_count = 0
        self.op_count = 0
        self.graphs = []


class EagerAndRecordGraphs:
    """Backend: keeps every graph module in `graphs` and runs it as it is."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return gm.forward


class AotEagerAndRecordGraphs:
    """Backend: keeps every graph module in `graphs`, the forward and backward graphs of operators it becomes in
    `fw_graphs` and `bw_graphs`, and runs these as they are."""

    def __init__(self):
        self.graphs, self.fw_graphs, self.bw_graphs = [], [], []

    def __call__(self, gm, example_inputs):
        from .._functorch.aot_autograd import aot_module_simplified

        def keep(graphs):
            def compiler(gm, inputs):
                graphs.append(gm)
                return gm.forward

            return compiler

        self.graphs.append(gm)
        return aot_module_simplified(gm, example_inputs, keep(self.fw_graphs), keep(self.bw_graphs))


class InductorAndRecordGraphs:
    """Backend: keeps every graph module in `graphs` and compiles it."""

    def __init__(self):
        self.graphs = []

    def __call__(self, gm, example_inputs):
        self.graphs.append(gm)
        return lookup_backend("inductor")(gm, example_inputs)


@disable
def unsupported(a, b, /):
    """Gives `b`; in compiled code always a graph break."""
    return b


def rand_strided(size, stride, dtype=_C.float32, device="cpu", extra_size=0):
    """A tensor of these sizes and strides; its memory, `extra_size` elements longer than needed, holds normally
    distributed numbers, or zeros if the dtype is not a real floating-point one."""
    needed = 1 + sum((n - 1) * step for n, step in zip(size, stride)) + extra_size
    if 0 in size:
        needed = extra_size
    make = _C.randn if dtype.is_floating_point else _C.zeros
    return _C.as_strided(make(needed, dtype=dtype, device=device), size, stride)


def clone_me(x):
    """A copy of a tensor without its history that requires grad if it does; None for None."""
    return None if x is None else x.detach().clone().requires_grad_(x.requires_grad)


def requires_bwd_pass(out):
    """Whether a tensor in the result of a program requires grad. NotImplementedError for other kinds of results."""
    if isinstance(out, _C.Tensor):
        return out.requires_grad
    if isinstance(out, (list, tuple)):
        return any(requires_bwd_pass(x) for x in out)
    if out is None or isinstance(out, int):
        return False
    raise NotImplementedError(f"Nothing is known about backward of {type(out)}")


def standard_test(self, fn, nargs, expected_ops=None, expected_ops_dynamic=None, expected_frame_count=1):
    """In a TestCase: `fn` of `nargs` tensors gives the same compiled, in one graph with that many operations."""
    if not config.assume_static_by_default and expected_ops_dynamic is not None:
        expected_ops = expected_ops_dynamic
    counter = CompileCounter()
    args = [_C.randn(10, 10) for _ in range(nargs)]
    expected = fn(*args)
    reset()
    compiled = optimize_assert(counter)(fn)
    for _ in range(3):
        self.assertTrue(same(expected, compiled(*args)))
    self.assertEqual(counter.frame_count, expected_frame_count)
    if expected_ops is not None:
        self.assertEqual(counter.op_count, expected_ops)


def collect_results(model, prediction, loss, example_inputs):
    """What a step of training has made: prediction, loss, gradients of parameters and inputs, buffers."""
    gradients, parameters = {}, {}
    for name, parameter in model.named_parameters():
        name = remove_optimized_module_prefix(name)
        gradients[f"{name}.grad"] = parameter.grad if parameter.grad is not None else _C.zeros_like(parameter)
        parameters[name] = clone_me(parameter)
    buffers = {remove_optimized_module_prefix(name): buffer for name, buffer in model.named_buffers()}
    inputs = example_inputs.values() if isinstance(example_inputs, dict) else example_inputs
    return [prediction, loss, gradients, parameters, buffers, [x.grad for x in inputs if isinstance(x, _C.Tensor)]]


def named_parameters_for_optimized_module(mod):
    """named_parameters(), with the names they have in the module that was compiled."""
    return [(remove_optimized_module_prefix(name), value) for name, value in mod.named_parameters()]


def named_buffers_for_optimized_module(mod):
    """The same of buffers."""
    return [(remove_optimized_module_prefix(name), value) for name, value in mod.named_buffers()]


def reduce_to_scalar_loss(out):
    """One number from the result of a program, for backward(): means of sums. NotImplementedError for other kinds."""
    if isinstance(out, _C.Tensor):
        return out.sum() / out.numel()
    if isinstance(out, (list, tuple)):
        return sum(reduce_to_scalar_loss(x) for x in out) / len(out)
    if isinstance(out, dict):
        return sum(reduce_to_scalar_loss(x) for x in out.values()) / len(out)
    raise NotImplementedError(f"Nothing is known about a loss of {type(out)}")


def remove_optimized_module_prefix(name):
    """The name of a parameter of a compiled module as the module itself calls it."""
    return name.removeprefix("_orig_mod.")


def strip_comment(code):
    """The code without lines that are comments."""
    return re.sub(r"(?m)^ *#.*\n?", "", str(code))


def remove_trailing_space(code):
    """The code without spaces at the ends of lines."""
    return "\n".join([line.rstrip() for line in code.split("\n")])


def _squash_blank_lines(code):
    lines = code.split("\n")
    kept = [line for at, line in enumerate(lines) if line.strip() or at == 0 or lines[at - 1].strip()]
    return "\n".join(kept)


def normalize_gm(gm_str):
    """The text of a graph module without comments, trailing spaces and superfluous empty lines, for comparisons."""
    return _squash_blank_lines(remove_trailing_space(strip_comment(gm_str)))


def empty_line_normalizer(code):
    """The code without empty lines."""
    return re.sub(r"[\r\n]+", "\n", code)


def dummy_fx_compile(gm, example_inputs):
    """Backend: runs the graph as it is."""
    return gm.forward


def check_dynamic_shape_capture():
    """Whether sizes are symbols from the first call on."""
    return not config.assume_static_by_default


def reset_rng_state(use_xla=False):
    """Random numbers of torch, `random` and NumPy are those from the seed 1337 on."""
    import random

    from ..random import manual_seed

    manual_seed(1337)
    random.seed(1337)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(1337)


def _skip_unless(wanted, why):
    return lambda fn: fn if wanted(sys.version_info) else unittest.skip(why)(fn)


skipIfNotPy311 = _skip_unless(lambda version: version >= (3, 11), "for Python 3.11 and later")
skipIfNotPy312 = _skip_unless(lambda version: version >= (3, 12), "for Python 3.12 and later")
skipIfOnlyNotPy312 = _skip_unless(lambda version: version[:2] == (3, 12), "for Python 3.12")
skipIfPy312 = _skip_unless(lambda version: version < (3, 12), "for Pythons before 3.12")


def xfailIfPy312(fn):  # noqa: N802  as in torch
    """Marks a test that fails on Python 3.12 and later."""
    return unittest.expectedFailure(fn) if sys.version_info >= (3, 12) else fn


def expectedFailureDynamic(fn):  # noqa: N802  as in torch
    """Marks a test that make_test_cls_with_patches expects to fail with dynamic sizes."""
    fn._expected_failure_dynamic = True
    return fn


def make_test_cls_with_patches(cls, cls_prefix, fn_suffix, *patches, xfail_prop=None, decorator=lambda x: x):
    """A test class like `cls` whose tests run with settings: each patch is (config module, name, value).

    Tests with the attribute `xfail_prop` are expected to fail.
    """
    made = type(f"{cls_prefix}{cls.__name__}", cls.__bases__, {})
    for name in dir(cls):
        value = getattr(cls, name)
        if not (name.startswith("test_") and callable(value)):
            if name not in dir(made):
                setattr(made, name, value)
            continue
        test = _with_patches(value, patches)
        if xfail_prop is not None and hasattr(value, xfail_prop):
            test = unittest.expectedFailure(test)
        setattr(made, f"{name}{fn_suffix}", decorator(test))
    return made


def _with_patches(test, patches):
    import contextlib

    def patched(self):
        with contextlib.ExitStack() as stack:
            for settings, name, value in patches:
                stack.enter_context(settings.patch(name, value))
            return test(self)

    return patched


__getattr__ = _absent_names(__name__)
