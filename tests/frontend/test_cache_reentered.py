"""A cache of calls that is called again while a compiled call enters a result: by finalizers, at any allocation."""

import functools
import gc

import minidynamo as torch


def test_a_finalizer_that_calls_the_cache():
    made = []

    @functools.lru_cache(None)
    def cached(i, j=0):
        return "value", i, j

    class Dying:
        def __init__(self, k):
            self.k, self.me = k, self  # a cycle: the collector ends it

        def __del__(self):
            made.append((cached(1000, j=self.k), ("value", 1000, self.k)))

    def f(x, k):
        return x + 1, cached(k, j="of the graph")

    before = gc.get_threshold()
    try:
        for threshold in range(1, 60):
            torch._dynamo.reset()
            cached.cache_clear()
            compiled = torch.compile(f, backend="eager", dynamic=False)
            Dying(threshold)
            gc.set_threshold(threshold, 1, 1)
            gave = compiled(torch.ones(2), 3)[1]
            gc.set_threshold(*before)
            assert gave == cached(3, j="of the graph") == ("value", 3, "of the graph")
    finally:
        gc.set_threshold(*before)
    gc.collect()
    assert made and all(found == expected for found, expected in made)
