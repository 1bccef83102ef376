"""export() and what it gives."""

import collections
import copy
import inspect

from .. import _C, fx
from .._dynamo import exc
from .._dynamo.exporting import _Capture, _Leaf, _mapped, _path_text, _tensors
from ..nn import Module, Parameter
from .aten_graph import lifted
from .dims import Dim, of_arguments
from .signature import ArgumentSpec, ExportGraphSignature, InputKind, OutputKind


class _Unlifted(Module):
    """The graph as a module that holds the parameters and buffers under their names."""

    def __init__(self, program):
        super().__init__()
        self._program = [program]  # in a list: no submodule
        for name, tensor in program.state_dict.items():
            *path, last = name.split(".")
            owner = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, Module())
                owner = owner._modules[part]
            if isinstance(tensor, Parameter):
                owner.register_parameter(last, tensor)
            else:
                owner.register_buffer(last, tensor)

    @property
    def graph(self):
        return self._program[0].graph

    @property
    def code(self):
        return self._program[0].graph_module.code

    def print_readable(self, print_output=True, **options):
        return self._program[0].graph_module.print_readable(print_output)

    def forward(self, *args, **kwargs):
        held = dict(self.named_parameters(remove_duplicate=False)) | dict(self.named_buffers(remove_duplicate=False))
        return self._program[0]._run(held, args, kwargs)

    def train(self, mode=True):
        raise NotImplementedError("Calling train() is not supported yet.")

    def eval(self):
        raise NotImplementedError("Calling eval() is not supported yet.")


class Region(Module):
    """Stands for the graph of a branch or loop body, which is not held apart from the whole: it cannot be called."""

    def forward(self, *args):
        raise NotImplementedError("the graphs of branches and bodies run as parts of the exported program only")


