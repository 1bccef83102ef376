// Elementwise kernels of one function call per element, on several threads.
#include "backend/blocks/kernel_args.h"
#include "backend/machine/thread_pool.h"
#include "ir/reference/special.h"
#include "ir/reference/special_functions.h"

namespace md::blocks {
namespace {

constexpr std::int64_t kElements = 512;  // worth a task of their own

template <class O>
bool by_elements(O op, const KernelArgs& a) {
  if (!a.out[0]->is_contiguous()) return false;
  const KernelCall c{a.op, a.args, a.out};
  parallel_for(a.out[0]->numel(), kElements,
               [&](std::int64_t begin, std::int64_t end) { run_elements(op, c, begin, end); });
  return true;
}

}  // namespace

bool run_op(ops::ErfInv o, const KernelArgs& c) { return by_elements(o, c); }
bool run_op(ops::LGamma o, const KernelArgs& c) { return by_elements(o, c); }
bool run_op(ops::Digamma o, const KernelArgs& c) { return by_elements(o, c); }
bool run_op(ops::Gcd o, const KernelArgs& c) { return by_elements(o, c); }
bool run_op(ops::Lcm o, const KernelArgs& c) { return by_elements(o, c); }
bool run_op(ops::NextAfter o, const KernelArgs& c) { return by_elements(o, c); }
#define MD_OP(S) \
  bool run_op(ops::S o, const KernelArgs& c) { return by_elements(o, c); }
#include "registry/special_functions.inc"
#undef MD_OP

}  // namespace md::blocks
