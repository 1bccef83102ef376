"""`layout` and `pin_memory` of calls that make tensors; sparse gradients of compiled embeddings."""

import pytest

import minidynamo as torch

pytestmark = pytest.mark.usefixtures("no_defects")
MAKERS = {
    "zeros": lambda **k: torch.zeros(2, 3, **k),
    "ones": lambda **k: torch.ones(2, 3, **k),
    "full": lambda **k: torch.full((2, 3), 2.0, **k),
    "arange": lambda **k: torch.arange(6, **k),
    "eye": lambda **k: torch.eye(3, **k),
    "zeros_like": lambda **k: torch.zeros_like(torch.ones(2), **k),
    "new_zeros": lambda **k: torch.ones(2).new_zeros(3, **k),
    "rand": lambda **k: torch.rand(2, **k) * 0,
}


@pytest.mark.parametrize("name", MAKERS)
def test_the_layout_there_is_may_be_named(name):
    make = MAKERS[name]
    for options in ({"layout": torch.strided}, {"layout": None}, {"pin_memory": False}):
        torch._dynamo.reset()
        compiled = torch.compile(lambda make=make, options=options: make(**options), fullgraph=True)
        assert make(**options).tolist() == make().tolist() == compiled().tolist()
    with pytest.raises(TypeError, match="layouts"):
        make(layouts=torch.strided)


def test_sparse_layouts():
    for make in (torch.zeros, torch.empty):
        made = make(2, 3, layout=torch.sparse_coo)
        assert made.layout is torch.sparse_coo and made._nnz() == 0 and made.to_dense().tolist() == [[0] * 3] * 2
    assert torch.zeros(2, 3, layout=torch.sparse_csr).layout is torch.sparse_csr
    assert torch.zeros_like(torch.ones(2), layout=torch.sparse_coo).is_sparse
    compiled = torch.compile(lambda: torch.zeros(2, 3, layout=torch.sparse_coo).to_dense())
    assert compiled().tolist() == [[0] * 3] * 2


@pytest.mark.parametrize("bags", [False, True])
def test_compiled_embeddings_have_sparse_gradients(bags):
    index = torch.tensor([1, 2, 1])

    def gradient(wrap):
        torch.manual_seed(0)
        embedding = (
            torch.nn.EmbeddingBag(6, 3, mode="sum", sparse=True) if bags else torch.nn.Embedding(6, 3, sparse=True)
        )
        more = (torch.tensor([0, 2]),) if bags else ()
        wrap(lambda i: (embedding(i, *more) * 2).sum())(index).backward()
        return embedding.weight.grad

    plain, compiled = gradient(lambda f: f), gradient(torch.compile)
    assert plain.is_sparse and compiled.is_sparse
    assert compiled.to_dense().tolist() == plain.to_dense().tolist()
