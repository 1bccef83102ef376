"""Compiled functions of every kind, whose lines tests/tools/test_observers.py counts: once plain, once compiled."""

import threading

import minidynamo as torch

COMPILED = __name__.endswith("compiled")


def mark(f):
    return torch.compile(f, backend="eager") if COMPILED else f


def inner(y):
    if y.shape[0] > 1:
        z = y * 2
    else:
        z = y * 3
    return z


@mark
def f(x, k):
    a = x + 1
    if k == 0:
        a = a + 1
    elif k == 1:
        str.format("{}", print("", end=""))
        a = a * 2
    else:
        a = a - 1
    for _ in range(2):
        a = inner(a)
    try:
        if k == 2:
            raise ValueError
    except ValueError:
        a = a + 7
    return [q for q in (a, a + 1) if k]


class Net(torch.nn.Module):
    def forward(self, x):
        h = x + 1
        if h.sum() > 0:
            h = h * 2
        else:
            h = h * 3
        return h


def pieces(x):
    yield x + 1
    yield x + 2


@mark
def g(x):
    with torch.no_grad():
        r = sum(pieces(x))
    while r.sum() < 0:
        r = r + 1
    return r


@mark
def only_in_a_thread(x):
    y = x + 1
    return y


net = mark(Net())


def work():
    for k in range(3):
        f(torch.ones(2), k)
    net(torch.ones(2))
    g(torch.ones(2))


def everything():
    work()
    work()
    thread = threading.Thread(target=lambda: only_in_a_thread(torch.ones(1)))
    thread.start()
    thread.join()
