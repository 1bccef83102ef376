// How fast this machine copies memory: what the bytes a second of kernels are compared with.
#include <algorithm>
#include <chrono>

#include "ir/graph/op_ids.h"
#include "ir/reference/engine.h"
#include "ir/run/cost_totals.h"

namespace md {

double copy_bandwidth() {
  constexpr std::int64_t kElements = 1 << 22;  // as much as most caches hold, twice
  constexpr double kBytes = 4.0 * kElements;
  const auto buffer = [] {
    return make_ref<TensorImpl>(allocate_storage(static_cast<std::size_t>(kBytes)), DType::Float32, DimVec{kElements},
                                DimVec{1}, 0);
  };
  const TensorRef from = buffer(), to = buffer();
  double best = 0;
  for (int k = 0; k < 3; ++k) {
    const auto start = std::chrono::steady_clock::now();
    engine().run(op(id::Copy), std::vector<Arg>{to, from}, std::span(&to, 1));
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2 * kBytes / std::max(took.count(), 1e-9));  // read and written
  }
  return best;
}

}  // namespace md
