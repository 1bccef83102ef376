"""Graphs on tensors with `__torch_dispatch__`, opened: handlers are asked once, about stand-ins, and what they do to
the plain tensors inside is compiled.

What a graph becomes depends on how the tensors it is given are made (`__tensor_flatten__`): a plan for each way. Where
handlers cannot be asked without the tensors' elements, the graph itself runs, which asks them each time.
"""

import threading

from .. import _C
from .._dynamo.foreign_exceptions import interrupts
from ..autograd import Function, grad
from . import modes
from .stand_ins import is_opened

_MOST_PLANS = 16  # for one graph; then handlers are asked when it runs


class CannotOpen(Exception):
    """Handlers have to be asked each time."""


# --- How a tensor is made --------------------------------------------------------------------------------------------


class Leaf:
    """A plain tensor: its number among those of a list, and what is said of it."""

    def __init__(self, place, tensor):
        self.place = place
        self.look = (tensor.dtype, tensor.device, tuple(tensor.size()), tensor.stride(), tensor.requires_grad)

    def __eq__(self, other):
        return type(other) is Leaf and self.look == other.look

    def same_but_strides(self, other):
        return type(other) is Leaf and self.look[:3] == other.look[:3]

    def built(self, leaves):
        return leaves[self.place]

    def stand_in(self, tensor, recorder):
        made = _C._untouched_like(tensor)
        recorder.add_input(made)
        return made, [made]


class Wrapper:
    """A tensor of a class with `__tensor_flatten__`: the names and ways of its parts, and its context."""

    def __init__(self, tensor, names, context, parts):
        self.cls, self.names, self.context, self.parts = type(tensor), names, context, parts
        self.size, self.stride, self.requires_grad = tensor.size(), tensor.stride(), tensor.requires_grad

    def _same(self, other):
        return (
            type(other) is Wrapper
            and self.cls is other.cls
            and self.names == other.names
            and self.size == other.size
            and _equal(self.context, other.context)
        )

    def __eq__(self, other):
        alike = self._same(other) and self.stride == other.stride and self.requires_grad == other.requires_grad
        return alike and self.parts == other.parts

    def same_but_strides(self, other):
        return self._same(other) and all(a.same_but_strides(b) for a, b in zip(self.parts, other.parts))

    def built(self, leaves):
        return self._put_together([part.built(leaves) for part in self.parts])

    def _put_together(self, parts):
        return self.cls.__tensor_unflatten__(dict(zip(self.names, parts)), self.context, self.size, self.stride)

    def stand_in(self, tensor, recorder):
        parts, leaves = [], []
        for name, way in zip(self.names, self.parts):
            made, below = way.stand_in(getattr(tensor, name), recorder)
            parts.append(made)
            leaves += below
        made = self._put_together(parts)
        if type(made) is not self.cls:
            raise CannotOpen
        return made, leaves


def _equal(a, b):
    """Whether contexts are equal; where they cannot be compared, only the same object is."""
    if a is b:
        return True
    try:
        return bool(a == b)
    except Exception:  # of the program's __eq__
        return False


def taken_apart(tensor, leaves):
    """How the tensor is made; its plain tensors are added to `leaves`."""
    if not _C._is_handled(tensor):
        leaves.append(tensor)
        return Leaf(len(leaves) - 1, tensor)
    if not hasattr(type(tensor), "__tensor_flatten__"):
        raise CannotOpen
    names, context = tensor.__tensor_flatten__()
    parts = [taken_apart(getattr(tensor, name), leaves) for name in names]
    return Wrapper(tensor, list(names), context, parts)


def _ways(values):
    """(ways, leaves) of a graph's inputs: ints stand for themselves."""
    leaves = []
    return [taken_apart(v, leaves) if isinstance(v, _C.Tensor) else v for v in values], leaves


# --- What is recorded ------------------------------------------------------------------------------------------------


class _Result:
    """How a result of the graph comes about: it is an input, an earlier result, or made of the kernel's tensors."""

    def __init__(self, kind, place, way=None, differentiable=False):
        self.kind, self.place, self.way, self.differentiable = kind, place, way, differentiable


