"""conj() and imaginary parts of conjugates are views, plain, in one graph op by op, and in machine code."""

import copy
import json
import pathlib
import pickle

import numpy as np
import pytest
from tests.tensor.lazy_view_programs import PROGRAMS, gradient, numbers, record, shown

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

RECORDED = json.loads(pathlib.Path(__file__).with_name("lazy_views.json").read_text())


def as_json(v):
    return json.loads(json.dumps(v))


def test_every_program_is_recorded():
    assert list(RECORDED) == list(PROGRAMS)


def test_plain_values_are_torchs():
    for name, f in PROGRAMS.items():
        assert as_json(record(f)) == RECORDED[name], name


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_ones_are_one_graph_with_the_same_values(backend):
    for name, f in PROGRAMS.items():
        torch._dynamo.reset()
        assert as_json(record(torch.compile(f, backend=backend, fullgraph=True))) == RECORDED[name], name


INPUTS = {
    "plain": lambda z: z,
    "conj": lambda z: z.conj(),
    "adjoint": lambda z: z.mH,
    "detached": lambda z: z.conj().detach(),
    "negative": lambda z: z.conj().imag,
    "imag": lambda z: z.imag,
}
CALLS = {
    "times": lambda x: x * 2,
    "itself": lambda x: x,
    "conj": lambda x: x.conj(),
    "written": lambda x: x.mul_(3),
    "written and summed": lambda x: (x.add_(1), x.sum())[1],
    "row": lambda x: x[0].fill_(5),
    "both": lambda x: (x, x + 1),
    "product": lambda x: x @ x,
}


def check_operands(call, f, compiled):
    for name, view in [*INPUTS.items(), *INPUTS.items()]:
        z, again = numbers(), numbers()
        expected, got = f(view(z)), compiled(view(again))
        assert shown(got) == shown(expected) and shown(again) == shown(z), (call, name)
        if name == "detached":
            continue
        through = [gradient(lambda y, g=g, v=view: g(v(y))) for g in (f, compiled)]
        assert through[0] == through[1], (call, name)


@pytest.mark.parametrize("backend", [CompileCounter, "inductor"])
def test_such_views_are_operands_of_compiled_code(backend):
    for call, f in CALLS.items():
        torch._dynamo.reset()
        used = backend() if backend is CompileCounter else backend
        with torch._dynamo.config.patch(recompile_limit=32):
            check_operands(call, f, torch.compile(f, backend=used, fullgraph=True))
        if backend is CompileCounter:
            assert used.frame_count <= 2 * len(INPUTS), call


def test_a_closed_over_view_is_guarded_by_what_is_pending():
    held = numbers().conj()
    counter = CompileCounter()

    @torch.compile(backend=counter, fullgraph=True)
    def f(x):
        return x * held

    for held in (numbers().conj(), numbers(), numbers().conj()):
        assert shown(f(numbers())) == shown(numbers() * held)
    assert counter.frame_count == 2


def test_who_reads_memory_refuses():
    c = numbers().conj()
    for text, call in {
        "Can't call numpy\\(\\) on Tensor that has conjugate bit set": lambda: c.numpy(),
        "Can't call numpy\\(\\) on Tensor that has negative bit set": lambda: c.imag.numpy(),
        "conjugate bit": lambda: np.asarray(c),
        "view_as_real doesn't work on unresolved conjugated tensors": lambda: torch.view_as_real(c),
        "not supported for conjugate view tensors": lambda: c.view(torch.float32),
        "not supported for tensors with negative bit set": lambda: c.imag.view(torch.int32),
    }.items():
        with pytest.raises(RuntimeError, match=text):
            call()
    with pytest.raises(BufferError):
        c.__dlpack__()
    assert c.numpy(force=True).tolist() == c.tolist() == np.conj(numbers().numpy()).tolist()


def test_what_keeps_the_memory_and_what_does_not():
    z = numbers()
    c = z.conj()
    keeps = [c, c.T, c[0], c.detach(), c.contiguous(), c.reshape(4), c.to(torch.complex64), copy.copy(c), +c]
    resolves = [c.clone(), c.T.contiguous(), c.conj_physical(), c[[0]], c.to(torch.complex128), copy.deepcopy(c), -c]
    assert all(t.is_conj() and t.data_ptr() == z.data_ptr() for t in keeps)
    assert not any(t.is_conj() or t.untyped_storage().data_ptr() == z.data_ptr() for t in resolves)
    assert c._is_view() and c._base is z and c.conj()._base is z and not c.conj().is_conj()
    assert c.resolve_conj().tolist() == c.tolist() and z.resolve_conj() is z and z.resolve_neg() is z
    again = pickle.loads(pickle.dumps(c))
    assert again.is_conj() and again.tolist() == c.tolist()
    assert repr(c) == "tensor([[ 1.-2.j,  3.+4.j],\n        [ 5.-6.j, -7.+8.j]])"
    assert repr(c.imag[0]) == "tensor([-2.,  4.])" and c.imag.is_neg() and not c.real.is_neg()


def test_gradients_go_through_such_views_of_what_is_written():
    z = numbers().requires_grad_()
    y = z * 1
    for part in (y.conj().imag, y.imag):
        torch.compile(lambda x: x.mul_(3))(part)
    (y * y.conj()).real.sum().backward()
    assert z.grad.tolist() == [[2 + 324j, 6 - 648j], [10 + 972j, -14 - 1296j]]
