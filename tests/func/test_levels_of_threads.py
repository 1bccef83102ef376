"""Transforms of one thread while another one is inside vmap."""

import threading

import minidynamo as torch
from minidynamo.func import grad, jvp, vmap


def test_tensors_made_while_another_thread_is_in_vmap():
    began, done = threading.Event(), threading.Event()

    def wait(x):
        began.set()
        assert done.wait(60)
        return x * 2

    other = threading.Thread(target=lambda: vmap(wait)(torch.ones(2, 3)))
    other.start()
    try:
        assert began.wait(60)
        weight = torch.tensor([2.0, 3.0], requires_grad=True)
        loss, tangent = jvp(lambda x: (x * x * weight).sum(), (torch.ones(2),), (torch.ones(2),))
        (tangent + loss).backward()
        assert weight.grad.tolist() == [3, 3]
        found = grad(lambda x: (x * weight).sum())(torch.ones(2))
        assert found.requires_grad and found.tolist() == [2, 3]
    finally:
        done.set()
        other.join()
