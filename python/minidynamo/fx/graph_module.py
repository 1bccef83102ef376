"""torch.fx.graph_module: a Module whose `forward` is the code of a graph."""

import contextlib
import copy
import itertools
import linecache
import sys
import weakref

from .. import _C
from .._absent import absent_names as _absent_names
from ..nn.module import Module
from ..nn.parameter import Buffer
from .code_generation import _PyTreeCodeGen
from .graph import Graph

__all__ = ["GraphModule", "reduce_graph_module"]
_numbers = itertools.count()


def _file_of(source, about):
    """A file name under which tracebacks and debuggers find the lines of generated code."""
    name = f"<eval_with_key>.{next(_numbers)}{about}"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    return name


def _function_of(source, names, about=""):
    """The function `forward` that code defines."""
    names, file = dict(names), _file_of(source, about)
    exec(compile(source, file, "exec", dont_inherit=True), names)  # the graph's own code
    made = names["forward"]
    weakref.finalize(made.__code__, linecache.cache.pop, file, None).atexit = False  # its lines go with it
    return made


def _owner(root, path, make):
    """(the module that has the last part of a path, that part); modules on the way are made if `make`."""
    *prefix, name = path.split(".")
    for part in prefix:
        below = getattr(root, part, None)
        if below is None:
            if not make:
                return None, name
            below = Module()
            setattr(root, part, below)
        root = below
    return root, name


def _copy_attribute(source, target, path):
    """Gives `target` what `source` has at a path; buffers stay buffers."""
    owner, name = _owner(source, path, False)
    if owner is None:
        return
    value = getattr(owner, name)
    _assign(target, path, value, name in owner._buffers if isinstance(owner, Module) else False)


def _assign(target, path, value, as_buffer):
    owner, name = _owner(target, path, True)
    is_plain_tensor = isinstance(value, _C.Tensor) and type(value) is _C.Tensor
    if as_buffer or (is_plain_tensor and not isinstance(value, Buffer) and name not in vars(owner)):
        owner.register_buffer(name, value)
    else:
        setattr(owner, name, value)


def reduce_graph_module(body, import_block):
    """What pickles of a GraphModule call: builds it again by tracing the code it had."""
    names = {}
    exec(import_block, names)  # a pickle's own code, as with every pickle
    return _rebuilt(_function_of(body["_code"], names), body)


def _rebuilt(forward, body):
    from .tracer import Tracer

    class _CodeOnly(Module):
        def __init__(self, state):
            super().__init__()
            self.__dict__.update(state)

    _CodeOnly.forward = forward
    tracer_class = body.get("_tracer_cls") or Tracer

    class _EveryModuleIsALeaf(tracer_class):
        def is_leaf_module(self, m, path):
            return True

    module = _CodeOnly(body)
    graph = _EveryModuleIsALeaf().trace(module)
    graph._tracer_cls = tracer_class
    made = GraphModule(module, graph, body.get("_graphmodule_cls_name", "GraphModule"))
    for name, value in body.items():
        if not hasattr(made, name):
            setattr(made, name, value)
    return made


