// Tensor.grad_fn: one Python object for each node in use, of a type that has the node's name.
#include "frontend/tensors/node_object.h"

#include <unordered_map>

#include "frontend/tensors/gradient_hooks.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/saved_tensor_object.h"
#include "ir/gradients/call_node.h"

namespace md {

namespace {

struct NodeObject {
  PyObject_HEAD
  GradNode* node;  // owned
};
PyTypeObject* node_type = nullptr;

NodeObject* self_of(PyObject* o) { return reinterpret_cast<NodeObject*>(o); }

// --- Types -----------------------------------------------------------------------------------------------------------

// "AccumulateGrad" of "torch::autograd::AccumulateGrad".
std::string type_name(const GradNode& node) {
  const std::string name = node.name();
  const std::size_t at = name.rfind(':');
  return at == std::string::npos ? name : name.substr(at + 1);
}

// Made once for each name, and kept.
PyTypeObject* type_of_node(const GradNode& node) {
  static auto& types = *new std::unordered_map<std::string, PyTypeObject*>();
  PyTypeObject*& type = types[type_name(node)];
  if (!type) {
    const PyRef space = checked(Py_BuildValue("{s:(),s:s}", "__slots__", "__module__", "minidynamo.autograd.graph"));
    const PyRef made = checked(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s(O)O",
                                                     type_name(node).c_str(), node_type, space.get()));
    type = reinterpret_cast<PyTypeObject*>(Py_NewRef(made.get()));
  }
  return type;
}

// --- Life ------------------------------------------------------------------------------------------------------------

void node_dealloc(PyObject* o) {
  PyTypeObject* const type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (GradNode* const node = std::exchange(self_of(o)->node, nullptr)) {
    node->face = nullptr;
    node->release();
  }
  type->tp_free(o);
  Py_DECREF(type);
}

int node_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  return self_of(o)->node ? traverse_node(*self_of(o)->node, visit, arg) : 0;
}

int node_clear(PyObject* o) {
  if (self_of(o)->node) clear_node(*self_of(o)->node);
  return 0;
}

// Of the node, which outlives its objects.
Py_hash_t node_hash(PyObject* o) { return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(&node_of(o)) >> 4); }

PyObject* node_repr(PyObject* o) {
  return PyUnicode_FromFormat("<%s object at %p>", type_name(node_of(o)).c_str(), static_cast<void*>(o));
}

// --- Attributes ------------------------------------------------------------------------------------------------------

PyObject* context_of(PyObject* o) {
  const auto* holder = dynamic_cast<const ContextHolder*>(&node_of(o));
  return holder ? holder->context() : nullptr;
}

// _saved_self, _raw_saved_result, _saved_dim: what the node of a call keeps; null for other names.
PyRef saved_attribute(PyObject* o, std::string name) {
  auto* const call = dynamic_cast<CallNode*>(&node_of(o));
  const bool raw = name.starts_with("_raw_saved_");
  if (!call || (!raw && !name.starts_with("_saved_"))) return {};
  name.erase(0, std::string_view(raw ? "_raw_saved_" : "_saved_").size());
  if (call->is_spent()) {
    throw OpError(ErrorKind::Runtime,
                  "Trying to backward through the graph a second time, or to read what it saved: the first backward() "
                  "freed it. Pass retain_graph=True to it.");
  }
  for (const CallNode::Kept& k : call->kept())
    if (k.name == name) return raw ? saved_tensor_object(o, k.index) : object_of_tensor(call->kept_tensor(k.index));
  const Arg* const plain = raw ? nullptr : call->plain_argument(name);
  return plain ? from_arg(*plain) : PyRef();
}

