"""How tensors print, as the reference prints them: widths, scientific notation, summaries, suffixes."""

import pytest

import minidynamo as torch

EXPECTED = [
    ("torch.tensor(1.5)", "tensor(1.5000)"),
    ("torch.tensor(3)", "tensor(3)"),
    ("torch.tensor(True)", "tensor(True)"),
    ("torch.tensor(1e10)", "tensor(1.0000e+10)"),
    ("torch.tensor(float('nan'))", "tensor(nan)"),
    ("torch.tensor([])", "tensor([])"),
    ("torch.zeros(0, 3)", "tensor([], size=(0, 3))"),
    ("torch.zeros(0, 3, dtype=torch.int64)", "tensor([], size=(0, 3), dtype=torch.int64)"),
    ("torch.tensor([], dtype=torch.int64)", "tensor([], dtype=torch.int64)"),
    ("torch.tensor([1., 2., 3.])", "tensor([1., 2., 3.])"),
    ("torch.tensor([1, 2, 3])", "tensor([1, 2, 3])"),
    ("torch.tensor([1, -20, 300])", "tensor([  1, -20, 300])"),
    ("torch.tensor([True, False])", "tensor([ True, False])"),
    ("torch.tensor([1, 2], dtype=torch.int32)", "tensor([1, 2], dtype=torch.int32)"),
    ("torch.tensor([1., 2.], dtype=torch.float64)", "tensor([1., 2.], dtype=torch.float64)"),
    ("torch.tensor([0.1, 0.25, 100.123456])", "tensor([1.0000e-01, 2.5000e-01, 1.0012e+02])"),
    ("torch.tensor([1e-5, 1.])", "tensor([1.0000e-05, 1.0000e+00])"),
    ("torch.tensor([1., 1001.])", "tensor([1.0000e+00, 1.0010e+03])"),
    ("torch.tensor([1., 1000.])", "tensor([   1., 1000.])"),
    ("torch.tensor([0.5, 1000.])", "tensor([5.0000e-01, 1.0000e+03])"),
    ("torch.tensor([1e8, 1.])", "tensor([1.0000e+08, 1.0000e+00])"),
    ("torch.tensor([2e8])", "tensor([2.0000e+08])"),
    ("torch.tensor([1e-4])", "tensor([1.0000e-04])"),
    ("torch.tensor([9e-5])", "tensor([9.0000e-05])"),
    ("torch.tensor([0., -0.])", "tensor([0., -0.])"),
    ("torch.tensor([-0.0, 0.5])", "tensor([-0.0000, 0.5000])"),
    ("torch.tensor([float('inf'), 1.])", "tensor([inf, 1.])"),
    ("torch.tensor([float('nan'), 1.5, -float('inf')])", "tensor([   nan, 1.5000,   -inf])"),
    ("torch.tensor([float('nan'), float('inf')])", "tensor([nan, inf])"),
    ("torch.tensor([float('nan'), 1e-9, 12345.])", "tensor([       nan, 1.0000e-09, 1.2345e+04])"),
    ("torch.arange(6).reshape(2, 3)", "tensor([[0, 1, 2],\n        [3, 4, 5]])"),
    ("torch.arange(6.).reshape(2, 3)", "tensor([[0., 1., 2.],\n        [3., 4., 5.]])"),
    (
        "torch.arange(24).reshape(2, 3, 4)",
        "tensor([[[ 0,  1,  2,  3],\n"
        "         [ 4,  5,  6,  7],\n"
        "         [ 8,  9, 10, 11]],\n"
        "\n"
        "        [[12, 13, 14, 15],\n"
        "         [16, 17, 18, 19],\n"
        "         [20, 21, 22, 23]]])",
    ),
    (
        "torch.arange(16.).reshape(2, 2, 2, 2)",
        "tensor([[[[ 0.,  1.],\n"
        "          [ 2.,  3.]],\n"
        "\n"
        "         [[ 4.,  5.],\n"
        "          [ 6.,  7.]]],\n"
        "\n"
        "\n"
        "        [[[ 8.,  9.],\n"
        "          [10., 11.]],\n"
        "\n"
        "         [[12., 13.],\n"
        "          [14., 15.]]]])",
    ),
    (
        "torch.arange(40)",
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n"
        "        36, 37, 38, 39])",
    ),
    (
        "torch.arange(30.)",
        "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
        "        14., 15., 16., 17., 18., 19., 20., 21., 22., 23., 24., 25., 26., 27.,\n"
        "        28., 29.])",
    ),
    ("torch.arange(1001)", "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    ("torch.arange(1001.)", "tensor([   0.,    1.,    2.,  ...,  998.,  999., 1000.])"),
    (
        "torch.arange(1000)[:26]",
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23, 24, 25])",
    ),
    (
        "torch.arange(2000).reshape(2, 1000)",
        "tensor([[   0,    1,    2,  ...,  997,  998,  999],\n        [1000, 1001, 1002,  ..., 1997, 1998, 1999]])",
    ),
    (
        "torch.arange(2000).reshape(1000, 2)",
        "tensor([[   0,    1],\n"
        "        [   2,    3],\n"
        "        [   4,    5],\n"
        "        ...,\n"
        "        [1994, 1995],\n"
        "        [1996, 1997],\n"
        "        [1998, 1999]])",
    ),
    (
        "torch.arange(1200).reshape(10, 12, 10)",
        "tensor([[[   0,    1,    2,  ...,    7,    8,    9],\n"
        "         [  10,   11,   12,  ...,   17,   18,   19],\n"
        "         [  20,   21,   22,  ...,   27,   28,   29],\n"
        "         ...,\n"
        "         [  90,   91,   92,  ...,   97,   98,   99],\n"
        "         [ 100,  101,  102,  ...,  107,  108,  109],\n"
        "         [ 110,  111,  112,  ...,  117,  118,  119]],\n"
        "\n"
        "        [[ 120,  121,  122,  ...,  127,  128,  129],\n"
        "         [ 130,  131,  132,  ...,  137,  138,  139],\n"
        "         [ 140,  141,  142,  ...,  147,  148,  149],\n"
        "         ...,\n"
        "         [ 210,  211,  212,  ...,  217,  218,  219],\n"
        "         [ 220,  221,  222,  ...,  227,  228,  229],\n"
        "         [ 230,  231,  232,  ...,  237,  238,  239]],\n"
        "\n"
        "        [[ 240,  241,  242,  ...,  247,  248,  249],\n"
        "         [ 250,  251,  252,  ...,  257,  258,  259],\n"
        "         [ 260,  261,  262,  ...,  267,  268,  269],\n"
        "         ...,\n"
        "         [ 330,  331,  332,  ...,  337,  338,  339],\n"
        "         [ 340,  341,  342,  ...,  347,  348,  349],\n"
        "         [ 350,  351,  352,  ...,  357,  358,  359]],\n"
        "\n"
        "        ...,\n"
        "\n"
        "        [[ 840,  841,  842,  ...,  847,  848,  849],\n"
        "         [ 850,  851,  852,  ...,  857,  858,  859],\n"
        "         [ 860,  861,  862,  ...,  867,  868,  869],\n"
        "         ...,\n"
        "         [ 930,  931,  932,  ...,  937,  938,  939],\n"
        "         [ 940,  941,  942,  ...,  947,  948,  949],\n"
        "         [ 950,  951,  952,  ...,  957,  958,  959]],\n"
        "\n"
        "        [[ 960,  961,  962,  ...,  967,  968,  969],\n"
        "         [ 970,  971,  972,  ...,  977,  978,  979],\n"
        "         [ 980,  981,  982,  ...,  987,  988,  989],\n"
        "         ...,\n"
        "         [1050, 1051, 1052,  ..., 1057, 1058, 1059],\n"
        "         [1060, 1061, 1062,  ..., 1067, 1068, 1069],\n"
        "         [1070, 1071, 1072,  ..., 1077, 1078, 1079]],\n"
        "\n"
        "        [[1080, 1081, 1082,  ..., 1087, 1088, 1089],\n"
        "         [1090, 1091, 1092,  ..., 1097, 1098, 1099],\n"
        "         [1100, 1101, 1102,  ..., 1107, 1108, 1109],\n"
        "         ...,\n"
        "         [1170, 1171, 1172,  ..., 1177, 1178, 1179],\n"
        "         [1180, 1181, 1182,  ..., 1187, 1188, 1189],\n"
        "         [1190, 1191, 1192,  ..., 1197, 1198, 1199]]])",
    ),
    ("torch.ones(3, requires_grad=True)", "tensor([1., 1., 1.], requires_grad=True)"),
    (
        "torch.ones(20, dtype=torch.float64, requires_grad=True)",
        "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.,\n"
        "        1., 1.], dtype=torch.float64, requires_grad=True)",
    ),
    (
        "torch.ones(18, dtype=torch.float64)",
        "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],\n       dtype=torch.float64)",
    ),
    (
        "torch.arange(24, dtype=torch.int32)",
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22, 23], dtype=torch.int32)",
    ),
    (
        "torch.arange(23, dtype=torch.int32)",
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21, 22], dtype=torch.int32)",
    ),
    (
        "torch.arange(22, dtype=torch.int32)",
        "tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,\n"
        "        18, 19, 20, 21], dtype=torch.int32)",
    ),
    (
        "torch.arange(2, 21, dtype=torch.int32)",
        "tensor([ 2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19,\n"
        "        20], dtype=torch.int32)",
    ),
    ("torch.zeros(2, 0)", "tensor([], size=(2, 0))"),
    ("torch.zeros(2, 0, dtype=torch.bool)", "tensor([], size=(2, 0), dtype=torch.bool)"),
    ("torch.ones(2, 3).t()", "tensor([[1., 1.],\n        [1., 1.],\n        [1., 1.]])"),
    ("torch.arange(10)[::3]", "tensor([0, 3, 6, 9])"),
    ("torch.ones(1, 1, 1)", "tensor([[[1.]]])"),
    ("torch.tensor([[1.5, 2.], [300., -4.]])", "tensor([[  1.5000,   2.0000],\n        [300.0000,  -4.0000]])"),
    ("torch.tensor([[True], [False]])", "tensor([[ True],\n        [False]])"),
    ("torch.tensor(-0.0)", "tensor(-0.)"),
    ("torch.tensor(123456789)", "tensor(123456789)"),
    ("torch.tensor(123456789.)", "tensor(1.2346e+08)"),
    ("torch.tensor(0.1, dtype=torch.float64)", "tensor(0.1000, dtype=torch.float64)"),
    ("torch.tensor(2, dtype=torch.int32)", "tensor(2, dtype=torch.int32)"),
    ("torch.tensor([1.0000001, 2.])", "tensor([1.0000, 2.0000])"),
    ("torch.tensor([16777216., 0.])", "tensor([16777216.,        0.])"),
    ("torch.tensor([-1., -1000.5])", "tensor([-1.0000e+00, -1.0005e+03])"),
    ("torch.full((3, 4), -7)", "tensor([[-7, -7, -7, -7],\n        [-7, -7, -7, -7],\n        [-7, -7, -7, -7]])"),
    (
        "torch.full((2, 30), 0.123)",
        "tensor([[0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230,\n"
        "         0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230,\n"
        "         0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230,\n"
        "         0.1230, 0.1230, 0.1230],\n"
        "        [0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230,\n"
        "         0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230,\n"
        "         0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230, 0.1230,\n"
        "         0.1230, 0.1230, 0.1230]])",
    ),
    (
        "torch.full((60, 30), 1)",
        "tensor([[1, 1, 1,  ..., 1, 1, 1],\n"
        "        [1, 1, 1,  ..., 1, 1, 1],\n"
        "        [1, 1, 1,  ..., 1, 1, 1],\n"
        "        ...,\n"
        "        [1, 1, 1,  ..., 1, 1, 1],\n"
        "        [1, 1, 1,  ..., 1, 1, 1],\n"
        "        [1, 1, 1,  ..., 1, 1, 1]])",
    ),
    ("torch.tensor([3.4e38, -3.4e38])", "tensor([ 3.4000e+38, -3.4000e+38])"),
    ("torch.tensor([1e-45])", "tensor([1.4013e-45])"),
    ("torch.tensor([1e300], dtype=torch.float64)", "tensor([1.0000e+300], dtype=torch.float64)"),
    ("torch.tensor([1e-300, 1e300], dtype=torch.float64)", "tensor([1.0000e-300, 1.0000e+300], dtype=torch.float64)"),
    ("torch.tensor([-2**63, 2**63-1])", "tensor([-9223372036854775808,  9223372036854775807])"),
]