class Plan:
    """What handlers have made of the graph for inputs that are made in one way."""

    def __init__(self, graph, backend, inputs, ways, gradients):
        self.ways, self.gradients = ways, gradients
        recorder = _C._OpRecorder()
        given, self._input_leaves = [], []
        with modes.none_active():
            recorder.begin()
            try:
                with _grad_mode(False):
                    for way, value in zip(ways, inputs):
                        given.append(self._stood_in(way, value, recorder))
                with _grad_mode(gradients):
                    made = graph(*given)
                forward_calls = recorder.count()
                self._check_kept_as_made(given)
                leaves = self._note_results(made, given, recorder)
                if gradients:
                    self._note_gradients(made, given, recorder)
            finally:
                recorder.end()
        self._compile(recorder, forward_calls, leaves, backend)

    def _stood_in(self, way, value, recorder):
        if not isinstance(value, _C.Tensor):
            return value
        made, leaves = way.stand_in(value, recorder)
        self._input_leaves += leaves
        if value.requires_grad:
            made.requires_grad_()
        return made

    def _check_kept_as_made(self, given):
        """Handlers that change what a wrapper is made of have to do so in each run."""
        _, leaves = _ways(given)
        if len(leaves) != len(self._input_leaves) or any(a is not b for a, b in zip(leaves, self._input_leaves)):
            raise CannotOpen

    def _note_results(self, made, given, recorder):
        leaves = []
        self.results = []
        for k, result in enumerate(made):
            at = next((i for i, t in enumerate(given) if t is result), None)
            before = next((i for i in range(k) if made[i] is result), None)
            if at is not None:
                self.results.append(_Result("input", at))
            elif before is not None:
                self.results.append(_Result("result", before))
            else:
                self.results.append(_Result("made", k, taken_apart(result, leaves), result.requires_grad))
        self.writes = any(recorder.is_written(t) for t in self._input_leaves)
        if self.gradients and (self.writes or any(r.kind != "made" for r in self.results)):
            raise CannotOpen
        return leaves

    def _note_gradients(self, made, given, recorder):
        """Goes back through the stand-ins, from tangents that are made as the results are."""
        self._tangents, self._tangent_leaves, self._gradient_leaves = [], [], []
        sources, tangents = [], []
        for result, t in zip(self.results, made):
            if not result.differentiable:
                continue
            with _grad_mode(False):
                tangent, below = result.way.stand_in(t, recorder)
            self._tangents.append(result.way)
            self._tangent_leaves += below
            sources.append(t)
            tangents.append(tangent)
        self._wanted = [i for i, t in enumerate(given) if isinstance(t, _C.Tensor) and t.requires_grad]
        found = grad(sources, [given[i] for i in self._wanted], tangents, allow_unused=True)
        self._gradients = [None if g is None else taken_apart(g, self._gradient_leaves) for g in found]

    def _compile(self, recorder, forward_calls, results, backend):
        kept = []  # what the way back needs; it may be an input or a result as well
        if self.gradients:
            kept = recorder.used_later(forward_calls, self._gradient_leaves, self._tangent_leaves)
        self._kept = len(kept)
        graph = recorder.graph(0, forward_calls, self._input_leaves, [*results, *kept])
        self.forward = graph.compiled(backend).run
        if self.gradients:
            inputs = [*kept, *self._tangent_leaves]
            graph = recorder.graph(forward_calls, recorder.count(), inputs, self._gradient_leaves)
            self.backward = graph.compiled(backend).run
        self._input_leaves = self._tangent_leaves = self._gradient_leaves = None

    # --- Runs ---

    def run(self, leaves, inputs):
        return self.put_together(self.forward(*leaves), inputs)

    def put_together(self, leaves, inputs):
        results = []
        for r in self.results:
            if r.kind == "made":
                results.append(r.way.built(leaves))
            else:
                results.append(inputs[r.place] if r.kind == "input" else results[r.place])
        return tuple(results)

    def gradients_of(self, kept, tangents):
        """Gradients by place among the inputs; None if the tangents are made in another way."""
        leaves, expected, ways = [], [], []
        for way, tangent in zip(self._tangents, tangents):
            if tangent is None or not way.same_but_strides(taken_apart(tangent, leaves)):
                return None
            ways.append(way)
            _leaf_looks(way, expected)
        leaves = [t if t.stride() == stride else t.contiguous() for t, stride in zip(leaves, expected)]
        made = self.backward(*kept, *leaves)
        return {i: None if way is None else way.built(made) for i, way in zip(self._wanted, self._gradients)}


