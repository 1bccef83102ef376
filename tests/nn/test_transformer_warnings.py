"""Which encoders rule nested tensors out, and masks of two kinds: UserWarnings, in plain code only."""

import warnings

import pytest

import minidynamo as torch

nn = torch.nn


def layer(heads=2, size=4, **more):
    return nn.TransformerEncoderLayer(size, heads, dim_feedforward=8, **{"batch_first": True, **more})


class Own(nn.TransformerEncoderLayer):
    pass


FITS = {
    "plain": layer,
    "gelu": lambda: layer(activation="gelu"),
    "function": lambda: layer(activation=nn.functional.gelu),
    "module": lambda: layer(activation=nn.GELU()),
    "derived": lambda: Own(4, 2, batch_first=True),
}
WHY_NOT = {
    "batch_first": lambda: layer(batch_first=False),
    "norm_first": lambda: layer(norm_first=True),
    "heads": lambda: layer(3, 3),
    "activation": lambda: layer(activation=torch.tanh),
    "bias": lambda: layer(bias=False),
    "no TransformerEncoderLayer": lambda: nn.Linear(4, 4),
}


@pytest.mark.parametrize("name", FITS)
def test_layers_that_fit(name):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.TransformerEncoder(FITS[name](), 1)


@pytest.mark.parametrize("name", WHY_NOT)
def test_layers_that_do_not_fit(name):
    with pytest.warns(UserWarning, match=f"enable_nested_tensor=True has no effect.*{name}"):
        nn.TransformerEncoder(WHY_NOT[name](), 1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        nn.TransformerEncoder(WHY_NOT[name](), 1, enable_nested_tensor=False)


def test_norms_that_differ():
    changed = layer()
    changed.norm1.eps = 1e-2
    with pytest.warns(UserWarning, match="eps"):
        nn.TransformerEncoder(changed, 1)


def test_masks_of_two_kinds():
    encoder, x = nn.TransformerEncoder(layer(), 1).eval(), torch.ones(1, 3, 4)
    padding, added = torch.tensor([[False, False, True]]), torch.zeros(3, 3)
    with pytest.warns(UserWarning, match="of two kinds"):
        expected = encoder(x, mask=added, src_key_padding_mask=padding)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoder(x, mask=added != 0, src_key_padding_mask=padding)
        found = torch.compile(encoder, fullgraph=True)(x, mask=added, src_key_padding_mask=padding)
    assert torch.allclose(found, expected, atol=1e-6)
