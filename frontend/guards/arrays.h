// Guards on NumPy arrays and scalars, which enter graphs as tensors over their memory.
#pragma once

#include "frontend/guards/compiled_guards.h"

namespace md::guards {

struct ArrayMatch {
  static constexpr const char* name = "TENSOR_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op);
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why* why) {
    const bool same = matches(op, regs[op.reg]);
    if (explain && !same) explain_difference(op, regs[op.reg], *why);
    return same;
  }
  static std::string text(const GuardRecord& r, const std::string& s);

 private:
  static bool matches(const GuardOp& op, PyObject* o);
  static void explain_difference(const GuardOp& op, PyObject* o, Why& why);
};

}  // namespace md::guards
