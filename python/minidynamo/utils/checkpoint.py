"""torch.utils.checkpoint: parts of a program whose intermediate results are computed again in the backward pass.

T. Chen et al., "Training Deep Nets with Sublinear Memory Cost", 2016.
"""

import contextlib
import enum
import warnings
import weakref

from .. import _C, _ops
from .._absent import absent_names as _absent_names
from ..amp import autocast_mode as _amp_state
from ..autograd.backward import backward as _backward
from ..autograd.backward import detours as _detours
from ..autograd.backward import grad as _grad
from ..autograd.backward import passes as _passes
from ..autograd.function import Function as _Function
from ..autograd.function import Variable as _Variable
from ..autograd.grad_mode import enable_grad as _enable_grad
from ..cuda import random as _cuda_random
from ..random import fork_rng as _fork_rng
from ..random import get_rng_state as _get_rng_state
from ..random import set_rng_state as _set_rng_state

__all__ = [
    "CheckpointError",
    "CheckpointFunction",
    "CheckpointPolicy",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_device_states",
]


_KINDS = ("cpu", "cuda")  # of devices, on which parts run


class CheckpointError(RuntimeError):
    """What was computed again differs from what was computed first."""


_debug = None


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled):
    """Within it the setting holds for checkpoints that name none; what they find wrong they say in any case."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


_early_stop = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable):
    """Accepted as in torch; checkpoint() says what `early_stop` changes here."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


def noop_context_fn():
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


class CheckpointPolicy(enum.Enum):
    """What becomes of the result of an operation in a checkpoint."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3
    MUST_CPU_OFFLOAD = 4
    PREFER_CPU_OFFLOAD = 5


class SelectiveCheckpointContext:
    """What a policy is told beside the operation: whether this is the repetition."""

    def __init__(self, *, is_recompute):
        self.is_recompute = is_recompute


def create_selective_checkpoint_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """Contexts for `context_fn` that name operations whose results are kept: a list of overloads of operators, or a
    function of (SelectiveCheckpointContext, operation, *args, **kwargs) that returns a CheckpointPolicy.

    The two are modes with `__torch_dispatch__`. A compiled graph chooses by itself what it keeps: there the function is
    not called. Raises TypeError and ValueError for other arguments, RuntimeError in the backward pass if what was kept
    has been written to (unless `allow_cache_entry_mutation`) or was handed out already.
    """
    from . import selective_checkpoint

    policy = policy_fn_or_list
    if isinstance(policy, list):
        policy = _policy_of_list(policy)
    elif not callable(policy):
        raise TypeError("a selective checkpoint takes a function or a list of operators")

    def keeps(is_recompute, func, args, kwargs):
        said = policy(SelectiveCheckpointContext(is_recompute=is_recompute), func, *args, **kwargs)
        if isinstance(said, bool):  # an older form of policies
            return said
        return said in (CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_SAVE)

    return selective_checkpoint.contexts(keeps, allow_cache_entry_mutation)


def _policy_of_list(operators):
    """Keeps the results of these overloads; ValueError for what is none."""
    for op in operators:
        if not isinstance(op, (_ops.OpOverload, _ops._OwnOp)) or _ops.is_packet(op):
            raise ValueError(f"the list of a selective checkpoint should hold overloads of operators, not {op!r}")

    def policy(ctx, op, *args, **kwargs):
        return CheckpointPolicy.MUST_SAVE if op in operators else CheckpointPolicy.PREFER_RECOMPUTE

    return policy


def _traced_contexts(policy_fn_or_list, allow_cache_entry_mutation=False):
    """What is traced for it."""
    return contextlib.nullcontext(), contextlib.nullcontext()


for _function in (noop_context_fn, _traced_contexts):
    _C._mark_callable(_function, "dont_skip")
_C._mark_callable(create_selective_checkpoint_contexts, "substitute", _traced_contexts)


def detach_variable(inputs):
    """The tensors in a tuple apart from their history, requiring grad as before; all else as it is."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(f"detach_variable() takes a tuple, not {type(inputs).__name__}")
    return tuple(x.detach().requires_grad_(x.requires_grad) if isinstance(x, _C.Tensor) else x for x in inputs)


