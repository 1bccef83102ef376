"""Random NumPy expressions, compiled and plain: dtypes and values of the results are NumPy's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import minidynamo as torch
from frontend.arrays import compare

DTYPES = ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64"]
SHAPES = [(), (1,), (4,), (3, 4), (2, 1, 4), (3, 1)]
BINARY = ["add", "subtract", "multiply", "divide", "floor_divide", "remainder", "maximum", "minimum", "less", "equal"]
UNARY = ["negative", "absolute", "square", "sqrt", "exp", "floor", "sign", "logical_not", "isfinite"]
FOLDS = ["sum", "mean", "max", "min", "prod", "any", "all", "argmax", "argmin", "cumsum", "std"]
NUMBERS = [0, 1, 2, -1, 3, 0.5, 2.0, True]


@st.composite
def arrays(draw):
    dtype, shape = draw(st.sampled_from(DTYPES)), draw(st.sampled_from(SHAPES))
    count = int(np.prod(shape))
    values = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
    return np.array(values).reshape(shape).astype(dtype)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("binary"), st.sampled_from(BINARY), st.integers(0, 1)),
        st.tuples(st.just("number"), st.sampled_from(BINARY), st.sampled_from(NUMBERS)),
        st.tuples(st.just("reflected"), st.sampled_from(BINARY), st.sampled_from(NUMBERS)),
        st.tuples(st.just("unary"), st.sampled_from(UNARY), st.none()),
        st.tuples(st.just("fold"), st.sampled_from(FOLDS), st.sampled_from([None, 0, -1])),
        st.tuples(st.just("where"), st.sampled_from(NUMBERS), st.sampled_from(NUMBERS)),
        st.tuples(st.just("view"), st.sampled_from(["T", "ravel", "new", "first", "slice"]), st.none()),
    ),
    min_size=1,
    max_size=5,
)


def program_of(plan):
    """A function of two arrays that takes the steps one after the other and gives all they made."""

    def program(a, b):
        value = a
        made = []
        for kind, name, extra in plan:
            if kind == "binary":
                value = getattr(np, name)(value, b if extra else value)
            elif kind == "number":
                value = getattr(np, name)(value, extra)
            elif kind == "reflected":
                value = getattr(np, name)(extra, value)
            elif kind == "unary":
                value = getattr(np, name)(value)
            elif kind == "fold":
                value = getattr(np, name)(value, axis=extra)
            elif kind == "where":
                value = np.where(value > 1, value, name) + extra
            elif name == "T":
                value = value.T
            elif name == "ravel":
                value = np.ravel(value)
            elif name == "new":
                value = value[..., np.newaxis]
            elif name == "first":
                value = value[0]
            else:
                value = value[..., 1:]
            made.append(value)
        return made

    return program


@settings(deadline=None, max_examples=150)
@given(arrays(), arrays(), steps)
def test_random_programs(a, b, plan):
    program = program_of(plan)
    torch._dynamo.reset()
    with np.errstate(all="ignore"):
        compiled = torch.compile(program, backend="eager")
        try:
            want, refused = program(a.copy(), b.copy()), None
        except Exception as error:  # noqa: BLE001
            want, refused = None, error
        try:
            got, error = compiled(a.copy(), b.copy()), None
        except Exception as raised:  # noqa: BLE001
            got, error = None, raised
    assert type(error) is type(refused) and str(error) == str(refused)
    if refused is None:
        compare(got, want, tolerance=1e-2 if any(v.dtype == np.float16 for v in want) else 1e-5)
