// Guards on tensors: their metadata and how they share storage.
#pragma once

#include "frontend/guards/compiled_guards.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/tensor/lazy_view.h"

namespace md::guards {

struct TensorMatch {
  static constexpr const char* name = "TENSOR_MATCH";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op);
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why* why) {
    const TensorFact& f = *op.tensor;
    PyObject* o = regs[op.reg];
    if (reinterpret_cast<PyObject*>(Py_TYPE(o)) != *f.type) [[unlikely]]
      return explain && explain_type(o, *why);
    const TensorImpl& t = *tensor_impl(o);
    const bool same = t.dtype == f.dtype && t.requires_grad == f.requires_grad && t.history == f.history &&
                      t.wrapped_number == f.wrapped_number && t.device() == f.device && t.sizes.size() == f.dim &&
                      (f.any_extent ? extents_fit<true>(f, t) : extents_fit<false>(f, t)) &&
                      (t.batch ? pending_of(t) == pending_in(op.flag) : op.flag == 0);
    if (explain && !same) explain_difference(f, t, pending_in(op.flag), *why);
    return same;
  }
  static std::string text(const GuardRecord& r, const std::string& s);

 private:
  template <bool any_extent>
  static bool extents_fit(const TensorFact& f, const TensorImpl& t) {
    const std::int64_t *sizes = t.sizes.data(), *strides = t.strides.data(), *wanted = f.extents;
    for (int d = 0; d < f.dim; ++d, wanted += 2) {
      if constexpr (any_extent) {
        if (!fits(sizes[d], wanted[0]) || !fits(strides[d], wanted[1])) return false;
      } else if (((sizes[d] ^ wanted[0]) | (strides[d] ^ wanted[1])) != 0) {
        return false;
      }
    }
    return true;
  }
  static bool fits(std::int64_t actual, std::int64_t wanted) { return (actual == wanted) | (wanted == kAnyExtent); }
  static Pending pending_in(std::uint8_t flag) { return {(flag & 1) != 0, (flag & 2) != 0}; }
  static bool explain_type(PyObject* o, Why& why);  // false
  static void explain_difference(const TensorFact& f, const TensorImpl& t, Pending pending, Why& why);
};

// Which inputs share storage, and at which offsets.
struct NoAliasing {
  static constexpr const char* name = "NO_TENSOR_ALIASING";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op);
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    const AliasFact& f = *op.alias;
    return f.groups.empty() ? all_distinct(f, regs) : as_recorded(f, regs);
  }
  static std::string text(const GuardRecord& r, const std::string& s) { return r.described; }

 private:
  static bool all_distinct(const AliasFact& f, PyObject* const* regs);
  static bool as_recorded(const AliasFact& f, PyObject* const* regs);
};

struct Aliasing {
  static constexpr const char* name = "LAMBDA_GUARD";
  static void prepare(const Guard& g, GuardBuilder& b, GuardOp& op) { op.value = b.register_of(g.other); }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return regs[op.reg] == regs[op.value];
  }
  static std::string text(const GuardRecord& r, const std::string& s) { return s + " is " + r.described; }
};

}  // namespace md::guards
