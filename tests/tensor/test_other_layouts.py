"""Compressed sparse, nested, quantised, masked tensors; texts and values are those of torch 2.13."""

import copy
import pickle

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo.nn import functional as F

DENSE = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])


def test_compressed_rows_as_text():
    assert repr(DENSE.to_sparse_csr() * 2) == (
        "tensor(crow_indices=tensor([0, 1, 3]),\n       col_indices=tensor([1, 0, 2]),\n"
        "       values=tensor([2., 4., 6.]), size=(2, 3), nnz=3,\n       layout=torch.sparse_csr)"
    )


@pytest.mark.parametrize("make", ["to_sparse_csr", "to_sparse_csc", "to_sparse_bsr", "to_sparse_bsc", "to_sparse"])
def test_layouts_hold_the_elements(make):
    dense = torch.arange(16.0).view(4, 4) * (torch.arange(16).view(4, 4) % 3 == 1)
    sparse = getattr(dense, make)(*((2, 2),) * make.endswith(("bsr", "bsc")))
    assert torch.equal(sparse.to_dense(), dense) and torch.equal(sparse.t().to_dense(), dense.t())
    for copied in (copy.deepcopy(sparse), pickle.loads(pickle.dumps(sparse))):
        assert torch.equal(copied.to_dense(), dense) and copied.layout is sparse.layout
    assert torch.equal(sparse @ torch.ones(4, 2), dense @ torch.ones(4, 2))
    assert torch.equal((sparse * 3).to_dense(), dense * 3)


def test_gradients_of_compressed_values():
    values = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    sparse = torch.sparse_csr_tensor([0, 1, 3], [1, 0, 2], values, (2, 3))
    (sparse @ torch.tensor([[1.0], [10.0], [100.0]])).sum().backward()
    assert values.grad.tolist() == [10.0, 1.0, 100.0]


def test_checks_of_compressed_tensors():
    with torch.sparse.check_sparse_tensor_invariants():
        with pytest.raises(RuntimeError, match="outside"):
            torch.sparse_csr_tensor([0, 1], [5], [1.0], (1, 2))
    with pytest.raises(RuntimeError):
        DENSE.to_sparse_bsr((2, 2))
    with pytest.raises(RuntimeError):
        DENSE.to_sparse_csr().indices()
    with pytest.raises(NotImplementedError):
        DENSE.to_sparse_csr().exp()


def test_nested_tensors():
    nested = torch.nested.nested_tensor([torch.arange(2.0), torch.arange(3.0)])
    assert repr(nested) == "nested_tensor([\n  tensor([0., 1.]),\n  tensor([0., 1., 2.])\n])"
    assert nested.is_nested and nested.size(0) == 2 and nested.numel() == 5
    assert nested.to_padded_tensor(-1.0).tolist() == [[0.0, 1.0, -1.0], [0.0, 1.0, 2.0]]
    assert [t.tolist() for t in (nested + nested).unbind()] == [[0.0, 2.0], [0.0, 2.0, 4.0]]
    for wrong in (lambda: nested.shape, lambda: nested.size(1), lambda: len(nested), lambda: nested.sum()):
        with pytest.raises(RuntimeError):
            wrong()


def test_jagged_tensors():
    nested = torch.nested.nested_tensor([torch.ones(2, 4), torch.ones(3, 4)], layout=torch.jagged)
    assert nested.offsets().tolist() == [0, 2, 5] and nested.layout is torch.jagged
    assert F.linear(nested, torch.ones(2, 4)).values().tolist() == [[4.0, 4.0]] * 5
    assert nested.sum(dim=1).tolist() == [[2.0] * 4, [3.0] * 4]
    assert [t.shape for t in nested.unbind()] == [(2, 4), (3, 4)]
    with pytest.raises(RuntimeError, match="do not match"):
        nested + torch.nested.nested_tensor([torch.ones(3, 4), torch.ones(2, 4)], layout=torch.jagged)


