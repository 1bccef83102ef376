"""Gradients checked against differences of the function's values."""

import itertools

from .. import _C
from .._absent import absent_names as _absent_names
from .backward import grad as _grad


class GradcheckError(RuntimeError):
    """What gradcheck() raises where the gradients differ."""


def _outputs(result):
    return (result,) if isinstance(result, _C.Tensor) else tuple(result)


def _differentiable(result):
    return [t for t in _outputs(result) if (t.is_floating_point() or t.is_complex()) and t.requires_grad]


def _is_complex(x):
    return isinstance(x, _C.Tensor) and x.is_complex()


def _in_parts(func, inputs):
    """The function of the real and the imaginary parts of what is complex, which gives those of its results."""

    def parts(x):
        return _C.view_as_real(x.detach().clone()).requires_grad_(x.requires_grad) if _is_complex(x) else x

    def of_parts(*given):
        whole = [_C.view_as_complex(x) if _is_complex(was) else x for x, was in zip(given, inputs)]
        result = func(*whole)
        return tuple([_C.view_as_real(y.resolve_conj()) if _is_complex(y) else y for y in _outputs(result)])

    return of_parts, tuple([parts(x) for x in inputs])


def _numerical(values, x, eps):
    """d outputs / d x as rows, one for each element of x: central differences."""
    where = x.detach()  # in any layout: elements are written where they are
    rows = []
    for place in itertools.product(*map(range, x.shape)):
        kept = where[place].item()
        ends = []
        for at in (kept + eps, kept - eps):
            where[place] = at
            ends.append([t.detach().clone() for t in values()])
        where[place] = kept
        rows.append([(a - b) / (2 * eps) for a, b in zip(*ends)])
    return rows


def _fail(text, raise_exception):
    if raise_exception:
        raise GradcheckError(text)
    return False


def gradcheck(
    func,
    inputs,
    *,
    eps=1e-6,
    atol=1e-5,
    rtol=1e-3,
    raise_exception=True,
    nondet_tol=0.0,
    check_undefined_grad=True,
    check_grad_dtypes=False,
    check_batched_grad=False,
    check_batched_forward_grad=False,
    check_forward_ad=False,
    check_backward_ad=True,
    fast_mode=False,
    masked=None,
):
    """Whether the gradients of `func(*inputs)` agree with central differences of step `eps` within `atol` and `rtol`.

    Inputs that require grad should be float64, for which the differences are not too coarse, and no two elements in
    one place. Errors: ValueError if none requires grad, GradcheckError (or False without `raise_exception`) where
    values differ.
    """
    func, inputs = _in_parts(func, (inputs,) if isinstance(inputs, _C.Tensor) else tuple(inputs))
    wanted = [x for x in inputs if isinstance(x, _C.Tensor) and x.requires_grad]
    if not wanted:
        raise ValueError("gradcheck expects at least one input tensor to require gradient")
    slopes = [_numerical(lambda: _differentiable(func(*inputs)), x, eps) for x in wanted]
    outputs = _differentiable(func(*inputs))  # anew: the differences wrote to the inputs
    for x, rows in zip(wanted, slopes):
        for k, y in enumerate(outputs):
            for j in range(y.numel()):
                unit = y.new_zeros(y.shape)
                unit.reshape(-1)[j] = 1
                (found,) = _grad(y, x, unit, retain_graph=True, allow_unused=True)
                found = _C.zeros_like(x) if found is None else found
                if found.dtype != x.dtype or found.shape != x.shape:
                    return _fail(f"a gradient of {found.dtype} {tuple(found.shape)} for {x.dtype}", raise_exception)
                wants = [row[k].reshape(-1)[j].item() for row in rows]
                for i, (got, want) in enumerate(zip(found.reshape(-1).tolist(), wants)):
                    if not abs(got - want) <= atol + rtol * abs(want):
                        text = f"Jacobian mismatch for output {k} with respect to input: at ({i}, {j}) "
                        text += f"numerical {want}, "
                        return _fail(text + f"analytical {got}", raise_exception)
    return True


def gradgradcheck(func, inputs, grad_outputs=None, *, eps=1e-6, atol=1e-5, rtol=1e-3, raise_exception=True, **options):
    """gradcheck() of the gradients of `func`: its second derivatives. `grad_outputs` default to random ones."""
    inputs = (inputs,) if isinstance(inputs, _C.Tensor) else tuple(inputs)
    outputs = _differentiable(func(*inputs))
    if grad_outputs is None:
        grad_outputs = [_C.rand_like(t).add(0.5).requires_grad_() for t in outputs]
    grad_outputs = _outputs(grad_outputs)

    def gradients(*all_inputs):
        given, weights = all_inputs[: len(inputs)], all_inputs[len(inputs) :]
        wanted = [x for x in given if isinstance(x, _C.Tensor) and x.requires_grad]
        found = _grad(_differentiable(func(*given)), wanted, weights, create_graph=True, allow_unused=True)
        return tuple([g for g in found if g is not None])

    return gradcheck(
        gradients, (*inputs, *grad_outputs), eps=eps, atol=atol, rtol=rtol, raise_exception=raise_exception
    )


__getattr__ = _absent_names(__name__)
