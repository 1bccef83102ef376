"""What programs that train use: optimisers, losses, modules with gradients, hooks, states on disk."""

import copy
import io
import pickle

from twins import caught, numbers, twin

import minidynamo as torch
from minidynamo import nn

F = nn.functional
OPTIMIZERS = [
    lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-3),
    lambda p: torch.optim.Adam(p, lr=0.01, amsgrad=True),
    lambda p: torch.optim.Adam(p, lr=0.01, foreach=True),
    lambda p: torch.optim.Adam(p, lr=torch.tensor(0.01)),
    lambda p: torch.optim.AdamW(p, lr=0.01),
    torch.optim.Adagrad,
    lambda p: torch.optim.RMSprop(p, centered=True, momentum=0.5),
    torch.optim.Adadelta,
    torch.optim.NAdam,
    torch.optim.Rprop,
]
LOSSES = [
    lambda x: F.mse_loss(x, torch.ones_like(x)),
    lambda x: F.huber_loss(x, torch.zeros_like(x), reduction="none"),
    lambda x: F.binary_cross_entropy_with_logits(x, torch.full_like(x, 0.3), pos_weight=x.detach()[0].abs()),
    lambda x: F.cross_entropy(x, torch.tensor([0, 1, 2, 4], device=x.device), label_smoothing=0.2, ignore_index=2),
    lambda x: F.nll_loss(x.log_softmax(1), torch.tensor([0, 1, 2, -100], device=x.device)),
    lambda x: F.kl_div(x.log_softmax(1), x.detach().softmax(0), reduction="batchmean"),
    lambda x: F.triplet_margin_loss(x, x + 1, x * 2),
    lambda x: F.cosine_embedding_loss(x, x.flip(0), torch.tensor([1, -1, 1, -1], device=x.device)),
    lambda x: F.multi_margin_loss(x, torch.tensor([0, 1, 2, 4], device=x.device)),
]
MODULES = [
    (lambda: nn.Conv1d(3, 4, 3, padding=1, stride=2), (2, 3, 9)),
    (lambda: nn.Conv2d(4, 6, 3, groups=2, dilation=2), (2, 4, 8, 8)),
    (lambda: nn.ConvTranspose2d(3, 2, 3, stride=2, output_padding=1), (1, 3, 4, 4)),
    (lambda: nn.BatchNorm2d(3), (4, 3, 5, 5)),
    (lambda: nn.GroupNorm(2, 4), (2, 4, 3, 3)),
    (lambda: nn.RMSNorm(5), (3, 5)),
    (lambda: nn.MaxPool2d(2, return_indices=True), (2, 3, 6, 6)),
    (lambda: nn.LSTM(4, 5, num_layers=2, bidirectional=True, batch_first=True), (2, 3, 4)),
    (lambda: nn.GRU(4, 5), (3, 2, 4)),
    (lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (2, 5, 8)),
    (lambda: nn.Sequential(nn.Dropout(0.4), nn.AlphaDropout(0.2)), (10, 10)),
    (lambda: nn.Upsample(size=(5, 7), mode="bicubic", align_corners=True), (1, 2, 3, 4)),
    (lambda: nn.Sequential(nn.Softplus(2), nn.Mish(), nn.GELU("tanh"), nn.SELU(), nn.Tanhshrink()), (4, 7)),
    (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(4, 3)), (2, 4)),
]


@twin
def optimizers(device, compiled):
    out = []
    for make in OPTIMIZERS:
        torch._dynamo.reset()
        torch.manual_seed(0)
        model = nn.Linear(5, 4).to(device)
        optimizer, x = make(model.parameters()), numbers(6, 5, device=device)

        def step(model=model, optimizer=optimizer, x=x):
            optimizer.zero_grad(set_to_none=False)
            loss = model(x).square().mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = compiled(step)
        kept = [{k: v for k, v in state.items() if isinstance(v, torch.Tensor) and v.dim()} for state in
                optimizer.state.values()]  # fmt: skip
        out.append(([run() for _ in range(3)], [p.detach() for p in model.parameters()], kept))
    return out


@twin
def losses(device, compiled):
    out = []
    for loss in LOSSES:
        x = numbers(4, 5, device=device, grad=True)
        y = compiled(loss)(x)
        y.sum().backward()
        out += [y, x.grad]
    return out


@twin
def modules(device, compiled):
    out = []
    for make, sizes in MODULES:
        torch.manual_seed(0)
        module, x = make().to(device), numbers(*sizes, device=device, grad=True)
        torch.manual_seed(1)
        y = compiled(module)(x)
        (y[0] if isinstance(y, tuple) else y).sum().backward()
        out.append((y, x.grad, [p.grad for p in module.parameters()], dict(module.named_buffers())))
    return out


@twin(anywhere=True)
def states_on_disk(device, compiled):
    model = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    model(numbers(4, 3, device=device)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)

    def loaded(**options):
        file.seek(0)
        return torch.load(file, **options)

    kinds = (None, "cpu", device, torch.device(device), {f"{device}:0": "cpu"}, lambda storage, place: storage)
    places = [{t.device.type for t in loaded(map_location=kind)["model"].values()} for kind in kinds]
    there = [[device], ["cpu"], [device], [device], ["cpu"], ["cpu"]]
    assert [sorted(place) for place in places] == there, places
    other = nn.Sequential(nn.Linear(3, 2), nn.BatchNorm1d(2))
    other.load_state_dict(loaded(map_location="cpu")["model"])
    again = torch.optim.Adam(other.to(device).parameters())
    again.load_state_dict(loaded(map_location="cpu")["optimizer"])
    other(torch.ones(2, 3, device=device)).sum().backward()
    again.step()
    return loaded()["model"], list(other.parameters()), [state["exp_avg"] for state in again.state.values()]


@twin
def copies(device, compiled):
    x = numbers(2, 3, device=device, grad=True)
    layer = nn.Linear(3, 2).to(device)
    pickled = pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(layer)).weight
    return copy.deepcopy(x), copy.deepcopy(layer).weight, pickled, repr(x), str(layer.weight), f"{x.sum():.3f}"


@twin
def errors_as_on_the_cpu(device, compiled):
    def one(*sizes):
        return torch.ones(*sizes, device=device)

    return caught(
        lambda: one(2) + one(3),
        lambda: one(2, 3) @ one(2, 3),
        lambda: one(2)[5],
        lambda: one(2).sum(3),
        lambda: torch.cat([one(2, 3), one(3, 2)]),
        lambda: nn.Conv2d(3, 4, 3, device=device)(one(1, 2, 5, 5)),
        lambda: torch.linalg.inv(one(2, 2)),
        lambda: torch.linalg.cholesky(-torch.eye(2, device=device)),
        lambda: torch.multinomial(one(3) * 0, 1).tolist(),  # a device tells it where it is waited for
        lambda: bool(one(2)),
        lambda: one(3).topk(5),
        lambda: torch.zeros(2, dtype=torch.int32, device=device, requires_grad=True),
        lambda: one(3, 1).expand(3, 3).add_(1),
        lambda: one(2).backward(),
    )
