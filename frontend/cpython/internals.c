// Look-ups in dictionaries and inline values by CPython's internal layouts. In C: the internal headers are not C++.
#define Py_BUILD_CORE 1
#include "frontend/cpython/internals.h"

#include "frontend/cpython/native_type.h"
#include "internal/pycore_dict.h"
#include "internal/pycore_interp.h"
#include "internal/pycore_object.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030C0000
#include "internal/pycore_instruments.h"
#endif

static int is_scalar_type(PyTypeObject* t) {
  return t == &PyUnicode_Type || t == &PyLong_Type || t == &PyFloat_Type || t == &PyBool_Type || t == &PyBytes_Type ||
         t == &PyComplex_Type || t == &_PyNone_Type;
}

// Of subclasses that leave comparing to the builtin type, too.
static int compares_as_scalar(PyTypeObject* t) {
  richcmpfunc compare = t->tp_richcompare;
  return compare == PyLong_Type.tp_richcompare || compare == PyUnicode_Type.tp_richcompare ||
         compare == PyBytes_Type.tp_richcompare || compare == PyFloat_Type.tp_richcompare;
}

static PyTypeObject* native_type = NULL;

void md_compare_natively(PyTypeObject* type) { native_type = type; }

int md_compares_natively(PyTypeObject* type) { return type == native_type; }

int md_is_plain_pattern(PyObject* o) {
  PyTypeObject* const t = Py_TYPE(o);
  if (!(t->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) || strcmp(t->tp_name, "re.Pattern") != 0) return 0;
  PyObject* const text = PyObject_GetAttrString(o, "pattern");
  if (!text) PyErr_Clear();
  const int plain = text && (PyUnicode_CheckExact(text) || PyBytes_CheckExact(text));
  Py_XDECREF(text);
  return plain;
}

static int compares_natively(PyObject* o);

static int elements_compare_natively(PyObject* set) {
  const PySetObject* const s = (const PySetObject*)set;
  for (Py_ssize_t i = 0; i <= s->mask; ++i) {
    PyObject* const key = s->table[i].key;
    if (key && s->table[i].hash != -1 && !compares_natively(key)) return 0;  // hash -1: a deleted entry
  }
  return 1;
}

// Comparing two such objects runs no Python code.
static int compares_natively(PyObject* o) {
  PyTypeObject* t = Py_TYPE(o);
  if (is_scalar_type(t) || t->tp_richcompare == PyBaseObject_Type.tp_richcompare) return 1;
  if (compares_as_scalar(t) || t == native_type) return 1;
  if (md_is_plain_pattern(o)) return 1;
  if (PyFrozenSet_CheckExact(o)) return elements_compare_natively(o);
  if (!PyTuple_Check(o) || t->tp_richcompare != PyTuple_Type.tp_richcompare) return 0;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i) {
    if (!compares_natively(PyTuple_GET_ITEM(o, i))) return 0;
  }
  return 1;
}

// Two keys of equal hash: 1 equal, 0 different, -1 only a user's code knows.
static int same_key(PyObject* a, PyObject* b) {
  if (a == b) return 1;
  if (!compares_natively(a) || !compares_natively(b)) return -1;
  return PyObject_RichCompareBool(a, b, Py_EQ);
}

static Py_ssize_t index_at(PyDictKeysObject* keys, size_t slot) {
  switch (keys->dk_log2_index_bytes - keys->dk_log2_size) {
    case 0:
      return ((const int8_t*)keys->dk_indices)[slot];
    case 1:
      return ((const int16_t*)keys->dk_indices)[slot];
    case 2:
      return ((const int32_t*)keys->dk_indices)[slot];
    default:
      return ((const int64_t*)keys->dk_indices)[slot];
  }
}

// Position of `key` among the entries, -1: none, -2: undecidable.
static Py_ssize_t find_entry(PyDictKeysObject* keys, PyObject* key, Py_hash_t hash) {
  const size_t mask = (size_t)DK_SIZE(keys) - 1;
  size_t perturb = (size_t)hash, slot = (size_t)hash & mask;
  for (;;) {
    const Py_ssize_t index = index_at(keys, slot);
    if (index == -1) return -1;
    if (index >= 0) {  // -2 marks a deleted entry
      PyObject* candidate;
      Py_hash_t candidate_hash;
      if (keys->dk_kind == DICT_KEYS_GENERAL) {
        candidate = DK_ENTRIES(keys)[index].me_key;
        candidate_hash = DK_ENTRIES(keys)[index].me_hash;
      } else {
        candidate = DK_UNICODE_ENTRIES(keys)[index].me_key;
        candidate_hash = ((PyASCIIObject*)candidate)->hash;
      }
      if (candidate == key) return index;
      if (candidate_hash == hash) {
        const int same = same_key(candidate, key);
        if (same != 0) return same > 0 ? index : -2;
      }
    }
    perturb >>= 5;
    slot = (slot * 5 + perturb + 1) & mask;
  }
}

