"""Convolution, pooling and resampling layers: what they compute, what they hold, what they print, compiled."""

import math

import pytest

import minidynamo as torch
from tensor.agreement import agree

nn, F = torch.nn, torch.nn.functional

LAYERS = [
    (nn.Conv1d(2, 4, 3), (2, 9), "2, 4, kernel_size=(3,), stride=(1,)"),
    (nn.Conv2d(2, 4, (3, 2), padding=1, bias=False), (2, 7, 9),
     "2, 4, kernel_size=(3, 2), stride=(1, 1), padding=(1, 1), bias=False"),
    (nn.Conv2d(2, 4, 3, 1, "same", 2, 2), (2, 7, 9),
     "2, 4, kernel_size=(3, 3), stride=(1, 1), padding=same, dilation=(2, 2), groups=2"),
    (nn.Conv3d(2, 3, 2, stride=2), (2, 4, 4, 5), "2, 3, kernel_size=(2, 2, 2), stride=(2, 2, 2)"),
    (nn.ConvTranspose1d(2, 3, 4, 2, 1, 1), (2, 5),
     "2, 3, kernel_size=(4,), stride=(2,), padding=(1,), output_padding=(1,)"),
    (nn.ConvTranspose2d(2, 4, 3, groups=2), (2, 4, 5), "2, 4, kernel_size=(3, 3), stride=(1, 1), groups=2"),
    (nn.MaxPool1d(3, 2), (2, 9), "kernel_size=3, stride=2, padding=0, dilation=1, ceil_mode=False"),
    (nn.MaxPool2d(2, ceil_mode=True), (2, 7, 9),
     "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=True"),
    (nn.MaxPool3d(2), (2, 4, 4, 4), "kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False"),
    (nn.AvgPool1d(3), (2, 9), "kernel_size=(3,), stride=(3,), padding=(0,)"),
    (nn.AvgPool2d(3, 1, 1, count_include_pad=False), (2, 7, 9), "kernel_size=3, stride=1, padding=1"),
    (nn.AvgPool3d(2), (2, 4, 4, 4), "kernel_size=2, stride=2, padding=0"),
    (nn.AdaptiveAvgPool1d(3), (2, 8), "output_size=3"),
    (nn.AdaptiveAvgPool2d((None, 3)), (2, 7, 9), "output_size=(None, 3)"),
    (nn.AdaptiveMaxPool1d(3), (2, 8), "output_size=3"),
    (nn.AdaptiveMaxPool2d(2), (2, 7, 9), "output_size=2"),
    (nn.Upsample(scale_factor=2, mode="bilinear"), (2, 4, 5), "scale_factor=2.0, mode='bilinear'"),
    (nn.Upsample((3, 9)), (2, 4, 5), "size=(3, 9), mode='nearest'"),
    (nn.UpsamplingNearest2d(scale_factor=3), (2, 4, 5), "scale_factor=3.0, mode='nearest'"),
    (nn.UpsamplingBilinear2d((6, 6)), (2, 4, 5), "size=(6, 6), mode='bilinear'"),
    (nn.PixelShuffle(2), (8, 3, 4), "upscale_factor=2"),
    (nn.PixelUnshuffle(2), (2, 4, 6), "downscale_factor=2"),
    (nn.Unfold(2, stride=2), (2, 4, 6), "kernel_size=2, dilation=1, padding=0, stride=2"),
    (nn.Fold((3, 4), 2), (8, 6), "output_size=(3, 4), kernel_size=2, dilation=1, padding=0, stride=1"),
]  # fmt: skip


@pytest.mark.parametrize("layer, sizes, text", LAYERS, ids=[f"{i} {type(c[0]).__name__}" for i, c in enumerate(LAYERS)])
def test_layer(layer, sizes, text):
    assert repr(layer) == f"{type(layer).__name__}({text})"
    torch.manual_seed(0)
    x = torch.randn(3, *sizes)
    expected = agree(lambda x: layer(x), x, again=[(x[:2],)])
    assert expected.shape[0] == 3
    torch._dynamo.reset()
    assert torch.compile(layer, fullgraph=True)(x).tolist() == expected.tolist()


def test_weights_start_as_in_linear_layers():
    torch.manual_seed(0)
    conv = nn.Conv2d(16, 64, 3, groups=2)
    assert conv.weight.shape == (64, 8, 3, 3) and conv.bias.shape == (64,)
    bound = 1 / math.sqrt(8 * 9)
    for weight in (conv.weight, conv.bias):
        assert weight.abs().max().item() <= bound and weight.abs().max().item() > 0.8 * bound
    assert sorted(conv.state_dict()) == ["bias", "weight"]
    assert nn.ConvTranspose2d(4, 6, 3, groups=2).weight.shape == (4, 3, 3, 3)
    assert nn.Conv1d(1, 1, 1, dtype=torch.float64).weight.dtype is torch.float64


def test_a_network_of_them():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.features = nn.Sequential(
                nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                nn.Conv2d(8, 16, 3, padding="same"), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
            )  # fmt: skip
            self.head = nn.Linear(16, 10)

        def forward(self, x):
            return self.head(self.features(x).flatten(1)).softmax(-1)

    torch.manual_seed(0)
    net = Net().eval()
    agree(lambda x: net(x), torch.randn(4, 1, 12, 12), again=[(torch.randn(7, 1, 12, 12),)])


def test_positions_of_maxima():
    values, at = nn.MaxPool2d(2, return_indices=True)(torch.arange(16.0).reshape(1, 1, 4, 4))
    assert values.flatten().tolist() == at.flatten().tolist() == [5, 7, 13, 15]
    values, at = nn.AdaptiveMaxPool1d(2, return_indices=True)(torch.tensor([[[3.0, 1.0, 2.0, 5.0]]]))
    assert values.tolist() == [[[3.0, 5.0]]] and at.tolist() == [[[0, 3]]]


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: nn.Conv2d(3, 4, 2, groups=2), ValueError),
        (lambda: nn.Conv2d(4, 3, 2, groups=2), ValueError),
        (lambda: nn.Conv2d(4, 4, 2, groups=0), ValueError),
        (lambda: nn.Conv2d(4, 4, 2, padding="full"), ValueError),
        (lambda: nn.Conv2d(4, 4, 2, stride=2, padding="same"), ValueError),
        (lambda: nn.Conv2d(4, 4, 2, padding_mode="mirror"), ValueError),
        (lambda: nn.Conv2d(4, 4, 2)(torch.ones(1, 3, 5, 5)), RuntimeError),
    ],
)
def test_wrong_layers(make, error):
    with pytest.raises(error):
        make()
