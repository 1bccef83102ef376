// Reads position and size of an io.BytesIO through the class's own methods, taken once.
#include "frontend/cpython/byte_stream.h"

#include <algorithm>
#include <array>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/made_once.h"

namespace md {
namespace {

// Methods of the class, which nobody can change; the process keeps them.
struct Methods {
  PyTypeObject* type;
  PyObject *tell, *seek;
};

PyObject* kept(PyObject* owner, const char* name) {
  PyObject* found = owner ? PyObject_GetAttrString(owner, name) : nullptr;
  if (!found) throw PythonError{};
  return found;
}

Methods methods() {
  return made_once([] {
    const PyRef module = PyRef::steal(import_module("_io"));
    PyObject* const type = kept(module.get(), "BytesIO");
    return Methods{reinterpret_cast<PyTypeObject*>(type), kept(type, "tell"), kept(type, "seek")};
  });
}

bool as_number(const PyRef& v, std::int64_t& out) {
  out = v ? PyLong_AsLongLong(v.get()) : -1;
  return out >= 0;
}

}  // namespace

bool is_byte_stream(PyObject* o) { return Py_IS_TYPE(o, methods().type); }

bool read_stream(PyObject* o, StreamPlace& place) {
  if (!is_byte_stream(o)) return false;
  const auto seek = [o](PyObject* to, PyObject* from) {
    return PyRef::steal(PyObject_CallFunctionObjArgs(methods().seek, o, to, from, nullptr));
  };
  const PyRef at = PyRef::steal(PyObject_CallOneArg(methods().tell, o));
  static PyObject *const start = PyLong_FromLong(0), *const end = PyLong_FromLong(2);  // small ints always exist
  const bool read = as_number(at, place.at) && as_number(seek(start, end), place.size);
  if (!read || !seek(at.get(), start)) {
    PyErr_Clear();
    return false;
  }
  return true;
}

PyObject* stream_closed(PyObject* o) {
  // Each asks what it is made of: TextIOWrapper a buffer, that a raw stream.
  static constexpr const char* kStreams[] = {"BytesIO",        "StringIO",       "FileIO",       "BufferedReader",
                                             "BufferedWriter", "BufferedRandom", "TextIOWrapper"};
  static constexpr std::size_t kFirstOver = 3;  // of those that are made of another
  PyTypeObject* const type = Py_TYPE(o);
  const auto known = made_once([] {
    const PyRef module = PyRef::steal(import_module("_io"));
    std::array<PyTypeObject*, std::size(kStreams)> types;
    for (std::size_t k = 0; k < types.size(); ++k)
      types[k] = reinterpret_cast<PyTypeObject*>(kept(module.get(), kStreams[k]));
    return types;
  });
  const auto at = static_cast<std::size_t>(std::ranges::find(known, type) - known.begin());
  if (at == known.size()) return nullptr;
  if (at >= kFirstOver) {
    const PyRef below = PyRef::steal(PyObject_GetAttrString(o, at + 1 == known.size() ? "buffer" : "raw"));
    if (!below || !stream_closed(below.get())) return PyErr_Clear(), nullptr;
  }
  const PyRef closed = PyRef::steal(PyObject_GetAttrString(o, "closed"));
  if (!closed || !PyBool_Check(closed.get())) return PyErr_Clear(), nullptr;
  return closed.get() == Py_True ? Py_True : Py_False;
}

}  // namespace md
