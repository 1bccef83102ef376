"""Anomaly mode: errors of a backward pass with the place of the forward call."""

import threading
import warnings

import pytest

import minidynamo as torch
from minidynamo.autograd import Function, detect_anomaly, grad, set_detect_anomaly


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    assert not torch.is_anomaly_enabled() and torch.is_anomaly_check_nan_enabled()


def reported(f, error, text):
    """The warning of a backward pass that fails with `error`."""
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with pytest.raises(error, match=text):
            f()
    return str(seen[-1].message)


def root(x):
    return torch.sqrt(x)  # the line that is shown


def test_a_nan_and_where_it_comes_from():
    def run():
        with detect_anomaly():
            root(leaf(-1.0, 2.0)).sum().backward()

    told = reported(run, RuntimeError, "Function 'SqrtBackward0' returned nan values in its 0th output")
    assert "SqrtBackward0" in told and "the line that is shown" in told and "in root" in told


def test_calls_made_outside():
    y = root(leaf(-1.0, 2.0)).sum()

    def run():
        with detect_anomaly():
            y.backward()

    assert "No forward pass information" in reported(run, RuntimeError, "SqrtBackward0")


def test_without_a_look_at_nans():
    x = leaf(-1.0, 2.0)
    with set_detect_anomaly(True, check_nan=False):
        assert not torch.is_anomaly_check_nan_enabled()
        root(x).sum().backward()
        assert x.grad.isnan().tolist() == [True, False]
        y = root(x)
        y.register_hook(lambda g: 1 / 0)
        assert "the line that is shown" in reported(y.sum().backward, ZeroDivisionError, "")


def test_errors_of_functions():
    class Bad(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, g):
            raise ValueError("bad")

    def run():
        with detect_anomaly():
            Bad.apply(leaf(1.0)).backward()

    assert "BadBackward" in reported(run, ValueError, "bad")


def test_a_nan_in_the_derivative_of_a_derivative():
    def run():
        with detect_anomaly():
            x = leaf(0.0, 1.0)
            (first,) = grad((x**1.5).sum(), x, create_graph=True)
            assert first.grad_fn.metadata["parent_"].name() == "PowBackward0"
            (first * float("inf") * 0).sum().backward()

    told = reported(run, RuntimeError, "nan values")
    assert "Error detected in" in told


def test_the_mode_is_restored():
    assert not torch.is_anomaly_enabled()
    with detect_anomaly(check_nan=False):
        assert torch.is_anomaly_enabled() and not torch.is_anomaly_check_nan_enabled()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.is_anomaly_enabled()))
        thread.start()
        thread.join()
        assert seen == [True]
        with set_detect_anomaly(False):
            assert not torch.is_anomaly_enabled()
        assert torch.is_anomaly_enabled()
    with pytest.warns(UserWarning, match="anomaly mode"):
        detect_anomaly()
    set_detect_anomaly(True)
    assert torch.is_anomaly_enabled()
    set_detect_anomaly(False)


def test_nothing_is_noted_without_it():
    assert leaf(1.0).exp().grad_fn.metadata == {}
    with set_detect_anomaly(True):
        assert "the line that is shown" in root(leaf(1.0)).grad_fn.metadata["traceback_"][-1]
