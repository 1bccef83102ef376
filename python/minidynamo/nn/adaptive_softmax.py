"""Softmax over very many classes of which few are frequent."""

from collections import namedtuple

from .. import _C
from . import functional
from .containers import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]

_ASMoutput = namedtuple("_ASMoutput", ["output", "loss"])


class AdaptiveLogSoftmaxWithLoss(Module):
    """Adaptive softmax (Grave et al. 2017). The head knows the classes below cutoffs[0] and one entry for each cluster
    of the others; the tail of a cluster projects to in_features / div_value ** number features first."""

    def __init__(self, in_features, n_classes, cutoffs, div_value=4.0, head_bias=False, device=None, dtype=None):
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in zip(cutoffs, cutoffs[1:]))
        if not rising or min(cutoffs) <= 0 or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each "
                f"value is between 1 and n_classes-1; got {cutoffs} for {n_classes} classes"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        place = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **place)
        self.tail = ModuleList()
        for number, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            width = int(in_features // div_value ** (number + 1))
            first = Linear(in_features, width, bias=False, **place)
            self.tail.append(Sequential(first, Linear(width, high - low, bias=False, **place)))

    def reset_parameters(self):
        self.head.reset_parameters()
        for first, second in self.tail:
            first.reset_parameters()
            second.reset_parameters()

    def _check(self, input, target):
        if target.dim() == 1:
            if input.shape[0] != target.shape[0]:
                raise RuntimeError(
                    f"Input and target should have the same size in the batch dimension, got {input.shape[0]} and "
                    f"{target.shape[0]}"
                )
            if input.dim() != 2:
                raise RuntimeError(f"1D target tensor expects 2D input tensors, but found {list(input.shape)}")
        elif target.dim() == 0:
            if input.dim() != 1:
                raise RuntimeError(f"0D target tensor expects 1D input tensors, but found {list(input.shape)}")
        else:
            raise RuntimeError(f"0D or 1D target tensor expected, multi-target not supported; got {target.dim()}D")

    def forward(self, input_, target_):
        """(log-probability of each target, mean of their negatives) for (N, in_features) and (N), or one of them.

        RuntimeError for other shapes and targets that are no classes.
        """
        self._check(input_, target_)
        batched = target_.dim() > 0
        input, target = (input_, target_) if batched else (input_.unsqueeze(0), target_.unsqueeze(0))
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        head = functional.log_softmax(self.head(input), 1)
        entry, parts = target, []
        for number, (low, high) in enumerate(zip(self.cutoffs, self.cutoffs[1:])):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            entry = entry.index_fill(0, rows, self.shortlist_size + number)
            inside = functional.log_softmax(self.tail[number](input.index_select(0, rows)), 1)
            parts.append((rows, inside.gather(1, (target.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)))
        output = head.gather(1, entry.unsqueeze(1)).squeeze(1)
        for rows, inside in parts:
            output = output.index_add(0, rows, inside)
        loss = (-output).mean()
        return _ASMoutput(output if batched else output.squeeze(0), loss)

    def _all_logs(self, input, head):
        logs = functional.log_softmax(head, 1)
        parts = [logs[:, : self.shortlist_size]]
        for number, tail in enumerate(self.tail):
            inside = functional.log_softmax(tail(input), 1)
            parts.append(inside + logs[:, self.shortlist_size + number].unsqueeze(1))
        return _C.cat(parts, 1)

    def log_prob(self, input):
        """Log-probabilities of all classes: (N, n_classes) for (N, in_features)."""
        return self._all_logs(input, self.head(input))

    def predict(self, input):
        """The most probable class of each row: (N). The tails are asked where the head finds none of its classes."""
        head = self.head(input)
        best = head.argmax(1)
        unsure = (best >= self.shortlist_size).nonzero().squeeze(1)
        if unsure.numel() == 0:
            return best
        logs = self._all_logs(input.index_select(0, unsure), head.index_select(0, unsure))
        return best.index_copy(0, unsure, logs.argmax(1))
