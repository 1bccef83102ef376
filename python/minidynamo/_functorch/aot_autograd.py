"""Functions and modules ahead of time: a forward and a backward graph of operators, each given to a compiler.

The joint graph of results and gradients is written down by make_fx while the function and the way back run once, then
cut in two (partitioners.py). What was written down holds for arguments that look alike: others are traced anew.
"""

import functools

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.function import Function
from ..autograd.grad_mode import set_grad_enabled
from ..nn import Module
from ..utils import _pytree
from .partitioners import default_partition


def make_boxed_func(f):
    """A callable that takes all its inputs in one list."""

    def g(args):
        return f(*args)

    g._boxed_call = True
    return g


def make_boxed_compiler(compiler):
    """A compiler whose callables take their inputs in one list."""

    @functools.wraps(compiler)
    def f(fx_g, inps):
        compiled = compiler(fx_g, inps)
        return compiled if getattr(compiled, "_boxed_call", False) else make_boxed_func(compiled)

    return f


def _call(compiled, inputs):
    results = compiled(list(inputs)) if getattr(compiled, "_boxed_call", False) else compiled(*inputs)
    return list(results) if isinstance(results, (tuple, list)) else [results]


def _look(x):
    if isinstance(x, _C.Tensor):
        return (type(x), x.dtype, tuple(x.shape), x.stride() if x.layout == _C.strided else None, x.requires_grad)
    return x


class _Options:
    def __init__(self, fw_compiler, bw_compiler, partition_fn, decompositions, inference_compiler):
        self.forward, self.backward = fw_compiler, bw_compiler or fw_compiler
        self.inference = inference_compiler or fw_compiler
        self.partition, self.decompositions = partition_fn or default_partition, decompositions


class _Unchanged:
    """The stream of random numbers as it was before: tracing draws, the compiled graph draws again."""

    def __enter__(self):
        self.stream = _C.default_generator.get_state()

    def __exit__(self, *exception):
        _C.default_generator.set_state(self.stream)


def _fresh(inputs):
    """Copies, so that the example run changes none of the caller's tensors."""
    return [x.detach().clone().requires_grad_(x.requires_grad) if isinstance(x, _C.Tensor) else x for x in inputs]


def _make_fx(function, names, inputs, options):
    """The graph of a function of flat inputs, whose placeholders have these names."""
    from ..fx.experimental.proxy_tensor import make_fx

    parameters = ", ".join(names)
    scope = {"function": function}
    exec(f"def forward({parameters}):\n    return function({parameters})", scope)
    made = make_fx(scope["forward"], options.decompositions)(*inputs)
    for node in made.graph.nodes:
        if node.op == "placeholder":
            plain = node.name.removesuffix("_1")
            node.name = node.target = plain if plain.rpartition("_")[0] in ("primals", "tangents") else node.name
    made.recompile()
    return made


class _Plan:
    """What one kind of inputs became: one compiled graph, or two with what is kept between them."""

    def __init__(self, function, inputs, options):
        self._options = options
        with _Unchanged():
            outputs = list(function(*_fresh(inputs)))
        self.count = len(outputs)
        is_tensor = [isinstance(o, _C.Tensor) for o in outputs]
        self.differentiable = [t and o.requires_grad for t, o in zip(is_tensor, outputs)]
        names = [f"primals_{k + 1}" for k in range(len(inputs))]
        if not (_C.is_grad_enabled() and any(self.differentiable)):
            self.differentiable = None
            with _Unchanged():
                graph = _make_fx(
                    lambda *a: tuple(function(*a)), [f"arg{k}" for k in range(len(inputs))], inputs, options
                )
            self.forward = options.inference(graph, list(inputs))
            return
        tangents = [_C.ones_like(o.detach()) for o, d in zip(outputs, self.differentiable) if d]
        self.wanted = [k for k, x in enumerate(inputs) if isinstance(x, _C.Tensor) and x.requires_grad]
        names += [f"tangents_{k + 1}" for k in range(len(tangents))]
        with _Unchanged():
            joint = _make_fx(self._joint(function, len(inputs)), names, [*inputs, *tangents], options)
        split = options.partition(joint, ([*inputs], tangents), num_fwd_outputs=self.count)
        self._backward_module, self._backward = split[1], None
        self.forward = options.forward(split[0], list(inputs))

    def _joint(self, function, count):
        from ..autograd import grad

        def joint(*given):
            primals, tangents = given[:count], given[count:]
            outputs = list(function(*primals))
            sources = [o for o, d in zip(outputs, self.differentiable) if d]
            found = grad(sources, [primals[k] for k in self.wanted], tangents, allow_unused=True)
            return (*outputs, *found)

        return joint

    def backward(self, kept, tangents):
        if self._backward is None:
            self._backward = self._options.backward(self._backward_module, [*kept, *tangents])
        return _call(self._backward, [*kept, *tangents])


class _Compiled(Function):
    """Both graphs of a plan as one node of the record of gradients."""

    @staticmethod
    def forward(ctx, plan, *inputs):
        made = _call(plan.forward, inputs)
        results, kept = made[: plan.count], made[plan.count :]
        ctx.plan, ctx.size = plan, len(inputs)
        ctx.others = [None if isinstance(k, _C.Tensor) else k for k in kept]
        ctx.save_for_backward(*(k for k in kept if isinstance(k, _C.Tensor)))
        plain = [r for r, d in zip(results, plan.differentiable) if isinstance(r, _C.Tensor) and not d]
        ctx.mark_non_differentiable(*plain)
        return tuple(results)

    @staticmethod
    def backward(ctx, *tangents):
        saved = iter(ctx.saved_tensors)
        kept = [next(saved) if other is None else other for other in ctx.others]
        given = [t.contiguous() for t, d in zip(tangents, ctx.plan.differentiable) if d]
        found = dict(zip(ctx.plan.wanted, ctx.plan.backward(kept, given)))
        return None, *(found.get(k) for k in range(ctx.size))


