"""What inference mode makes, copies that share memory, and settings that say what fresh memory holds."""

import copy
import math
import pickle

import pytest

import minidynamo as torch


def test_inference_tensors_say_so_and_refuse():
    ordinary = torch.ones(2)
    with torch.inference_mode():
        x = torch.ones(2) * 2
        assert x.is_inference() and not torch.is_grad_enabled()
        x.add_(1)
        assert not ordinary.view(2, 1).is_inference() and not ordinary.add_(1).is_inference()
        with torch.inference_mode(False):
            assert torch.is_grad_enabled() and not torch.ones(1).is_inference()
    weight = torch.ones(2, requires_grad=True)
    assert x.is_inference() and x.view(2, 1).is_inference() and x.detach().is_inference()
    assert not (x + 1).is_inference() and not x.clone().is_inference()
    (weight + x).sum().backward()
    for refused in (
        lambda: x.add_(1),
        lambda: x.fill_(0),
        lambda: x.__setitem__(0, 1.0),
        lambda: x.requires_grad_(),
        lambda: weight * x,
        lambda: x._version,
    ):
        with pytest.raises(RuntimeError):
            refused()
    assert x.tolist() == [3.0, 3.0]


def test_deep_copies_share_memory_among_them():
    a = torch.arange(6.0)
    shown = {"whole": a, "part": a[2:4], "turned": a.view(2, 3).t()}
    copied = copy.deepcopy(shown)
    copied["whole"].fill_(1)
    assert copied["part"].tolist() == [1.0, 1.0] and copied["turned"].stride() == (1, 3) and a[0] == 0
    assert pickle.loads(pickle.dumps(shown["turned"])).stride() == (1, 3)


def test_tensors_over_storages():
    a, b = torch.arange(6.0), torch.zeros(2)
    b.set_(a.untyped_storage(), 1, (2, 2), (2, 1)).fill_(9)
    assert a.tolist() == [0.0, 9.0, 9.0, 9.0, 9.0, 5.0]
    assert torch.tensor([], dtype=torch.float32).set_(a.storage()).data_ptr() == a.data_ptr()


def test_fresh_memory_in_the_deterministic_mode():
    torch.use_deterministic_algorithms(True)
    try:
        assert math.isnan(torch.empty(1).item()) and math.isnan(torch.empty_like(torch.ones(1)).item())
        assert torch.empty(1, dtype=torch.int32).item() == 2**31 - 1 and torch.empty(1, dtype=torch.bool).item()
        torch.utils.deterministic.fill_uninitialized_memory = False
    finally:
        torch.utils.deterministic.fill_uninitialized_memory = True
        torch.use_deterministic_algorithms(False)


def test_profiles_show_operators():
    with torch.profiler.profile() as profile:
        with torch.profiler.record_function("block"):
            torch.ones(4, 4) @ torch.ones(4, 4) + 1
    rows = {row.key: row for row in profile.key_averages()}
    assert rows["block"].count == rows["aten::add"].count == rows["aten::mm"].count == 1
    assert rows["block"].cpu_time_total >= rows["aten::mm"].cpu_time_total > 0
    assert rows["block"].self_cpu_time_total < rows["block"].cpu_time_total
    with torch.profiler.profile() as empty:
        pass
    assert not empty.events()


def test_generators_are_cloned():
    g = torch.Generator().manual_seed(3)
    torch.rand(2, generator=g)
    h = g.clone_state()
    assert torch.equal(torch.rand(3, generator=g), torch.rand(3, generator=h))
    with pytest.raises(TypeError):
        g.graphsafe_set_state(3)
