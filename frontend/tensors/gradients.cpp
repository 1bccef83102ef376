// backward(), .grad, .grad_fn and hooks: from Python's objects to the tape (ir/gradients/tape.h) and back.
#include "frontend/tensors/gradients.h"

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/gradients/tape.h"

namespace md {

namespace {

// --- Python objects that the tape holds ------------------------------------------------------------------------------

// Keeps a Python object alive for as long as the tape wants it.
class Held final : public RefCounted {
 public:
  explicit Held(PyRef object) : object(std::move(object)) {}
  const PyRef object;
};

TensorRef tensor_of(PyObject* o, const char* what) {
  if (!is_tensor(o)) throw_type_error("%s must be a Tensor or None, not %.200s", what, Py_TYPE(o)->tp_name);
  return tensor_impl(o);
}

// The hooks of one table, in the order in which they were registered.
class TableHook final : public GradHook {
 public:
  explicit TableHook(PyRef table) : table(std::move(table)) {}
  TensorRef call(const TensorRef& gradient) override {
    TensorRef now = gradient;
    PyRef hooks = checked(PyDict_Values(table.get()));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); ++i) {
      PyRef given = wrap_tensor(now);
      PyRef answer = checked(PyObject_CallOneArg(PyList_GET_ITEM(hooks.get(), i), given.get()));
      if (answer.get() != Py_None) now = tensor_of(answer.get(), "what a hook returns");
    }
    return now == gradient ? TensorRef() : now;
  }
  const PyRef table;
};

// Of a leaf, after its gradient was added: they get the leaf.
class AccumulatedHook final : public GradHook {
 public:
  AccumulatedHook(PyRef table, PyObject* leaf) : table(std::move(table)), leaf_(leaf) {}
  TensorRef call(const TensorRef& leaf) override {
    PyRef hooks = checked(PyDict_Values(table.get()));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); ++i) {
      PyRef given = leaf_ ? PyRef::borrow(leaf_) : wrap_tensor(leaf);
      checked(PyObject_CallOneArg(PyList_GET_ITEM(hooks.get(), i), given.get()));
    }
    return nullptr;
  }
  const PyRef table;

 private:
  PyObject* leaf_;  // not owned: the tensor holds this hook
};

// Fills `grad` of a computed tensor. The record may die before the node that holds this.
class RetainHook final : public GradHook {
 public:
  explicit RetainHook(std::shared_ptr<TensorImpl*> tensor) : tensor_(std::move(tensor)) {}
  TensorRef call(const TensorRef& gradient) override {
    // A copy, for the gradient goes on and others may hold it: later ones are added in place.
    if (*tensor_) add_to_grad(**tensor_, grad_enabled() ? gradient : call_table("clone", {gradient}).get<TensorRef>());
    return nullptr;
  }

 private:
  std::shared_ptr<TensorImpl*> tensor_;
};

// --- grad_fn ---------------------------------------------------------------------------------------------------------

struct NodeObject {
  PyObject_HEAD
  GradNode* node;  // owned
};
PyTypeObject* node_type = nullptr;

GradNode& node_of(PyObject* o) { return *reinterpret_cast<NodeObject*>(o)->node; }

PyObject* node_object(const Ref<GradNode>& node) {
  if (!node) return Py_NewRef(Py_None);
  PyObject* o = node_type->tp_alloc(node_type, 0);
  if (!o) throw PythonError{};
  node->retain();
  reinterpret_cast<NodeObject*>(o)->node = node.get();
  return o;
}

