// Dictionaries read without running user code.
#pragma once

#include <cstdint>

#include "frontend/cpython/internals.h"
#include "frontend/cpython/py_ref.h"

namespace md {

// Changes whenever a plain dict changes. Blind to two things: the order of an OrderedDict, and attribute stores into a
// dict for which md_dict_has_inline_values() holds.
inline const std::uint64_t* dict_version_at(PyObject* dict) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return &reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
#pragma GCC diagnostic pop
}
inline std::uint64_t dict_version(PyObject* dict) { return *dict_version_at(dict); }
inline bool dict_version_is_complete(PyObject* dict) { return !md_dict_has_inline_values(dict); }

enum class Lookup { Found, Missing, Undecidable };

struct Found {
  Lookup status;
  PyObject* value;  // borrowed; null unless found
};

inline Found found(int status, PyObject* value) {
  return {status > 0 ? Lookup::Found : status == 0 ? Lookup::Missing : Lookup::Undecidable, value};
}

// `dict` may be of a subclass: its own storage is read. `key` must hash without user code (exact str, int, tuple of
// those, …).
inline Found dict_find(PyObject* dict, PyObject* key, Py_hash_t hash) {
  PyObject* value;
  const int status = md_dict_find(dict, key, hash, &value);
  return found(status, value);
}
inline Found dict_find(PyObject* dict, PyObject* key) { return dict_find(dict, key, PyObject_Hash(key)); }

}  // namespace md