class ExportedProgram:
    """A module as a graph. `module()` gives it back as something to call."""

    def __init__(self, recipe, signature, capture, inputs, result, checks, state):
        self._recipe, self._signature, self._inputs, self._result = recipe, signature, inputs, result
        self._checks, self._forward = checks, capture.graphs[0].forward if capture.graphs else None
        self.state_dict = state
        self.example_inputs = (recipe[1], recipe[2])
        self.constants = {}
        self.range_constraints = {}
        self._build(capture)

    def _build(self, capture):
        """The graph, and what its inputs and outputs are."""
        specs, names = [], []
        for k, leaf in enumerate(self._inputs):
            if leaf.kind == "state":
                is_parameter = isinstance(self.state_dict[leaf.place], Parameter)
                kind = InputKind.PARAMETER if is_parameter else InputKind.BUFFER
                name = ("p_" if is_parameter else "b_") + leaf.place.replace(".", "_")
            elif leaf.kind == "argument":
                kind, name = InputKind.USER_INPUT, "_".join(map(str, leaf.place))
            else:
                kind, name = InputKind.CONSTANT_TENSOR, f"c_lifted_tensor_{k}"
                self.constants[f"lifted_tensor_{k}"] = leaf.place
            names.append(name)
            specs.append(ArgumentSpec(kind, name, leaf.place if leaf.kind == "state" else None))
        if capture.graphs:
            self.graph, made = lifted(capture.graphs[0].graph, names)
            self._in_order(specs)
        else:
            self.graph = fx.Graph()
            self.graph.output(())
        root = Module()
        if capture.graphs:
            for node in self.graph.nodes:
                if node.op == "get_attr":
                    setattr(root, node.target, getattr(capture.graphs[0], node.target, None) or Region())
        self.graph_module = fx.GraphModule(root, self.graph)
        results = [node for node in self.graph.nodes if node.op == "output"][0].args[0]
        results = results if isinstance(results, (tuple, list)) else (results,)
        outputs = []

        def note(leaf):
            value = results[leaf.place] if leaf.kind == "output" else None
            outputs.append(ArgumentSpec(OutputKind.USER_OUTPUT, getattr(value, "name", names_of.get(leaf.place, ""))))
            return leaf

        names_of = {}
        for leaf, name in zip(self._inputs, names):
            names_of[leaf.place if isinstance(leaf.place, (tuple, str)) else id(leaf.place)] = name
        self._result_specs = _mapped(self._result, note)
        self.graph_signature = ExportGraphSignature(specs, outputs)

    def _in_order(self, specs):
        """Parameters and buffers come first."""
        order = [InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.USER_INPUT]
        placeholders = [node for node in self.graph.nodes if node.op == "placeholder"]
        ranked = sorted(range(len(specs)), key=lambda k: order.index(specs[k].kind))
        first = placeholders[0] if placeholders else None
        for k in ranked:
            if first is not None and placeholders[k] is not first:
                first.prepend(placeholders[k])
        if first is not None:
            rank = ranked.index(0)
            if rank + 1 < len(ranked):
                placeholders[ranked[rank + 1]].prepend(first)
            else:
                placeholders[ranked[rank - 1]].append(first) if rank else None
        specs[:] = [specs[k] for k in ranked]

    def module(self, check_guards=True):
        """A module that computes what the exported one does, with its parameters."""
        return _Unlifted(self)

    def _run(self, held, args, kwargs):
        bound = self._signature.bind(*args, **kwargs)
        bound.apply_defaults()
        arguments = bound.arguments

        def find(leaf):
            if leaf.kind == "constant":
                return leaf.place
            if leaf.kind == "state":
                return held[leaf.place]
            value = arguments
            for step in leaf.place:
                value = value[step]
            return value

        for path, sizes in self._checks:
            _check(path, sizes, find(_Leaf("argument", path)))
        outputs = self._forward(*[find(leaf) for leaf in self._inputs]) if self._forward else ()
        return _mapped(self._result, lambda leaf: outputs[leaf.place] if leaf.kind == "output" else find(leaf))

    def parameters(self):
        for _, tensor in self.named_parameters():
            yield tensor

    def named_parameters(self):
        for name, tensor in self.state_dict.items():
            if isinstance(tensor, Parameter):
                yield name, tensor

    def buffers(self):
        for _, tensor in self.named_buffers():
            yield tensor

    def named_buffers(self):
        for name, tensor in self.state_dict.items():
            if not isinstance(tensor, Parameter):
                yield name, tensor

    def run_decompositions(self, decomp_table=None, **options):
        """The program itself: operators of the graph stay as they are."""
        return self

    def __call__(self, *args, **kwargs):
        raise RuntimeError("an ExportedProgram is not called: its module() is")

    def __str__(self):
        code = self.graph_module.code.strip("\n").replace("\n", "\n        ")
        return (
            "ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        "
            f"{code}\n\nGraph signature: {self.graph_signature}\nRange constraints: {self.range_constraints}\n"
        )

    __repr__ = __str__


def _check(path, sizes, tensor):
    where = _path_text(path)
    if not isinstance(tensor, _C.Tensor):
        raise AssertionError(f"Guard failed: {where} has to be a tensor, not {type(tensor).__name__}")
    if tensor.dim() != len(sizes):
        raise AssertionError(f"Guard failed: {where}.dim() == {len(sizes)}")
    for d, size in enumerate(sizes):
        if isinstance(size, int) and tensor.shape[d] != size:
            raise AssertionError(f"Guard failed: {where}.size()[{d}] == {size}")
        if isinstance(size, Dim) and size.max is not None and tensor.shape[d] > size.max:
            raise AssertionError(f"Guard failed: {where}.size()[{d}] <= {size.max}")
        if isinstance(size, Dim) and tensor.shape[d] < size.min:
            raise AssertionError(f"Guard failed: {where}.size()[{d}] >= {size.min}")