void node_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  node_of(o).release();
  type->tp_free(o);
  Py_DECREF(type);
}
PyObject* node_repr(PyObject* o) {
  return PyUnicode_FromFormat("<%s object at %p>", node_of(o).name().c_str(), static_cast<void*>(&node_of(o)));
}
PyObject* node_name(PyObject* o, PyObject*) { return PyUnicode_FromString(node_of(o).name().c_str()); }
PyObject* node_next(PyObject* o, void*) {
  return guarded([&]() -> PyObject* {
    const auto& edges = node_of(o).edges;
    PyRef out = checked(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (std::size_t i = 0; i < edges.size(); ++i) {
      PyRef node = PyRef::steal(node_object(edges[i].node));
      PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i),
                       checked(Py_BuildValue("(Oi)", node.get(), edges[i].result)).release());
    }
    return out.release();
  });
}
PyObject* node_compare(PyObject* a, PyObject* b, int op) {
  if (Py_TYPE(b) != node_type || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((&node_of(a) == &node_of(b)) == (op == Py_EQ));
}
Py_hash_t node_hash(PyObject* o) { return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(&node_of(o)) >> 4); }

PyMethodDef node_methods[] = {{"name", node_name, METH_NOARGS, "The name of the operation, \"AddBackward0\"."}, {}};
PyGetSetDef node_getset[] = {
    {"next_functions", node_next, nullptr, "Pairs of the nodes of the operands and a number.", nullptr}, {}};
PyType_Slot node_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(node_dealloc)},
                            {Py_tp_repr, reinterpret_cast<void*>(node_repr)},
                            {Py_tp_hash, reinterpret_cast<void*>(node_hash)},
                            {Py_tp_richcompare, reinterpret_cast<void*>(node_compare)},
                            {Py_tp_methods, node_methods},
                            {Py_tp_getset, node_getset},
                            {}};
PyType_Spec node_spec = {"minidynamo.autograd.graph.Node", sizeof(NodeObject), 0,
                         Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, node_slots};

// --- backward() ------------------------------------------------------------------------------------------------------

std::vector<TensorRef> tensors_in(PyObject* sequence, const char* what) {
  PyRef items = checked(PySequence_Tuple(sequence));
  std::vector<TensorRef> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(items.get(), i);
    out.push_back(item == Py_None ? TensorRef() : tensor_of(item, what));
  }
  return out;
}

// _run_backward(tensors, grads, keep_graph, create_graph, inputs, accumulate)
PyRef run_backward_function(const PassedArgs& call) {
  static const char* const names[] = {"tensors", "grads", "keep_graph", "create_graph", "inputs", "accumulate"};
  PyObject* out[6];
  parse_native({"_run_backward", names, 6}, call, out);
  BackwardCall back;
  back.roots = tensors_in(out[0], "an output");
  back.grads = tensors_in(out[1], "a gradient");
  back.keep_graph = checked(PyObject_IsTrue(out[2]));
  back.create_graph = checked(PyObject_IsTrue(out[3]));
  back.inputs = tensors_in(out[4], "an input");
  back.accumulate_into_inputs = checked(PyObject_IsTrue(out[5]));
  const std::vector<TensorRef> found = run_backward(back);
  PyRef answer = checked(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
  for (std::size_t i = 0; i < found.size(); ++i) {
    PyTuple_SET_ITEM(answer.get(), static_cast<Py_ssize_t>(i),
                     found[i] ? wrap_tensor(found[i]).release() : Py_NewRef(Py_None));
  }
  return answer;
}

PyRef backward_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "gradient", "retain_graph", "create_graph", "inputs"};
  PyObject* out[5];
  parse_native({"backward", names, 1}, call, out);
  PyRef module = checked(import_module("minidynamo.autograd"));
  PyRef backward = checked(PyObject_GetAttrString(module.get(), "backward"));
  const auto given = [&](int i, PyObject* otherwise) { return out[i] ? out[i] : otherwise; };
  PyRef keywords =
      checked(Py_BuildValue("{s:O,s:O,s:O,s:O}", "grad_tensors", given(1, Py_None), "retain_graph", given(2, Py_None),
                            "create_graph", given(3, Py_False), "inputs", given(4, Py_None)));
  PyRef args = checked(PyTuple_Pack(1, out[0]));
  return checked(PyObject_Call(backward.get(), args.get(), keywords.get()));
}

// --- Functions of the program ----------------------------------------------------------------------------------------