static int result(PyObject* found, PyObject** value) {
  *value = found;
  return found != NULL;
}

static PyObject* key_of_entry(PyDictKeysObject* keys, Py_ssize_t index) {
  return keys->dk_kind == DICT_KEYS_GENERAL ? DK_ENTRIES(keys)[index].me_key : DK_UNICODE_ENTRIES(keys)[index].me_key;
}

// A str that has been a key knows its hash.
static inline Py_hash_t hash_of_name(PyObject* name) {
  const Py_hash_t hash = ((PyASCIIObject*)name)->hash;
  return hash != -1 ? hash : PyObject_Hash(name);
}

static inline Py_ssize_t find_entry_hinted(PyDictKeysObject* keys, PyObject* key, Py_hash_t hash, unsigned* hint) {
  if ((Py_ssize_t)*hint < keys->dk_nentries && key_of_entry(keys, *hint) == key) return *hint;
  const Py_ssize_t index = find_entry(keys, key, hash);
  if (index >= 0) *hint = (unsigned)index;
  return index;
}

int md_dict_find_hinted(PyObject* dict, PyObject* key, Py_hash_t hash, PyObject** value, unsigned* hint) {
  PyDictObject* d = (PyDictObject*)dict;
  *value = NULL;
  const Py_ssize_t index = find_entry_hinted(d->ma_keys, key, hash, hint);
  if (index < 0) return index == -1 ? 0 : -1;
  if (d->ma_values) return result(d->ma_values->values[index], value);
  if (d->ma_keys->dk_kind == DICT_KEYS_GENERAL) return result(DK_ENTRIES(d->ma_keys)[index].me_value, value);
  return result(DK_UNICODE_ENTRIES(d->ma_keys)[index].me_value, value);
}

int md_dict_find(PyObject* dict, PyObject* key, Py_hash_t hash, PyObject** value) {
  unsigned hint = 0;
  return md_dict_find_hinted(dict, key, hash, value, &hint);
}

static inline int find_in_values(PyObject* object, PyDictValues* values, PyObject* name, PyObject** value,
                                 unsigned* hint) {
  PyDictKeysObject* keys = ((PyHeapTypeObject*)Py_TYPE(object))->ht_cached_keys;
  const Py_ssize_t index = find_entry_hinted(keys, name, hash_of_name(name), hint);
  if (index < 0) return index == -1 ? 0 : -1;
  return result(values->values[index], value);
}

// The values of an instance without a dictionary of its own, or else that dictionary (which may be missing).
static inline PyDictValues* managed_values(PyObject* object, PyObject** dict) {
#if PY_VERSION_HEX < 0x030C0000
  PyDictValues* values = *_PyObject_ValuesPointer(object);
  *dict = values ? NULL : *_PyObject_ManagedDictPointer(object);
  return values;
#elif PY_VERSION_HEX < 0x030D0000
  const PyDictOrValues either = *_PyObject_DictOrValuesPointer(object);
  const int is_values = _PyDictOrValues_IsValues(either);
  *dict = is_values ? NULL : _PyDictOrValues_GetDict(either);
  return is_values ? _PyDictOrValues_GetValues(either) : NULL;
#else
  *dict = (PyObject*)_PyObject_GetManagedDict(object);
  if (*dict || !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_INLINE_VALUES)) return NULL;
  PyDictValues* values = _PyObject_InlineValues(object);
  return values->valid ? values : NULL;
#endif
}

PyObject* md_instance_dict(PyObject* object) {
  PyObject* dict = NULL;
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    managed_values(object, &dict);
    return dict;
  }
  PyObject** place = _PyObject_GetDictPtr(object);
  return place ? *place : NULL;
}

int md_instance_find_hinted(PyObject* object, PyObject* name, PyObject** value, unsigned* hint) {
  *value = NULL;
  PyObject* dict = NULL;
  if (Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
    PyDictValues* values = managed_values(object, &dict);
    if (values) return find_in_values(object, values, name, value, hint);
  } else {
    PyObject** place = _PyObject_GetDictPtr(object);
    dict = place ? *place : NULL;
  }
  if (!dict) return 0;
  return PyDict_Check(dict) ? md_dict_find_hinted(dict, name, hash_of_name(name), value, hint) : -1;
}

