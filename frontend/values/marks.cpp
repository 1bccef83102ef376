// The table of marks by object, kept until the object dies, and the functions of _C that write it.
#include "frontend/values/marks.h"

#include <array>
#include <string_view>
#include <unordered_map>

#include "frontend/cpython/frame_access.h"
#include "frontend/plan/opaque_calls.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/constant.h"
#include "frontend/values/input_elements.h"

namespace md {

namespace {

struct Marked {
  PyRef watch;  // a weak reference that removes the mark, or the object itself where it allows none
  CallableMark mark;
};

// Written and read with the GIL held.
std::unordered_map<PyObject*, Marked>& marks() {
  static auto* map = new std::unordered_map<PyObject*, Marked>();
  return *map;
}

constexpr std::array<std::pair<std::string_view, MarkKind>, 14> kNames = {
    {{"custom_op", MarkKind::CustomOp},
     {"namespace", MarkKind::Namespace},
     {"own_op", MarkKind::OwnOp},
     {"allow_in_graph", MarkKind::AllowInGraph},
     {"nonstrict_trace", MarkKind::Nonstrict},
     {"constant", MarkKind::AssumeConstant},
     {"disallow", MarkKind::Disallow},
     {"forbid", MarkKind::Forbid},
     {"substitute", MarkKind::Substitute},
     {"dont_skip", MarkKind::DontSkip},
     {"break_policy", MarkKind::BreakPolicy},
     {"comptime", MarkKind::Comptime},
     {"compile_region", MarkKind::CompileRegion},
     {"region_operator", MarkKind::RegionOperator}}};

PyObject* forget_mark(PyObject* capsule, PyObject*) {
  const auto at = marks().find(static_cast<PyObject*>(PyCapsule_GetPointer(capsule, nullptr)));
  if (at != marks().end()) {
    const Marked gone = std::move(at->second);
    marks().erase(at);
  }
  Py_RETURN_NONE;
}

PyMethodDef kForget{"forget_mark", forget_mark, METH_O, nullptr};

PyRef watch(PyObject* o) {
  PyRef capsule = checked(PyCapsule_New(o, nullptr, nullptr));
  PyRef callback = checked(PyCFunction_New(&kForget, capsule.get()));
  if (PyRef weak = PyRef::steal(PyWeakref_NewRef(o, callback.get()))) return weak;
  clear_answer();
  return PyRef::borrow(o);
}

// _mark_callable(object, kind or None, payload=None): None takes the mark back. A class marks its instances too.
PyObject* py_mark_callable(PyObject*, PyObject* args) {
  PyObject *o, *payload = Py_None;
  const char* kind;
  if (!PyArg_ParseTuple(args, "Oz|O", &o, &kind, &payload)) return nullptr;
  return guarded([&] {
    if (!kind) {
      marks().erase(o);
      return Py_NewRef(Py_None);
    }
    for (const auto& [name, value] : kNames) {
      if (name != kind) continue;
      marks()[o] = Marked{watch(o), {value, PyRef::borrow(payload)}};
      return Py_NewRef(Py_None);
    }
    PyErr_Format(PyExc_ValueError, "unknown kind of mark '%s'", kind);
    throw PythonError{};
  });
}

// _bump_version(tensor): it was written to by code that does not say so.
PyObject* py_bump_version(PyObject*, PyObject* o) {
  if (!is_tensor(o)) {
    PyErr_SetString(PyExc_TypeError, "a tensor is needed");
    return nullptr;
  }
  ++tensor_impl(o)->storage->version;
  Py_RETURN_NONE;
}

// _call_plain(function, args, kwargs, key): its frames are not compiled on their own; compiled functions it calls are.
// Where a graph that failed has called `key` already, its result is taken from there.
PyObject* py_call_plain(PyObject*, PyObject* args) {
  PyObject *function, *positional, *keywords, *key;
  if (!PyArg_ParseTuple(args, "OO!O!O", &function, &PyTuple_Type, &positional, &PyDict_Type, &keywords, &key))
    return nullptr;
  if (next_replayed() == key) {
    PyObject* result = guarded([&] {
      PyObject* arguments[] = {positional, keywords};
      return replay_arguments(arguments).release();
    });
    if (result || PyErr_Occurred()) return result;
  }
  const InsideOpaque inside;
  Disarmed plain;
  return PyObject_Call(function, positional, keywords);
}

// _tensor_id(tensor): equal for objects that stand for one tensor.
PyObject* py_tensor_id(PyObject*, PyObject* o) {
  if (is_tensor(o)) return PyLong_FromVoidPtr(tensor_impl(o));
  PyErr_SetString(PyExc_TypeError, "a tensor is needed");
  return nullptr;
}

// _shares_memory(a, b): their storages overlap.
PyObject* py_shares_memory(PyObject*, PyObject* args) {
  PyObject *a, *b;
  if (!PyArg_ParseTuple(args, "OO", &a, &b)) return nullptr;
  if (!is_tensor(a) || !is_tensor(b)) {
    PyErr_SetString(PyExc_TypeError, "two tensors are needed");
    return nullptr;
  }
  const Storage &x = *tensor_impl(a)->storage, &y = *tensor_impl(b)->storage;
  const auto begin = [](const Storage& s) { return static_cast<const char*>(s.data()); };
  if (!x.data() || !y.data()) return PyBool_FromLong(&x == &y && x.bytes() != 0);  // no memory behind: meta
  const bool overlap = begin(x) < begin(y) + y.bytes() && begin(y) < begin(x) + x.bytes();
  return PyBool_FromLong(overlap && x.bytes() != 0 && y.bytes() != 0);
}

PyMethodDef kMethods[] = {{"_mark_callable", py_mark_callable, METH_VARARGS, nullptr},
                          {"_bump_version", py_bump_version, METH_O, nullptr},
                          {"_call_plain", py_call_plain, METH_VARARGS, nullptr},
                          {"_tensor_id", py_tensor_id, METH_O, nullptr},
                          {"_shares_memory", py_shares_memory, METH_VARARGS, nullptr},
                          {"_leave_elements_unknown", py_leave_elements_unknown, METH_O, nullptr},
                          {nullptr, nullptr, 0, nullptr}};

bool marks_instances(MarkKind kind) {
  return kind == MarkKind::CustomOp || kind == MarkKind::Namespace || kind == MarkKind::OwnOp ||
         kind == MarkKind::Comptime || kind == MarkKind::RegionOperator || kind == MarkKind::BreakPolicy;
}

}  // namespace

std::optional<CallableMark> find_mark(PyObject* o) {
  if (const auto at = marks().find(o);
      at != marks().end() && !(PyType_Check(o) && marks_instances(at->second.mark.kind)))
    return at->second.mark;
  const auto of_class = marks().find(reinterpret_cast<PyObject*>(Py_TYPE(o)));
  if (of_class == marks().end() || !marks_instances(of_class->second.mark.kind)) return {};
  return of_class->second.mark;
}

bool is_dont_skip(PyObject* function) {
  const auto at = marks().find(function);
  return at != marks().end() && at->second.mark.kind == MarkKind::DontSkip;
}

void init_marks(PyObject* module) {
  if (PyModule_AddFunctions(module, kMethods) < 0) throw PythonError{};
}

}  // namespace md
