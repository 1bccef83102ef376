"""Parts of the library written in Python: what they make beside their operands is where those are."""

from twins import caught, numbers, twin

import minidynamo as torch
from minidynamo import distributions as D
from minidynamo import nn
from minidynamo.nn.utils import prune

F = nn.functional


@twin
def sparse_by_coordinates(device, compiled):
    places = torch.tensor([[0, 1, 1], [2, 0, 2]], device=device)
    values = torch.tensor([3.0, 4.0, 5.0], device=device)
    sparse = torch.sparse_coo_tensor(places, values, (2, 3))
    dense = numbers(3, 2, device=device)
    identity = torch.eye(3, device=device).to_sparse()
    doubled = torch.sparse_coo_tensor(torch.cat([places, places], 1), torch.cat([values, values]), (2, 3))
    out = [
        sparse + sparse,
        sparse * 2,
        sparse * sparse,
        sparse.t(),
        identity,
        torch.sparse.sum(sparse, 0),
        sparse.cpu(),
    ]
    out += [torch.sparse.mm(sparse, identity), torch.sparse.softmax(sparse, 1), torch.zeros_like(sparse), doubled]
    out += [sparse.to(torch.float64), torch.stack([sparse, sparse]), sparse.sparse_mask(doubled)]
    made = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], device=device)
    empty = torch.sparse_coo_tensor((2, 2), device=device)
    facts = made.device == values.device == empty.device, sparse.is_cuda == values.is_cuda, sparse._nnz()
    moved = sparse.cpu().to(device)
    dense = [t.to(device).to_dense() for t in out]
    return dense, torch.sparse.mm(sparse, numbers(3, 2, device=device)), made.to_dense(), facts, repr(moved.coalesce())


@twin
def sparse_by_rows(device, compiled):
    dense = torch.tensor([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]], device=device)
    rows = dense.to_sparse_csr()
    given = torch.tensor([0, 1, 3]), torch.tensor([1, 0, 2]), torch.tensor([1.0, 2.0, 3.0])
    made = torch.sparse_csr_tensor(*given, (2, 3), device=device)
    parts = rows.crow_indices(), rows.col_indices(), rows.values(), made.values()
    blocks = [
        dense.to_sparse_csc().to_dense(),
        dense.to_sparse_bsr((1, 1)).to_dense(),
        made.cpu().to(device).to_dense(),
    ]
    return parts, rows @ numbers(3, 2, device=device), blocks, repr(made)


@twin
def sparse_gradients(device, compiled):
    weights = nn.Embedding(10, 4, sparse=True).to(device)
    optimizer = torch.optim.SparseAdam(weights.parameters(), lr=0.1)
    weights(torch.tensor([1, 2, 2], device=device)).square().sum().backward()
    gradient = weights.weight.grad.coalesce()
    optimizer.step()
    return gradient.indices(), gradient.values(), weights.weight


@twin(anywhere=True)
def nested(device, compiled):
    members = [torch.ones(2, 3), torch.zeros(1, 3)]
    strided = torch.nested.nested_tensor(members, device=device)
    jagged = torch.nested.nested_tensor(members, device=device, layout=torch.jagged)
    where = str(strided.device), str(jagged.device), str(jagged.offsets().device)
    return strided.to_padded_tensor(2.0), (strided * 2).to_padded_tensor(0.0), jagged.values(), jagged.offsets(), where


@twin
def connectionist_losses(device, compiled):
    """Lengths may be on the CPU, whatever the rest is on."""
    x = numbers(6, 2, 5, device=device, grad=True)
    labels = torch.tensor([[1, 2], [3, 3]], device=device)
    loss = compiled(lambda x, n, m: F.ctc_loss(x.log_softmax(2), labels, n, m))
    y = loss(x, torch.tensor([6, 5]), torch.tensor([2, 2]))
    y.backward()
    flat = F.ctc_loss(x.log_softmax(2), torch.tensor([1, 2, 3], device=device), [6, 5], [2, 1])
    return y, x.grad, flat


@twin
def windows_and_frequencies(device, compiled):
    windows = [torch.kaiser_window(5, device=device), torch.hann_window(4, device=device)]
    return windows, torch.fft.fftfreq(5, device=device), torch.fft.rfftfreq(5, 2.0, device=device)


@twin
def by_default(device, compiled):
    """`with` a device what names none is made there."""
    with torch.device(device):
        made = [torch.fft.fftfreq(4), torch.kaiser_window(4), torch.eye(2), torch.tril_indices(2, 3)]
        layer = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
        return made, layer.state_dict(), layer(torch.ones(2, 2))