int md_instance_find(PyObject* object, PyObject* name, PyObject** value) {
  unsigned hint = 0;
  return md_instance_find_hinted(object, name, value, &hint);
}

int md_dict_has_inline_values(PyObject* dict) {
#if PY_VERSION_HEX < 0x030D0000
  (void)dict;
  return 0;
#else
  PyDictValues* values = ((PyDictObject*)dict)->ma_values;
  return values && values->embedded;
#endif
}

static int put(md_word* out, int n, const void* at) {
  out[n].at = at;
  memcpy(&out[n].value, at, sizeof out[n].value);
  return n + 1;
}

// Neither the address of the keys nor their number tells that no other dictionary of keys has taken the place of one
// that was let go. What an entry holds does, and so nothing tells that a key is missing.
int md_lookup_words(PyObject* dict, PyObject* key, Py_hash_t hash, md_word* out) {
  PyDictObject* d = (PyDictObject*)dict;
  PyDictKeysObject* keys = d->ma_keys;
  const Py_ssize_t index = find_entry(keys, key, hash);
  if (index < 0 || key_of_entry(keys, index) != key) return 0;
  int n = put(out, 0, &d->ma_keys);
  n = put(out, n, &keys->dk_log2_size);  // with the kind and the width of the indices: where the entry is
  if (keys->dk_kind == DICT_KEYS_GENERAL) {
    n = put(out, n, &DK_ENTRIES(keys)[index].me_key);
    return put(out, n, &DK_ENTRIES(keys)[index].me_value);
  }
  n = put(out, n, &DK_UNICODE_ENTRIES(keys)[index].me_key);
  if (!d->ma_values) return put(out, n, &DK_UNICODE_ENTRIES(keys)[index].me_value);
  n = put(out, n, &d->ma_values);
  return put(out, n, &d->ma_values->values[index]);
}

// Keys that the instances of a class share only grow.
static int value_words(PyObject* object, PyDictValues* values, PyObject* name, md_word* out, int n) {
  PyHeapTypeObject* type = (PyHeapTypeObject*)Py_TYPE(object);
  PyDictKeysObject* keys = type->ht_cached_keys;
  const Py_ssize_t index = find_entry(keys, name, hash_of_name(name));
  if (index == -2) return -1;
  n = put(out, n, &type->ht_cached_keys);
  return put(out, n, index == -1 ? (const void*)&keys->dk_nentries : &values->values[index]);
}

int md_instance_words(PyObject* object, PyObject* name, md_word* out, PyObject** dict) {
  *dict = NULL;
  if (!(Py_TYPE(object)->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
    PyObject** place = _PyObject_GetDictPtr(object);
    if (!place) return 0;
    *dict = *place;
    return put(out, 0, place);
  }
  PyDictValues* values = managed_values(object, dict);
#if PY_VERSION_HEX < 0x030C0000
  int n = put(out, 0, _PyObject_ValuesPointer(object));
  if (!values) n = put(out, n, _PyObject_ManagedDictPointer(object));
#elif PY_VERSION_HEX < 0x030D0000
  int n = put(out, 0, _PyObject_DictOrValuesPointer(object));
#else
  int n = put(out, 0, _PyObject_ManagedDictPointer(object));
  if (values) n = put(out, n, values);  // whether they are valid
#endif
  return values ? value_words(object, values, name, out, n) : n;
}

#if PY_VERSION_HEX >= 0x030C0000
// Any event of any tool, 3.12's monitors being 15 bytes, 3.13's those of a code object 10. The bits 6 and 7 of each are
// of sys.setprofile and sys.settrace, which act in threads that have set them, and stay where such a thread has ended.
static int wants(const uint8_t* tools, size_t count) {
  uint64_t first, last;
  memcpy(&first, tools, sizeof first);
  memcpy(&last, tools + count - sizeof last, sizeof last);
  return ((first | last) & 0x3f3f3f3f3f3f3f3f) != 0;
}
#endif

int md_is_monitored(PyCodeObject* code) {
#if PY_VERSION_HEX >= 0x030C0000
  PyInterpreterState* interpreter = PyInterpreterState_Get();
  if (wants(interpreter->monitors.tools, sizeof interpreter->monitors.tools)) return 1;
  const _PyCoMonitoringData* own = code->_co_monitoring;
  return own && wants(own->local_monitors.tools, sizeof own->local_monitors.tools);
#else
  (void)code;
  return 0;
#endif
}

unsigned long md_lock_changes(void) {
#if PY_VERSION_HEX >= 0x030C0000
  return PyInterpreterState_Get()->ceval.gil->switch_number;
#else
  return _PyRuntime.ceval.gil.switch_number;
#endif
}
