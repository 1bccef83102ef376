// The code cache from Python, for tests: options are integers, entries run nothing.

#include "frontend/entries/code_cache.h"
#include "frontend/guards/guards_object.h"
#include "frontend/tensors/tensor_object.h"

namespace md {
namespace {

const CompileOptions* options_of(PyObject* number) {
  return reinterpret_cast<const CompileOptions*>(static_cast<std::uintptr_t>(PyLong_AsUnsignedLong(number)));
}

PyCodeObject* code_of(PyObject* o) {
  if (PyCode_Check(o)) return reinterpret_cast<PyCodeObject*>(o);
  PyErr_SetString(PyExc_TypeError, "expected a code object");
  throw PythonError{};
}

// Says so when an entry goes away.
class Witness : public CompiledCode {
 public:
  explicit Witness(PyRef list, long id) : list_(std::move(list)), id_(id) {}
  ~Witness() override {
    const PyRef id = PyRef::steal(PyLong_FromLong(id_));
    if (!id || PyList_Append(list_.get(), id.get()) < 0) PyErr_Clear();
  }

 private:
  PyRef list_;
  long id_;
};

PyObject* cache_insert(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *code, *options, *guards, *freed;
    Entry e;
    if (!PyArg_ParseTuple(args, "OOOiO!", &code, &options, &guards, &e.entry_id, &PyList_Type, &freed)) return nullptr;
    e.options = options_of(options);
    e.guards = guards_of_object(guards);
    e.compiled = std::make_shared<Witness>(PyRef::borrow(freed), e.entry_id);
    if (!e.guards) {
      PyErr_SetString(PyExc_TypeError, "expected compiled guards");
      return nullptr;
    }
    insert_entry(code_of(code), std::move(e));
    Py_RETURN_NONE;
  });
}

PyObject* cache_find(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    if (PyTuple_GET_SIZE(args) != 5) return PyErr_Format(PyExc_TypeError, "cache_find takes five arguments");
    ParsedArgs a;
    if (!parse_frame_args(&PyTuple_GET_ITEM(args, 2), 3, a)) return nullptr;
    const EntryRef e = find_entry(code_of(PyTuple_GET_ITEM(args, 0)), options_of(PyTuple_GET_ITEM(args, 1)), a.frame);
    return PyLong_FromLong(e ? e->entry_id : -1);
  });
}

PyObject* cache_entries(PyObject*, PyObject* args) {
  return guarded([&]() -> PyObject* {
    PyObject *code, *options;
    if (!PyArg_ParseTuple(args, "OO", &code, &options)) return nullptr;
    PyRef out = checked(PyList_New(0));
    for (const EntryRef& e : entries_of(code_of(code), options == Py_None ? nullptr : options_of(options))) {
      checked(PyList_Append(out.get(), checked(PyLong_FromLong(e->entry_id)).get()));
    }
    return out.release();
  });
}

// Entry ids as looked up: most recently used first.
PyObject* cache_order(PyObject*, PyObject* code) {
  return guarded([&]() -> PyObject* {
    PyRef out = checked(PyList_New(0));
    if (CodeState* state = code_state(code_of(code))) {
      for (const EntryRef& e : state->entries) {
        checked(PyList_Append(out.get(), checked(PyLong_FromLong(e->entry_id)).get()));
      }
    }
    return out.release();
  });
}

PyObject* cache_drop_dead(PyObject*, PyObject* code) {
  return guarded([&]() -> PyObject* {
    drop_dead_entries(code_of(code));
    Py_RETURN_NONE;
  });
}

PyObject* cache_remove_options(PyObject*, PyObject* options) {
  remove_entries_under(options_of(options));
  Py_RETURN_NONE;
}

}  // namespace

PyMethodDef code_cache_functions[] = {
    {"cache_insert", cache_insert, METH_VARARGS,
     "cache_insert(code, options, guards, entry id, list told when it is freed)"},
    {"cache_find", cache_find, METH_VARARGS,
     "cache_find(code, options, arguments, globals, builtins) -> entry id or -1"},
    {"cache_entries", cache_entries, METH_VARARGS, "cache_entries(code, options or None) -> ids, newest first"},
    {"cache_order", cache_order, METH_O, "cache_order(code) -> ids in the order of look-up"},
    {"cache_drop_dead", cache_drop_dead, METH_O, "cache_drop_dead(code)"},
    {"cache_remove_options", cache_remove_options, METH_O, "cache_remove_options(options)"},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace md
