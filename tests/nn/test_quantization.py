"""torch.ao.quantization: what observers answer, rounding in training and 8-bit linear layers, as in torch."""

import io
import json
import pathlib

import pytest

import minidynamo as torch
from nn.quantization_programs import model, observers, programs, rounding, shown, waves

Q, nn = torch.ao.quantization, torch.nn
RECORDED = json.loads((pathlib.Path(__file__).parent / "quantization_values.json").read_text())


def close(a, b):
    return a == pytest.approx(b, abs=2e-3) if not isinstance(a, (list, str)) else (
        a == b if isinstance(a, str) else len(a) == len(b) and all(map(close, a, b))
    )  # fmt: skip


@pytest.mark.parametrize("name", RECORDED)
def test_values_are_those_of_torch(name):
    assert close(shown(programs(torch)[name]()), RECORDED[name])


@pytest.mark.parametrize("name", rounding(torch))
def test_compiled_rounding_is_the_plain_one(name):
    data = [waves(torch, 3, 4, k=k) for k in range(3)]
    plain, compiled = rounding(torch)[name](), rounding(torch)[name]()
    run = torch.compile(compiled)
    for x in data:
        assert torch.equal(run(x), plain(x))
    assert all(torch.equal(a, b) for a, b in zip(plain.state_dict().values(), compiled.state_dict().values()))


@pytest.mark.parametrize("name", observers(torch))
def test_states_are_saved(name):
    make = observers(torch)[name]
    observer, other = make(), make()
    observer(waves(torch, 3, 4))
    other.load_state_dict(observer.state_dict())
    assert all(torch.equal(a, b) for a, b in zip(observer.calculate_qparams(), other.calculate_qparams()))


def test_8_bit_layers():
    whole, x = model(torch), waves(torch, 5, 4)
    small = Q.quantize_dynamic(whole, {nn.Linear}, dtype=torch.qint8)
    assert type(whole[0]) is nn.Linear and repr(small[0]) == (
        "DynamicQuantizedLinear(in_features=4, out_features=3, dtype=torch.qint8, qscheme=torch.per_tensor_affine)"
    )
    file = io.BytesIO()
    torch.save(small.state_dict(), file)
    file.seek(0)
    other = Q.quantize_dynamic(nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Sequential(nn.Linear(3, 2, bias=False))))
    other.load_state_dict(torch.load(file, weights_only=False))
    assert torch.equal(other(x), small(x)) and torch.equal(torch.compile(small)(x), small(x))
    assert torch.quantization.quantize_dynamic is Q.quantize_dynamic
    assert type(Q.quantize_dynamic(nn.Linear(2, 2))) is nn.Linear  # as in torch: only what is inside is replaced
    assert Q.quantize_dynamic(whole, {nn.Linear}, inplace=True) is whole and type(whole[0]) is not nn.Linear


def test_what_is_refused():
    for make in (
        lambda: Q.MinMaxObserver(qscheme=torch.per_channel_affine),
        lambda: Q.PerChannelMinMaxObserver(qscheme=torch.per_tensor_affine),
        lambda: Q.MovingAverageMinMaxObserver(is_dynamic=True),
        lambda: Q.MinMaxObserver(qscheme=torch.per_tensor_symmetric, reduce_range=True),
        lambda: Q.quantize_dynamic(nn.Sequential(nn.LSTM(2, 2))),
        lambda: Q.quantize_dynamic(model(torch), dtype=torch.float16),
    ):
        with pytest.raises(NotImplementedError):
            make()
    for make in (lambda: Q.MinMaxObserver(dtype=torch.float32), lambda: Q.MinMaxObserver(quant_min=5, quant_max=9)):
        with pytest.raises(AssertionError):
            make()
    with pytest.raises(ValueError, match="observer class"):
        Q.QConfig(activation=Q.MinMaxObserver(), weight=None)
    with pytest.raises(RuntimeError, match="Zero-point"):
        torch.fake_quantize_per_tensor_affine(torch.ones(2), torch.tensor(0.1), torch.tensor(3), 0, 10)
    with pytest.warns(UserWarning, match="must run observer"):
        assert Q.MinMaxObserver().calculate_qparams()[0].item() == 1
