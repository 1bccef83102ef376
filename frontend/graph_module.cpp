#include "frontend/graph_module.h"

#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"
#include "ir/eager.h"

namespace md {

namespace {

struct GraphObject {
  PyObject_HEAD
  std::shared_ptr<Graph>* graph;
};

Graph& graph_of(PyObject* self) { return **reinterpret_cast<GraphObject*>(self)->graph; }

void graph_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  delete reinterpret_cast<GraphObject*>(self)->graph;
  type->tp_free(self);
  Py_DECREF(type);
}

PyRef text(const std::string& s) {
  return checked(PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), "replace"));
}

PyObject* graph_code(PyObject* self, PyObject*) {
  return guarded([&] { return text(print_code(graph_of(self), {.fx_header = true})).release(); });
}

PyObject* graph_readable(PyObject* self, PyObject*) {
  return guarded([&] { return text(print_code(graph_of(self), {})).release(); });
}

PyObject* graph_fx(PyObject* self, PyObject*) {
  return guarded([&] { return text(print_fx_graph(graph_of(self))).release(); });
}

PyObject* graph_rows(PyObject* self, PyObject*) {
  return guarded([&] {
    PyRef list = checked(PyList_New(0));
    for (auto& row : table_rows(graph_of(self))) {
      PyRef t = checked(PyTuple_New(5));
      for (Py_ssize_t k = 0; k < 5; ++k) PyTuple_SET_ITEM(t.get(), k, text(row[static_cast<std::size_t>(k)]).release());
      checked(PyList_Append(list.get(), t.get()));
    }
    return list.release();
  });
}

// Arguments as Python objects; a node becomes ("%", index of the node).
PyRef plain_arg(const Graph& g, const Arg& a) {
  if (auto* n = a.get_if<Node*>()) {
    long index = 0;
    while (g.nodes[static_cast<std::size_t>(index)].get() != *n) ++index;
    return checked(Py_BuildValue("(sl)", "%", index));
  }
  if (auto* l = a.get_if<ListArg>()) {
    PyRef list = checked(PyList_New(0));
    for (auto& x : l->items) checked(PyList_Append(list.get(), plain_arg(g, x).get()));
    return l->tuple ? checked(PyList_AsTuple(list.get())) : list;
  }
  if (auto* s = a.get_if<SliceArg>())
    return checked(PySlice_New(plain_arg(g, (*s->parts)[0]).get(), plain_arg(g, (*s->parts)[1]).get(),
                               plain_arg(g, (*s->parts)[2]).get()));
  return from_arg(a);
}

const char* opcode_text(const Node& n) {
  switch (n.kind) {
    case NodeKind::Placeholder:
      return "placeholder";
    case NodeKind::GetAttr:
      return "get_attr";
    case NodeKind::Output:
      return "output";
    default:
      return n.kind == NodeKind::Op && n.spelling == Spelling::Method ? "call_method" : "call_function";
  }
}

const char* spelling_text(const Node& n) {
  if (n.kind == NodeKind::GetItem) return "operator";
  if (n.kind == NodeKind::State) return "function";
  switch (n.spelling) {
    case Spelling::Operator:
    case Spelling::Inplace:
      return "operator";
    case Spelling::Attribute:
      return "attribute";
    case Spelling::Method:
      return "method";
    default:
      return "function";
  }
}

// [(op, spelling, target, name, args, kwargs, sizes or None, dtype or None, stack or None)]
PyObject* graph_nodes(PyObject* self, PyObject*) {
  return guarded([&] {
    const Graph& g = graph_of(self);
    PyRef list = checked(PyList_New(0));
    for (auto& n : g.nodes) {
      PyRef args = checked(PyList_New(0)), kwargs = checked(PyDict_New());
      for (auto& a : n->args) checked(PyList_Append(args.get(), plain_arg(g, a).get()));
      if (n->kind == NodeKind::GetItem) checked(PyList_Append(args.get(), checked(PyLong_FromLong(n->index)).get()));
      if (n->kind == NodeKind::Op && n->spelling == Spelling::Attribute)
        checked(PyList_Append(args.get(), text(n->target).get()));
      for (auto& [k, a] : n->kwargs) checked(PyDict_SetItem(kwargs.get(), text(k).get(), plain_arg(g, a).get()));
      PyRef sizes = PyRef::borrow(Py_None), dtype = PyRef::borrow(Py_None), stack = PyRef::borrow(Py_None);
      if (!n->types.empty()) {
        sizes = checked(PyList_New(0));
        for (const Size& s : n->types[0].sizes)
          checked(PyList_Append(sizes.get(), checked(PyLong_FromLongLong(hint(s))).get()));
        dtype = PyRef::borrow(dtype_object(n->types[0].dtype));
      }
      if (n->stack && !n->stack->empty()) {
        std::string trace;
        for (auto& f : *n->stack)
          trace += "  File \"" + f.file + "\", line " + std::to_string(f.line) + ", in " + f.function + "\n    " +
                   f.line_text + "\n";
        stack = text(trace);
      }
      PyRef row = checked(Py_BuildValue("(ssssOOOOO)", opcode_text(*n), spelling_text(*n), n->target.c_str(),
                                        n->name.c_str(), checked(PyList_AsTuple(args.get())).get(), kwargs.get(),
                                        sizes.get(), dtype.get(), stack.get()));
      checked(PyList_Append(list.get(), row.get()));
    }
    return list.release();
  });
}

