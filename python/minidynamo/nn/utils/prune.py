"""torch.nn.utils.prune: parameters multiplied by masks of 0 and 1 before every forward().

A pruned parameter `w` is kept as the parameter `w_orig` and the buffer `w_mask`; `w` is their product, computed by a
forward pre-hook.
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable

from ... import _C
from ..._absent import absent_names as _absent_names


class BasePruningMethod(ABC):
    """A rule that makes a mask, and the hook that applies it. Subclasses write compute_mask()."""

    PRUNING_TYPE = "unstructured"

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for `t`: 0 as well where `default_mask` is 0 already."""

    def apply_mask(self, module):
        """The parameter with its mask applied."""
        name = self._tensor_name
        mask, original = getattr(module, f"{name}_mask"), getattr(module, f"{name}_orig")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes the parameter `name` of a module, after whatever pruned it before; gives the hook that does it."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = _hook_of(module, name)
        original = getattr(module, f"{name}_orig" if before else name)
        if importance_scores is not None and importance_scores.shape != original.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}: "
                f"{list(importance_scores.shape)} and {list(original.shape)}"
            )
        if before is None:
            module.register_parameter(f"{name}_orig", original)
            del module._parameters[name]
            mask = _C.ones_like(original.detach())
        else:
            number, hook = before
            entry = module._forward_pre_hooks.pop(number)
            mask = getattr(module, f"{name}_mask").detach().clone()
            if not isinstance(hook, PruningContainer):
                joined = PruningContainer(hook)
                joined._tensor_name = name
                hook = joined
            hook.add_pruning_method(method)
            method = hook
        try:
            scores = original if importance_scores is None else importance_scores
            mask = method.compute_mask(scores.detach(), default_mask=mask)
        except Exception:
            if before is None:
                del module._parameters[f"{name}_orig"]
                setattr(module, name, original)
            else:
                module._forward_pre_hooks[number] = entry
                method._pruning_methods = method._pruning_methods[:-1]
            raise
        module.register_buffer(f"{name}_mask", mask)
        method(module, None)
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """`t` with a mask applied that is computed from `importance_scores`, or from `t` itself."""
        scores = t if importance_scores is None else importance_scores
        if scores.shape != t.shape:
            raise AssertionError("importance_scores should have the same shape as tensor t")
        default_mask = _C.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default_mask)

    def remove(self, module):
        """Makes the pruned values the parameter; the mask and the original are gone."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        pruned = self.apply_mask(module).detach()
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(f"{name}_orig")
        original.data = pruned
        del module._buffers[f"{name}_mask"]
        setattr(module, name, original)


def _hook_of(module, name):
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return number, hook
    return None


class PruningContainer(BasePruningMethod):
    """Several rules for one parameter, one after the other: each for what those before it have left."""

    def __init__(self, *methods):
        self._pruning_methods = ()
        self._tensor_name = methods[0]._tensor_name if len(methods) == 1 else None
        if len(methods) == 1 and isinstance(methods[0], Iterable):
            methods = tuple(methods[0])
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """TypeError for other objects, ValueError for a rule about another parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on the parameter named "
                f"'{self._tensor_name}' to PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask of the last rule, for what is left of `t`."""
        method = self._pruning_methods[-1]
        default_mask = default_mask.to(t.dtype)
        if method.PRUNING_TYPE == "structured":
            dim = method.dim
            others = [d for d in range(t.dim()) if d != dim % t.dim()]
            left = default_mask.sum(others) != 0
            chosen = (slice(None),) * (dim % t.dim()) + (left,)
        elif method.PRUNING_TYPE in ("unstructured", "global"):
            chosen = default_mask == 1 if method.PRUNING_TYPE == "unstructured" else (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.clone()
        mask[chosen] = method.compute_mask(t[chosen], default_mask=default_mask[chosen]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing: the parameter gets its mask of ones."""

    def compute_mask(self, t, default_mask):
        return default_mask

    @classmethod
    def apply(cls, module, name):
        return super().apply(module, name)


class _Amount(BasePruningMethod):
    """`amount`: how many units are pruned, or as a float which part of them."""

    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount

    def _count(self, units):
        if isinstance(self.amount, numbers.Integral):
            if self.amount > units:
                raise ValueError(
                    f"amount={self.amount} should be smaller than the number of parameters to prune={units}"
                )
            return self.amount
        return round(self.amount * units)

    @classmethod
    def apply(cls, module, name, amount, importance_scores=None):
        return super().apply(module, name, amount=amount, importance_scores=importance_scores)


class RandomUnstructured(_Amount):
    """Prunes elements at random."""

    def compute_mask(self, t, default_mask):
        return _without(default_mask, _C.rand_like(t), self._count(t.numel()), largest=True)

    @classmethod
    def apply(cls, module, name, amount):
        return super().apply(module, name, amount)


class L1Unstructured(_Amount):
    """Prunes the elements of the smallest size."""

    def compute_mask(self, t, default_mask):
        return _without(default_mask, t.abs(), self._count(t.numel()), largest=False)


def _without(mask, scores, count, largest):
    mask = mask.clone(memory_format=_C.contiguous_format)
    if count:
        mask.view(-1)[scores.reshape(-1).topk(count, largest=largest).indices] = 0
    return mask


class _Structured(_Amount):
    """Prunes whole slices along the dimension `dim`."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if not -t.dim() <= self.dim < t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        count = self._count(t.shape[self.dim])
        if not count:
            return default_mask
        kept = _C.ones(t.shape[self.dim], dtype=default_mask.dtype, device=default_mask.device)
        kept[self._scores(t).topk(count, largest=False).indices] = 0
        sizes = [1] * t.dim()
        sizes[self.dim] = -1
        return default_mask * kept.view(sizes)


class RandomStructured(_Structured):
    """Prunes slices at random."""

    def _scores(self, t):
        return _C.rand(t.shape[self.dim], device=t.device)

    @classmethod
    def apply(cls, module, name, amount, dim=-1):
        return BasePruningMethod.apply.__func__(cls, module, name, amount=amount, dim=dim)


class LnStructured(_Structured):
    """Prunes the slices of the smallest `n`-norm."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _scores(self, t):
        return t.norm(self.n, [d for d in range(t.dim()) if d != self.dim % t.dim()])

    @classmethod
    def apply(cls, module, name, amount, n, dim, importance_scores=None):
        method = BasePruningMethod.apply.__func__
        return method(cls, module, name, amount=amount, n=n, dim=dim, importance_scores=importance_scores)


class CustomFromMask(BasePruningMethod):
    """Prunes where a given mask is 0."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask of {list(self.mask.shape)} for a parameter of {list(default_mask.shape)}")
        return default_mask * self.mask.to(default_mask.dtype)

    @classmethod
    def apply(cls, module, name, mask):
        return super().apply(module, name, mask=mask)


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (not isinstance(amount, numbers.Integral) and amount > 1.0):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")


def identity(module, name):
    """Gives the parameter a mask of ones; returns the module, as all of these do."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes `amount` elements at random: a number of them, or as a float a part."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the `amount` elements of the smallest size."""
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes `amount` slices along `dim` at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the `amount` slices along `dim` of the smallest `n`-norm."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prunes where `mask` is 0."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes (module, name) pairs by one unstructured rule over all their elements together."""
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    parameters = list(parameters)
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores should be of type dict")
    if pruning_method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. '
            f"Found method {pruning_method} of type {pruning_method.PRUNING_TYPE}"
        )
    weights = [getattr(module, name) for module, name in parameters]
    ranked = [scores.get(pair, weight).detach().reshape(-1) for pair, weight in zip(parameters, weights)]
    masks = [
        getattr(module, f"{name}_mask", _C.ones_like(weight.detach())).reshape(-1)
        for (module, name), weight in zip(parameters, weights)
    ]
    rule = pruning_method(**kwargs)
    rule._tensor_name = "temp"
    joined = PruningContainer(rule)
    joined._tensor_name = "temp"
    final = joined.compute_mask(_C.cat(ranked), default_mask=_C.cat(masks))
    for (module, name), weight, mask in zip(parameters, weights, final.split([w.numel() for w in weights])):
        custom_from_mask(module, name, mask=mask.view(weight.shape))


def remove(module, name):
    """Makes the pruned values of the parameter permanent. ValueError where it is not pruned."""
    found = _hook_of(module, name)
    if found is None:
        raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")
    number, hook = found
    hook.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module):
    """Whether the module, or one inside it, has a pruned parameter."""
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )


__all__ = [
    name for name in dir() if not name.startswith("_") and name not in ("ABC", "Iterable", "Parameter", "numbers")
]
__getattr__ = _absent_names(__name__)