PyObject* node_getattro(PyObject* o, PyObject* name) {
  PyObject* const found = PyObject_GenericGetAttr(o, name);
  if (found || !PyErr_ExceptionMatches(PyExc_AttributeError)) return found;
  return guarded([&]() -> PyObject* {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyRef answer;
    try {
      if (PyObject* const context = context_of(o)) {
        answer = PyRef::steal(PyObject_GetAttr(context, name));
        if (!answer && !PyErr_ExceptionMatches(PyExc_AttributeError)) throw PythonError{};
        PyErr_Clear();
      } else {
        answer = saved_attribute(o, utf8_of(name));
      }
    } catch (...) {
      Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
      throw;
    }
    if (!answer) {
      PyErr_Restore(type, value, trace);
      throw PythonError{};
    }
    Py_XDECREF(type), Py_XDECREF(value), Py_XDECREF(trace);
    return answer.release();
  });
}

int node_setattro(PyObject* o, PyObject* name, PyObject* value) {
  const int done = PyObject_GenericSetAttr(o, name, value);
  PyObject* const context = done < 0 && PyErr_ExceptionMatches(PyExc_AttributeError) ? context_of(o) : nullptr;
  if (!context) return done;
  PyErr_Clear();
  return PyObject_SetAttr(context, name, value);
}

PyObject* node_next(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    const std::vector<GradEdge> edges = node_of(o).operand_edges();
    PyRef out = checked(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (std::size_t i = 0; i < edges.size(); ++i) {
      const PyRef node = node_object(edges[i].node);
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i),
                       checked(Py_BuildValue("(Oi)", node.get(), edges[i].result)).release());
    }
    return out.release();
  });
}

PyObject* node_metadata(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    Ref<RefCounted>& metadata = node_of(o).make_extras().metadata;
    if (!metadata) metadata = make_ref<Held>(checked(PyDict_New()));
    return Py_NewRef(static_cast<Held*>(metadata.get())->object.get());
  });
}

PyObject* node_variable(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    const TensorRef leaf = accumulated_leaf(node_of(o));
    if (leaf) return object_of_tensor(leaf).release();
    PyErr_Format(PyExc_AttributeError, "'%s' object has no attribute 'variable'", type_name(node_of(o)).c_str());
    throw PythonError{};
  });
}

PyObject* node_requires_grad(PyObject*, void*) { Py_RETURN_TRUE; }

// (sizes, dtype, device) of each result, or None where they are not known.
PyObject* node_input_metadata(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    PyRef out = checked(PyTuple_New(node_of(o).results));
    const PyRef space = checked(PyImport_ImportModule("types"));
    const PyRef make = checked(PyObject_GetAttrString(space.get(), "SimpleNamespace"));
    for (int i = 0; i < node_of(o).results; ++i) {
      PyRef one = PyRef::borrow(Py_None);
      if (const auto type = node_of(o).result_type(i)) {
        DimVec sizes;
        for (const Size s : type->sizes) sizes.push_back(s.value());
        const PyRef keywords =
            checked(Py_BuildValue("{s:O,s:O,s:O}", "shape", size_object(sizes).get(), "dtype",
                                  dtype_object(type->dtype), "device", device_object(type->device).get()));
        one = checked(PyObject_VectorcallDict(make.get(), nullptr, 0, keywords.get()));
      }
      PyTuple_SET_ITEM(out.get(), i, one.release());
    }
    return out.release();
  });
}

// --- Methods ---------------------------------------------------------------------------------------------------------

PyObject* node_name(PyObject* o, PyObject*) { return PyUnicode_FromString(node_of(o).name().c_str()); }
PyObject* node_sequence(PyObject* o, PyObject*) { return PyLong_FromUnsignedLongLong(node_of(o).order); }
PyObject* node_register_hook(PyObject* o, PyObject* hook) {
  return guarded([&] { return register_node_hook(node_of(o), hook, false).release(); });
}
PyObject* node_register_prehook(PyObject* o, PyObject* hook) {
  return guarded([&] { return register_node_hook(node_of(o), hook, true).release(); });
}

