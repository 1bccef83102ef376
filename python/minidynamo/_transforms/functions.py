"""autograd.Function inside function transforms: by its `vmap` method, or once more for all examples."""

import collections

from .. import _C
from ..autograd.function import Function, FunctionCtx
from .nesting import flattened, rebuilt, spread
from .vmap import as_examples

VmapInfo = collections.namedtuple("VmapInfo", "batch_size randomness")
_WORDS = ("error", "different", "same")


def apply(cls, args, run):
    """What `run(cls, args)` gives inside a transform. RuntimeError for a class that is not made for them."""
    name = cls.__name__
    if not cls._own_setup():
        raise RuntimeError(
            f"{name} is an autograd.Function whose forward takes ctx: inside vmap, grad, vjp, jacrev and their kin it "
            f"needs a forward without it and a static method setup_context(ctx, inputs, output)"
        )
    level = max((n for a in args if isinstance(a, _C.Tensor) for n in _C._batch_levels(a)), default=0)
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
    out, out_dims = cls.vmap(VmapInfo(size, _WORDS[randomness]), tuple(dims), *whole)
    return _wrapped(out, out_dims, level)


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
