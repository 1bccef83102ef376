"""Who answers calls of operators: the innermost mode, then the classes of the arguments, those below others first."""

from .. import _C
from . import modes


def is_default(value, argument):
    if not argument.has_default_value() or isinstance(value, _C.Tensor):
        return False
    if isinstance(value, (list, tuple)) and any(isinstance(item, _C.Tensor) for item in value):
        return False
    return value == argument.default_value


def shown_without_defaults(schema, args):
    """Positional arguments without the last ones that are as their defaults say."""
    positional = [a for a in schema.arguments if not a.kwarg_only]
    args = list(args)
    while args and positional[len(args) - 1].has_default_value() and is_default(args[-1], positional[len(args) - 1]):
        args.pop()
    return tuple(args)


def _handled(values):
    """The tensors with handlers among the values, also in lists, one for each class, classes below others first."""
    found = []
    for value in values:
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if not _C._is_handled(item) or any(type(item) is type(o) for o in found):
                continue
            place = next((i for i, o in enumerate(found) if issubclass(type(item), type(o))), len(found))
            found.insert(place, item)
    return found


# {(operator, class): answer(mode or class, func, types, args, kwargs)}, asked before the class's own handler.
OF_CLASSES = {}


def answer_of_class(asked, func, types, args, kwargs):
    """What the class of a mode, or of a tensor, says to a call."""
    kind = asked if isinstance(asked, type) else type(asked)
    rule = OF_CLASSES.get((func._name.partition(".")[0], kind)) if OF_CLASSES else None
    if rule is not None:
        return rule(asked, func, types, args, kwargs)
    return asked.__torch_dispatch__(func, types, args, kwargs)


def ask(func, args, kwargs):
    """The first answer that is not NotImplemented."""
    objects = _handled((*args, *kwargs.values()))
    types = tuple(type(o) for o in objects)
    if not objects and not modes.stack():
        return func(*args, **kwargs)
    if modes.stack():
        with modes.popped() as mode:
            result = answer_of_class(mode, func, types, args, kwargs)
        if result is not NotImplemented:
            return checked(func, result)
    for o in objects:
        result = answer_of_class(type(o), func, types, args, kwargs)
        if result is not NotImplemented:
            return checked(func, result)
    asked = ", ".join(t.__name__ for t in types) or "the active mode"
    raise TypeError(f"{func}: __torch_dispatch__ of {asked} returned NotImplemented, and nobody else has an answer")


def checked(func, result):
    """`result`, if it is of the kind that the operator returns."""
    returns = func._schema.returns
    if any(isinstance(kind, str) for kind in returns):  # an operator of the program
        return result
    if len(returns) == 1 and returns[0].type == "Tensor" and not isinstance(result, _C.Tensor):
        raise RuntimeError(
            f"__torch_dispatch__ has to return a tensor for {func}, not {type(result).__name__}: return what "
            "func(*args, **kwargs) gives, wrapped again"
        )
    if len(returns) > 1 or (returns and returns[0].type.endswith("[]")):
        count = len(returns) if len(returns) > 1 else None
        if not isinstance(result, (list, tuple)) or count not in (None, len(result)):
            wanted = f"{count} values" if count else "a list of tensors"
            raise RuntimeError(f"__torch_dispatch__ has to return {wanted} for {func}, not {type(result).__name__}")
    return result