@twin
def results_given(device, compiled):
    """Functions that make tensors make them where `out` is."""

    def f(floats, whole):
        x = torch.arange(3, out=torch.empty_like(floats)), torch.zeros(3, out=torch.empty_like(floats))
        y = torch.linspace(0, 1, 3, out=torch.empty_like(floats)), torch.full((3,), 2.0, out=torch.empty_like(floats))
        z = torch.eye(3, out=floats.new_empty(3, 3)), torch.randperm(3, out=torch.empty_like(whole))
        return *x, *y, *z, torch.rand(3, out=torch.empty_like(floats)), torch.ones(3, out=torch.empty_like(floats))

    return compiled(f)(torch.empty(3, device=device), torch.empty(3, dtype=torch.int64, device=device))


@twin
def made_like(device, compiled):
    """A tensor of another device, or of none with elements, gives its sizes and dtype alone."""
    for like in (torch.ones(2, 3), torch.ones(2, 3, device="meta"), torch.ones(3, 2).t()):
        empty = torch.empty_like(like, device=device)
        made = [torch.zeros_like(like, device=device), torch.full_like(like, 3.0, device=device)]
        made += [torch.ones_like(like, device=device), torch.rand_like(like, device=device), torch.zeros_like(empty)]
    layer = nn.Linear(2, 2, device="meta").to_empty(device=device)
    return made, torch.zeros_like(layer.weight), layer.weight.shape


@twin
def membership(device, compiled):
    x = torch.arange(6, device=device)
    f = compiled(lambda x: (torch.isin(x, 3), torch.isin(2, x), torch.isin(x, x[1:3]), torch.combinations(x[:4])))
    return f(x)


@twin
def pruned(device, compiled):
    layer = nn.Linear(4, 3).to(device)
    torch.manual_seed(1)
    prune.random_structured(layer, "weight", 1, dim=0)
    prune.l1_unstructured(layer, "bias", 1)
    torch.manual_seed(1)
    orthogonal = nn.utils.parametrizations.orthogonal(nn.Linear(4, 3).to(device))
    return layer.weight, layer.bias, dict(layer.named_buffers()), orthogonal(numbers(2, 4, device=device))


@twin
def divergences(device, compiled):
    def number(value):
        return torch.tensor([value], device=device)

    normal, uniform = D.Normal(number(0.0), number(1.0)), D.Uniform(number(0.0), number(1.0))
    exponential = D.Exponential(number(1.0))
    pairs = (
        (normal, exponential),
        (uniform, exponential),
        (normal, uniform),
        (D.Gamma(number(2.0), number(1.0)), normal),
    )
    return caught(*(lambda pair=pair: D.kl_divergence(*pair) for pair in pairs))


@twin
def hooks_without_gradients(device, compiled):
    """A hook on the way back sees zeros where an input got no gradient."""
    seen = []

    class Second(nn.Module):
        def forward(self, a, b):
            return b * 2

    module = Second().to(device)
    module.register_full_backward_hook(lambda module, given, got: seen.append((given, got)))
    a, b = (numbers(2, device=device, grad=True) for _ in range(2))
    (module(a, b) + a * 0).sum().backward()
    return seen, a.grad, b.grad


@twin
def masked_reductions(device, compiled):
    x = numbers(3, 4, device=device)
    mask = x > 0
    m = torch.masked
    return [f(x, 1, mask=mask) for f in (m.sum, m.softmax, m.mean, m.amax, m.var)], m.normalize(x, 2.0, 1, mask=mask)


@twin
def elsewhere_by_default(device, compiled):
    """What is made on the way is where the operands are, although tensors are made on the other device by default."""
    other = "cpu" if device == "cuda" else "cuda"
    x = numbers(3, 5, 3, device=device)
    cell = nn.GRU(3, 4, batch_first=True).to(device)
    layer = nn.Linear(3, 2).to(device)
    with torch.device(other):
        packed = nn.utils.rnn.pack_padded_sequence(x, [3, 5, 2], batch_first=True, enforce_sorted=False)
        y, h = cell(packed)
        y, lengths = nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
        image = F.interpolate(x.unsqueeze(0), size=(4, 7), mode="bicubic")
        averaged = torch.optim.swa_utils.AveragedModel(layer)
        for _ in range(2):
            averaged.update_parameters(layer)
        optimizer = torch.optim.Adam(layer.parameters())
        layer(x).sum().backward()
        optimizer.step()
    return y, h, lengths.tolist(), image, list(averaged.module.parameters()), layer.weight
