"""export() and what it gives."""

import collections
import copy
import inspect

from .. import _C, fx
from .._dynamo import exc
from .._dynamo.exporting import _Leaf, _mapped, _path_text, _tensors, at_path
from ..nn import Module, Parameter
from .aten_graph import lifted
from .capture import captured
from .constraints import check_promises, guards_of, path_text
from .dims import DerivedDim, Dim, of_arguments
from .signature import ArgumentSpec, ExportGraphSignature, InputKind, OutputKind


class _Unlifted(Module):
    """The graph as a module that holds the parameters and buffers under their names."""

    def __init__(self, program):
        super().__init__()
        self._program = [program]  # in a list: no submodule
        for name, tensor in program._held.items():
            *path, last = name.split(".")
            owner = self
            for part in path:
                if part not in owner._modules:
                    owner.add_module(part, Module())
                owner = owner._modules[part]
            if isinstance(tensor, Parameter):
                owner.register_parameter(last, tensor)
            else:
                owner.register_buffer(last, tensor, persistent=name in program.state_dict)

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

    def __deepcopy__(self, memo):
        made = _Unlifted(self._program[0])
        for name, parameter in self.named_parameters(remove_duplicate=False):
            owner, _, last = name.rpartition(".")
            setattr(made.get_submodule(owner), last, copy.deepcopy(parameter, memo))
        for name, buffer in self.named_buffers(remove_duplicate=False):
            owner, _, last = name.rpartition(".")
            setattr(made.get_submodule(owner), last, copy.deepcopy(buffer, memo))
        return made

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

    def __init__(self, recipe, signature, capture, inputs, result, checks, state, fixed):
        self._recipe, self._signature, self._inputs, self._result = recipe, signature, inputs, result
        self._checks, self._forward = checks, capture.graphs[0].forward if capture.graphs else None
        self._held, self._fixed = state, fixed
        kept = set(recipe[0].state_dict(keep_vars=True))
        self.state_dict = collections.OrderedDict((name, t) for name, t in state.items() if name in kept)
        self.example_inputs = (recipe[1], recipe[2])
        self.constants = {name: t for name, t in state.items() if name not in kept}
        self.range_constraints, self._guards, self._order = {}, [], []
        self._build(capture)

    def _build(self, capture):
        """The graph, and what its inputs and outputs are."""
        specs, names = [], []
        for k, leaf in enumerate(self._inputs):
            if leaf.kind == "state":
                is_parameter = isinstance(self._held[leaf.place], Parameter)
                kind = InputKind.PARAMETER if is_parameter else InputKind.BUFFER
                name = ("p_" if is_parameter else "b_") + leaf.place.replace(".", "_")
            elif leaf.kind == "argument":
                kind, name = InputKind.USER_INPUT, "_".join(map(str, leaf.place))
            else:
                kind, name = InputKind.CONSTANT_TENSOR, f"c_lifted_tensor_{k}"
                self.constants[f"lifted_tensor_{k}"] = leaf.place
            names.append(name)
            target = leaf.place if leaf.kind == "state" else f"lifted_tensor_{k}" if leaf.kind == "constant" else None
            persistent = leaf.kind != "state" or leaf.place in self.state_dict
            specs.append(ArgumentSpec(kind, name, target, persistent))
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
            value = results[leaf.place] if leaf.kind in ("output", "size") else None
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
        self._order = ranked

    def module(self, check_guards=True):
        """A module that computes what the exported one does, with its parameters."""
        return _Unlifted(self)

    def _run(self, held, args, kwargs):
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ValueError(f"the arguments are not those of the exported module: {error}") from None
        bound.apply_defaults()
        arguments = bound.arguments

        for path, value in self._fixed:
            _check_fixed(path, value, arguments)
        roots, found = {}, {}
        for path, sizes in self._checks:
            found[path_text(path)] = tensor = _argument_at(path, arguments)
            _check(path, sizes, tensor, roots)
        for guard in self._guards:
            if not guard.holds(lambda path, dim: found[path].shape[dim]):
                raise AssertionError(f"Guard failed: {guard.text}")
        outputs = self._forward(*[_value(leaf, held, arguments) for leaf in self._inputs]) if self._forward else ()

        def result(leaf):
            if leaf.kind == "size":
                return int(outputs[leaf.place])
            return outputs[leaf.place] if leaf.kind == "output" else _value(leaf, held, arguments)

        return _mapped(self._result, result)

    def _example_values(self):
        """The inputs of the graph as they were at the export."""
        bound = self._signature.bind(*self.example_inputs[0], **self.example_inputs[1])
        bound.apply_defaults()
        return [_value(leaf, self._held, bound.arguments) for leaf in self._inputs]

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
        for name, tensor in self._held.items():
            if not isinstance(tensor, Parameter):
                yield name, tensor

    def run_decompositions(self, decomp_table=None, decompose_custom_triton_ops=False):
        """The program with operators replaced by what the table has for them, and composites by their parts."""
        from .decompositions import decomposed

        return decomposed(self, decomp_table)

    @property
    def module_call_graph(self):
        from .call_graph import call_graph_of

        return call_graph_of(self._recipe[0], self.graph_signature, self.call_spec)

    @property
    def call_spec(self):
        from ..utils import _pytree
        from .call_graph import CallSpec

        out = _mapped(self._result, lambda leaf: 0)
        return CallSpec(_pytree.tree_structure(self.example_inputs), _pytree.tree_structure(out))

    @property
    def tensor_constants(self):
        return self.constants

    @property
    def dialect(self):
        return "TRAINING"

    def validate(self):
        """Checks the graph: RuntimeError if it is none."""
        self.graph.lint()

    def __call__(self, *args, **kwargs):
        raise RuntimeError("Unable to call ExportedProgram directly. What its module() gives is called.")

    def __str__(self):
        code = self.graph_module.code.strip("\n").replace("\n", "\n        ")
        return (
            "ExportedProgram:\n    class GraphModule(torch.nn.Module):\n        "
            f"{code}\n\nGraph signature: {self.graph_signature}\nRange constraints: {self.range_constraints}\n"
        )

    __repr__ = __str__