@pytest.mark.parametrize(("source", "expected"), EXPECTED, ids=[source for source, _ in EXPECTED])
def test_repr(source, expected):
    tensor = eval(source, {"torch": torch})
    assert repr(tensor) == expected
    assert str(tensor) == expected


def test_default_dtype_decides_which_dtype_is_printed():
    torch.set_default_dtype(torch.float64)
    try:
        assert repr(torch.tensor([1.5])) == "tensor([1.5000])"
        assert repr(torch.ones(1, dtype=torch.float32)) == "tensor([1.], dtype=torch.float32)"
    finally:
        torch.set_default_dtype(torch.float32)


def test_subclass_prints_its_name():
    class Marked(torch.Tensor):
        pass

    assert repr(torch.ones(2).as_subclass(Marked)) == "Marked([1., 1.])"


@pytest.fixture
def print_options():
    yield torch.set_printoptions
    torch.set_printoptions(profile="default")


def test_print_options(print_options):
    print_options(precision=2)
    assert repr(torch.tensor([0.123456])) == "tensor([0.12])"
    print_options(sci_mode=True)
    assert repr(torch.tensor([0.5])) == "tensor([5.00e-01])"
    print_options(profile="short")
    assert repr(torch.arange(2000)) == "tensor([   0,    1,  ..., 1998, 1999])"
    print_options(profile="default", linewidth=20)
    assert repr(torch.arange(6)) == "tensor([0, 1, 2, 3,\n        4, 5])"
    print_options(profile="default", threshold=5, edgeitems=1)
    assert repr(torch.arange(6.0)) == "tensor([0.,  ..., 5.])"


def test_print_options_refuse_nonsense(print_options):
    with pytest.raises(ValueError, match="profile"):
        print_options(profile="loud")
    with pytest.raises(ValueError, match="precision"):
        print_options(precision=-1)


def test_format():
    assert f"{torch.tensor(1.5)}" == "1.5"
    assert f"{torch.tensor(1.25):.1f}" == "1.2"
    assert f"{torch.tensor([1.0])}" == "tensor([1.])"
    with pytest.raises(TypeError, match="unsupported format string passed to Tensor.__format__"):
        f"{torch.ones(2):.2f}"
