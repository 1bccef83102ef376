// Guards on the presence of attributes and of sources.
#pragma once

#include "frontend/guards/program.h"

namespace md::guards {

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
    return is_dynamic_mark(r) ? call + " == False" : "not " + call;
  }
  static bool is_dynamic_mark(const GuardRecord& r) {
    return PyUnicode_CompareWithASCIIString(r.object.get(), "_dynamo_dynamic_indices") == 0;
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

}  // namespace md::guards
