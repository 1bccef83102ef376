"""Tensors of the layout torch.sparse_coo: against the dense tensors of the same elements."""

import copy
import io
import pickle

import pytest

import minidynamo as torch

INDICES = torch.tensor([[0, 1, 1, 0, 2], [2, 0, 2, 2, 1]])
VALUES = torch.tensor([3.0, 4.0, 5.0, 1.0, -2.0])
DENSE = torch.tensor([[0.0, 0.0, 4.0], [4.0, 0.0, 5.0], [0.0, -2.0, 0.0], [0.0, 0.0, 0.0]])


def example(values=VALUES, **more):
    return torch.sparse_coo_tensor(INDICES, values, (4, 3), **more)


def drawn(rows, columns, seed, requires_grad=False):
    torch.manual_seed(seed)
    dense = torch.randn(rows, columns, dtype=torch.float64) * (torch.rand(rows, columns) < 0.4)
    return dense.requires_grad_(requires_grad)


def same(found, expected):
    found = found.to_dense() if found.is_sparse else found
    assert found.dtype == expected.dtype and found.shape == expected.shape
    assert torch.allclose(found.double(), expected.double())


def test_what_is_said_of_one():
    s = example()
    assert isinstance(s, torch.Tensor) and torch.is_tensor(s) and isinstance(s, torch.sparse.FloatTensor)
    assert not isinstance(s, torch.FloatTensor) and s.type() == "torch.sparse.FloatTensor"
    assert s.is_sparse and s.layout == torch.sparse_coo and repr(s.layout) == "torch.sparse_coo"
    assert copy.deepcopy(s.layout) is torch.sparse_coo is pickle.loads(pickle.dumps(torch.sparse_coo))
    assert s.shape == s.size() == (4, 3) and s.size(1) == 3 and s.dim() == s.ndim == 2 and len(s) == 4
    assert s.numel() == 12 and s.dtype == torch.float32 and s.device == torch.device("cpu") and not s.is_meta
    assert s._nnz() == 5 and s.sparse_dim() == 2 and s.dense_dim() == 0 and not s.is_coalesced()
    assert not torch.ones(2).is_sparse and torch.ones(2, 3).dense_dim() == 2 and torch.ones(2).sparse_dim() == 0
    assert torch.ones(2).to_dense().tolist() == [1.0, 1.0]


def test_coalesced():
    s = example()
    same(s, DENSE)
    c = s.coalesce()
    assert c.is_coalesced() and c.coalesce() is c and not s.is_coalesced()
    assert c.indices().tolist() == [[0, 1, 1, 2], [2, 0, 2, 1]] and c.values().tolist() == [4.0, 4.0, 5.0, -2.0]
    same(c, DENSE)
    for call in (s.indices, s.values):
        with pytest.raises(RuntimeError, match="coalesce"):
            call()
    for name in ("coalesce", "is_coalesced", "indices", "values", "_nnz"):
        with pytest.raises(RuntimeError, match="dense"):
            getattr(torch.ones(2), name)()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.bool])
def test_dtypes(dtype):
    c = example().coalesce()
    found = c.to(dtype)
    assert found.dtype == dtype and found.is_sparse
    same(found, DENSE.to(dtype))
    assert c.to(c.dtype) is c and c.float() is c and c.cpu() is c and c.to("cpu") is c
    assert c.double().dtype == torch.float64 and c.type(torch.DoubleTensor).dtype == torch.float64