// A call of autograd.Function.apply: its backward is the program's.
class FunctionNode final : public GradNode {
 public:
  FunctionNode(PyRef function, PyRef context, std::vector<TensorRef> inputs, std::size_t arguments)
      : function_(std::move(function)), context_(std::move(context)), arguments_(arguments) {
    for (const TensorRef& t : inputs) {
      edges.push_back(t ? grad_edge(t) : GradEdge{});
      of_input_.push_back(t ? type_of(Arg(t)) : TensorType{});
    }
  }
  std::string name() const override { return text_attribute(function_.get(), "__name__") + "Backward"; }
  bool is_spent() const override { return spent_; }
  std::vector<TensorType> of_output;

  std::vector<TensorRef> backward(std::span<const TensorRef> grads, bool keep) override {
    PyRef given = checked(PyTuple_New(static_cast<Py_ssize_t>(grads.size() + 1)));
    PyTuple_SET_ITEM(given.get(), 0, Py_NewRef(context_.get()));
    const bool zeros =
        checked(PyObject_IsTrue(checked(PyObject_GetAttrString(context_.get(), "materialize_grads")).get()));
    for (std::size_t i = 0; i < grads.size(); ++i) {
      PyRef g = PyRef::borrow(Py_None);
      if (grads[i])
        g = wrap_tensor(grads[i]);
      else if (zeros)
        g = wrap_tensor(zeros_of(of_output[i]));
      PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i + 1), g.release());
    }
    PyRef backward = checked(PyObject_GetAttrString(function_.get(), "backward"));
    PyRef answer = checked(PyObject_Call(backward.get(), given.get(), nullptr));
    if (!keep) spent_ = true;
    return gradients_in(answer.get());
  }

 private:
  static std::string text_attribute(PyObject* o, const char* name) {
    PyRef text = checked(PyObject_GetAttrString(o, name));
    return PyUnicode_AsUTF8(text.get());
  }
  static TensorRef zeros_of(const TensorType& t) {
    return call_table("zeros", {sizes_arg(t.sizes), t.dtype}).get<TensorRef>();
  }
  std::vector<TensorRef> gradients_in(PyObject* answer) const {
    PyRef items = PyTuple_Check(answer) ? PyRef::borrow(answer) : checked(PyTuple_Pack(1, answer));
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(items.get()));
    bool more = count > arguments_;  // further ones may be None
    for (std::size_t i = arguments_; i < count; ++i)
      more &= PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)) != Py_None;
    if (count < arguments_ || more)
      throw OpError(ErrorKind::Runtime,
                    fmt::format("function {} returned an incorrect number of gradients (expected {}, got {})", name(),
                                arguments_, count));
    std::vector<TensorRef> out;
    for (std::size_t i = 0; i < arguments_; ++i) {
      PyObject* g = PyTuple_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i));
      out.push_back(edges[i].node && g != Py_None ? fitted(i, tensor_of(g, "a gradient")) : TensorRef());
    }
    return out;
  }
  TensorRef fitted(std::size_t i, const TensorRef& g) const {
    const TensorType &want = of_input_[i], have = type_of(Arg(g));
    if (have.sizes == want.sizes && have.dtype == want.dtype) return g;
    TensorRef out = g;
    if (!(have.sizes == want.sizes)) {
      bool fits = have.dim() >= want.dim();
      for (int k = 1; fits && k <= want.dim(); ++k) {
        const Size s = want.sizes[static_cast<std::size_t>(want.dim() - k)];
        fits = s == have.sizes[static_cast<std::size_t>(have.dim() - k)] || s.is_const(1);
      }
      if (!fits)
        throw OpError(ErrorKind::Runtime,
                      fmt::format("Function {} returned an invalid gradient at index {} - got {} but expected shape "
                                  "compatible with {}",
                                  name(), i, sizes_text(have.sizes), sizes_text(want.sizes)));
      const Op& sum = op(id::Sum);
      const std::vector<Arg> args{g};
      out = summed_to(Expansion{{sum, args}, *tape_runner().caller, kCpu}, g, want.sizes).get<TensorRef>();
    }
    if (out->dtype != want.dtype) out = call_table("convert", {out, want.dtype}).get<TensorRef>();
    return out;
  }

  PyRef function_, context_;
  std::size_t arguments_;
  std::vector<TensorType> of_input_;
  bool spent_ = false;
};