def _value(leaf, held, arguments):
    if leaf.kind == "constant":
        return leaf.place
    return held[leaf.place] if leaf.kind == "state" else at_path(arguments, leaf.place)


def _argument_at(path, arguments):
    try:
        return at_path(arguments, path)
    except (LookupError, TypeError, AttributeError):
        raise ValueError(
            f"the arguments are not nested as those of the export: {_path_text(path)} is missing"
        ) from None


def _check_fixed(path, value, arguments):
    """Python values are those of the export."""
    given = _argument_at(path, arguments)
    if type(given) is not type(value) or given != value:
        raise AssertionError(f"Guard failed: {_path_text(path)} == {value!r}")


def _check(path, sizes, tensor, roots):
    """Sizes are those of the export, or of a Dim; `roots` has the sizes of Dims that were seen before."""
    where = _path_text(path)
    if not isinstance(tensor, _C.Tensor):
        raise AssertionError(f"Guard failed: {where} has to be a tensor, not {type(tensor).__name__}")
    if tensor.dim() != len(sizes):
        raise AssertionError(f"Guard failed: {where}.dim() == {len(sizes)}")
    for d, (wanted, size) in enumerate(zip(sizes, tensor.shape)):
        spelled = f"{where}.size()[{d}]"
        if isinstance(wanted, int) and size != wanted:
            raise AssertionError(f"Guard failed: {spelled} == {wanted}")
        if isinstance(wanted, (Dim, DerivedDim)):
            if wanted.max is not None and size > wanted.max:
                raise AssertionError(f"Guard failed: {spelled} <= {wanted.max}")
            if size < wanted.min:
                raise AssertionError(f"Guard failed: {spelled} >= {wanted.min}")
            root = wanted.root_of(size) if isinstance(wanted, DerivedDim) else size
            before = roots.setdefault(wanted.root.__name__, (root, spelled))
            if root is None or before[0] != root:
                raise AssertionError(f"Guard failed: {spelled} == {before[1]} ({wanted.__name__})")


def _python_values(value, path=()):
    """(path, value) of numbers, texts, bools and None in nested arguments."""
    if isinstance(value, (bool, int, float, str, type(None))):
        yield path, value
    elif isinstance(value, (tuple, list)):
        for k, item in enumerate(value):
            yield from _python_values(item, (*path, k))
    elif isinstance(value, dict):
        for k, item in value.items():
            yield from _python_values(item, (*path, k))


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
    capture, result, rows, sizes = captured(mod, args, kwargs, dict(bound.arguments), marked, strict)
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
        if isinstance(tensor, _Leaf):
            return tensor
        number = _C._tensor_id(tensor)
        return _Leaf("output", outputs[number]) if number in outputs else place(tensor)

    inputs = [place(t) if isinstance(t, _C.Tensor) else _Leaf("constant", t) for t in capture.inputs]
    checks, shapes = [], {}
    for path, tensor in _tensors(dict(bound.arguments)):
        shapes[path_text(path)] = tensor.shape
        checks.append((path, [marked.get(path, {}).get(d, size) for d, size in enumerate(tensor.shape)]))
    guards = guards_of(rows, shapes)
    check_promises(guards, marked, shapes)
    if sizes:
        places = iter([outputs.get(_C._tensor_id(t)) for t in sizes])
        result = _with_places(result, places)
    recipe = (mod, args, kwargs, dynamic_shapes)
    fixed = list(_python_values(given))
    program = ExportedProgram(recipe, signature, capture, inputs, _mapped(result, result_place), checks, state, fixed)
    program._guards = guards if marked else []
    for spec in marked.values():
        for each in spec.values():
            if isinstance(each, (Dim, DerivedDim)):
                program.range_constraints[each.root.__name__] = each.root.bounds
    return program


def _with_places(value, places):
    """Results with a leaf for each size; `places` are its numbers among the outputs of the graph."""
    if isinstance(value, int) and not isinstance(value, bool):
        place = next(places)
        return value if place is None else _Leaf("size", place)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[_with_places(item, places) for item in value])
    if isinstance(value, (tuple, list)):
        return type(value)([_with_places(item, places) for item in value])
    if isinstance(value, dict):
        return {key: _with_places(item, places) for key, item in value.items()}
    return value


def _state_of(mod):
    state = collections.OrderedDict(mod.named_parameters(remove_duplicate=False))
    state.update(mod.named_buffers(remove_duplicate=False))
    return state