def test_from_dense_and_back():
    for dims in (1, 2, 3):
        torch.manual_seed(dims)
        dense = torch.randn(3, 4, 2)[(slice(None),) * dims + (0,) * (3 - dims)] * torch.tensor(1.0)
        dense = dense * (dense > 0)
        for sparse_dim in (None, *range(1, dims + 1)):
            s = dense.to_sparse(sparse_dim)
            assert s.is_coalesced() and s.sparse_dim() == (sparse_dim or dims)
            same(s, dense)
    assert torch.tensor(3.0).to_sparse().to_dense().item() == 3.0
    assert torch.zeros(2, 2).to_sparse()._nnz() == 0
    assert torch.eye(2).to_sparse(layout=torch.sparse_coo)._nnz() == torch.eye(2).to_sparse_coo()._nnz() == 2
    s = torch.eye(2).to_sparse()
    assert s.to_sparse() is s
    for wrong in (0, 3):
        with pytest.raises(RuntimeError):
            torch.eye(2).to_sparse(wrong)
    with pytest.raises(NotImplementedError):
        torch.eye(2).to_sparse(layout=torch.strided)


def test_ways_to_make_one():
    assert torch.sparse_coo_tensor(INDICES, VALUES).shape == (3, 3)
    assert torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2]).dtype == torch.int64
    assert torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], dtype=torch.float64).dtype == torch.float64
    for empty in (
        torch.sparse_coo_tensor((2, 3)),
        torch.sparse_coo_tensor(size=(2, 3)),
        torch.sparse.FloatTensor(2, 3),
    ):
        same(empty, torch.zeros(2, 3))
    hybrid = torch.sparse_coo_tensor(INDICES, torch.ones(5, 2), (4, 3, 2))
    assert hybrid.dense_dim() == 1 and hybrid.to_dense()[0, 2].tolist() == [2.0, 2.0]
    same(torch.sparse.FloatTensor(INDICES, VALUES, torch.Size([4, 3])), DENSE)
    assert torch.sparse.FloatTensor().shape == (0,)
    ordered = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], is_coalesced=True)
    assert ordered.is_coalesced() and ordered.values().tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.sparse_coo_tensor(INDICES, VALUES[:3], (4, 3)),
        lambda: torch.sparse_coo_tensor(INDICES, VALUES, (4,)),
        lambda: torch.sparse_coo_tensor(INDICES, VALUES, (4, 3, 2)),
        lambda: torch.sparse_coo_tensor(INDICES, torch.ones(5, 2), (4, 3, 3)),
        lambda: torch.sparse_coo_tensor(INDICES, VALUES, (2, 3)),
        lambda: torch.sparse_coo_tensor(-INDICES, VALUES, (4, 3)),
        lambda: torch.sparse_coo_tensor(INDICES[0], VALUES, (4,)),
        lambda: torch.sparse_coo_tensor(INDICES, VALUES, (4, 3), is_coalesced=True),
        lambda: torch.sparse_coo_tensor(INDICES, VALUES, (4, 3), pin_memory=True),
        lambda: torch.mm(example(), torch.ones(4, 2)),
        lambda: torch.mm(example(), torch.ones(3, 2, dtype=torch.float64)),
        lambda: torch.mm(example(), torch.ones(3)),
        lambda: example() + torch.ones(4, 3),
        lambda: example() * torch.ones(3),
        lambda: bool(example()),
        lambda: example().data_ptr(),
    ],
)
def test_refusals(call):
    with pytest.raises(RuntimeError):
        call()


@pytest.mark.parametrize(
    "call",
    [
        lambda s: torch.exp(s),
        lambda s: s + 1,
        lambda s: s > 0,
        lambda s: s.view(12),
        lambda s: s[:, 1],
        lambda s: torch.equal(s, s),
        lambda s: torch.sparse.mm(s, torch.ones(3, 2), "mean"),
    ],
)
def test_what_needs_a_dense_tensor_says_so(call):
    with pytest.raises(NotImplementedError):
        call(example())
    with pytest.raises(TypeError):
        example().numpy()