class _Flat:
    """A function of flat inputs with its plans."""

    def __init__(self, function, options):
        self._function, self._options, self._plans = function, options, []

    def __call__(self, *inputs):
        looks = (_C.is_grad_enabled(), [_look(x) for x in inputs])
        plan = next((plan for before, plan in self._plans if before == looks), None)
        if plan is None:
            plan = _Plan(self._function, inputs, self._options)
            self._plans.append((looks, plan))
        if plan.differentiable is None:
            return _call(plan.forward, inputs)
        return list(_Compiled.apply(plan, *inputs))


def aot_function(fn, fw_compiler, bw_compiler=None, partition_fn=default_partition, decompositions=None,
                 num_params_buffers=0, keep_inference_input_mutations=False, inference_compiler=None, *,
                 dynamic=False, enable_log=True, disable_functionalization=False):  # fmt: skip
    """`fn` as a forward and a backward graph, compiled when they are first needed: fw_compiler(graph module, inputs),
    bw_compiler in the same way (without it the same one). Arguments and results may be nested."""
    options = _Options(fw_compiler, bw_compiler, partition_fn, decompositions, inference_compiler)
    flats = {}

    @functools.wraps(fn) if hasattr(fn, "__name__") else (lambda f: f)
    def returned_function(*args, **kwargs):
        leaves, spec = _pytree.tree_flatten((args, kwargs))
        tensors = [k for k, x in enumerate(leaves) if isinstance(x, _C.Tensor)]
        others = [None if isinstance(x, _C.Tensor) else x for x in leaves]
        key = repr((spec, tensors, others))
        if key not in flats:
            nesting = []

            def flat(*given):
                filled = list(others)
                for place, x in zip(tensors, given):
                    filled[place] = x
                args, kwargs = _pytree.tree_unflatten(filled, spec)
                results, result_spec = _pytree.tree_flatten(fn(*args, **kwargs))
                nesting[:] = [result_spec]
                return results

            flats[key] = _Flat(flat, options), nesting
        run, nesting = flats[key]
        results = run(*[leaves[k] for k in tensors])
        return _pytree.tree_unflatten(results, nesting[0])

    return returned_function


def aot_module(mod, *args, **kwargs):
    """The same for a module: its parameters and buffers are inputs of both graphs."""
    from ..func import functional_call

    def called(named_params, named_buffers, *args, **kwargs):
        return functional_call(mod, {**named_params, **named_buffers}, args, kwargs)

    compiled = aot_function(called, *args, **kwargs)

    class AOTModule(Module):
        def __init__(self):
            super().__init__()
            self.orig_module = mod

        def forward(self, *args, **kwargs):
            held = self.orig_module
            return compiled(dict(held.named_parameters()), dict(held.named_buffers()), *args, **kwargs)

    return AOTModule()


def aot_module_simplified(mod, args, fw_compiler, bw_compiler=None, partition_fn=default_partition,
                          decompositions=None, keep_inference_input_mutations=False, inference_compiler=None,
                          **unused):  # fmt: skip
    """The same for a captured graph, whose inputs and outputs are flat: a callable for its inputs."""
    options = _Options(fw_compiler, bw_compiler, partition_fn, decompositions, inference_compiler)
    held = {}
    if isinstance(mod, Module):
        held = {**dict(mod.named_parameters()), **dict(mod.named_buffers())}

    def flat(*inputs):
        if not held:
            return mod(*inputs)
        from ..func import functional_call

        return functional_call(mod, dict(zip(held, inputs)), inputs[len(held) :])

    run = _Flat(flat, options)

    def forward(*runtime_args):
        return tuple(run(*held.values(), *runtime_args))

    forward.zero_grad = getattr(mod, "zero_grad", None)
    forward.named_parameters = getattr(mod, "named_parameters", None)
    forward.named_buffers = getattr(mod, "named_buffers", None)
    return forward


def aot_export_module(mod, args, *, decompositions=None, trace_joint, output_loss_index=None, pre_dispatch=False,
                      kwargs=None, **unused):  # fmt: skip
    """(graph module, signature) of a module whose parameters and buffers are the first inputs of the graph.

    With trace_joint the graph goes back as well, from the result at output_loss_index, and ends in the gradients of the
    parameters. RuntimeError where the module gives no tuple.
    """
    from ..func import functional_call
    from .export_signature import signature_of

    parameters, buffers = dict(mod.named_parameters()), dict(mod.named_buffers())
    held = {**parameters, **buffers}
    if trace_joint and output_loss_index is None:
        raise RuntimeError("trace_joint=True needs output_loss_index: the place of the loss among the results")

    def called(*inputs):
        results = functional_call(mod, dict(zip(held, inputs)), inputs[len(held) :], kwargs or {})
        if not isinstance(results, tuple):
            raise RuntimeError("aot_export_module(): the module has to return a tuple, so that results need no nesting")
        if not trace_joint:
            return results
        from ..autograd import grad

        found = grad([results[output_loss_index]], list(inputs[: len(parameters)]), allow_unused=True)
        return (*results, *found)

    inputs = [*held.values(), *args]
    options = _Options(None, None, None, decompositions, None)
    with _Unchanged(), set_grad_enabled(trace_joint):
        graph = _make_fx(called, [f"arg{k}" for k in range(len(inputs))], inputs, options)
    return graph, signature_of(graph, list(parameters), list(buffers), output_loss_index if trace_joint else None)


compiled_function, compiled_module = aot_function, aot_module

__getattr__ = _absent_names(__name__)
