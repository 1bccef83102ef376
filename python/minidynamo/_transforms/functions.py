"""autograd.Function inside function transforms: by its `vmap` method, or once more for all examples."""

import collections
import weakref

from .. import _C
from ..autograd import forward_ad
from ..autograd.function import Function, FunctionCtx
from .gradients import Level, modes
from .nesting import flattened, rebuilt, spread
from .vmap import as_examples

VmapInfo = collections.namedtuple("VmapInfo", "batch_size randomness")
_WORDS = ("error", "different", "same")


def apply(cls, args, run):
    """What `run(cls, args)` gives inside a transform. RuntimeError for a class that is not made for them."""
    name = cls.__name__
    forward = bool(modes) and modes[-1] and cls.jvp is not Function.jvp
    if forward and not cls._by_jvp:
        cls = by_jvp(cls)
    if not cls._own_setup() and not (_forward_ad_only() and not _batched(args)):
        raise RuntimeError(
            f"{name} is an autograd.Function whose forward takes ctx: inside vmap, grad, vjp, jacrev and their kin it "
            f"needs a forward without it and a static method setup_context(ctx, inputs, output)"
        )
    level = _batched(args)
    if not level:
        return run(cls, args)
    own = cls.vmap is not Function.vmap
    if own and cls.generate_vmap_rule:
        raise RuntimeError(
            f"{name} says how it is batched twice, by generate_vmap_rule and by a static method vmap: leave one out"
        )
    if not own and not cls.generate_vmap_rule:
        raise RuntimeError(
            f"vmap does not know how to batch {name}: say generate_vmap_rule = True in the "
            f"class, or define its static method vmap(info, in_dims, *args)"
        )
    dims = [0 if isinstance(a, _C.Tensor) and level in _C._batch_levels(a) else None for a in args]
    whole = [a if d is None else _C._without_levels(a, (level,)) for a, d in zip(args, dims)]
    size, randomness = _C._vmap_of_level(level)
    if not own:
        out = _for_all(cls, size, randomness, dims).apply(*whole)
        return _wrapped(out, 0, level)
    made = cls.vmap(VmapInfo(size, _WORDS[randomness]), tuple(dims), *whole)
    if not isinstance(made, tuple) or len(made) != 2:
        raise RuntimeError(f"{cls.__name__}.vmap has to return (outputs, out_dims), and returned {type(made).__name__}")
    out, out_dims = made
    return _wrapped(out, out_dims, level)


def _batched(args):
    """The innermost vmap whose examples differ in an argument, 0 if there is none."""
    return max((n for a in args if isinstance(a, _C.Tensor) for n in _C._batch_levels(a)), default=0)


def _forward_ad_only():
    """Whether no transform but a level of forward_ad is under way, where any Function may be called."""
    return _C._transforms() == 1 and bool(forward_ad._levels)


def by_jvp(cls):
    """The Function whose gradients are those of cls.jvp: transposed, which gives jvp's values along tangents."""

    def keep(ctx, inputs):
        if ctx._saved_for_forward is not None:
            ctx.save_for_backward(*ctx._saved_for_forward)
        ctx._like = [_C.zeros_like(x) if isinstance(x, _C.Tensor) and x.is_floating_point() else None for x in inputs]

    class ByJvp(cls):
        _by_jvp = True
        vjp = Function.vjp

        @staticmethod
        def forward(*given):
            output = cls.forward(*given)
            if not cls._own_setup():
                keep(given[0], given[1:])
            return output

        @staticmethod
        def backward(ctx, *grads):
            with Level() as level:
                tangents = [None if x is None else level.input(_C.zeros_like(x)) for x in ctx._like]
                found = cls.jvp(ctx, *tangents)
                found = found if isinstance(found, tuple) else (found,)
                pairs = [(y, g) for y, g in zip(found, grads) if isinstance(y, _C.Tensor) and y.requires_grad]
                if not pairs:
                    return (None,) * len(tangents)
                outputs, cotangents = [[level.whole(x) for x in each] for each in zip(*pairs)]
                products = iter(level.gradients(outputs, level.reached, cotangents, True))
            given = [None if t is None else next(products) for t in tangents]
            return tuple([None if g is None else level.outside(g) for g in given])

    if cls._own_setup():

        def setup_context(ctx, inputs, output):
            cls.setup_context(ctx, inputs, output)
            keep(ctx, inputs)

        ByJvp.setup_context = staticmethod(setup_context)
    ByJvp.__name__ = cls.__name__
    return ByJvp


