"""Products with weights."""

from .. import _C
from .arguments import need_tensors
from .loss_functions import cross_entropy

_linear = _C._namespaces["nn.functional"]["linear"]


@_C._overridable
def bilinear(input1, input2, weight, bias=None):
    """input1 @ weight[k] @ input2 + bias[k] as the k-th output."""
    need_tensors("bilinear", input1=input1, input2=input2, weight=weight)
    if input1.shape[:-1] != input2.shape[:-1]:
        raise RuntimeError(
            f"bilinear(): input batch dimensions do not match: got {list(input1.shape)} and {list(input2.shape)}"
        )
    for number, given, size in ((1, input1, weight.shape[1]), (2, input2, weight.shape[2])):
        if given.shape[-1] != size:
            raise RuntimeError(
                f"bilinear(): input{number} size does not match weight size: got {given.shape[-1]} but expected {size}"
            )
    left = input1.unsqueeze(-2).unsqueeze(-2).matmul(weight).squeeze(-2)
    result = (left * input2.unsqueeze(-2)).sum(-1)
    return result if bias is None else result + bias


@_C._overridable
def linear_cross_entropy(
    input,
    linear_weight,
    target,
    *,
    linear_bias=None,
    weight=None,
    reduction="mean",
    ignore_index=None,
    label_smoothing=0.0,
    options=None,
):
    """cross_entropy(linear(input, linear_weight, linear_bias), target, ...).

    `options`, which cut the classes of large vocabularies into chunks, are not there: NotImplementedError.
    """
    if options is not None:
        raise NotImplementedError("linear_cross_entropy: options are not part of minidynamo, leave them None")
    if linear_weight.dim() != 2:
        raise NotImplementedError(
            f"linear_cross_entropy: weights of 2 dimensions (classes, features) are needed, got {linear_weight.dim()}"
        )
    logits = _linear(input, linear_weight, linear_bias)
    return cross_entropy(
        logits,
        target,
        weight=weight,
        ignore_index=-100 if ignore_index is None else ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )
