"""Questions about sizes that may be symbols, and their errors. What is asked of a symbol here decides it: a guard."""

import builtins
import enum

from ..._absent import absent_names as _absent_names
from ..._dynamo.exc import TorchDynamoException
from ..._symbolic_numbers import _known_or


class ConstraintViolationError(TorchDynamoException):
    """A size marked with `mark_dynamic` has become a constant of the compiled function."""


class GuardOnDataDependentSymNode(RuntimeError):
    """A size or a number that is not known yet was asked for its value."""


class SymInt:
    """An int that stands for a size or a number which depends on data: it has a name and no value."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return self._name

    def _ask(self, *other):
        raise GuardOnDataDependentSymNode(f"{self._name} depends on data and has no value here")

    __bool__ = __int__ = __index__ = __float__ = __lt__ = __le__ = __gt__ = __ge__ = _ask


class SymFloat:
    """A float that depends on data. There are none outside of graphs: what Python sees is a float."""

    def __new__(cls, node):
        raise TypeError("a SymFloat comes from a trace; in plain Python numbers are float")


class SymBool:
    """A bool that depends on sizes or data. There are none outside of graphs: what Python sees is a bool."""

    def __new__(cls, node):
        raise TypeError("a SymBool comes from a trace; in plain Python it is a bool")


class ShapeEnv:
    """Where such numbers come from."""

    def __init__(self):
        self._made = 0

    def create_unbacked_symint(self):
        """An int without a value: u0, u1, ..."""
        self._made += 1
        return SymInt(f"u{self._made - 1}")


class DimDynamic(enum.Enum):
    """How a dimension is taken."""

    DYNAMIC = 0
    DUCK = 1
    STATIC = 2
    SIZE_LIKE_UNBACKED = 3
    INFER_STRIDE = 4
    OBLIVIOUS_SIZE = 5


def is_symbolic(val):
    """False: in plain Python sizes are ints, and what is traced is asked as if it were."""
    return False


def is_concrete_int(a):
    """True: ints of traced code are known, or guarded when they are asked for."""
    if not isinstance(a, int):
        raise AssertionError(f"an int is needed, not {type(a).__name__}")
    return True


def is_concrete_float(a):
    """As is_concrete_int()."""
    if not isinstance(a, float):
        raise AssertionError(f"a float is needed, not {type(a).__name__}")
    return True


def is_concrete_bool(a):
    """As is_concrete_int()."""
    if not isinstance(a, bool):
        raise AssertionError(f"a bool is needed, not {type(a).__name__}")
    return True


def guard_int(a):
    """The number."""
    return int(a)


def guard_float(a):
    """The number."""
    return float(a)


def guard_bool(a):
    """Whether it holds."""
    return bool(a)


def guard_scalar(a):
    """The number, of the type it is."""
    if isinstance(a, bool):
        return guard_bool(a)
    return guard_int(a) if isinstance(a, int) else guard_float(a)


def guard_size_oblivious(expr):
    """Whether it holds."""
    return bool(expr)


def guard_or_true(a):
    """Whether it holds; True where nobody knows."""
    return _known_or(a, True)


def guard_or_false(a):
    """Whether it holds; False where nobody knows."""
    return _known_or(a, False)


def statically_known_true(x):
    """Whether it holds, as far as it is known."""
    return _known_or(x, False)


def statically_known_false(x):
    """Whether it does not hold, as far as it is known."""
    return not _known_or(x, True)


definitely_true = statically_known_true
definitely_false = statically_known_false
expect_true = guard_bool


def hint_int(a, fallback=None):
    """The number."""
    return int(a)


size_hint = hint_int


def has_static_value(a):
    """True for numbers."""
    return isinstance(a, (bool, int, float))


def constrain_range(a, *, min=None, max=None):
    """RuntimeError if the number is outside."""
    if min is not None and a < min or max is not None and a > max:
        raise ValueError(f"{a} is not in the range from {min} to {max}")


def sym_eq(x, y):
    """Whether two numbers, or nested tuples and lists of numbers, are the same."""
    if isinstance(x, (tuple, list)) and isinstance(y, (tuple, list)):
        return len(x) == len(y) and builtins.all([sym_eq(a, b) for a, b in zip(x, y)])
    if isinstance(x, (bool, int)) and isinstance(y, (bool, int)):
        return x == y
    raise AssertionError(f"numbers or sequences of them are compared, not {type(x).__name__} and {type(y).__name__}")


def sym_and(x, *others):
    """Whether all hold."""
    return builtins.all([bool(each) for each in (x, *others)])


def sym_or(x, *others):
    """Whether one of them holds."""
    return builtins.any([bool(each) for each in (x, *others)])


def free_symbols(val):
    """The empty set: numbers have no symbols."""
    return set()


def free_unbacked_symbols(x):
    """The empty set."""
    return set()


def has_free_symbols(val):
    """False."""
    return False


def has_free_unbacked_symbols(x):
    """False."""
    return False


def has_symbolic_sizes_strides(elem):
    """False: tensors have sizes that are ints."""
    return False


__getattr__ = _absent_names(__name__)
