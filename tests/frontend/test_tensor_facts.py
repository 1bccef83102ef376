"""What compiled code asks of a tensor and knows while tracing: one graph, no recompilation."""

import warnings

import numpy as np
import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

FLAGS = """
is_cuda is_cpu is_meta is_sparse is_sparse_csr is_quantized is_nested is_xpu is_mps is_mkldnn is_ipu is_mtia is_vulkan
is_xla is_maia requires_grad is_leaf retains_grad
""".split()


@pytest.mark.parametrize("name", [*FLAGS, "nbytes", "itemsize", "ndim", "layout", "dtype", "device", "real", "mH", "H"])
def test_one_graph(name):
    names = {}
    exec(f"def f(x):\n return x * 2 + 1 if isinstance(x.{name}, type(None)) else (x * 3, x.{name})", names)
    counter = CompileCounter()
    compiled = torch.compile(names["f"], backend=counter, fullgraph=True)
    for _ in range(4):
        x = torch.ones(2, 2)
        result, answer = compiled(x)
        expected = getattr(x, name)
        assert result.tolist() == [[3.0, 3.0]] * 2 and counter.frame_count == 1
        assert answer is x if name == "real" else str(answer) == str(expected)


def test_bytes_of_a_size_that_changes():
    counter = CompileCounter()
    compiled = torch.compile(lambda x: x + x.nbytes, backend=counter, dynamic=True, fullgraph=True)
    for n in (3, 5, 8):
        assert compiled(torch.zeros(n)).tolist() == [4.0 * n] * n
    assert counter.frame_count == 1


def test_a_property_put_on_tensor():
    torch.Tensor.doubled = property(lambda self: self * 2)
    try:
        counter = CompileCounter()
        compiled = torch.compile(lambda x: x.doubled + 1, backend=counter, fullgraph=True)
        for _ in range(3):
            assert compiled(torch.ones(2)).tolist() == [3.0, 3.0]
        assert counter.frame_count == 1
    finally:
        del torch.Tensor.doubled


def test_conjugate_transposes_of_what_is_no_matrix():
    for name, shapes in {"H": [(2,), (2, 2, 2)], "mH": [(2,)]}.items():
        for shape in shapes:
            with pytest.raises(RuntimeError, match=rf"tensor.{name} is only supported on matrices"):
                getattr(torch.ones(shape), name)


def test_arrays_have_no_history():
    x = torch.ones(2, requires_grad=True)
    for make in (np.asarray, np.array, lambda t: np.stack([t, t]), lambda t: t.__array__(), lambda t: (t * 2).numpy()):
        with pytest.raises(RuntimeError, match="requires grad"):
            make(x)
    assert np.asarray(x.detach()).tolist() == [1.0, 1.0] and x.numpy(force=True).tolist() == [1.0, 1.0]


def test_range_counts_its_end():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert torch.range(1, 4).tolist() == [1.0, 2.0, 3.0, 4.0] and torch.range(1, 4).dtype == torch.float32
        assert torch.range(0, 1, 0.25).tolist() == [0.0, 0.25, 0.5, 0.75, 1.0]
        assert torch.range(3, 1, -1, dtype=torch.int64).tolist() == [3, 2, 1]
        with pytest.raises(RuntimeError, match="step sign"):
            torch.range(3, 1)
    with pytest.warns(UserWarning, match="torch.arange"):
        torch.range(2)
