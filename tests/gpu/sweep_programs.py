"""Every method and property of Tensor, and every function of the namespace, on tensors of a device: nothing crashes.

What a call answers is compared with the CPU's where both answer; an exception has to be one of Python's.
"""

import itertools
import math
import warnings

import minidynamo as torch

# Calls that end or change the process, wait, or are tested elsewhere.
_LEFT_OUT = """
compile set_default_device set_default_dtype set_default_tensor_type set_num_threads set_num_interop_threads
set_printoptions set_deterministic_debug_mode use_deterministic_algorithms set_warn_always set_flush_denormal
set_rng_state seed manual_seed save load hub import_ir_module set_grad_enabled set_float32_matmul_precision
share_memory_ empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_ set_ data_ptr
__reduce__ __reduce_ex__ __dir__ __sizeof__ __subclasshook__ __init_subclass__ __new__ __dlpack__
__cuda_array_interface__ __array_interface__ untyped_storage storage seed_all initial_seed get_rng_state get_device
is_cuda is_cpu device cuda cpu to pin_memory is_pinned __hash__ __repr__ __str__ __format__ new type is_shared
record_stream register_hook register_post_accumulate_grad_hook __setstate__ __getstate__ __delattr__ __setattr__
__class__ requires_grad_ backward retain_grad __deepcopy__ is_set_to __getattribute__ __dlpack_device__ vmap
_make_subclass _make_wrapper_subclass as_subclass frombuffer from_file from_numpy grad_fn __init__ numpy __array__
__array_wrap__ typename _repr_html_
""".split()


def _given(device):
    """Arguments that fit many functions: made anew for each call."""
    x = (torch.arange(12.0).reshape(3, 4) / 7 - 0.6).to(device)
    square = (torch.eye(3) * 2 + torch.arange(9.0).reshape(3, 3) / 9).to(device)
    ints = torch.tensor([[2, 0, 1], [1, 2, 0], [0, 1, 2]]).to(device)
    mask = (torch.arange(12).reshape(3, 4) % 2 == 0).to(device)
    return x, square, ints, mask


def _argument_lists(x, square, ints, mask):
    yield from ((x,), (square,), (ints,), (mask,))
    yield from ((x, x.clone()), (square, square.clone()), (ints, ints.clone()), (mask, mask.clone()))
    yield from ((x, 1), (square, 0), (ints, 1), (x, 0, 1), (x, 0.5), (x, 1, ints), (x, mask), (x, (4, 3)))
    yield from (([x, x],), (x, x[0]), (square, x), (x, 0, ints[0]), (x, x, x), (square, square, square))
    yield from ((x, mask, 2.0), (x, mask, x), (mask, x, x), (x[0],), (x[0], x[0]), (x, 0, ints, x), (x, [0]))
    yield from ((x, 0, 0, 2), (x, -1, 2, 1), (x.reshape(1, 3, 4), 2), (x.reshape(1, 3, 4),))
    yield from ((torch.stack([square] * 2),), (torch.stack([square] * 2), torch.stack([square] * 2)))
    yield from ((square[0], square, square[0]), (x, 0, ints[0], x[:, 0]), (x[:, :3], 0, ints, square, "sum"))
    yield from ((x, square, square @ x), (x.reshape(1, 3, 4), x.reshape(1, 3, 4)), (x.reshape(1, 1, 3, 4), 2))
    yield from ((x.reshape(1, 1, 3, 4), square.reshape(1, 1, 3, 3)), (x.reshape(1, 3, 4), square.reshape(3, 3, 1)))
    yield from ((x, (4,)), (ints[0], ints[0]), (ints.flatten(),), (ints, 5))


def _plain(value, device, depth=0):
    """A result as it can be compared: tensors by dtype, sizes, values, and whether they are on this device."""
    if isinstance(value, torch.Tensor):
        told = "tensor", str(value.dtype), tuple(value.shape), value.device.type == device
        if value.is_meta or value.is_sparse:
            return told[:3]
        return *told, _same(value.detach().resolve_conj().resolve_neg().tolist())
    if isinstance(value, (list, tuple)) and depth < 3:
        return [_plain(each, device, depth + 1) for each in value]
    if isinstance(value, (bool, int, float, complex, str, type(None))):
        return _same(value)
    return type(value).__name__


def _same(value):
    if isinstance(value, list):
        return [_same(each) for each in value]
    if isinstance(value, complex):
        return _same(value.real), _same(value.imag)
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def _answer(call, device, which):
    """(what it gave, what became of its arguments), or the name of its exception."""
    arguments = next(itertools.islice(_argument_lists(*_given(device)), which, None))
    torch.manual_seed(0)  # the CPU and devices draw the same numbers
    try:
        made = call(*arguments)
        return _plain(made, device), _plain([a for a in arguments if isinstance(a, torch.Tensor)], device)
    except Exception as error:  # noqa: BLE001  it is compared
        return type(error).__name__


def _chosen(call, methods):
    """The first three argument lists that fit the call, and two that do not, with the CPU's answers."""
    fit, misfit = [], []
    for which, arguments in enumerate(_argument_lists(*_given("cpu"))):
        if methods and not isinstance(arguments[0], torch.Tensor):
            continue
        answer = _answer(call, "cpu", which)
        (misfit if isinstance(answer, str) else fit).append((which, answer))
    return fit[:3] + misfit[:2]


def _caller(holder, name, methods):
    if not methods:
        return getattr(holder, name)

    def call(first, *others):
        found = getattr(first, name)
        return found(*others) if callable(found) else found

    return call


def _swept(holder, names, methods):
    different = []
    for name in names:
        call = _caller(holder, name, methods)
        for which, here in _chosen(call, methods):
            there = _answer(call, "cuda", which)
            if here != there:
                different.append((name, which, str(here)[:150], str(there)[:150]))
                break
    return different


def _quarter(names, part):
    return [name for i, name in enumerate(sorted(names)) if i % 4 == part]


def _expect_same(holder, names, methods):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _swept(holder, names, methods)
    assert not found, f"{len(found)}: " + "\n".join(map(str, found))


def _methods(part):
    names = [n for n in dir(torch.Tensor) if n not in _LEFT_OUT]
    _expect_same(torch.Tensor, _quarter(names, part), True)


def _functions(part):
    _expect_same(torch, _quarter(_functions_in(torch), part), False)


def _functions_in(space):
    names = [
        n for n in dir(space) if n not in _LEFT_OUT and not n.startswith("_") and callable(getattr(space, n, None))
    ]
    return [n for n in names if not isinstance(getattr(space, n), type)]


def methods_first():
    _methods(0)


def methods_second():
    _methods(1)


def methods_third():
    _methods(2)


def methods_fourth():
    _methods(3)


def functions_first():
    _functions(0)


def functions_second():
    _functions(1)


def functions_third():
    _functions(2)


def functions_fourth():
    _functions(3)


def functions_of_nn():
    _expect_same(torch.nn.functional, _functions_in(torch.nn.functional), False)


# They are loaded when they are asked for, so dir() does not have them.
_LINALG = """
cholesky cholesky_ex cond cross det diagonal eig eigh eigvals eigvalsh householder_product inv inv_ex ldl_factor
ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve matmul matrix_exp matrix_norm matrix_power matrix_rank
multi_dot norm pinv qr slogdet solve solve_ex solve_triangular svd svdvals tensorinv tensorsolve vander vecdot
vector_norm
""".split()


def linear_algebra():
    _expect_same(torch.linalg, _LINALG, False)


def other_spaces():
    for space in (torch.fft, torch.special, torch.signal.windows):
        _expect_same(space, _functions_in(space), False)
