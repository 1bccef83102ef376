// register_hook() and its kin: tables of Python functions that the tape calls.
#include "frontend/tensors/gradient_hooks.h"

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/node_object.h"
#include "ir/gradients/backward_recorder.h"

namespace md {

namespace {

std::string name_of(PyObject* hook) {
  PyRef name = PyRef::steal(PyObject_GetAttrString(hook, "__name__"));
  if (!name) PyErr_Clear();
  if (!name || !PyUnicode_Check(name.get())) name = checked(PyObject_Repr(hook));
  return utf8_of(name.get());
}

// Hooks in the order in which they were registered.
class Table : public ObjectHolder {
 public:
  int traverse(visitproc visit, void* arg) const override { return visit(hooks.get(), arg); }
  const PyRef hooks = checked(PyDict_New());
};

template <class F>
void for_each_hook(PyObject* table, F&& f) {
  const PyRef hooks = checked(PyDict_Values(table));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(hooks.get()); ++i) f(PyList_GET_ITEM(hooks.get(), i));
}

class TableHook final : public GradHook, public Table {
 public:
  TensorRef call(const TensorRef& gradient) override {
    const TensorRef now = through_hooks(hooks.get(), gradient);
    return now == gradient ? TensorRef() : now;
  }
  bool is_a_step() const override { return true; }
};

// Of a leaf, after its gradient was added: they get the leaf.
class AccumulatedHook final : public GradHook, public Table {
 public:
  TensorRef call(const TensorRef& leaf) override {
    call_hooks_after(hooks.get(), leaf);
    return nullptr;
  }
  bool is_a_step() const override { return true; }
};

PyRef tuple_of(std::span<const TensorRef> gradients) {
  PyRef out = checked(PyTuple_New(static_cast<Py_ssize_t>(gradients.size())));
  for (std::size_t i = 0; i < gradients.size(); ++i)
    PyTuple_SET_ITEM(out.get(), static_cast<Py_ssize_t>(i),
                     gradients[i] ? object_of_tensor(gradients[i]).release() : Py_NewRef(Py_None));
  return out;
}

class NodeTableHook final : public NodeHook, public Table {
 public:
  explicit NodeTableHook(bool before) : before_(before) {}
  void call(std::vector<TensorRef>& gradients, std::span<const TensorRef> of_results) override {
    const PyRef results = before_ ? PyRef() : tuple_of(of_results);
    for_each_hook(hooks.get(), [&](PyObject* hook) {
      const PyRef given = tuple_of(gradients);
      const PyRef answer = checked(PyObject_CallFunctionObjArgs(hook, given.get(), results.get(), nullptr));
      if (answer.get() != Py_None) replace(gradients, answer.get(), hook);
    });
  }

 private:
  static void replace(std::vector<TensorRef>& gradients, PyObject* answer, PyObject* hook) {
    if (!PyTuple_Check(answer))
      throw_type_error("expected tuple, but hook returned '%.200s'", Py_TYPE(answer)->tp_name);
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(answer));
    if (count != gradients.size()) {
      throw OpError(ErrorKind::Runtime,
                    fmt::format("hook '{}' has returned an incorrect number of values (got {}, but expected {})",
                                name_of(hook), count, gradients.size()));
    }
    for (std::size_t i = 0; i < count; ++i) {
      PyObject* const g = PyTuple_GET_ITEM(answer, static_cast<Py_ssize_t>(i));
      gradients[i] = g == Py_None ? TensorRef() : replaced_gradient(g, gradients[i], hook);
    }
  }

  const bool before_;
};

// Fills `grad` of a computed tensor. The record may die before the node that holds this.
class RetainHook final : public GradHook {
 public:
  explicit RetainHook(std::shared_ptr<TensorImpl*> tensor) : tensor_(std::move(tensor)) {}
  TensorRef call(const TensorRef& gradient) override {
    // A copy, for the gradient goes on and others may hold it: later ones are added in place.
    if (*tensor_)
      add_to_grad(**tensor_,
                  grad_enabled() ? gradient : backward_caller().call(id::Clone, {gradient}).get<TensorRef>());
    return nullptr;
  }
  bool only_calls_ops() const override { return true; }
  bool follows(const TensorImpl& t) const override { return *tensor_ == &t; }

 private:
  std::shared_ptr<TensorImpl*> tensor_;
};

// --- Registering -----------------------------------------------------------------------------------------------------

GradHooks& hooks_of_result(TensorImpl& t) {
  const GradEdge e = grad_edge(&t);
  if (t.is_leaf()) return make_grad_record(t).hooks;
  return e.node->hooks_of_result(e.result);
}

template <class Hook>
Hook* hook_in(const GradHooks& hooks) {
  for (const Ref<GradHook>& h : hooks)
    if (auto* found = dynamic_cast<Hook*>(h.get())) return found;
  return nullptr;
}

