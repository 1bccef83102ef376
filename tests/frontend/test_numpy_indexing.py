"""array[key] for random keys: values, memory and writes are NumPy's."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, basic_indices

import minidynamo as torch
from frontend.arrays import agree, compare


@st.composite
def shapes_and_keys(draw):
    shape = draw(array_shapes(max_dims=3, max_side=5))
    return shape, draw(basic_indices(shape, allow_newaxis=True, allow_ellipsis=True))


def numbered(shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


@settings(deadline=None, max_examples=150)
@given(shapes_and_keys())
def test_random_keys(drawn):
    shape, key = drawn

    def read(a):
        return a[key], a[key] * 2

    torch._dynamo.reset()
    compiled = torch.compile(read, backend="eager", fullgraph=True)
    a = numbered(shape)
    got, want = compiled(a), read(a)
    compare(got, want)
    assert np.shares_memory(got[0], a) == np.shares_memory(want[0], a)


@settings(deadline=None, max_examples=100)
@given(shapes_and_keys())
def test_random_writes(drawn):
    shape, key = drawn

    def write(a):
        a[key] = a[key] + 100
        return a.sum()

    torch._dynamo.reset()
    compiled = torch.compile(write, backend="eager")
    a, b = numbered(shape), numbered(shape)
    compare(compiled(a), write(b))
    compare(a, b)


def test_arrays_that_go_backward():
    def apply(a):
        return a[::-1], a[::-1, ::2], a[:, ::-2], np.flip(a), np.flip(a, 1), np.fliplr(a) + a, np.sort(a)[:, ::-1] * 2

    agree(apply, lambda: [numbered((3, 4))])
    a = numbered((3, 4))
    torch._dynamo.reset()
    backward = torch.compile(lambda a: a[::-1][1:], fullgraph=True)(a)
    a[0, 0] = -1
    compare(backward, a[::-1][1:])
    assert np.shares_memory(backward, a) and backward.flags.writeable


def test_what_goes_backward_follows_later_writes():
    def behind(a):
        b = a[::-1]
        a[0] = 7
        return b

    def through(a):
        b = a[::-1]
        b[0] = 7
        return a, b

    def by_a_view(a):
        b = a[::-1]
        c = a[1:]
        c += 1
        return b + 0

    for function in (behind, through, by_a_view):
        agree(function, lambda: [numbered((3, 2))], frames=None)
