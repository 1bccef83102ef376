// SavedTensor, and the stack of pack and unpack hooks.
#include "frontend/tensors/saved_tensor_object.h"

#include <memory>

#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/node_object.h"
#include "ir/gradients/call_node.h"

namespace md {

namespace {

// --- Hooks -----------------------------------------------------------------------------------------------------------

class PackedObject final : public PackedTensor, public ObjectHolder {
 public:
  PackedObject(PyRef packed, PyRef unpack) : packed_(std::move(packed)), unpack_(std::move(unpack)) {}
  TensorRef unpack() override {
    const PyRef unpack = unpack_, packed = packed_;
    const PyRef answer = checked(PyObject_CallOneArg(unpack.get(), packed.get()));
    if (!is_tensor(answer.get())) {
      throw_type_error("Output of saved tensor unpack_hook expected to be a Tensor but got result of type %.200s",
                       Py_TYPE(answer.get())->tp_name);
    }
    return tensor_impl(answer.get());
  }
  int traverse(visitproc visit, void* arg) const override {
    Py_VISIT(packed_.get());
    Py_VISIT(unpack_.get());
    return 0;
  }

 private:
  const PyRef packed_, unpack_;
};

class PythonHooks final : public SavedTensorHooks {
 public:
  PythonHooks(PyObject* pack, PyObject* unpack) : pack_(PyRef::borrow(pack)), unpack_(PyRef::borrow(unpack)) {}
  Ref<PackedTensor> pack(const TensorRef& t) override {
    const PyRef given = object_of_tensor(t);
    return make_ref<PackedObject>(checked(PyObject_CallOneArg(pack_.get(), given.get())), unpack_);
  }

 private:
  const PyRef pack_, unpack_;
};

PyRef push_hooks(const PassedArgs& call) {
  static const char* const names[] = {"pack_hook", "unpack_hook"};
  PyObject* out[2];
  parse_native({"_push_saved_tensor_hooks", names, 2}, call, out);
  for (PyObject* const hook : out)
    if (!PyCallable_Check(hook)) throw_type_error("a hook has to be callable, not %.200s", Py_TYPE(hook)->tp_name);
  push_saved_tensor_hooks(make_ref<PythonHooks>(out[0], out[1]));
  return PyRef::borrow(Py_None);
}
PyRef pop_hooks(const PassedArgs& call) {
  no_arguments("_pop_saved_tensor_hooks", call, 0);
  pop_saved_tensor_hooks();
  return PyRef::borrow(Py_None);
}
// What was said before, or None.
PyRef refuse_hooks(const PassedArgs& call) {
  static const char* const names[] = {"text"};
  PyObject* out[1];
  parse_native({"_refuse_saved_tensor_hooks", names, 1}, call, out);
  const auto before = saved_tensor_hooks_refusal();
  refuse_saved_tensor_hooks(out[0] == Py_None ? std::nullopt : std::optional<std::string>(utf8_of(out[0])));
  return before ? checked(PyUnicode_FromString(before->c_str())) : PyRef::borrow(Py_None);
}
PyRef has_hooks(const PassedArgs& call) {
  no_arguments("_has_saved_tensor_hooks", call, 0);
  return PyRef::borrow(saved_tensor_hooks() ? Py_True : Py_False);
}

// --- SavedTensor -----------------------------------------------------------------------------------------------------

// Of a context, or by number one of those that the node of a call keeps.
struct Cell {
  SavedTensor own;
  GradEdge edge;                     // of an operand
  std::shared_ptr<GradNode*> owner;  // of a result: the node that the context belongs to
  int result = 0;
  bool differentiable = false;
  PyRef node;
  std::size_t index = 0;

