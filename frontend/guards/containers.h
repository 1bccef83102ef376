// Guards on the shape of containers: lengths, keys, elements of sets.
#pragma once

#include "frontend/cpython/dict_access.h"
#include "frontend/cpython/iterator_state.h"
#include "frontend/cpython/object_fields.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/guards/compiled_guards.h"

namespace md::guards {

// "['a', 'b']" of a tuple.
std::string listed(PyObject* tuple);
// "{'a', 'b'}" of a set of constants.
std::string set_text(PyObject* set);
// A dictionary that maps each element of a set of constants to itself.
PyRef keys_of_set(PyObject* set);

struct LengthCheck {
  static constexpr const char* name = "LENGTH_CHECK";
  static void prepare(const Guard& g, GuardBuilder&, GuardOp& op) { op.value = g.value; }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return length(regs[op.reg]) == op.value;
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return r.value == 0 ? "not " + s : "len(" + s + ") == " + std::to_string(r.value);
  }

  // -1: of something else.
  static Py_ssize_t length(PyObject* o) {
    if (PyTuple_Check(o) || PyList_Check(o)) return Py_SIZE(o);
    if (PyDict_Check(o)) return PyDict_GET_SIZE(o);
    if (PyAnySet_Check(o)) return PySet_GET_SIZE(o);
    if (PyUnicode_Check(o)) return PyUnicode_GetLength(o);  // which readies the old strings of 3.11
    if (PyBytes_Check(o)) return Py_SIZE(o);
    return is_tuple_iterator(o) ? tuple_iterator_left(o) : deque_length(o);
  }
};

struct DequeMaxlen {
  static constexpr const char* name = "EQUALS_MATCH";
  static void prepare(const Guard& g, GuardBuilder&, GuardOp& op) { op.value = g.value; }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return deque_maxlen(regs[op.reg]) == op.value;
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return s + ".maxlen == " + (r.value < 0 ? "None" : std::to_string(r.value));
  }
};

struct DictLength {
  static constexpr const char* name = "DICT_LENGTH";
  static void prepare(const Guard& g, GuardBuilder&, GuardOp& op) { op.value = g.value; }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return PyDict_Check(o) && PyDict_GET_SIZE(o) == op.value;
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return r.value == 0 ? "not " + s : "len(" + s + ") == " + std::to_string(r.value);
  }
};

// Both look in the storage of a dict, or, flagged, in the attributes stored in an instance.
struct DictContains {
  static constexpr const char* name = "DICT_CONTAINS";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
    op.key = b.key(g);
    op.flag = g.value != 0;
  }
  static int find(const GuardOp& op, PyObject* o) {
    PyObject* value;
    if (op.flag) return md_instance_find_hinted(o, op.key->key, &value, &op.key->hint);
    return PyDict_Check(o) ? md_dict_find_hinted(o, op.key->key, op.key->hash, &value, &op.key->hint) : -1;
  }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return find(op, regs[op.reg]) == 1;
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "___dict_contains(" + constant_repr(r.object.get()) + ", " + s + (r.value ? ".__dict__)" : ")");
  }
};

struct DictNotContains {
  static constexpr const char* name = "DICT_CONTAINS";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { DictContains::prepare(g, b, op); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return DictContains::find(op, regs[op.reg]) == 0;
  }
  static std::string text(const GuardRecord& r, const std::string& s) { return "not " + DictContains::text(r, s); }
};

struct DictKeyOrder {
  static constexpr const char* name = "DICT_KEYS_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.object = b.hold(weak_keys(g.object.get())); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return PyDict_Check(o) && same_keys(o, op.object);
  }
  static PyRef weak_keys(PyObject* keys);  // the tuple with weak references to keys that are no constants
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "list(dict.keys(" + s + ")) == " + listed(r.object.get());
  }

 private:
  static bool same_keys(PyObject* dict, PyObject* keys);
};

struct SetMatch {
  static constexpr const char* name = "EQUALS_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.object = b.hold(keys_of_set(g.object.get())); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return PyAnySet_Check(o) && set_equals_keys(o, op.object);
  }
  static std::string text(const GuardRecord& r, const std::string& s) { return s + " == " + set_text(r.object.get()); }
};

struct SetOrder {
  static constexpr const char* name = "EQUALS_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
    op.object = b.hold(DictKeyOrder::weak_keys(g.object.get()));
  }
  template <bool explain>
  [[gnu::noinline]] static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    PyObject* o = regs[op.reg];
    return PyAnySet_Check(o) && set_iterates_as(o, op.object);
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "list(" + s + ") == " + listed(r.object.get());
  }
};

struct SetContains {
  static constexpr const char* name = "SET_CONTAINS";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.key = b.key(g); }
  static int find(const GuardOp& op, PyObject* o) {
    return PyAnySet_Check(o) ? set_contains(o, op.key->key, op.key->hash) : -1;
  }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return find(op, regs[op.reg]) == 1;
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "set.__contains__(" + s + ", " + constant_repr(r.object.get()) + ")";
  }
};

struct SetNotContains {
  static constexpr const char* name = "SET_CONTAINS";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.key = b.key(g); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return SetContains::find(op, regs[op.reg]) == 0;
  }
  static std::string text(const GuardRecord& r, const std::string& s) { return "not " + SetContains::text(r, s); }
};

}  // namespace md::guards
