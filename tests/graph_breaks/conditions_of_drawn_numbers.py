"""Programs for GB0178, GB0213 and GB0170 of numbers drawn by Python's random: see conditions.py."""

# fmt: off
import math
import operator
import random
import sys

import minidynamo as torch
from graph_breaks.conditions import lister

CASES = []
case = lister(CASES)
X = torch.tensor([1.0, 2.0, 3.0])


def program(code, **settings):
    """A function of x alone, compiled and called three times with the stream begun anew."""
    def add(f):
        def run(compile):
            random.seed(11)
            g = compile(f)
            return [g(X) for _ in range(3)], random.random()
        run.__name__ = f.__name__
        return case(code, **settings)(run)
    return add


class Dice:
    sides = 6
    def roll(self): return random.randint(1, self.sides)
    def negative(self): return -self.roll()


DICE = Dice()


@program("GB0178")
def power_by_function(x): return x + pow(random.randint(2, 5), 2)
@program("GB0178")
def its_repr(x): return x + 1, repr(random.uniform(0, 1))
@program("GB0178")
def truth_by_operator(x): return x + 1, operator.truth(random.randint(0, 1))
@program("GB0178")
def root(x): return x + math.sqrt(random.uniform(0, 1))
@program("GB0178")
def quotient_and_remainder(x): return x + 1, divmod(random.randint(5, 9), 2)
@program("GB0178")
def rounded_two_calls_deep(x):
    def inner(y): return y * round(random.uniform(1, 9), 1)
    def outer(y): return inner(y) + 1
    return outer(x)

@program("GB0213")
def negated_in_a_method(x): return x + DICE.negative()
@program("GB0213")
def sum_of_two(x): return x + (random.randint(1, 9) + random.randint(1, 9))
@program("GB0213")
def power(x): return x + random.randint(1, 9) ** 2
@program("GB0213")
def inverted(x): return x + ~random.randrange(9)
@program("GB0213")
def counted_up(x):
    n = random.randint(1, 9)
    n += 1
    return x * n
@program("GB0213")
def negated_by_operator(x): return x * operator.neg(random.randint(1, 9))
@program("GB0170" if sys.version_info >= (3, 13) else "GB0213")  # which asks for the truth first
def negated_truth(x): return x + (not random.randint(0, 1))
@program("GB0213")
def among_others(x): return x + (random.randint(1, 9) in (1, 2, 3))
@program("GB0213")
def sum_of_a_list(x): return x + sum([random.randint(1, 3), random.randint(1, 3)])

@program("GB0170")
def branch_on_a_comparison(x):
    if random.uniform(0, 1) < 0.5:
        return x + 1
    return x - 1
@program("GB0170")
def branch_on_the_number(x): return x + (1 if random.randint(0, 1) else 2)

# Neighbours: with a tensor beside it, and where the number is handed on.
@program("")
def with_a_tensor(x): return x * random.uniform(0, 1) - random.randint(1, 5) / (x + 1)
@program("")
def by_keywords_two_calls_deep(x):
    def inner(y): return y + random.randint(b=4, a=1)
    def outer(y): return inner(y) + inner(y)
    return outer(x)
@program("")
def handed_on(x): return x + 1, random.uniform(1, 2), [random.randrange(4)], {"a": random.randint(1, 5)}
@program("")
def a_number_of_it(x): return x * abs(random.uniform(-3, 3)) + max(random.randint(1, 9), 3), float(random.randint(1, 2))
@program("")
def compared(x): return x * (random.uniform(0, 1) < 0.5), random.randint(1, 2) == 1
@program("")
def its_type(x): return x + 1 if isinstance(random.uniform(0, 1), float) else x - 1
@program("")
def a_size(x): return torch.ones(random.randint(1, 3)), x[: random.randint(1, 3)], x[random.randint(0, 2)]
@program("")
def tensors_of_it(x): return torch.tensor(random.uniform(0, 1)), torch.tensor([random.randint(0, 9), 2, True])
@program("", trace_more=True)
def arithmetic(x): return x * (random.randint(1, 9) + 1) - -random.uniform(1, 2), random.randint(1, 9) // 2

@program("GB0007")
def choice(x): return x + random.choice([1, 2, 3])
@program("GB0007")
def bound_method_in_c(x): return x * random.random()
@program("GB0007")
def seeded(x):
    random.seed(3)
    return x + random.randint(1, 9)
@program("GB0007")
def drawn_from_what_was_drawn(x): return x * random.randint(1, random.randint(2, 5))


@case("")
def a_generator_passed_in(compile):
    @compile
    def f(x, r): return x * r.randint(1, 9) + r.random(), r.uniform(2, 3)
    r = random.Random(5)
    return [f(X, r) for _ in range(3)], r.random()

@case("")
def a_generator_in_an_attribute(compile):
    class Bag:
        def __init__(self): self.random = random.Random(4)
        def draw(self): return self.random.randrange(0, 9, 2)
    @compile
    def f(x, bag):
        bag.last = bag.draw()
        return x + bag.last
    bag = Bag()
    return [f(X, bag) for _ in range(3)], bag.last, bag.random.random()