  CallNode& call() const {
    auto& found = dynamic_cast<CallNode&>(node_of(node.get()));
    if (!found.is_spent()) return found;
    throw OpError(ErrorKind::Runtime, "what the node saved has been freed by an earlier backward()");
  }
  SavedTensor& saved() { return node ? call().saved(index) : own; }
  TensorRef unpack() const {
    if (node) return call().kept_tensor(index);
    const TensorRef t = own.unpack();
    GradEdge e = edge;
    if (owner && *owner) e = {Ref<GradNode>(*owner), result};
    if (!differentiable || !e.node) return t;
    if (const GradEdge have = grad_edge(t); have.node == e.node && have.result == e.result) return t;
    TensorRef made = alias_of(*t);
    set_history(*made, e.node, e.result);
    return made;
  }
};

struct SavedTensorObject {
  PyObject_HEAD
  Cell* cell;
};
PyTypeObject* saved_type = nullptr;

Cell& cell_of(PyObject* o) { return *reinterpret_cast<SavedTensorObject*>(o)->cell; }

PyRef new_object(std::unique_ptr<Cell> cell) {
  PyRef made = checked(saved_type->tp_alloc(saved_type, 0));
  reinterpret_cast<SavedTensorObject*>(made.get())->cell = cell.release();
  return made;
}

void saved_dealloc(PyObject* o) {
  PyTypeObject* const type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  delete reinterpret_cast<SavedTensorObject*>(o)->cell;
  type->tp_free(o);
  Py_DECREF(type);
}
int saved_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  const Cell* const cell = reinterpret_cast<SavedTensorObject*>(o)->cell;
  if (!cell) return 0;
  Py_VISIT(cell->node.get());
  const auto* packed = dynamic_cast<const ObjectHolder*>(cell->own.packed.get());
  return packed && cell->own.packed->use_count() == 1 ? packed->traverse(visit, arg) : 0;
}
int saved_clear(PyObject* o) {
  Cell* const cell = reinterpret_cast<SavedTensorObject*>(o)->cell;
  if (!cell) return 0;
  const PyRef node = std::move(cell->node);
  const Ref<PackedTensor> packed = std::move(cell->own.packed);
  return 0;
}

PyObject* saved_unpack(PyObject* o, PyObject*) {
  return guarded([&] { return object_of_tensor(cell_of(o).unpack()).release(); });
}

PyObject* saved_register(PyObject* o, PyObject* const* args, Py_ssize_t count) {
  return guarded([&]() -> PyObject* {
    if (count != 2) throw_type_error("register_hooks() takes a pack hook and an unpack hook");
    for (int i = 0; i < 2; ++i)
      if (!PyCallable_Check(args[i]))
        throw_type_error("a hook has to be callable, not %.200s", Py_TYPE(args[i])->tp_name);
    SavedTensor& saved = cell_of(o).saved();
    if (saved.packed) throw OpError(ErrorKind::Runtime, "hooks keep this saved tensor already");
    const Ref<PythonHooks> hooks = make_ref<PythonHooks>(args[0], args[1]);
    saved.pack(*hooks, cell_of(o).unpack());
    return Py_NewRef(Py_None);
  });
}

PyMethodDef saved_methods[] = {
    {"unpack", saved_unpack, METH_NOARGS, "The tensor. RuntimeError if it is gone or was written to since."},
    {"register_hooks", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(saved_register)), METH_FASTCALL,
     "register_hooks(pack_hook, unpack_hook)\n\nKeeps what `pack_hook(tensor)` gives in its place, and what "
     "`unpack_hook` makes of that is used in backward(). RuntimeError if there are hooks already."},
    {}};
PyType_Slot saved_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(saved_dealloc)},
                             {Py_tp_traverse, reinterpret_cast<void*>(saved_traverse)},
                             {Py_tp_clear, reinterpret_cast<void*>(saved_clear)},
                             {Py_tp_methods, saved_methods},
                             {}};
PyType_Spec saved_spec = {"minidynamo.autograd.SavedTensor", sizeof(SavedTensorObject), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION, saved_slots};

// _save_tensor(tensor, is_output): for the context of a Function, whose call is recorded already.
PyRef save_tensor(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "is_output"};
  PyObject* out[2];
  parse_native({"_save_tensor", names, 2}, call, out);
  if (!is_tensor(out[0])) throw_type_error("only a Tensor can be saved, not %.200s", Py_TYPE(out[0])->tp_name);
  const TensorRef t = tensor_impl(out[0]);
  auto cell = std::make_unique<Cell>();
  cell->differentiable = t->requires_grad;
  TensorRef shown = t;
  if (!checked(PyObject_IsTrue(out[1]))) {
    cell->edge = grad_edge(t);
  } else if (const GradRecord* r = grad_record(*t); r && r->node && t->requires_grad) {
    cell->owner = r->node->self_token();
    cell->result = r->result;
    shown = alias_of(*t);  // the context may not hold its own result
    shown->set_grad_state({true, GradHistory::Computed});
  }
  cell->own = SavedTensor(alias_of(*t), shown);
  return new_object(std::move(cell));
}

constexpr NativeRow kFunctions[] = {
    {"_push_saved_tensor_hooks", push_hooks, "Saved tensors go through these; behind saved_tensors_hooks."},
    {"_pop_saved_tensor_hooks", pop_hooks, "The hooks before the last ones hold again."},
    {"_refuse_saved_tensor_hooks", refuse_hooks, "With a text hooks are refused; gives the text there was."},
    {"_has_saved_tensor_hooks", has_hooks, "Whether saved tensors go through hooks in this thread."},
    {"_save_tensor", save_tensor, "What is kept of a tensor for the backward of a Function."},
};

}  // namespace

PyRef saved_tensor_object(PyObject* node, std::size_t index) {
  auto cell = std::make_unique<Cell>();
  cell->node = PyRef::borrow(node);
  cell->index = index;
  return new_object(std::move(cell));
}

std::span<const NativeRow> saved_tensor_hook_functions() { return kFunctions; }

int init_saved_tensor_objects(PyObject* module) {
  saved_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&saved_spec));
  return saved_type ? PyModule_AddObjectRef(module, "_SavedTensor", reinterpret_cast<PyObject*>(saved_type)) : -1;
}

}  // namespace md
