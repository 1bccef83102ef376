// Guards on what classes hold: one per class, however many names were looked up on it.
#pragma once

#include "frontend/guards/compiled_guards.h"

namespace md::guards {

// The payload's items are (expect, name or None, class or None, object or None), as ClassFact::Lookup has them.
struct ClassLookups {
  static constexpr const char* name = "TYPE_MRO_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op);
  template <bool explain>
  [[gnu::noinline]] static bool check(const GuardOp& op, PyObject* const* regs, Why* why) {
    const ClassFact& f = *op.cls;
    PyObject* o = regs[op.reg];
    if (!PyType_Check(o)) return false;
    const auto* type = reinterpret_cast<PyTypeObject*>(o);
    if (f.version != 0 && f.version == type->tp_version_tag) [[likely]]
      return true;
    return look_again(f, reinterpret_cast<PyTypeObject*>(o), explain ? why : nullptr);
  }
  static std::string text(const GuardRecord& r, const std::string& s) { return r.described + " on " + s; }
  static std::string describe(const Guard& g);

 private:
  static bool look_again(const ClassFact& f, PyTypeObject* type, Why* why);
};

}  // namespace md::guards