def check_backward_validity(inputs):
    """Warns if none of the inputs requires grad: no gradients would come back to them."""
    if not any(isinstance(x, _C.Tensor) and x.requires_grad for x in inputs):
        warnings.warn("None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3)


def get_device_states(*args):
    """The ordinals of the CUDA devices that tensors among the arguments are on, and the states of their streams."""
    devices = sorted({t.get_device() for t in _tensors_in(args) if t.is_cuda})
    return devices, [_cuda_random.get_rng_state(device) for device in devices]


def set_device_states(devices, states, *, device_type=None):
    """The streams go on from what get_device_states() gave."""
    for device, state in zip(devices, states):
        _cuda_random.set_rng_state(state, device)


def _random_states(*args):
    return _get_rng_state(), *get_device_states(*args)


@contextlib.contextmanager
def _random_numbers_of(states):
    if states is None:
        yield
        return
    own, devices, others = states
    with _fork_rng(devices):
        _set_rng_state(own)
        set_device_states(devices, others)
        yield


class CheckpointFunction(_Function):
    """checkpoint() with use_reentrant=True: the backward pass of the part runs within that of the whole."""

    @staticmethod
    def forward(ctx, run_function, preserve_rng_state, *args):
        check_backward_validity(args)
        ctx.run_function, ctx.mixed = run_function, _mixed_precision()
        ctx.states = _random_states(*args) if preserve_rng_state else None
        ctx.args = [None if isinstance(a, _C.Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, _C.Tensor)]
        ctx.save_for_backward(*[args[i] for i in ctx.places])
        return run_function(*args)

    @staticmethod
    def backward(ctx, *grads):
        if not _Variable._execution_engine.is_checkpoint_valid():
            raise RuntimeError(
                "a checkpoint with use_reentrant=True cannot bring gradients to chosen tensors, by grad() or by "
                "backward(inputs=...): pass use_reentrant=False, or call backward() without inputs"
            )
        args = list(ctx.args)
        for i, saved in zip(ctx.places, ctx.saved_tensors):
            args[i] = saved
        args = detach_variable(tuple(args))
        with _random_numbers_of(ctx.states), _under(ctx.mixed), _enable_grad():
            outputs = ctx.run_function(*args)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        flowing = [(y, g) for y, g in zip(outputs, grads) if isinstance(y, _C.Tensor) and y.requires_grad]
        if not flowing:
            raise RuntimeError("none of the outputs of a checkpoint requires grad: it needs no checkpoint")
        _backward(*zip(*flowing))
        return None, None, *(a.grad if isinstance(a, _C.Tensor) else None for a in args)


def _tensors_in(nest):
    """The tensors in tuples, lists and dicts, in order."""
    if isinstance(nest, _C.Tensor):
        return [nest]
    inside = nest.values() if isinstance(nest, dict) else nest if isinstance(nest, (tuple, list)) else ()
    return [t for part in inside for t in _tensors_in(part)]


def _replaced(nest, others):
    """The nest with other tensors, by the ids of those in it."""
    if isinstance(nest, _C.Tensor):
        return others.get(id(nest), nest)
    if type(nest) is dict:
        return {key: _replaced(part, others) for key, part in nest.items()}
    if type(nest) in (tuple, list):
        return type(nest)(_replaced(part, others) for part in nest)
    if isinstance(nest, tuple) and hasattr(nest, "_fields"):
        return type(nest)(*(_replaced(part, others) for part in nest))
    return nest


def _mixed_precision():
    """The regions of autocast that are active now, to be entered again."""
    kept = _amp_state.is_autocast_cache_enabled()
    facts = ((kind, _amp_state.get_autocast_dtype(kind), _amp_state.is_autocast_enabled(kind)) for kind in _KINDS)
    return [_amp_state.autocast(kind, dtype, enabled, kept) for kind, dtype, enabled in facts]


@contextlib.contextmanager
def _under(regions):
    with contextlib.ExitStack() as entered:
        for region in regions:
            entered.enter_context(region)
        yield


class _Part:
    """A call that is repeated in the backward pass."""

    def __init__(self, function, args, kwargs, context_fn, states, checked):
        self._function, self._given, self._states, self._checked = function, (args, kwargs), states, checked
        self._forward_context, self._again_context = context_fn()
        self._mixed = _mixed_precision()
        # Gradients end at these, and go on outside.
        self.inputs = list({id(t): t for t in _tensors_in((args, kwargs)) if t.requires_grad}.values())

    def run(self):
        """The result, and the tensors in it that require grad."""
        args, kwargs = self._given
        with self._forward_context:
            result = self._function(*args, **kwargs)
        tensors = _tensors_in(result)
        self._places = [i for i, t in enumerate(tensors) if t.requires_grad]
        self._facts = [(t.shape, t.dtype, t.device) for t in tensors]
        return result, [tensors[i] for i in self._places]

    def run_again(self, others):
        """The tensors once more, computed from others in place of the inputs."""
        args, kwargs = _replaced(self._given, dict(zip(map(id, self.inputs), others)))
        with _random_numbers_of(self._states), _under(self._mixed), _enable_grad(), self._again_context:
            tensors = _tensors_in(self._function(*args, **kwargs))
        facts = [(t.shape, t.dtype, t.device) for t in tensors]
        if self._checked and facts != self._facts:
            raise CheckpointError(f"a checkpoint gave tensors {self._facts} first, and {facts} when computed again")
        return [tensors[i] for i in self._places]


class RepeatedPart(_Function):
    """The outputs of a part, without what it computed on the way to them."""

    @staticmethod
    def forward(ctx, part, made, detour, *inputs):
        ctx.set_materialize_grads(False)
        ctx.part, ctx.detour = part, detour
        ctx.save_for_backward(*inputs)
        return tuple(t.detach() for t in made)

    @staticmethod
    def backward(ctx, *grads):
        running = _passes()[-1]
        beginning = _differentiable_beginning if running.create_graph else _beginning
        others, found = zip(*map(beginning, ctx.saved_tensors)) if ctx.saved_tensors else ((), ())
        outputs = ctx.part.run_again(others)
        flowing = [(y, g) for y, g in zip(outputs, grads) if g is not None and y.requires_grad]
        if flowing:
            _go_back(flowing, others, running)
        return None, None, None, *(gradient() for gradient in found)


def _beginning(x):
    """A tensor like x at which gradients end, and what gives the one that has come."""
    other = x.detach().requires_grad_()
    return other, lambda: other.grad


def _differentiable_beginning(x):
    """The same for gradients that are differentiable: what is computed from the tensor knows x, so zeros go on."""
    seen = []

    def note(gradient):
        seen.append(gradient)
        return _C.zeros_like(gradient)

    with _enable_grad():
        other = x.view_as(x)
    handle = other.register_hook(note)

    def noted():
        handle.remove()  # gradients of the gradients go on
        return seen[0] if seen else None

    return other, noted


def _go_back(flowing, others, running):
    """Gradients of the part: to `others`, and on ways from outside that are no arguments to what the pass is for."""
    outputs, grads = zip(*flowing)
    if not running.inputs:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # said of the whole pass already
            _backward(outputs, grads, True, running.create_graph)
        return
    found = _grad(outputs, (*others, *running.inputs), grads, True, running.create_graph, allow_unused=True)
    for other, gradient in zip(others, found):
        if not running.create_graph:
            other.grad = gradient
    for i, gradient in enumerate(found[len(others) :]):
        running.add(i, gradient)


def _repeatable(function, args, kwargs, context_fn, states, checked):
    part = _Part(function, args, kwargs, context_fn, states, checked)
    result, made = part.run()
    if not (_C.is_grad_enabled() and made):
        return result
    # What the part uses beside its arguments may require grad as well: the outputs do, and each pass comes by here.
    detour = _C.empty(0).requires_grad_()
    _detours.add(weakref.ref(detour, _detours.discard))
    outputs = RepeatedPart.apply(part, made, detour, *part.inputs)
    return _replaced(result, dict(zip(map(id, made), outputs)))


def checkpoint(
    function,
    *args,
    use_reentrant=None,
    context_fn=noop_context_fn,
    determinism_check="default",
    debug=False,
    early_stop=True,
    **kwargs,
):
    """`function(*args, **kwargs)`, whose intermediate results are not kept but computed again in the backward pass.

    `preserve_rng_state` (True) draws the same random numbers again. `use_reentrant=True` runs a backward pass within
    the other: it takes no keywords, gradients come only to what `function` uses if an argument requires grad, and only
    by backward() for all leaves. With False, what `context_fn()` gives, two contexts, is around the first run and
    around those repeated, and unless `determinism_check="none"` sizes and dtypes of the results must be the same
    again: CheckpointError. `early_stop` changes nothing: what is repeated runs to its end.

    In compiled code the function may not change objects from outside (GB0067): it would run again.
    Raises ValueError for options that do not fit together, NotImplementedError for `debug`.
    """
    if use_reentrant is None:
        warnings.warn("checkpoint(): pass use_reentrant explicitly, best False; without it is True", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        if context_fn is not noop_context_fn or debug:
            raise ValueError("context_fn and debug go with use_reentrant=False only")
        if kwargs:
            raise ValueError(f"Unexpected keyword arguments: {', '.join(kwargs)}")
        return CheckpointFunction.apply(function, preserve, *args)
    if determinism_check not in ("default", "none"):
        raise ValueError(f"determinism_check should be 'default' or 'none', not {determinism_check!r}")
    if debug:
        raise NotImplementedError("checkpoint(debug=True): operations of the part are not listed here")
    states = _random_states(args, kwargs) if preserve else None
    return _repeatable(function, args, kwargs, context_fn, states, determinism_check == "default")


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    """`input` through the functions, or modules of a Sequential, in turn, in `segments` parts: all but the last are
    computed again in the backward pass.

    Raises ValueError if there are fewer functions than segments.
    """
    if use_reentrant is None:
        warnings.warn("checkpoint_sequential(): pass use_reentrant explicitly, best False", stacklevel=2)
        use_reentrant = True
    preserve = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError(f"Unexpected keyword arguments: {', '.join(kwargs)}")
    functions = list(functions)
    if not 1 <= segments <= len(functions):
        raise ValueError(f"{len(functions)} functions cannot be run in {segments} segments")

    def part(first, last):
        def run(x):
            for function in functions[first:last]:
                x = function(x)
            return x

        return run

    size = len(functions) // segments
    last = size * (segments - 1)
    for first in range(0, last, size):
        run = part(first, first + size)
        input = checkpoint(run, input, use_reentrant=use_reentrant, preserve_rng_state=preserve)
    return part(last, len(functions))(input)


__getattr__ = _absent_names(__name__)