def test_text():
    assert repr(example()) == (
        "tensor(indices=tensor([[0, 1, 1, 0, 2],\n"
        "                       [2, 0, 2, 2, 1]]),\n"
        "       values=tensor([ 3.,  4.,  5.,  1., -2.]),\n"
        "       size=(4, 3), nnz=5, layout=torch.sparse_coo)"
    )
    made = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], dtype=torch.float64, requires_grad=True)
    assert (
        str(made)
        == f"{made}"
        == (
            "tensor(indices=tensor([[0, 1],\n"
            "                       [1, 0]]),\n"
            "       values=tensor([1., 2.]),\n"
            "       size=(2, 2), nnz=2, dtype=torch.float64, layout=torch.sparse_coo,\n"
            "       requires_grad=True)"
        )
    )
    assert repr(torch.zeros(2, 2).to_sparse()) == (
        "tensor(indices=tensor([], size=(2, 0)),\n"
        "       values=tensor([], size=(0,)),\n"
        "       size=(2, 2), nnz=0, layout=torch.sparse_coo)"
    )
    places = torch.arange(16)
    assert repr(torch.sparse_coo_tensor(torch.stack([places, places]), torch.arange(16.0))) == (
        "tensor(indices=tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13,\n"
        "                        14, 15],\n"
        "                       [ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13,\n"
        "                        14, 15]]),\n"
        "       values=tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10.,\n"
        "                      11., 12., 13., 14., 15.]),\n"
        "       size=(16, 16), nnz=16, layout=torch.sparse_coo)"
    )


