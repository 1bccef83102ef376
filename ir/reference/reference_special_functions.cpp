// The kernels of registry/ops/special_functions.h.
#include "ir/reference/elements.h"
#include "ir/reference/special_functions.h"
#include "ir/reference/special_values.h"

namespace md {
namespace {

template <class O>
void run_special(O o, const KernelCall& c, std::int64_t first, std::int64_t last) {
  if constexpr (std::is_same_v<O, ops::Polygamma>) {
    const std::int64_t n = c.args[1].get<Size>().value();
    map_floats(c, first, last, [n](auto x) { return formulas::polygamma(x, n); });
  } else if constexpr (requires { formulas::value_of(o, 0.0, 0.0); }) {
    map_float_pairs(c, first, last, [o](auto x, auto y) { return formulas::value_of(o, x, y); });
  } else {
    map_floats(c, first, last, [o](auto x) { return formulas::value_of(o, x); });
  }
}

}  // namespace

#define MD_OP(S)                                                                            \
  void run_elements(ops::S o, const KernelCall& c, std::int64_t first, std::int64_t last) { \
    run_special(o, c, first, last);                                                         \
  }                                                                                         \
  void reference_kernel(ops::S o, const KernelCall& c) { run_special(o, c, 0, c.out[0]->numel()); }
#include "registry/special_functions.inc"
#undef MD_OP

}  // namespace md