def export(mod, args, kwargs=None, *, dynamic_shapes=None, strict=False, preserve_module_call_signature=(),
           prefer_deferred_runtime_asserts_over_guards=False):  # fmt: skip
    """The module as one graph, run once on these arguments. What Python decides on the way is decided for good.

    `dynamic_shapes` says, by the names of arguments, which sizes may differ later. ValueError for what is no module,
    UserError for arguments that are no tuple, GuardOnDataDependentSymNode where elements of tensors decide what is
    computed, and Unsupported for what a graph cannot hold.
    """
    if not isinstance(mod, Module):
        raise ValueError(f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}.")
    if not isinstance(args, tuple):
        raise exc.UserError(None, f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}")
    kwargs = dict(kwargs or {})
    signature = inspect.signature(mod.forward)
    bound = signature.bind(*args, **kwargs)
    given = dict(bound.arguments)
    marked = of_arguments(dynamic_shapes, given)
    bound.apply_defaults()
    capture, result = _captured(mod, args, kwargs, dict(bound.arguments), marked)
    state = _state_of(mod)
    names = {_C._tensor_id(t): name for name, t in reversed(list(state.items()))}
    paths = {_C._tensor_id(t): path for path, t in reversed(list(_tensors(dict(bound.arguments))))}
    outputs = {_C._tensor_id(t): k for k, t in reversed(list(enumerate(capture.outputs)))}

    def place(tensor):
        number = _C._tensor_id(tensor)
        if number in paths:
            return _Leaf("argument", paths[number])
        return _Leaf("state", names[number]) if number in names else _Leaf("constant", tensor)

    def result_place(tensor):
        number = _C._tensor_id(tensor)
        return _Leaf("output", outputs[number]) if number in outputs else place(tensor)

    inputs = [place(t) if isinstance(t, _C.Tensor) else _Leaf("constant", t) for t in capture.inputs]
    checks = []
    for path, tensor in _tensors(dict(bound.arguments)):
        checks.append((path, [marked.get(path, {}).get(d, size) for d, size in enumerate(tensor.shape)]))
    recipe = (mod, args, kwargs, dynamic_shapes)
    program = ExportedProgram(recipe, signature, capture, inputs, _mapped(result, result_place), checks, state)
    for spec in marked.values():
        for each in spec.values():
            if isinstance(each, Dim):
                program.range_constraints[each.__name__] = (each.min, each.max)
    return program


def _state_of(mod):
    state = collections.OrderedDict(mod.named_parameters(remove_duplicate=False))
    kept = set(mod.state_dict(keep_vars=True))
    state.update((name, t) for name, t in mod.named_buffers(remove_duplicate=False) if name in kept)
    return state


class _Untouched:
    """What running a program may not change for good: elements of tensors, and the stream of random numbers."""

    def __init__(self, tensors):
        self._tensors = [(t, t._version, t.detach().clone()) for t in tensors if t.layout == _C.strided]
        self._stream = _C.default_generator.get_state()

    def restore(self):
        for tensor, version, elements in self._tensors:
            if tensor._version != version:
                tensor.detach().copy_(elements)
        _C.default_generator.set_state(self._stream)


def _captured(mod, args, kwargs, arguments, marked):
    from .._dynamo.dynamic_marks import mark_dynamic
    from .._dynamo.eval_frame import compile

    tensors = dict(_tensors(arguments))
    before = {path: copy.copy(tensors[path].__dict__) for path in marked}
    for path, spec in marked.items():
        for dim, each in spec.items():
            mark_dynamic(tensors[path], dim, max=getattr(each, "max", None))
    capture = _Capture()
    untouched = _Untouched([*mod.parameters(), *mod.buffers(), *tensors.values()])
    try:
        compiled = compile(mod.forward, backend=capture, fullgraph=True, dynamic=None if marked else False)
        result = compiled(*args, **kwargs)
    except exc.Unsupported as error:
        if "Data-dependent" not in str(error):
            raise
        from ..fx.experimental.symbolic_shapes import GuardOnDataDependentSymNode

        raise GuardOnDataDependentSymNode(str(error)) from None
    finally:
        untouched.restore()
        for path, attributes in before.items():
            tensors[path].__dict__.clear()
            tensors[path].__dict__.update(attributes)
    return capture, result
