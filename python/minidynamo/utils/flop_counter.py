"""torch.utils.flop_counter: how many multiplications and additions the products of a program take.

Counted are matrix products and convolutions, two for each product of two elements. What other operators are made of is
counted where handlers see it: attention here is two products.
"""

import math
from collections import defaultdict

from .. import _C, _ops
from .._absent import absent_names as _absent_names
from ._python_dispatch import TorchDispatchMode

__all__ = ["FlopCounterMode", "register_flop_formula"]


def _shape(value):
    return value.shape if isinstance(value, _C.Tensor) else value


def mm_flop(a_shape, b_shape, *args, out_shape=None, **kwargs):
    """Of a matrix product."""
    (m, k), (_, n) = a_shape, b_shape
    return 2 * m * n * k


def addmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    """Of a matrix product that something is added to, which does not count."""
    return mm_flop(a_shape, b_shape)


def bmm_flop(a_shape, b_shape, out_shape=None, **kwargs):
    """Of matrix products side by side."""
    (count, m, k), (_, _, n) = a_shape, b_shape
    return 2 * count * m * n * k


def baddbmm_flop(self_shape, a_shape, b_shape, out_shape=None, **kwargs):
    return bmm_flop(a_shape, b_shape)


def conv_flop(x_shape, w_shape, _bias, _stride, _padding, _dilation, transposed, *args, out_shape=None, **kwargs):
    """Of a convolution: each place of the result (of what is convolved, if transposed) takes the whole filter."""
    places = (x_shape if transposed else out_shape)[2:]
    return 2 * x_shape[0] * math.prod(places) * math.prod(w_shape)


flop_registry = {}  # {operator: the formula, which is called with shapes in the place of tensors}
for _name, _formula in (
    ("mm", mm_flop), ("addmm", addmm_flop), ("bmm", bmm_flop), ("baddbmm", baddbmm_flop), ("convolution", conv_flop),
):  # fmt: skip
    flop_registry[getattr(_ops.ops.aten, _name)] = _formula


def register_flop_formula(targets, get_raw=False):
    """Decorator: the formula counts for the operator, or for each of a list of them.

    It is called with the call's arguments, shapes in the place of tensors, and `out_shape`; with `get_raw` with the
    arguments themselves and `out_val`.
    """

    def register(formula):
        for target in targets if isinstance(targets, (list, tuple)) else [targets]:
            if not isinstance(target, _ops.OpOverloadPacket):
                raise ValueError(
                    "register_flop_formula() is for operators with all their overloads, as torch.ops.aten.mm, not "
                    f"{target!r}"
                )
            if target in flop_registry:
                raise RuntimeError(f"there is a formula for {target!r} already")
            flop_registry[target] = formula
            formula._get_raw = get_raw
        return formula

    return register


class _Modules:
    """Which modules are under way, by names that begin with the class of the outermost one."""

    def __init__(self):
        self.open, self._names, self._handles = ["Global"], {}, []

    def _begin(self, module, args):
        name = self._names.setdefault(module, type(module).__name__)
        for child_name, child in module.named_children():
            self._names[child] = f"{name}.{child_name}"
        self.open.append(name)

    def _end(self, module, args, result):
        self.open.pop()

    def __enter__(self):
        from ..nn.modules import module

        before = module.register_module_forward_pre_hook(self._begin)
        self._handles = [before, module.register_module_forward_hook(self._end, always_call=True)]

    def __exit__(self, *exc):
        for handle in self._handles:
            handle.remove()


class FlopCounterMode(TorchDispatchMode):
    """Counts within `with FlopCounterMode() as counter:`; prints a table at the end unless `display` is False.

    `depth` says how deep modules are shown, `custom_mapping` gives formulas for further operators.
    """

    def __init__(self, mods=None, depth=2, display=True, custom_mapping=None):
        super().__init__()
        self.depth, self.display = depth, display
        self.flop_counts = defaultdict(lambda: defaultdict(int))
        self.flop_registry = {**flop_registry, **(custom_mapping or {})}
        self.mod_tracker = _Modules()

    def get_total_flops(self):
        """All there were."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self):
        """{name of a module: {operator: count}}, "Global" standing for all."""
        return {name: dict(counts) for name, counts in self.flop_counts.items()}

    def get_table(self, depth=None):
        """The counts as text, modules within others indented."""
        depth = self.depth if depth is None else depth
        total, rows = self.get_total_flops(), [("Module", "FLOP", "% Total")]
        for name, counts in sorted(self.flop_counts.items(), key=lambda item: (item[0] != "Global", item[0])):
            level = 0 if name == "Global" else name.count(".") + 1
            if level > depth:
                continue
            parts = [(name, sum(counts.values()))] + [(f" - {op!s}", count) for op, count in counts.items()]
            rows += [("  " * level + n, str(c), f"{100 * c / total if total else 0:.2f}%") for n, c in parts]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        lines = [f"{a:<{widths[0]}}  {b:>{widths[1]}}  {c:>{widths[2]}}" for a, b, c in rows]
        return "\n".join([lines[0], "-" * len(lines[0]), *lines[1:]])

    def __enter__(self):
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        return super().__enter__()

    def __exit__(self, *exc):
        super().__exit__(*exc)
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        packet = func.overloadpacket
        formula = self.flop_registry.get(packet)
        if formula is None:
            return out
        if getattr(formula, "_get_raw", False):
            count = formula(*args, **kwargs, out_val=out)
        else:
            shapes = {name: _shape(value) for name, value in kwargs.items()}
            count = formula(*map(_shape, args), **shapes, out_shape=_shape(out))
        for name in set(self.mod_tracker.open):
            self.flop_counts[name][packet] += count
        return out


__getattr__ = _absent_names(__name__)
