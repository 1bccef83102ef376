// Guards on the presence of attributes and of sources.
#pragma once

#include "frontend/guards/containers.h"

namespace md {

// Where mark_dynamic() and mark_static() keep the dimensions of a tensor.
inline constexpr const char* kDynamicMarks = "_dynamo_dynamic_indices";
inline constexpr const char* kStaticMarks = "_dynamo_static_indices";

namespace guards {

struct NoHasattr {
  static constexpr const char* name = "NO_HASATTR";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.name = b.name(g); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return attr_absent(regs[op.reg], op.name->name, op.name->memo);
  }
  // The mark torch looks for on every tensor is spelled its own way.
  static std::string text(const GuardRecord& r, const std::string& s) {
    const std::string call = "hasattr(" + s + ", " + constant_repr(r.object.get()) + ")";
    return on_dynamic_marks(r) ? call + " == False" : "not " + call;
  }
  static bool on_dynamic_marks(const GuardRecord& r) {
    return PyUnicode_CompareWithASCIIString(r.object.get(), kDynamicMarks) == 0;
  }
};

struct Hasattr {
  static constexpr const char* name = "HASATTR";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.name = b.name(g); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return !attr_absent(regs[op.reg], op.name->name, op.name->memo);
  }
  static std::string text(const GuardRecord& r, const std::string& s) {
    return "hasattr(" + s + ", " + constant_repr(r.object.get()) + ")";
  }
};

// Code with symbols for the marked dimensions serves tensors without marks and with fewer of them too; the same holds
// for constants and dimensions marked static.
struct DimensionMarks {
  static constexpr const char* name = "DIMENSION_MARKING";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op);
  template <bool explain>
  [[gnu::noinline]] static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return attr_absent(regs[op.reg], op.name->name, op.name->memo) || are_known(op, regs[op.reg]);
  }
  static std::string text(const GuardRecord& r, const std::string& s);

  static const char* attribute(bool fixed) { return fixed ? kStaticMarks : kDynamicMarks; }
  static std::string marked(PyObject* dims, bool fixed);
  static std::string marked_now(PyObject* tensor, bool fixed);

 private:
  static bool are_known(const GuardOp& op, PyObject* tensor);
};

// Of the source itself, so the load before it is optional.
struct NotPresent {
  static constexpr const char* name = "DICT_CONTAINS";
  static void prepare(const Guard&, GuardBuilder&, GuardOp&) {}
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return regs[op.reg] == nullptr;
  }
  static std::string text(const GuardRecord& r, const std::string&) { return r.described; }
  // What the source's absence is called, on its parent.
  static std::string describe(const Source& s);
};

}  // namespace guards
}  // namespace md