def test_gradients_of_nested_members():
    members = [torch.ones(2, requires_grad=True), torch.ones(3, requires_grad=True)]
    for layout in (torch.strided, torch.jagged):
        for member in members:
            member.grad = None
        (torch.nested.as_nested_tensor(members, layout=layout) * 2).to_padded_tensor(0.0).sum().backward()
        assert [m.grad.tolist() for m in members] == [[2.0, 2.0], [2.0, 2.0, 2.0]]


def test_quantised_tensors():
    q = torch.quantize_per_tensor(torch.tensor([-1.0, 0.0, 1.0, 200.0]), 0.1, 10, torch.quint8)
    assert q.int_repr().tolist() == [0, 10, 20, 255] and q.is_quantized and q.dtype is torch.quint8
    assert torch.allclose(q.dequantize(), torch.tensor([-1.0, 0.0, 1.0, 24.5]))
    assert repr(q[:2]) == (
        "tensor([-1.,  0.], size=(2,), dtype=torch.quint8,\n"
        "       quantization_scheme=torch.per_tensor_affine, scale=0.1, zero_point=10)"
    )
    with pytest.raises(NotImplementedError):
        q + q
    rows = torch.quantize_per_channel(torch.ones(2, 2), torch.tensor([0.5, 0.25]), torch.tensor([0, 1]), 0, torch.qint8)
    assert rows.int_repr().tolist() == [[2, 2], [5, 5]] and rows.q_per_channel_axis() == 0
    with pytest.raises(RuntimeError):
        rows.q_scale()


def test_gradients_of_fake_quantisation():
    x = torch.tensor([-1.0, 0.03, 1.0, 30.0], requires_grad=True)

    def f(x):
        return torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)

    for call in (f, torch.compile(f, fullgraph=True)):
        x.grad = None
        y = call(x)
        y.sum().backward()
        assert torch.allclose(y, torch.tensor([0.0, 0.0, 1.0, 25.5])) and x.grad.tolist() == [0.0, 1.0, 1.0, 0.0]


def test_masked_reductions():
    x = torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    mask = torch.tensor([[True, False, True], [True, True, False]])
    f = torch.compile(lambda x, m: (torch.masked.sum(x, 1, mask=m), torch.masked.mean(x, 1, mask=m)), fullgraph=True)
    assert [t.tolist() for t in f(x, mask)] == [[4.0, 9.0], [2.0, 4.5]]
    assert torch.masked.amax(x, 1, mask=mask).tolist() == [3.0, 5.0]
    assert torch.masked.softmax(x, 1, mask=mask)[0, 1] == 0
    assert torch.masked.var(x, 1, mask=mask).tolist() == [2.0, 0.5]
    assert torch.masked.sum(x, mask=~(x > 0)) == 0 and torch.masked.mean(x, mask=~(x > 0)).isnan()
    m = torch.masked.masked_tensor(torch.arange(4.0), torch.tensor([True, False, True, False]))
    assert (m + m).to_tensor(-1.0).tolist() == [0.0, -1.0, 4.0, -1.0] and m.sum().get_data() == 2


def test_sparse_gradients_of_embeddings():
    table = nn.Embedding(5, 3, sparse=True)
    with torch.no_grad():
        table.weight.copy_(torch.arange(15.0).view(5, 3))
    table(torch.tensor([1, 3, 1])).sum().backward()
    grad = table.weight.grad
    assert grad.is_sparse and grad._nnz() == 3 and grad.coalesce().indices().tolist() == [[1, 3]]
    table(torch.tensor([1])).sum().backward()
    assert table.weight.grad.to_dense()[:, 0].tolist() == [0.0, 3.0, 0.0, 1.0, 0.0]
    before = table.weight.detach().clone()
    torch.optim.SparseAdam(table.parameters(), lr=0.1).step()
    assert torch.allclose((before - table.weight)[:, 0], torch.tensor([0.0, 0.1, 0.0, 0.1, 0.0]))
    torch.optim.SGD(table.parameters(), lr=1.0).step()
    assert torch.allclose((before - table.weight)[:, 0], torch.tensor([0.0, 3.1, 0.0, 1.1, 0.0]))
    with pytest.raises(RuntimeError, match="sparse gradients"):
        torch.optim.Adam(table.parameters()).step()
