"""Functions that ask the process: GB0208 where the reference breaks, plain answers where it has them."""

import pytest

import minidynamo as torch
import minidynamo._dynamo as dynamo
import minidynamo.cpu
import minidynamo.cuda
from minidynamo._dynamo.utils import counters

ASKS = [
    lambda: torch.cpu.current_device(),
    lambda: torch.cpu.device_count(),
    lambda: torch.cpu.is_available(),
    lambda: torch.cpu.current_stream(),
    lambda: torch.get_deterministic_debug_mode(),
    lambda: torch.is_deterministic_algorithms_warn_only_enabled(),
    lambda: torch.is_warn_always_enabled(),
    lambda: torch.get_float32_matmul_precision(),
    lambda: torch.get_num_interop_threads(),
    lambda: torch.is_anomaly_enabled(),
    lambda: torch.is_anomaly_check_nan_enabled(),
    lambda: torch.backends.cuda.flash_sdp_enabled(),
    lambda: torch.backends.cuda.is_built(),
    lambda: torch.backends.mkl.is_available(),
    lambda: torch.cuda.device_count(),
    lambda: torch.cuda.memory_allocated(),
    lambda: torch.cuda.is_bf16_supported(),
    lambda: torch.is_inference(torch.ones(1)),
    lambda: torch.get_device(torch.ones(1)),
    lambda: torch.is_storage(3),
]
ANSWERED = [
    lambda: torch.are_deterministic_algorithms_enabled(),
    lambda: torch.is_grad_enabled(),
    lambda: torch.get_default_dtype(),
    lambda: torch.cuda.is_available(),
    lambda: torch.ones(1).get_device(),
]


def inlined(ask):
    def helper():
        return ask()

    def f(x):
        return x + 1, helper()

    return f


@pytest.mark.parametrize("ask", ASKS)
def test_that_no_graph_can_hold_the_answer(ask):
    f = inlined(ask)
    dynamo.reset()
    with pytest.raises(dynamo.exc.Unsupported) as e:
        torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))
    assert e.value.gb_code == "GB0208"
    counters.clear()
    assert str(torch.compile(f, backend="eager")(torch.ones(2))[1]) == str(ask())
    assert counters["graph_break"]


@pytest.mark.parametrize("ask", ANSWERED)
def test_that_traces_have_the_answer(ask):
    dynamo.reset()
    assert torch.compile(inlined(ask), backend="eager", fullgraph=True)(torch.ones(2))[1] == ask()


def test_that_trace_more_has_more_answers():
    with dynamo.config.patch(trace_more=True):
        f = torch.compile(inlined(lambda: torch.get_deterministic_debug_mode()), backend="eager", fullgraph=True)
        assert f(torch.ones(2))[1] == 0
    dynamo.reset()
