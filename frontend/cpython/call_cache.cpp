// What functools.lru_cache keeps, read as CPython lays it out.
#include "frontend/cpython/call_cache.h"

#include <utility>

#include "frontend/cpython/library_modules.h"
#include "frontend/cpython/made_once.h"

namespace md {

namespace {

// As in CPython's Modules/_functoolsmodule.c, which has no header; layout() looks whether it is so.
struct Holder {
  PyObject_HEAD
  Holder *previous, *next;
  Py_hash_t hash;
  PyObject *key, *result;
};
struct CallCache {
  Holder root;  // with the head of the object
  void* wrapper;
  int typed;
  PyObject* results;
  Py_ssize_t hits;
  PyObject* function;
  Py_ssize_t limit, misses;
  PyObject* keyword_mark;
  void* rest[4];  // types, __dict__, weak references
};

struct Layout {
  PyTypeObject *cache = nullptr, *holder = nullptr;
};

CallCache* parts(PyObject* cache) { return reinterpret_cast<CallCache*>(cache); }

bool is_as_made(PyObject* cache, PyObject* function) {
  const CallCache* c = parts(cache);
  return c->function == function && c->typed == 1 && c->limit == 7 && c->hits == 0 && c->misses == 0 && c->results &&
         PyDict_CheckExact(c->results);
}

// Null types: not as described above.
Layout probe_layout() {
  PyObject* const cls = library_object("functools", "_lru_cache_wrapper");
  auto* const function = reinterpret_cast<PyObject*>(&PyUnicode_Type);  // which gives back what it is given
  if (!cls || !PyType_Check(cls)) return {};
  auto* const type = reinterpret_cast<PyTypeObject*>(cls);
  if (type->tp_basicsize != sizeof(CallCache)) return {};
  const PyRef cache = checked(PyObject_CallFunction(cls, "OiOO", function, 7, Py_True, &PyTuple_Type));
  if (!is_as_made(cache.get(), function)) return {};
  const PyRef argument = checked(PyUnicode_FromString("any text"));
  const PyRef result = checked(PyObject_CallOneArg(cache.get(), argument.get()));
  PyObject *key, *found;
  Py_ssize_t at = 0;
  if (!PyDict_Next(parts(cache.get())->results, &at, &key, &found)) return {};
  if (Py_TYPE(found)->tp_basicsize != sizeof(Holder) || parts(cache.get())->misses != 1) return {};
  if (reinterpret_cast<Holder*>(found)->key != key || reinterpret_cast<Holder*>(found)->result != result.get())
    return {};
  return {type, Py_TYPE(found)};  // the module keeps both
}

Layout layout() { return made_once(probe_layout); }

// What stands in for the function while a result is entered: it answers that call. Others may come meanwhile, of other
// threads, and of finalizers in this one.
struct Answer {
  PyObject *function, *result;
  PyObject *positional, *keywords;  // which the cache passes on as they are
  unsigned long thread;
  bool given = false;
};

PyObject* answer(PyObject* capsule, PyObject* positional, PyObject* keywords) {
  auto* a = static_cast<Answer*>(PyCapsule_GetPointer(capsule, nullptr));
  if (!a) return nullptr;
  const bool is_it = PyThread_get_thread_ident() == a->thread && positional == a->positional && keywords == a->keywords;
  if (!is_it || std::exchange(a->given, true)) return PyObject_Call(a->function, positional, keywords);
  if (a->result) return Py_NewRef(a->result);
  PyErr_SetNone(PyExc_Exception);
  return nullptr;
}

PyMethodDef answer_method{"answer", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(answer)),
                          METH_VARARGS | METH_KEYWORDS, nullptr};

void add(PyObject* list, PyObject* o) { checked(PyList_Append(list, o)); }

}  // namespace

bool is_call_cache(PyObject* o) { return Py_TYPE(o) == layout().cache; }
PyObject* cached_function(PyObject* cache) { return parts(cache)->function; }
Py_ssize_t cache_limit(PyObject* cache) { return parts(cache)->limit; }
PyObject* cached_results(PyObject* cache) { return parts(cache)->results; }
PyObject* cached_result(PyObject* holder) {
  return Py_TYPE(holder) == layout().holder ? reinterpret_cast<Holder*>(holder)->result : nullptr;
}

PyRef cache_key(PyObject* cache, PyObject* positional, PyObject* keywords) {
  const bool typed = parts(cache)->typed != 0, named = keywords && PyDict_GET_SIZE(keywords) > 0;
  if (!typed && !named) {
    PyObject* only = PyTuple_GET_SIZE(positional) == 1 ? PyTuple_GET_ITEM(positional, 0) : nullptr;
    const bool itself = only && (PyUnicode_CheckExact(only) || PyLong_CheckExact(only));
    return PyRef::borrow(itself ? only : positional);
  }
  const PyRef key = checked(PySequence_List(positional));
  PyObject *name, *value;
  if (named) add(key.get(), parts(cache)->keyword_mark);
  for (Py_ssize_t at = 0; named && PyDict_Next(keywords, &at, &name, &value);)
    add(key.get(), name), add(key.get(), value);
  for (Py_ssize_t k = 0; typed && k < PyTuple_GET_SIZE(positional); ++k)
    add(key.get(), reinterpret_cast<PyObject*>(Py_TYPE(PyTuple_GET_ITEM(positional, k))));
  for (Py_ssize_t at = 0; typed && named && PyDict_Next(keywords, &at, &name, &value);)
    add(key.get(), reinterpret_cast<PyObject*>(Py_TYPE(value)));
  return checked(PyList_AsTuple(key.get()));
}

void enter_result(PyObject* cache, PyObject* positional, PyObject* keywords, PyObject* result) {
  Answer a{cached_function(cache), result, positional, keywords, PyThread_get_thread_ident()};
  const PyRef capsule = checked(PyCapsule_New(&a, nullptr, nullptr));
  const PyRef stand_in = checked(PyCFunction_New(&answer_method, capsule.get()));
  parts(cache)->function = Py_NewRef(stand_in.get());
  const PyRef given = PyRef::steal(PyObject_Call(cache, positional, keywords));
  Py_DECREF(std::exchange(parts(cache)->function, a.function));
  if (given) return;
  if (result || !PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};
  PyErr_Clear();
}

}  // namespace md