PyObject* graph_run(PyObject* self, PyObject* args) {
  return guarded([&]() -> PyObject* {
    std::vector<TensorRef> inputs;
    const std::size_t want = graph_of(self).placeholders().size();
    if (static_cast<std::size_t>(PyTuple_GET_SIZE(args)) != want) {
      PyErr_Format(PyExc_TypeError, "forward() takes %zu tensors but %zd were given", want, PyTuple_GET_SIZE(args));
      return nullptr;
    }
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(args); ++k) {
      PyObject* o = PyTuple_GET_ITEM(args, k);
      if (!is_tensor(o)) {
        PyErr_Format(PyExc_TypeError, "forward() takes tensors, argument %zd is of type '%s'", k + 1,
                     Py_TYPE(o)->tp_name);
        return nullptr;
      }
      inputs.push_back(TensorRef(tensor_impl(o)));
    }
    auto outputs = interpret(graph_of(self), inputs);
    PyRef result = checked(PyTuple_New(static_cast<Py_ssize_t>(outputs.size())));
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      // An output that is an input is that very object.
      PyObject* same = nullptr;
      for (std::size_t j = 0; j < inputs.size(); ++j)
        if (inputs[j] == outputs[k]) same = PyTuple_GET_ITEM(args, static_cast<Py_ssize_t>(j));
      PyTuple_SET_ITEM(result.get(), static_cast<Py_ssize_t>(k),
                       same ? Py_NewRef(same) : wrap_tensor(outputs[k]).release());
    }
    return result.release();
  });
}

PyMethodDef kMethods[] = {{"code", graph_code, METH_NOARGS, nullptr},
                          {"readable", graph_readable, METH_NOARGS, nullptr},
                          {"fx", graph_fx, METH_NOARGS, nullptr},
                          {"rows", graph_rows, METH_NOARGS, nullptr},
                          {"nodes", graph_nodes, METH_NOARGS, nullptr},
                          {"run", graph_run, METH_VARARGS, nullptr},
                          {nullptr, nullptr, 0, nullptr}};
PyType_Slot kSlots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(graph_dealloc)}, {Py_tp_methods, kMethods}, {0, nullptr}};
PyType_Spec kSpec = {"minidynamo._C._Graph", sizeof(GraphObject), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kSlots};
PyTypeObject* graph_type = nullptr;  // set at import

struct InterpretingKernel final : Kernel {
  std::shared_ptr<Graph> graph;
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    std::vector<TensorRef> in(inputs.begin(), inputs.end());
    auto out = interpret(*graph, in);
    std::move(out.begin(), out.end(), outputs.begin());
  }
  bool transactional() const override { return false; }
};

struct PythonKernel final : Kernel {
  PyRef callable;
  void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) override {
    PyRef args = checked(PyTuple_New(static_cast<Py_ssize_t>(inputs.size())));
    for (std::size_t k = 0; k < inputs.size(); ++k)
      PyTuple_SET_ITEM(args.get(), static_cast<Py_ssize_t>(k), wrap_tensor(TensorRef(inputs[k])).release());
    PyRef result = checked(PyObject_CallObject(callable.get(), args.get()));
    PyRef items = checked(
        PySequence_Fast(result.get(), "the compiled function of a backend must return a tuple or list of tensors"));
    if (PySequence_Fast_GET_SIZE(items.get()) != static_cast<Py_ssize_t>(outputs.size())) {
      PyErr_Format(PyExc_RuntimeError, "the compiled function of the backend returned %zd values instead of %zu",
                   PySequence_Fast_GET_SIZE(items.get()), outputs.size());
      throw PythonError{};
    }
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      PyObject* o = PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(k));
      if (!is_tensor(o)) {
        PyErr_Format(PyExc_TypeError, "the compiled function of the backend returned a '%s' where a tensor is expected",
                     Py_TYPE(o)->tp_name);
        throw PythonError{};
      }
      outputs[k] = TensorRef(tensor_impl(o));
    }
  }
  bool transactional() const override { return false; }
};

}  // namespace

PyRef make_graph_module(std::shared_ptr<Graph> graph) {
  PyRef handle = checked(graph_type->tp_alloc(graph_type, 0));
  reinterpret_cast<GraphObject*>(handle.get())->graph = new std::shared_ptr<Graph>(std::move(graph));
  PyRef module = checked(PyImport_ImportModule("minidynamo.fx"));
  return checked(PyObject_CallMethod(module.get(), "_module_of", "O", handle.get()));
}

std::shared_ptr<Kernel> python_kernel(PyRef callable, std::size_t) {
  auto k = std::make_shared<PythonKernel>();
  k->callable = std::move(callable);
  return k;
}

std::shared_ptr<Kernel> interpreting_kernel(std::shared_ptr<Graph> graph) {
  auto k = std::make_shared<InterpretingKernel>();
  k->graph = std::move(graph);
  return k;
}

int init_graph_module(PyObject* module) {
  PyObject* type = PyType_FromSpec(&kSpec);
  if (!type) return -1;
  graph_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddObjectRef(module, "_Graph", type);
}

}  // namespace md