PRODUCTS = {
    "mm": (torch.mm, 2),
    "spmm": (torch.spmm, 2),
    "sparse.mm": (torch.sparse.mm, 2),
    "@": (lambda a, b: a @ b, 2),
    "method": (lambda a, b: a.mm(b), 2),
    "matmul": (torch.matmul, 2),
    "mv": (torch.mv, 1),
    "vector": (lambda a, b: a @ b, 1),
    "addmm": (lambda a, b: torch.addmm(torch.ones(5, 3, dtype=a.dtype), a, b, beta=2, alpha=3), 2),
    "sparse.addmm": (lambda a, b: torch.sparse.addmm(torch.ones(5, 3, dtype=a.dtype), a, b, beta=0.5, alpha=2.0), 2),
    "linear": (lambda a, b: torch.nn.functional.linear(a, b.t(), torch.ones(3, dtype=a.dtype)), 2),
    "transposed": (lambda a, b: b.t() @ a.t(), 2),
    "smm": (lambda a, b: torch.smm(a, b), 2),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_their_gradients(name):
    call, dims = PRODUCTS[name]
    plain = {"spmm": torch.mm, "sparse.mm": torch.mm, "smm": torch.mm}.get(name, call)
    if name == "sparse.addmm":
        plain = lambda a, b: torch.addmm(torch.ones(5, 3, dtype=a.dtype), a, b, beta=0.5, alpha=2.0)  # noqa: E731
    a, other_a = drawn(5, 4, 0, True), drawn(5, 4, 0, True)
    b, other_b = (torch.randn((4, 3)[:dims], dtype=torch.float64).requires_grad_() for _ in range(2))
    other_b.data.copy_(b.data)
    found, expected = call(a.to_sparse(), b), plain(other_a, other_b)
    same(found, expected)
    (found.to_dense() ** 2).sum().backward()
    (expected**2).sum().backward()
    assert torch.allclose(b.grad, other_b.grad)
    assert torch.allclose(a.grad, other_a.grad * (other_a != 0))  # what is not stored has no gradient


@pytest.mark.parametrize("call", [torch.mm, torch.sparse.mm, torch.matmul])
def test_sparse_times_sparse(call):
    a, b = drawn(5, 4, 1, True), drawn(4, 6, 2, True)
    other_a, other_b = drawn(5, 4, 1, True), drawn(4, 6, 2, True)
    found = call(a.to_sparse(), b.to_sparse())
    assert found.is_sparse and found.is_coalesced()
    same(found, other_a @ other_b)
    (found.to_dense() ** 2).sum().backward()
    ((other_a @ other_b) ** 2).sum().backward()
    assert torch.allclose(a.grad, other_a.grad * (a != 0)) and torch.allclose(b.grad, other_b.grad * (b != 0))
    same(torch.mm(torch.zeros(2, 3).to_sparse(), torch.ones(3, 2).to_sparse()), torch.zeros(2, 2))


def test_batches():
    a, b = drawn(5, 4, 1), torch.randn(2, 4, 3, dtype=torch.float64)
    stacked = torch.stack([a.to_sparse(), (a * 2).to_sparse()])
    same(stacked, torch.stack([a, a * 2]))
    same(torch.bmm(stacked, b), torch.stack([a, a * 2]) @ b)


def test_gradients_of_values():
    values = VALUES.clone().requires_grad_()
    s = example(values)
    assert s.requires_grad and not s.is_leaf
    weights = torch.arange(12.0).view(4, 3)
    (s.to_dense() * weights).sum().backward()
    assert torch.equal(values.grad, weights[INDICES[0], INDICES[1]])
    leaf = example(requires_grad=True)
    assert leaf.is_leaf and leaf.grad is None and not VALUES.requires_grad
    torch.sparse.mm(leaf, torch.ones(3, 2)).sum().backward()
    assert leaf.grad.is_sparse and leaf.grad._values().tolist() == [2.0] * 5
    leaf.grad = None
    assert leaf.grad is None
    assert not leaf.detach().requires_grad and example().requires_grad_().requires_grad and not VALUES.requires_grad
    with pytest.raises(RuntimeError, match="in-place"):
        leaf.mul_(2)
    with torch.no_grad():
        leaf.mul_(2)
    same(leaf.detach(), DENSE * 2)


def test_sums():
    a = drawn(5, 4, 3)
    s = a.to_sparse()
    for dim in (None, 0, 1, -1, [0, 1], (0,)):
        expected = a.sum() if dim is None else a.sum(dim)
        same(torch.sparse.sum(s, dim), expected)
        same(s.sum() if dim is None else s.sum(dim), expected)
    assert torch.sparse.sum(example(), dtype=torch.float64).dtype == torch.float64
    hybrid = torch.randn(3, 4, 2, dtype=torch.float64)
    for dim in (0, 2, [0, 2], [0, 1], [0, 1, 2]):
        same(torch.sparse.sum(hybrid.to_sparse(2), dim), hybrid.sum(dim))
    with pytest.raises(IndexError):
        torch.sparse.sum(s, 2)


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("name", ["softmax", "log_softmax"])
def test_softmax_counts_what_is_there(dim, name):
    a, other = drawn(5, 4, 4, True), drawn(5, 4, 4, True)
    found = getattr(torch.sparse, name)(a.to_sparse(), dim)
    filled = other.masked_fill(other == 0, -torch.inf)
    expected = getattr(torch, name)(filled, dim).masked_fill(other == 0, 0)
    expected = torch.where(expected.isnan(), 0.0, expected)
    same(found, expected)
    (found._values() ** 2).sum().backward()
    there = other.detach() != 0
    rows = [getattr(torch, name)(line[mask], 0) for line, mask in zip(*(t if dim else t.t() for t in (other, there)))]
    (torch.cat(rows) ** 2).sum().backward()
    assert torch.allclose(a.grad, other.grad)
    with pytest.raises(RuntimeError):
        torch.sparse.softmax(torch.ones(2, 2), 0)


def test_softmax_of_dense_dimensions():
    dense = torch.randn(3, 4, dtype=torch.float64)
    same(torch.sparse.softmax(dense.to_sparse(1), 1), torch.softmax(dense, 1))
    same(torch.sparse.log_softmax(dense.to_sparse(1), 1), torch.log_softmax(dense, 1))


@pytest.mark.parametrize(
    "call",
    [
        lambda a, b: a * 2,
        lambda a, b: 2 * a,
        lambda a, b: a / 4,
        lambda a, b: -a,
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a.add(b, alpha=3),
        lambda a, b: a + a,
        lambda a, b: a * a,
        lambda a, b: a.t(),
        lambda a, b: a.T,
        lambda a, b: a.transpose(0, -1),
        lambda a, b: a**2,
        lambda a, b: a.abs().sqrt(),
        lambda a, b: torch.relu(a),
        lambda a, b: torch.tanh(a),
        lambda a, b: torch.cat([a, b]),
        lambda a, b: torch.cat([a, b], 1),
        lambda a, b: torch.stack([a, b], 1),
        lambda a, b: a.unsqueeze(0),
        lambda a, b: a.index_select(0, torch.tensor([2, 0, 2])),
        lambda a, b: torch.index_select(a, 1, torch.tensor([1, 1, 3])),
        lambda a, b: a[1],
        lambda a, b: a[-1],
        lambda a, b: a[1, 2],
        lambda a, b: a.select(1, 2),
        lambda a, b: list(a)[2],
        lambda a, b: a.norm(),
        lambda a, b: a.clone(),
        lambda a, b: torch.zeros_like(a),
    ],
)
def test_other_ops(call):
    a, b = drawn(5, 4, 5), drawn(5, 4, 6)
    same(call(a.to_sparse(), b.to_sparse()), call(a, b))
    # The same with entries that come in several parts.
    split = torch.cat([a.to_sparse()._indices()] * 2, 1), torch.cat([a.to_sparse()._values() / 2] * 2)
    same(call(torch.sparse_coo_tensor(*split, (5, 4)), b.to_sparse()), call(a, b))


def test_sparse_and_dense():
    a, b = drawn(5, 4, 5), torch.randn(5, 4, dtype=torch.float64)
    same(b + a.to_sparse(), b + a)
    same(b - a.to_sparse(), b - a)
    product = a.to_sparse() * b
    assert product.is_sparse
    same(product, a * b)
    same(b * a.to_sparse(), a * b)
    same(b.sparse_mask(a.to_sparse()), b * (a != 0))
    with pytest.raises(IndexError):
        a.to_sparse()[5]


def test_copies_and_files():
    s = example()
    for copied in (copy.deepcopy(s), pickle.loads(pickle.dumps(s)), s.clone()):
        assert copied.is_sparse and copied is not s
        same(copied, DENSE)
    file = io.BytesIO()
    torch.save({"adjacency": s}, file)
    file.seek(0)
    same(torch.load(file)["adjacency"], DENSE)


def test_buffers():
    module = torch.nn.Module()
    module.register_buffer("adjacency", example())
    assert module.state_dict()["adjacency"].is_sparse
    assert module.double().adjacency.dtype == torch.float64 and module.to("cpu").adjacency.is_sparse


class GraphConvolution(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.weight = torch.nn.Parameter(torch.randn(4, 2))
        self.bias = torch.nn.Parameter(torch.zeros(2))

    def forward(self, x, adjacency):
        return torch.relu(torch.spmm(adjacency, torch.mm(x, self.weight)) + self.bias)


def test_graph_convolution_plain_and_compiled():
    graph = (torch.rand(6, 6) < 0.4).float() + torch.eye(6)
    x = torch.randn(6, 4)
    grads = []
    for run, adjacency in ((lambda m: m, graph), (lambda m: m, graph.to_sparse()), (torch.compile, graph.to_sparse())):
        model = GraphConvolution()
        out = run(model)(x, adjacency)
        out.square().sum().backward()
        grads.append((out.detach(), model.weight.grad, model.bias.grad))
    for found in grads[1:]:
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(found, grads[0]))


@pytest.mark.parametrize(
    "call",
    [
        lambda s, x: s @ x,
        lambda s, x: torch.sparse.mm(s, x) * 2,
        lambda s, x: (s.t() * 2).to_dense(),
        lambda s, x: s.coalesce().values() + 1,
        lambda s, x: torch.sparse_coo_tensor(s._indices(), s._values() * 2, s.shape) @ x,
        lambda s, x: x + 1 if s.is_sparse else x,
        lambda s, x: torch.sparse.softmax(s, 1).to_dense(),
        lambda s, x: x.t().to_sparse().to_dense(),
    ],
)
def test_compiled(call):
    x = torch.randn(3, 2)
    assert torch.allclose(torch.compile(call)(example(), x), call(example(), x))
