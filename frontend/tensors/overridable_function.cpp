// A callable around a Python function: asks overrides first, shows the function's own attributes.
#include "frontend/tensors/overridable_function.h"

#include <structmember.h>

#include <cstddef>

#include "frontend/tensors/function_modes.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/subclass.h"

namespace md {

namespace {

PyTypeObject* overridable_type = nullptr;

struct OverridableObject {
  PyObject_HEAD
  vectorcallfunc vectorcall;
  PyObject* function;
  PyObject* dict;
  PyObject* weakrefs;
};
OverridableObject* self_of(PyObject* o) { return reinterpret_cast<OverridableObject*>(o); }

PyObject* call_overridable(PyObject* o, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  const PassedArgs call{args, PyVectorcall_NARGS(nargsf), kwnames};
  const Py_ssize_t n = call.nargs + call.keyword_count();
  bool asks = function_modes.load(std::memory_order_relaxed) != 0;
  for (Py_ssize_t i = 0; i < n && !asks; ++i) asks = !is_tensor_exact(args[i]) && overrides_torch_function(args[i]);
  if (!asks && !in_transform()) return PyObject_Vectorcall(self_of(o)->function, args, nargsf, kwnames);
  return guarded([&]() -> PyObject* {
    if (PyRef answer = asks ? try_torch_function(o, call) : PyRef()) return answer.release();
    if (PyRef answer = whole_answer(o, call)) return asks ? keep_subclass(answer, call).release() : answer.release();
    if (!asks) return PyObject_Vectorcall(self_of(o)->function, args, nargsf, kwnames);
    const PyRef result = checked(PyObject_Vectorcall(self_of(o)->function, args, nargsf, kwnames));
    return keep_subclass(result, call).release();
  });
}

PyObject* make_overridable(PyObject*, PyObject* function) {
  return guarded([&]() -> PyObject* {
    if (!PyFunction_Check(function)) throw_type_error("_overridable() takes a function");
    PyRef made = checked(overridable_type->tp_alloc(overridable_type, 0));
    self_of(made.get())->vectorcall = call_overridable;
    self_of(made.get())->function = Py_NewRef(function);
    return made.release();
  });
}

void overridable_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  PyObject_GC_UnTrack(o);
  if (self_of(o)->weakrefs) PyObject_ClearWeakRefs(o);
  Py_CLEAR(self_of(o)->function);
  Py_CLEAR(self_of(o)->dict);
  type->tp_free(o);
  Py_DECREF(type);
}
int overridable_traverse(PyObject* o, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(o));
  Py_VISIT(self_of(o)->function);
  Py_VISIT(self_of(o)->dict);
  return 0;
}
int overridable_clear(PyObject* o) {
  Py_CLEAR(self_of(o)->dict);
  return 0;  // the function stays: whoever still has the callable may call it
}

PyObject* overridable_get(PyObject* o, PyObject* instance, PyObject*) {
  return instance && instance != Py_None ? PyMethod_New(o, instance) : Py_NewRef(o);
}

// What the callable has none of it has of its function: __name__, __doc__, __defaults__, ...
PyObject* overridable_getattro(PyObject* o, PyObject* name) {
  PyObject* const function = self_of(o)->function;
  if (PyUnicode_CompareWithASCIIString(name, "__class__") != 0 &&
      PyUnicode_CompareWithASCIIString(name, "__dict__") != 0 &&
      PyUnicode_CompareWithASCIIString(name, "__reduce__") != 0 &&
      PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") != 0 &&
      PyUnicode_CompareWithASCIIString(name, "__call__") != 0) {
    if (PyObject* const found = PyObject_GetAttr(function, name)) return found;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError)) return nullptr;
    PyErr_Clear();
  }
  return PyObject_GenericGetAttr(o, name);
}

PyObject* overridable_repr(PyObject* o) { return PyObject_Repr(self_of(o)->function); }
// Pickled and copied by name.
PyObject* overridable_reduce(PyObject* o, PyObject*) {
  return PyObject_GetAttrString(self_of(o)->function, "__qualname__");
}

PyMethodDef methods[] = {{"__reduce__", overridable_reduce, METH_NOARGS, nullptr}, {}};
PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(OverridableObject, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(OverridableObject, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OverridableObject, weakrefs), READONLY, nullptr},
    {"__wrapped__", T_OBJECT, offsetof(OverridableObject, function), READONLY, nullptr},
    {}};
PyType_Slot slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(overridable_dealloc)},
    {Py_tp_traverse, reinterpret_cast<void*>(overridable_traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(overridable_clear)},
    {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
    {Py_tp_repr, reinterpret_cast<void*>(overridable_repr)},
    {Py_tp_getattro, reinterpret_cast<void*>(overridable_getattro)},
    {Py_tp_descr_get, reinterpret_cast<void*>(overridable_get)},
    {Py_tp_methods, methods},
    {Py_tp_members, members},
    {0, nullptr},
};
PyType_Spec spec = {"minidynamo._C.overridable_function", sizeof(OverridableObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                        Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                    slots};
PyObject* inside_of(PyObject*, PyObject* o) {
  return Py_NewRef(is_overridable_function(o) ? function_of_overridable(o) : Py_None);
}

PyMethodDef functions[] = {
    {"_inside_of", inside_of, METH_O, "The function in Python that a callable asks overrides for; None: it is in C."},
    {"_overridable", make_overridable, METH_O,
     "The function as one whose calls modes and subclasses are asked about: a decorator."},
    {},
};

}  // namespace

bool is_overridable_function(PyObject* o) { return Py_TYPE(o) == overridable_type; }
PyObject* function_of_overridable(PyObject* o) { return self_of(o)->function; }

int init_overridable_functions(PyObject* module) {
  PyObject* type = PyType_FromModuleAndSpec(module, &spec, nullptr);
  if (!type) return -1;
  overridable_type = reinterpret_cast<PyTypeObject*>(type);
  return PyModule_AddFunctions(module, functions);
}

}  // namespace md
