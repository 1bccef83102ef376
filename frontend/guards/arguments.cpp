// CPython's binding of arguments to parameters, without a frame: a short way for positional ones, a general one.
#include "frontend/guards/arguments.h"

#include <algorithm>

namespace md {
namespace {

// Keyword names are almost always the interned parameter names themselves.
bool same_name(PyObject* a, PyObject* b) { return a == b || PyUnicode_Compare(a, b) == 0; }

int parameter_count(PyCodeObject* code) {
  return code->co_argcount + code->co_kwonlyargcount + ((code->co_flags & CO_VARARGS) != 0) +
         ((code->co_flags & CO_VARKEYWORDS) != 0);
}

// The parameter a keyword names, or -1.
int find_parameter(PyCodeObject* code, PyObject* name) {
  for (int i = code->co_posonlyargcount; i < code->co_argcount + code->co_kwonlyargcount; ++i) {
    if (same_name(PyTuple_GET_ITEM(code->co_localsplusnames, i), name)) return i;
  }
  return -1;
}

void place_closure(PyFunctionObject* fn, PyCodeObject* code, PyObject** slots) {
  const int first = code->co_nlocalsplus - code->co_nfreevars;
  for (int i = 0; i < code->co_nfreevars; ++i) slots[first + i] = PyTuple_GET_ITEM(fn->func_closure, i);
}

}  // namespace

PyObject** BoundArguments::room(int slots) {
  if (slots <= kInline) return inline_;
  heap_ = static_cast<PyObject**>(PyMem_Malloc(sizeof(PyObject*) * static_cast<std::size_t>(slots)));
  return heap_;
}

bool BoundArguments::bind(PyFunctionObject* fn, PyObject* const* args, std::size_t nargsf, PyObject* kwnames) {
  auto* code = reinterpret_cast<PyCodeObject*>(fn->func_code);
  const Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
  globals_ = fn->func_globals;
  builtins_ = fn->func_builtins;
  const bool exact = kwnames == nullptr && nargs == code->co_argcount && code->co_kwonlyargcount == 0 &&
                     !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS));
  if (!exact) return bind_general(fn, args, nargs, kwnames);
  wanted_ = code->co_nlocalsplus;
  if (code->co_nfreevars == 0) {
    slots_ = args;
    given_ = static_cast<int>(nargs);
    return true;
  }
  PyObject** slots = room(wanted_);
  if (!slots) return false;
  std::copy(args, args + nargs, slots);
  std::fill(slots + nargs, slots + wanted_ - code->co_nfreevars, nullptr);
  place_closure(fn, code, slots);
  slots_ = slots;
  return true;
}

bool BoundArguments::complete() {
  if (slots_ == inline_ || slots_ == heap_) return true;
  PyObject** slots = room(wanted_);
  if (!slots) return PyErr_NoMemory() != nullptr;
  std::copy(slots_, slots_ + given_, slots);
  std::fill(slots + given_, slots + wanted_, nullptr);
  slots_ = slots;
  return true;
}

bool BoundArguments::bind_general(PyFunctionObject* fn, PyObject* const* args, Py_ssize_t nargs, PyObject* kwnames) {
  auto* code = reinterpret_cast<PyCodeObject*>(fn->func_code);
  wanted_ = code->co_nlocalsplus;
  PyObject** slots = room(wanted_);
  if (!slots) return false;
  std::fill(slots, slots + wanted_, nullptr);
  const Py_ssize_t positional = std::min<Py_ssize_t>(nargs, code->co_argcount);
  std::copy(args, args + positional, slots);
  const int named = code->co_argcount + code->co_kwonlyargcount;
  if (code->co_flags & CO_VARARGS) {
    varargs_ = PyRef::steal(PyTuple_New(nargs - positional));
    if (!varargs_) return PyErr_Clear(), false;
    for (Py_ssize_t i = positional; i < nargs; ++i) {
      PyTuple_SET_ITEM(varargs_.get(), i - positional, Py_NewRef(args[i]));
    }
    slots[named] = varargs_.get();
  } else if (nargs > positional) {
    return false;
  }
  if (code->co_flags & CO_VARKEYWORDS) {
    varkeywords_ = PyRef::steal(PyDict_New());
    if (!varkeywords_) return PyErr_Clear(), false;
    slots[parameter_count(code) - 1] = varkeywords_.get();
  }
  if (kwnames && !bind_keywords(code, args + nargs, kwnames, slots)) return false;
  if (!fill_defaults(fn, code, slots)) return false;
  if (code->co_nfreevars) place_closure(fn, code, slots);
  slots_ = slots;
  return true;
}

bool BoundArguments::bind_keywords(PyCodeObject* code, PyObject* const* values, PyObject* kwnames, PyObject** slots) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(kwnames); ++i) {
    PyObject* name = PyTuple_GET_ITEM(kwnames, i);
    // A str subclass compares by its own code; CPython has to do that.
    if (!PyUnicode_CheckExact(name)) return false;
    const int at = find_parameter(code, name);
    if (at >= 0) {
      if (slots[at]) return false;
      slots[at] = values[i];
      continue;
    }
    if (!varkeywords_) return false;
    const int known = PyDict_Contains(varkeywords_.get(), name);
    if (known != 0 || PyDict_SetItem(varkeywords_.get(), name, values[i]) < 0) return PyErr_Clear(), false;
  }
  return true;
}

bool BoundArguments::fill_defaults(PyFunctionObject* fn, PyCodeObject* code, PyObject** slots) {
  const Py_ssize_t defaults = fn->func_defaults ? PyTuple_GET_SIZE(fn->func_defaults) : 0;
  const Py_ssize_t first = code->co_argcount - defaults;
  for (Py_ssize_t i = 0; i < code->co_argcount; ++i) {
    if (slots[i]) continue;
    if (i < first) return false;
    slots[i] = PyTuple_GET_ITEM(fn->func_defaults, i - first);
  }
  for (int i = code->co_argcount; i < code->co_argcount + code->co_kwonlyargcount; ++i) {
    if (slots[i]) continue;
    PyObject* name = PyTuple_GET_ITEM(code->co_localsplusnames, i);
    slots[i] = fn->func_kwdefaults ? PyDict_GetItemWithError(fn->func_kwdefaults, name) : nullptr;
    if (!slots[i]) return PyErr_Clear(), false;
    kwdefaults_used_ = true;
  }
  first_keyword_only_ = code->co_argcount;
  keyword_only_ = code->co_kwonlyargcount;
  return true;
}

void BoundArguments::hold_keyword_defaults() {
  kwdefaults_held_ = checked(PyTuple_New(keyword_only_));
  for (int i = 0; i < keyword_only_; ++i)
    PyTuple_SET_ITEM(kwdefaults_held_.get(), i, Py_NewRef(slots_[first_keyword_only_ + i]));
}

}  // namespace md