// node(*gradients): those of its operands, without anything else of a backward pass.
PyObject* node_call(PyObject* o, PyObject* args, PyObject* keywords) {
  return guarded([&]() -> PyObject* {
    if (keywords && PyDict_GET_SIZE(keywords)) throw_type_error("a node takes no keyword arguments");
    GradNode& node = node_of(o);
    if (PyTuple_GET_SIZE(args) != node.results)
      throw_type_error("%s takes %d gradients, not %zd", node.name().c_str(), node.results, PyTuple_GET_SIZE(args));
    std::vector<TensorRef> grads;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); ++i) {
      PyObject* const g = PyTuple_GET_ITEM(args, i);
      if (g != Py_None && !is_tensor(g)) throw_type_error("a gradient must be a Tensor or None");
      grads.push_back(g == Py_None ? TensorRef() : TensorRef(tensor_impl(g)));
    }
    if (node.is_spent()) throw OpError(ErrorKind::Runtime, "what the node saved was freed by an earlier backward()");
    const std::vector<TensorRef> found = node.backward(grads, {true, nullptr});
    if (found.size() == 1) return found[0] ? wrap_tensor(found[0]).release() : Py_NewRef(Py_None);
    PyRef out = checked(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
    for (std::size_t i = 0; i < found.size(); ++i)
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i),
                       found[i] ? wrap_tensor(found[i]).release() : Py_NewRef(Py_None));
    return out.release();
  });
}

PyMethodDef node_methods[] = {
    {"name", node_name, METH_NOARGS, "The name of the operation, \"AddBackward0\"."},
    {"register_hook", node_register_hook, METH_O,
     "register_hook(fn)\n\n`fn(grad_inputs, grad_outputs)` runs after the node; it may return a tuple that goes on in "
     "the place of `grad_inputs`. Gives a handle with remove()."},
    {"register_prehook", node_register_prehook, METH_O,
     "register_prehook(fn)\n\n`fn(grad_outputs)` runs before the node; it may return a tuple in their place. Gives a "
     "handle with remove()."},
    {"_sequence_nr", node_sequence, METH_NOARGS, "The order in which nodes of a thread were made."},
    {}};
PyGetSetDef node_getset[] = {
    {"next_functions", node_next, nullptr, "Pairs of the nodes of the operands and a number.", nullptr},
    {"metadata", node_metadata, nullptr, "A dict for programs.", nullptr},
    {"variable", node_variable, nullptr, "The leaf that the node adds to.", nullptr},
    {"requires_grad", node_requires_grad, nullptr, "True.", nullptr},
    {"_input_metadata", node_input_metadata, nullptr, "shape, dtype and device of each result.", nullptr},
    {}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                            {Py_tp_traverse, reinterpret_cast<void*>(node_traverse)},
                            {Py_tp_clear, reinterpret_cast<void*>(node_clear)},
                            {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                            {Py_tp_hash, reinterpret_cast<void*>(node_hash)},
                            {Py_tp_call, reinterpret_cast<void*>(node_call)},
                            {Py_tp_getattro, reinterpret_cast<void*>(node_getattro)},
                            {Py_tp_setattro, reinterpret_cast<void*>(node_setattro)},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {}};
PyType_Spec node_spec = {
    "minidynamo.autograd.graph.Node", sizeof(NodeObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

}  // namespace

bool is_node(PyObject* o) { return PyObject_TypeCheck(o, node_type); }

GradNode& node_of(PyObject* o) { return *self_of(o)->node; }

PyRef node_object(const Ref<GradNode>& node) {
  if (!node) return PyRef::borrow(Py_None);
  if (node->face) return PyRef::borrow(static_cast<PyObject*>(node->face));
  PyTypeObject* const type = type_of_node(*node);
  PyRef made = checked(type->tp_alloc(type, 0));
  node->retain();
  self_of(made.get())->node = node.get();
  node->face = made.get();
  return made;
}

int init_nodes(PyObject* module) {
  node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&node_spec));
  return node_type ? PyModule_AddObjectRef(module, "_GradNode", reinterpret_cast<PyObject*>(node_type)) : -1;
}

}  // namespace md