PyRef registered(const Table& table, PyObject* hook) {
  PyRef module = checked(import_module("minidynamo.nn.hooks"));
  PyRef add = checked(PyObject_GetAttrString(module.get(), "_register"));
  return checked(PyObject_CallFunctionObjArgs(add.get(), table.hooks.get(), hook, Py_False, nullptr));
}

TensorImpl& that_requires_grad(PyObject* o) {
  TensorImpl& t = *tensor_impl(o);
  follow_base(&t);
  if (!t.requires_grad)
    throw OpError(ErrorKind::Runtime, "cannot register a hook on a tensor that doesn't require gradient");
  return t;
}

PyRef register_hook_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "hook"};
  PyObject* out[2];
  parse_native({"register_hook", names, 2}, call, out);
  GradHooks& hooks = hooks_of_result(that_requires_grad(out[0]));
  TableHook* have = hook_in<TableHook>(hooks);
  if (!have) hooks.insert(hooks.begin(), have = make_ref<TableHook>().get());
  track_tensor(out[0]);
  return registered(*have, out[1]);
}

PyRef register_accumulated_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "hook"};
  PyObject* out[2];
  parse_native({"register_post_accumulate_grad_hook", names, 2}, call, out);
  TensorImpl& t = that_requires_grad(out[0]);
  if (!t.is_leaf())
    throw OpError(ErrorKind::Runtime, "post accumulate grad hooks cannot be registered on non-leaf tensors");
  GradHooks& hooks = make_grad_record(t).accumulated;
  AccumulatedHook* have = hook_in<AccumulatedHook>(hooks);
  if (!have) hooks.push_back(have = make_ref<AccumulatedHook>().get());
  track_tensor(out[0]);
  return registered(*have, out[1]);
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
    {"register_hook", register_hook_method,
     "register_hook(hook)\n\n`hook(grad)` is called when the gradient of this tensor is known, and may return another "
     "of its sizes and dtype. Gives a handle with remove()."},
    {"register_post_accumulate_grad_hook", register_accumulated_method,
     "register_post_accumulate_grad_hook(hook)\n\n`hook(tensor)` is called after backward() added to a leaf's grad."},
    {"retain_grad", retain_grad_method,
     "retain_grad()\n\nAsks for the gradient of a computed tensor. RuntimeError if it requires none."},
};

}  // namespace

TensorRef replaced_gradient(PyObject* answer, const TensorRef& before, PyObject* hook) {
  if (!is_tensor(answer))
    throw_type_error("a hook has to return a Tensor or None, but hook returned '%.200s'", Py_TYPE(answer)->tp_name);
  TensorRef now = tensor_impl(answer);
  if (!before) return now;
  if (!(now->sizes == before->sizes)) {
    throw OpError(
        ErrorKind::Runtime,
        fmt::format("hook '{}' has changed the size of value: it returned {} for a gradient of {}", name_of(hook),
                    sizes_text(type_of(Arg(now)).sizes), sizes_text(type_of(Arg(before)).sizes)));
  }
  if (now->dtype != before->dtype || !(now->device() == before->device())) {
    throw OpError(ErrorKind::Runtime,
                  fmt::format("hook '{}' has changed the type of value (was {} on {}, got {} on {})", name_of(hook),
                              info(before->dtype).guard_name, to_string(before->device()), info(now->dtype).guard_name,
                              to_string(now->device())));
  }
  return now;
}

PyObject* hooks_in(const GradHook& hook) { return dynamic_cast<const Table&>(hook).hooks.get(); }

TensorRef through_hooks(PyObject* hooks, const TensorRef& gradient) {
  TensorRef now = gradient;
  for_each_hook(hooks, [&](PyObject* hook) {
    const PyRef given = object_of_tensor(now);
    const PyRef answer = checked(PyObject_CallOneArg(hook, given.get()));
    if (answer.get() != Py_None) now = replaced_gradient(answer.get(), now, hook);
  });
  return now;
}

void call_hooks_after(PyObject* hooks, const TensorRef& leaf) {
  const PyRef given = object_of_tensor(leaf);
  for_each_hook(hooks, [&](PyObject* hook) {
    const PyRef answer = checked(PyObject_CallOneArg(hook, given.get()));
    if (answer.get() != Py_None)
      throw OpError(ErrorKind::Runtime, "a hook that runs after a gradient was added has to return None");
  });
}

PyRef register_node_hook(GradNode& node, PyObject* hook, bool before) {
  NodeExtras& extras = node.make_extras();
  Ref<NodeHook>& place = before ? extras.before : extras.after;
  if (!place) place = make_ref<NodeTableHook>(before);
  return registered(static_cast<NodeTableHook&>(*place), hook);
}

std::span<const NativeRow> hook_methods() { return kMethods; }

}  // namespace md
