"""random.Random with a seed: the numbers are drawn while tracing, from the generator's own state."""

import random
from collections.abc import Sequence

from . import bridge, random_facts

METHODS = {name: getattr(random.Random, name) for name in dir(random.Random) if not name.startswith("__")}


class generator:
    def __init__(self, x=None):
        if x is None:
            bridge.refuse("random.Random", "a seed that is another one each time")
        for name, method in METHODS.items():
            if getattr(random.Random, name) is not method:
                bridge.refuse("random.Random", "methods of the program's own")
        self.state = random_facts.seeded(x)

    def seed(self, a=None, version=2):
        if a is None or version != 2:
            bridge.refuse("random.Random.seed", "a seed that is another one each time")
        self.state = random_facts.seeded(a)

    def getstate(self):
        return self.state

    def setstate(self, state):
        self.state = random_facts.drawn(state, "getstate")[0]

    def draw(self, method, args, kwargs):
        value, self.state = random_facts.drawn(self.state, method, *args, **kwargs)
        return value

    def random(self, /, *args, **kwargs):
        return self.draw("random", args, kwargs)

    def getrandbits(self, /, *args, **kwargs):
        return self.draw("getrandbits", args, kwargs)

    def randbytes(self, /, *args, **kwargs):
        return self.draw("randbytes", args, kwargs)

    def randrange(self, /, *args, **kwargs):
        return self.draw("randrange", args, kwargs)

    def randint(self, /, *args, **kwargs):
        return self.draw("randint", args, kwargs)

    def uniform(self, /, *args, **kwargs):
        return self.draw("uniform", args, kwargs)

    def triangular(self, /, *args, **kwargs):
        return self.draw("triangular", args, kwargs)

    def betavariate(self, /, *args, **kwargs):
        return self.draw("betavariate", args, kwargs)

    def expovariate(self, /, *args, **kwargs):
        return self.draw("expovariate", args, kwargs)

    def gammavariate(self, /, *args, **kwargs):
        return self.draw("gammavariate", args, kwargs)

    def gauss(self, /, *args, **kwargs):
        return self.draw("gauss", args, kwargs)

    def lognormvariate(self, /, *args, **kwargs):
        return self.draw("lognormvariate", args, kwargs)

    def normalvariate(self, /, *args, **kwargs):
        return self.draw("normalvariate", args, kwargs)

    def vonmisesvariate(self, /, *args, **kwargs):
        return self.draw("vonmisesvariate", args, kwargs)

    def paretovariate(self, /, *args, **kwargs):
        return self.draw("paretovariate", args, kwargs)

    def weibullvariate(self, /, *args, **kwargs):
        return self.draw("weibullvariate", args, kwargs)

    def choice(self, seq):
        if not len(seq):
            raise IndexError("Cannot choose from an empty sequence")
        return seq[self.draw("choice", (range(len(seq)),), {})]

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        positions = range(len(population))
        chosen = self.draw("choices", (positions, weights), {"cum_weights": cum_weights, "k": k})
        return [population[at] for at in chosen]

    def sample(self, population, k, *, counts=None):
        if not isinstance(population, Sequence):
            raise TypeError("Population must be a sequence.  For dicts or sets, use sorted(d).")
        if counts is not None:
            bridge.refuse("random.Random.sample", "counts")
        return [population[at] for at in self.draw("sample", (range(len(population)), k), {})]

    def shuffle(self, x):
        order = self.draw("shuffled", (len(x),), {})
        values = list(x)
        for at in range(len(order)):
            x[at] = values[order[at]]

    def rebuilt(self):
        return random_facts.generator_with, (self.state,)


TABLE = {random.Random: generator}