// _record_function(function, context, arguments, outputs): outputs, a tuple, are the results of a call of `apply`.
PyRef record_function(const PassedArgs& call) {
  static const char* const names[] = {"function", "context", "arguments", "outputs"};
  PyObject* out[4];
  parse_native({"_record_function", names, 4}, call, out);
  std::vector<TensorRef> inputs;
  const Py_ssize_t arguments = PyTuple_GET_SIZE(out[2]);
  for (Py_ssize_t i = 0; i < arguments; ++i) {
    PyObject* a = PyTuple_GET_ITEM(out[2], i);
    inputs.push_back(is_tensor(a) ? TensorRef(tensor_impl(a)) : TensorRef());
  }
  auto node = make_ref<FunctionNode>(PyRef::borrow(out[0]), PyRef::borrow(out[1]), inputs, inputs.size());
  const Py_ssize_t count = PyTuple_GET_SIZE(out[3]);
  node->results = static_cast<int>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(out[3], i);
    node->of_output.push_back(is_tensor(o) ? type_of(Arg(TensorRef(tensor_impl(o)))) : TensorType{});
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(out[3], i);
    if (is_tensor(o) && tensor_impl(o)->requires_grad && !tensor_impl(o)->is_leaf())
      set_history(*tensor_impl(o), node, static_cast<int>(i));
  }
  return PyRef::borrow(Py_None);
}

// --- Hooks -----------------------------------------------------------------------------------------------------------

GradHooks& hooks_of_result(TensorImpl& t) {
  const GradEdge e = grad_edge(&t);
  if (t.is_leaf()) return make_grad_record(t).hooks;
  e.node->hooks.resize(static_cast<std::size_t>(e.node->results));
  return e.node->hooks[static_cast<std::size_t>(e.result)];
}

template <class Hook>
Hook* hook_in(const GradHooks& hooks) {
  for (const Ref<GradHook>& h : hooks)
    if (auto* found = dynamic_cast<Hook*>(h.get())) return found;
  return nullptr;
}

PyRef registered(PyObject* table, PyObject* hook) {
  PyRef module = checked(import_module("minidynamo.nn.hooks"));
  PyRef add = checked(PyObject_GetAttrString(module.get(), "_register"));
  return checked(PyObject_CallFunctionObjArgs(add.get(), table, hook, Py_False, nullptr));
}

PyRef register_hook_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "hook"};
  PyObject* out[2];
  parse_native({"register_hook", names, 2}, call, out);
  TensorImpl& t = *tensor_impl(out[0]);
  if (!t.requires_grad)
    throw OpError(ErrorKind::Runtime, "cannot register a hook on a tensor that doesn't require gradient");
  GradHooks& hooks = hooks_of_result(t);
  TableHook* have = hook_in<TableHook>(hooks);
  if (!have) hooks.insert(hooks.begin(), have = make_ref<TableHook>(checked(PyDict_New())).get());
  return registered(have->table.get(), out[1]);
}

PyRef register_accumulated_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "hook"};
  PyObject* out[2];
  parse_native({"register_post_accumulate_grad_hook", names, 2}, call, out);
  TensorImpl& t = *tensor_impl(out[0]);
  if (!t.requires_grad)
    throw OpError(ErrorKind::Runtime, "cannot register a hook on a tensor that doesn't require gradient");
  if (!t.is_leaf())
    throw OpError(ErrorKind::Runtime, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  GradHooks& hooks = make_grad_record(t).accumulated;
  AccumulatedHook* have = hook_in<AccumulatedHook>(hooks);
  if (!have) hooks.push_back(have = make_ref<AccumulatedHook>(checked(PyDict_New()), nullptr).get());
  return registered(have->table.get(), out[1]);
}