class GraphModule(Module):
    """`GraphModule(root, graph, class_name)`: runs a graph with the modules, parameters and buffers of `root`.

    Of `root`, a Module or a dict of paths and objects, it has what the graph mentions. `graph` may be changed at any
    time; `recompile()` makes `forward` follow. Raises RuntimeError if a path is missing in a dict, AttributeError if it
    is in a Module.
    """

    def __new__(cls, *args, **kwargs):
        class GraphModuleImpl(cls):  # `forward` belongs to the class, and every instance has its own
            pass

        return super().__new__(GraphModuleImpl)

    def __init__(self, root, graph, class_name="GraphModule"):
        super().__init__()
        type(self).__name__ = class_name
        paths = dict.fromkeys(n.target for n in graph.nodes if n.op in ("get_attr", "call_module"))
        if isinstance(root, Module):
            self.training = root.training
            for path in paths:
                _copy_attribute(root, self, path)
        elif isinstance(root, dict):
            for node in graph.nodes:
                if node.op in ("get_attr", "call_module") and node.target not in root:
                    raise RuntimeError(
                        f"Node {node} refers to '{node.target}', which the dict given as root does not have"
                    )
            for path in sorted(paths, key=lambda path: path.count(".")):  # parents before what is in them
                _assign(self, path, root[path], False)
        else:
            raise RuntimeError(f"root is a Module or a dict of paths and objects, not a {type(root).__name__}")
        self._tracer_cls = None
        if graph._tracer_cls and "<locals>" not in graph._tracer_cls.__qualname__:
            self._tracer_cls = graph._tracer_cls
        self.meta = {}
        self.graph = graph

    # --- graph and code

    @property
    def graph(self):
        """The Graph. Assigning another makes the code of it."""
        return self._graph

    @graph.setter
    def graph(self, graph):
        if not isinstance(graph, Graph):
            raise AssertionError(f"a Graph is expected, not a {type(graph).__name__}")
        self.__dict__["_graph"] = graph
        graph.owning_module = self
        self.recompile()

    def __setattr__(self, name, value):
        if name == "graph":
            type(self).graph.fset(self, value)
        else:
            super().__setattr__(name, value)

    @property
    def code(self):
        """The Python code of `forward`."""
        if "_code" not in self.__dict__:
            raise RuntimeError("the module has no code yet: assign it a graph")
        return self._code

    def recompile(self):
        """Makes `forward` of the graph as it is now; gives its PythonCode."""
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            self.__dict__["_in_spec"] = self._graph._codegen.in_spec
            self.__dict__["_out_spec"] = self._graph._codegen.out_spec
        python_code = self._graph.python_code("self")
        self.__dict__["_code"] = python_code.src
        self._use(_function_of(python_code.src, python_code.globals))
        return python_code

    def _use(self, forward):
        type(self).forward = forward

    def __call__(self, *args, **kwargs):
        try:
            return super().__call__(*args, **kwargs)
        except Exception as error:
            _point_to_line(error)
            raise

    # --- submodules

    def add_submodule(self, target, m):
        """Adds the module `m` at a path, with modules on the way; False if something else is in its place."""
        *prefix, name = target.split(".")
        owner = self
        for part in prefix:
            below = getattr(owner, part, None)
            if below is None:
                below = Module()
                setattr(owner, part, below)
            if not isinstance(below, Module):
                return False
            owner = below
        owner.add_module(name, m)
        return True

    def delete_submodule(self, target):
        """Takes away the module at a path; False if there is none."""
        *prefix, name = target.split(".")
        owner = self
        for part in prefix:
            owner = getattr(owner, part, None)
            if not isinstance(owner, Module):
                return False
        if not isinstance(getattr(owner, name, None), Module):
            return False
        delattr(owner, name)
        return True

    def delete_all_unused_submodules(self):
        """Takes away modules that the graph neither calls nor reads from."""
        used = set()
        for node in self.graph.nodes:
            if node.op in ("call_module", "get_attr"):
                parts = node.target.split(".")
                used.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
            if node.op == "call_module":
                with contextlib.suppress(AttributeError):
                    below = self.get_submodule(node.target).named_modules(prefix=node.target)
                    used.update(path for path, _ in below)
        for path in [path for path, _ in self.named_modules() if path and path not in used]:
            self.delete_submodule(path)

    # --- copies

    def _state_for_copy(self):
        state = dict(self.__dict__)
        state.pop("_graph", None)
        state.pop("_compiled_call_impl", None)
        return state

    def __reduce__(self):
        state = self._state_for_copy()
        state["_graphmodule_cls_name"] = type(self).__name__
        if isinstance(self._graph._codegen, _PyTreeCodeGen):
            raise NotImplementedError("a GraphModule with nested concrete_args cannot be pickled in minidynamo")
        python_code = self._graph.python_code("self")
        return reduce_graph_module, (state, import_block(python_code.globals))

    def __deepcopy__(self, memo):
        made = type(self).__base__.__new__(type(self).__base__)
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self._state_for_copy(), memo))
        type(made).__name__ = "GraphModule"
        made.graph = copy.deepcopy(self._graph)
        made.graph._tracer_cls = self._graph._tracer_cls
        return made

    def __copy__(self):
        made = GraphModule(self, self.graph, type(self).__name__)
        made.meta = dict(self.meta)
        return made

    # --- text

    def print_readable(
        self, print_output=True, include_stride=False, include_device=False, colored=False, *,
        fast_sympy_print=False, expanded_def=False, additional_meta=None,
    ):  # fmt: skip
        """The code with comments of where statements come from, and of types where they are known (ShapeProp); of
        GraphModules in it too. Returned, and printed unless told not to."""
        if colored:
            raise NotImplementedError("print_readable: colored is not part of minidynamo")
        python_code = self._graph.python_code(
            "self", verbose=True, include_stride=include_stride, include_device=include_device,
            expanded_def=expanded_def, additional_meta=additional_meta,
        )  # fmt: skip
        text = f"class {self._get_name()}(torch.nn.Module):\n" + _indented(python_code.src.lstrip("\n").rstrip(" "))
        for module in self.children():
            if isinstance(module, GraphModule):
                below = module.print_readable(False, include_stride, include_device)
                text += "\n" + _indented(below)
        if print_output:
            print(text)
        return text

    def _repr_html_(self):
        from .. import _display  # only in notebooks

        return _display.graph_module(self)

    def __str__(self):
        return "\n".join([
            super().__repr__(), self.code, "# To see more debug info, please use `graph_module.print_readable()`"
        ])  # fmt: skip

    def to_folder(self, folder, module_name="FxModule"):
        raise NotImplementedError("GraphModule.to_folder() is not part of minidynamo: pickle the module instead")


def _indented(text):
    return "\n".join("    " + line if line.strip() else line.strip() for line in text.split("\n"))


def import_block(names):
    """Statements that import what generated code mentions."""
    lines = []
    for name, value in names.items():
        if isinstance(value, type(sys)):
            lines.append(f"import {value.__name__} as {name}" if value.__name__ != name else f"import {name}")
        elif isinstance(value, float):
            lines.append(f"from math import {name}")
        elif value is type(None):
            lines.append(f"{name} = type(None)")
        else:
            module, attribute = value.__module__, getattr(value, "__qualname__", None) or value.__name__
            first, dot, rest = attribute.partition(".")
            lines.append(f"from {module} import {first} as _home\n{name} = _home{dot}{rest}")
    return "\n".join(lines)


def _point_to_line(error):
    """Adds to an exception in which line of generated code it was raised."""
    trace, found = error.__traceback__, None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.startswith("<eval_with_key>"):
            found = trace
        trace = trace.tb_next
    if found is None or getattr(error, "_fx_line", None):
        return
    lines = linecache.cache.get(found.tb_frame.f_code.co_filename, (0, None, [], ""))[2]
    number = found.tb_lineno
    around = "".join(lines[max(number - 3, 0) : number]) + "    ~~~ <--- HERE\n" + "".join(lines[number : number + 2])
    with contextlib.suppress(AttributeError):
        error._fx_line = number
        error.add_note(f"\nCall using an FX-traced Module, line {number} of its generated forward():\n{around}")


__getattr__ = _absent_names(__name__)
