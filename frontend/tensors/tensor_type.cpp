// minidynamo.Tensor: life, attributes and garbage collection of the Python object.
#include <Python.h>
#include <structmember.h>

#include <array>
#include <vector>

#include "frontend/cpython/plain_object.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/node_object.h"
#include "frontend/tensors/overridable.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_parts.h"

namespace md {

PyTypeObject* tensor_type = nullptr;

namespace {

TensorObject* self_of(PyObject* o) { return reinterpret_cast<TensorObject*>(o); }

// Dead exact tensors, kept for reuse. Guarded by the GIL.
constexpr std::size_t kFreeLimit = 64;
std::array<PyObject*, kFreeLimit> free_objects;
std::size_t free_count = 0;

PyObject* allocate_object() {
  if (free_count) return PyObject_Init(free_objects[--free_count], tensor_type);
  return reinterpret_cast<PyObject*>(PyObject_GC_New(TensorObject, tensor_type));
}

void tensor_dealloc(PyObject* o) {
  TensorObject* t = self_of(o);
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (t->impl && t->impl->face == o) t->impl->face = nullptr;
  if (Handled* const h = t->impl ? handled_of(*t->impl) : nullptr; h && h->face == o) h->face = nullptr;
  if (t->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(t->dict);
  if (t->impl) std::exchange(t->impl, nullptr)->release();
  if (type == tensor_type && free_count < kFreeLimit) {
    free_objects[free_count++] = o;
  } else {
    type->tp_free(o);
  }
  Py_DECREF(type);
}

int tensor_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self_of(o)->dict);
  return self_of(o)->impl ? traverse_tensor(*self_of(o)->impl, visit, arg) : 0;
}

int tensor_clear(PyObject* o) {
  Py_CLEAR(self_of(o)->dict);
  if (self_of(o)->impl) clear_tensor(*self_of(o)->impl);
  return 0;
}

// A tensor can take part in a cycle through its __dict__, its hooks and the calls it was computed by.
void track_if_needed(PyObject* o) {
  if (self_of(o)->dict) track_tensor(o);
}

int tensor_setattro(PyObject* o, PyObject* name, PyObject* value) {
  const int r = PyObject_GenericSetAttr(o, name, value);
  track_if_needed(o);
  return r;
}

Py_hash_t tensor_hash(PyObject* o) {
  const auto h = static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(o));
  return h == -1 ? -2 : h;
}

PyMemberDef tensor_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(TensorObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(TensorObject, weakrefs), READONLY, nullptr},
    {},
};

std::vector<PyType_Slot> type_slots() {
  std::vector<PyType_Slot> slots = {
      {Py_tp_new, reinterpret_cast<void*>(tensor_new)},
      {Py_tp_dealloc, reinterpret_cast<void*>(tensor_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(tensor_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(tensor_clear)},
      {Py_tp_setattro, reinterpret_cast<void*>(tensor_setattro)},
      {Py_tp_repr, reinterpret_cast<void*>(asking<"__repr__", tensor_repr>)},
      {Py_tp_hash, reinterpret_cast<void*>(tensor_hash)},
      {Py_tp_iter, reinterpret_cast<void*>(tensor_iter)},
      {Py_mp_length, reinterpret_cast<void*>(asking_length<"__len__", tensor_length>)},
      {Py_mp_subscript, reinterpret_cast<void*>(tensor_subscript)},
      {Py_mp_ass_subscript, reinterpret_cast<void*>(tensor_ass_subscript)},
      {Py_bf_getbuffer, reinterpret_cast<void*>(tensor_getbuffer)},
      {Py_bf_releasebuffer, reinterpret_cast<void*>(tensor_releasebuffer)},
      {Py_sq_contains, reinterpret_cast<void*>(asking_contains<"__contains__", tensor_contains>)},
      {Py_tp_members, tensor_members},
      {Py_tp_getset, asking_attributes(tensor_getset)},
      {Py_tp_doc, const_cast<char*>("An n-dimensional array of one element type.")},
  };
  for (const PyType_Slot& s : operator_slots()) slots.push_back(s);
  slots.push_back({0, nullptr});
  return slots;
}

}  // namespace

PyTypeObject* add_type(PyObject* module, PyType_Spec* spec, PyObject* bases) {
  PyObject* type = PyType_FromModuleAndSpec(module, spec, bases);
  if (!type) return nullptr;
  if (PyModule_AddType(module, reinterpret_cast<PyTypeObject*>(type)) < 0) {
    Py_DECREF(type);
    return nullptr;
  }
  return reinterpret_cast<PyTypeObject*>(type);  // our reference is kept for the life of the process
}

PyObject* tensor_get_dict(PyObject* o, void* context) {
  PyObject* dict = PyObject_GenericGetDict(o, context);
  track_if_needed(o);
  return dict;
}
int tensor_set_dict(PyObject* o, PyObject* value, void* context) {
  const int r = PyObject_GenericSetDict(o, value, context);
  track_if_needed(o);
  return r;
}

bool is_tensor(PyObject* o) { return is_tensor_exact(o) || PyObject_TypeCheck(o, tensor_type); }

void track_tensor(PyObject* o) {
  if (!PyObject_GC_IsTracked(o)) PyObject_GC_Track(o);
}

PyRef object_of_tensor(const TensorRef& t) {
  auto* const face = static_cast<PyObject*>(t->face);
  return face && Py_REFCNT(face) > 0 ? PyRef::borrow(face) : wrap_tensor(t);
}

PyRef wrap_tensor(TensorRef t) {
  if (PyObject* const face = t->batch ? face_of_handled(*t) : nullptr) return PyRef::borrow(face);
  PyObject* o = allocate_object();
  if (!o) throw PythonError{};
  TensorObject* made = self_of(o);
  made->impl = t.detach();
  made->dict = nullptr;
  made->weakrefs = nullptr;
  if (!made->impl->face) made->impl->face = o;
  if (made->impl->autograd) PyObject_GC_Track(o);
  return PyRef::steal(o);
}

PyRef as_subclass(PyObject* tensor, PyTypeObject* type) {
  TensorRef impl(tensor_impl(tensor));
  if (type == tensor_type) return wrap_tensor(std::move(impl));
  PyRef made = checked(type->tp_alloc(type, 0));
  self_of(made.get())->impl = impl.get();
  impl->face = made.get();
  impl->retain();
  if (class_has_handler(type)) give_to_handler(made.get());
  return made;
}

int init_tensor_type(PyObject* module) {
  std::vector<PyType_Slot> slots = type_slots();
  PyType_Spec spec = {"minidynamo.Tensor", sizeof(TensorObject), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC, slots.data()};
  tensor_type = add_type(module, &spec);
  if (!tensor_type) return -1;
  set_hash_of_tensors(tensor_hash);
  tensor_type->tp_name = "Tensor";  // what CPython's messages say
  return 0;
}

}  // namespace md