class _InGraph:
    """Calls apply() of a Function where a graph runs that was traced inside a transform."""

    def __init__(self, cls, forward):
        self.cls = cls
        self.forward = forward
        self.__name__ = cls.__name__
        self.__module__ = cls.__module__

    def __call__(self, *args, **kwargs):
        modes.append(self.forward)
        try:
            return self.cls.apply(*args, **kwargs)
        finally:
            modes.pop()


_in_graph = weakref.WeakKeyDictionary()


def in_graph(cls, forward):
    """The callable whose calls are nodes of graphs: one for each class, and one where products are along tangents."""
    made = _in_graph.setdefault(cls, {})
    if forward not in made:
        made[forward] = _InGraph(cls, forward)
        _C._mark_callable(made[forward], "allow_in_graph")
    return made[forward]


_C._mark_callable(in_graph, "constant")


def call_in_graph(cls, *args, **kwargs):
    """Traced in the place of apply() inside a transform."""
    return in_graph(cls, bool(modes) and modes[-1])(*args, **kwargs)


def _wrapped(out, out_dims, level):
    leaves, nesting = flattened(out)
    places = spread(out_dims, nesting)
    if places is None:
        raise RuntimeError("vmap of an autograd.Function has to return (outputs, out_dims), nested alike")
    return rebuilt(
        [x if d is None or not isinstance(x, _C.Tensor) else as_examples(x, d, level) for x, d in zip(leaves, places)],
        nesting,
    )


class _Kept:
    """Values as they are outside of a call of vmap, and inside another one over the same examples."""

    def __init__(self, values, level):
        leaves, self.nesting = flattened(values)
        self.batched = [isinstance(x, _C.Tensor) and level in _C._batch_levels(x) for x in leaves]
        self.leaves = [_C._without_levels(x, (level,)) if b else x for x, b in zip(leaves, self.batched)]

    def inside(self, level, leaves=None):
        given = self.leaves if leaves is None else leaves
        return rebuilt([_C._with_levels(x, (level,)) if b else x for x, b in zip(given, self.batched)], self.nesting)


def _for_all(cls, size, randomness, dims):
    """The Function of all examples at once, those of an argument in its first dimension where `dims` has 0."""

    def inside(call):
        level = _C._begin_vmap(size, randomness)
        try:
            return call(level)
        finally:
            _C._end_transform(level)

    class ForAll(Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*args):
            def call(level):
                given = tuple([a if d is None else _C._with_levels(a, (level,)) for a, d in zip(args, dims)])
                out = cls.forward(*given)
                ctx = FunctionCtx()
                cls.setup_context(ctx, given, out)
                outs = out if isinstance(out, tuple) else (out,)
                whole = [_C._without_levels(y, (level,)) if isinstance(y, _C.Tensor) else y for y in outs]
                ForAll.shown = dict(vars(ctx))
                saved = _Kept(list(ForAll.shown.pop("_saved", ())), level)
                # A result that is saved has to be that very tensor.
                for i, tensor in enumerate(ctx._saved):
                    saved.leaves[i] = next((w for w, y in zip(whole, outs) if y is tensor), saved.leaves[i])
                    saved.batched[i] = saved.batched[i] or any(y is tensor for y in outs)
                ForAll.saved = saved
                ForAll.others = {k: _Kept(v, level) for k, v in ForAll.shown.items()}
                return tuple(whole) if isinstance(out, tuple) else whole[0]

            return inside(call)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(*ForAll.saved.leaves)
            ctx.materialize_grads = ForAll.shown.get("materialize_grads", True)

        @staticmethod
        def backward(ctx, *grads):
            def call(level):
                inner = FunctionCtx()
                for name, kept in ForAll.others.items():
                    setattr(inner, name, kept.inside(level))
                inner._saved = tuple(ForAll.saved.inside(level, list(ctx.saved_tensors)))
                inner.needs_input_grad = ctx.needs_input_grad
                given = [None if g is None else _C._with_levels(g, (level,)) for g in grads]
                found = cls._backward_function()(inner, *given)
                found = found if isinstance(found, tuple) else (found,)
                whole = [None if g is None else _C._without_levels(g, (level,)) for g in found]
                return tuple([g if g is None or d == 0 else g.sum(0) for g, d in zip(whole, dims)])

            return inside(call)

    ForAll.__name__ = cls.__name__
    return ForAll


Function._in_transform = staticmethod(apply)