PyRef retain_grad_method(const PassedArgs& call) {
  no_arguments("retain_grad", call, 1);
  TensorImpl& self = *tensor_impl(call.args[0]);
  if (!self.requires_grad)
    throw OpError(ErrorKind::Runtime, "can't retain_grad on Tensor that has requires_grad=False");
  if (self.is_leaf() || self.retains_grad) return PyRef::borrow(Py_None);
  self.retains_grad = true;
  GradHooks& hooks = hooks_of_result(self);
  hooks.push_back(make_ref<RetainHook>(make_grad_record(self).self_token(self)));
  return PyRef::borrow(Py_None);
}

constexpr NativeRow kMethods[] = {
    {"backward", backward_method,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)\n\nAdds to the grad of every leaf "
     "that "
     "this tensor was computed from. RuntimeError for a tensor of several elements without `gradient`, and a second "
     "time "
     "without retain_graph."},
    {"register_hook", register_hook_method,
     "register_hook(hook)\n\n`hook(grad)` is called when the gradient of this tensor is known, and may return another. "
     "Gives a handle with remove()."},
    {"register_post_accumulate_grad_hook", register_accumulated_method,
     "register_post_accumulate_grad_hook(hook)\n\n`hook(tensor)` is called after backward() added to a leaf's grad."},
    {"retain_grad", retain_grad_method,
     "retain_grad()\n\nAsks for the gradient of a computed tensor. RuntimeError if it requires none."},
};
constexpr NativeRow kFunctions[] = {
    {"_record_function", record_function, "Outputs of a Function know the call; behind Function.apply."},
    {"_run_backward", run_backward_function, "Gradients flow back; behind torch.autograd.backward and grad."},
};

}  // namespace

PyObject* tensor_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *tensor_impl(self);
    if (!t.is_leaf() && !t.retains_grad)
      checked(
          PyErr_WarnEx(PyExc_UserWarning,
                       "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed: it is not filled "
                       "in unless retain_grad() was called.",
                       1));
    return Py_NewRef(grad_object(t));
  });
}

PyObject* grad_object(const TensorImpl& t) {
  GradRecord* r = grad_record(t);
  if (!r || !r->grad) return Py_None;
  if (!r->grad_face) r->grad_face = make_ref<Held>(wrap_tensor(r->grad));
  return static_cast<Held*>(r->grad_face.get())->object.get();
}

int set_tensor_grad(PyObject* self, PyObject* value, void*) {
  PyObject* done = guarded([&]() -> PyObject* {
    TensorImpl& t = *tensor_impl(self);
    if (!value || value == Py_None) {
      if (GradRecord* r = grad_record(t)) r->grad = nullptr, r->grad_face = nullptr;
      return Py_None;
    }
    if (!is_tensor(value))
      throw_type_error("assigned grad expected to be a Tensor or None but got grad of type %.200s",
                       Py_TYPE(value)->tp_name);
    const TensorRef g = tensor_impl(value);
    if (g.get() == &t) throw OpError(ErrorKind::Runtime, "can't assign Variable as its own grad");
    if (g->dtype != t.dtype) throw OpError(ErrorKind::Runtime, "assigned grad has data of a different type");
    if (!(g->device() == t.device()))
      throw OpError(ErrorKind::Runtime, "assigned grad has data located on a different device");
    if (!(g->sizes == t.sizes)) throw OpError(ErrorKind::Runtime, "assigned grad has data of a different size");
    GradRecord& r = make_grad_record(t);
    r.grad = g;
    r.grad_face = make_ref<Held>(PyRef::borrow(value));
    return Py_None;
  });
  return done ? 0 : -1;
}

PyObject* tensor_grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *tensor_impl(self);
    if (t.is_leaf()) return Py_NewRef(Py_None);
    return node_object(grad_edge(&t).node);
  });
}

std::span<const NativeRow> gradient_methods() { return kMethods; }
std::span<const NativeRow> gradient_functions() { return kFunctions; }

int init_gradients(PyObject* module) {
  node_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&node_spec));
  return node_type ? PyModule_AddObjectRef(module, "_GradNode", reinterpret_cast<PyObject*>(node_type)) : -1;
}

}  // namespace md