def _leaf_looks(way, strides):
    if isinstance(way, Leaf):
        strides.append(way.look[3])
    else:
        for part in way.parts:
            _leaf_looks(part, strides)


def _share_memory(tensors):
    """Whether two of them lie in the same memory: what is written to one is then seen in the other."""
    return len({t.untyped_storage().data_ptr() for t in tensors}) < len(tensors)


class _grad_mode:
    def __init__(self, on):
        self.on = on

    def __enter__(self):
        self.before = _C.is_grad_enabled()
        _C._set_grad_enabled(self.on)

    def __exit__(self, *exception):
        _C._set_grad_enabled(self.before)


class _Opened(Function):
    """Both kernels of a plan as one node of the record of gradients."""

    @staticmethod
    def forward(ctx, opened, plan, leaves, *inputs):
        made = plan.forward(*leaves)
        count = len(made) - plan._kept
        results = plan.put_together(made[:count], inputs)
        ctx.opened, ctx.plan, ctx.kept = opened, plan, made[count:]
        ctx.values = [None if isinstance(v, _C.Tensor) else v for v in inputs]
        ctx.save_for_backward(*(v for v in inputs if isinstance(v, _C.Tensor)))
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(t for t, r in zip(results, plan.results) if not r.differentiable))
        return results

    @staticmethod
    def backward(ctx, *tangents):
        saved = iter(ctx.saved_tensors)
        inputs = [next(saved) if v is None else v for v in ctx.values]
        found = None
        if not _C.is_grad_enabled():
            of_results = [t for t, r in zip(tangents, ctx.plan.results) if r.differentiable]
            found = ctx.plan.gradients_of(ctx.kept, of_results)
        if found is None:
            found = ctx.opened.run_again(inputs, tangents)
        return None, None, None, *(found.get(i) for i in range(len(inputs)))


class OpenedGraph:
    """A graph with its plans, callable as the graph is."""

    def __init__(self, graph, backend):
        self._graph, self._backend = graph, backend
        self._plans = []
        self._lock = threading.RLock()

    def __call__(self, *inputs):
        gradients = _C.is_grad_enabled() and any(isinstance(v, _C.Tensor) and v.requires_grad for v in inputs)
        try:
            ways, leaves = _ways(inputs)
        except Exception as error:  # of __tensor_flatten__: the graph itself does not need it
            if interrupts(error):
                raise
            return self._graph(*inputs)
        plan = self._plan_for(inputs, ways, gradients)
        if plan is None or (plan.writes and _share_memory(leaves)):
            return self._graph(*inputs)
        if not gradients:
            return plan.run(leaves, inputs)
        return _Opened.apply(self, plan, leaves, *inputs)

    def _plan_for(self, inputs, ways, gradients):
        for before, with_gradients, plan in self._plans:
            if with_gradients == gradients and before == ways:
                return plan
        with self._lock:
            if len(self._plans) >= _MOST_PLANS:
                return None
            try:
                plan = Plan(self._graph, self._backend, inputs, ways, gradients)
            except Exception as error:  # it comes again when the handler is asked about the tensors themselves
                if interrupts(error):
                    raise
                plan = None
            self._plans.append((ways, gradients, plan))
        return plan

    def run_again(self, inputs, tangents):
        """Gradients by place among the inputs, from a run that asks the handlers."""
        create = _C.is_grad_enabled()
        with _grad_mode(True):
            if not create:
                inputs = [v.detach().requires_grad_(v.requires_grad) if isinstance(v, _C.Tensor) else v for v in inputs]
            made = self._graph(*inputs)
        wanted = [i for i, v in enumerate(inputs) if isinstance(v, _C.Tensor) and v.requires_grad]
        pairs = [(t, g) for t, g in zip(made, tangents) if g is not None and t.requires_grad]
        if not pairs:
            return {}
        sources, given = zip(*pairs)
        found = grad(sources, [inputs[i] for i in wanted], given, create_graph=create, allow_unused=True)
        return dict(zip(wanted, found))


def compiled(module, backend):
    """A callable for a captured graph; None if there is code of the program in it that a run has to call."""
    for row in module._native.nodes():
        if row[9] is not None and not is_opened(row[9]):
            return None
    return OpenedGraph(module.forward, backend)
