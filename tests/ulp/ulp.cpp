// Every float32 input of every unary function, 10^9 pairs of pow, and float64 samples. Usage: ulp [name...]
// Prints one line per function; the exit status says whether all are within 2 ULP.
#include "tests/ulp/ulp.h"

#include <cstdio>
#include <mutex>

#include "backend/machine/thread_pool.h"

namespace md::ulp {
namespace {

constexpr double kLimit = 2;

bool report(const char* name, const char* what, const Worst& w) {
  std::printf("%-8s %-28s %8.4f ULP at %a", name, what, w.ulps, w.at);
  if (w.other != 0) std::printf(", %a", w.other);
  std::printf("%s\n", w.ulps <= kLimit ? "" : "  TOO FAR");
  std::fflush(stdout);
  return w.ulps <= kLimit;
}

// Runs `part(begin, end)` over [0, n) on all threads and merges what they found.
template <class F>
Worst in_parallel(std::int64_t n, std::int64_t grain, F part) {
  Worst all;
  std::mutex lock;
  parallel_for(n, grain, [&](std::int64_t begin, std::int64_t end) {
    const Worst w = part(begin, end);
    const std::lock_guard guard(lock);
    all.merge(w);
  });
  return all;
}

bool test_unary(const Function& f) {
  const blocks::KernelTable& kernels = blocks::kernel_table();
  const Worst w = in_parallel(std::int64_t{1} << 32, std::int64_t{1} << 22, [&](std::int64_t begin, std::int64_t end) {
    return sweep(f, kernels, static_cast<std::uint64_t>(begin), static_cast<std::uint64_t>(end), 1);
  });
  const bool good = report(f.name, "float32, all 2^32", w);
  const Worst d = in_parallel(64, 1, [&](std::int64_t begin, std::int64_t) {
    return sample_double(f, kernels, 1 << 18, static_cast<unsigned>(begin) + 1);
  });
  return report(f.name, "float64, 1.6e7 points", d) && good;
}

bool test_pow() {
  const blocks::KernelTable& kernels = blocks::kernel_table();
  bool good = report("pow", "float32, edges", PowTest<float>(kernels).edges());
  good &= report("pow", "float64, edges", PowTest<double>(kernels).edges());
  const auto random = [&]<class T>(T, std::uint64_t pairs) {
    return in_parallel(256, 1, [&](std::int64_t begin, std::int64_t) {
      return PowTest<T>(kernels).random(pairs / 256, static_cast<unsigned>(begin) + 1);
    });
  };
  good &= report("pow", "float32, 1e9 pairs", random(float{}, 1000000000));
  good &= report("pow", "float64, 1.6e7 pairs", random(double{}, 1 << 24));
  return good;
}

int run(int count, char** names) {
  const auto wanted = [&](const char* name) {
    for (int i = 1; i < count; ++i) {
      if (!std::strcmp(names[i], name)) return true;
    }
    return count < 2;
  };
  std::printf("kernels: %s\n", blocks::kernel_table().level);
  bool good = true;
  for (const Function& f : functions()) {
    if (wanted(f.name)) good &= test_unary(f);
  }
  if (wanted("pow")) good &= test_pow();
  return good ? 0 : 1;
}

}  // namespace
}  // namespace md::ulp

int main(int argc, char** argv) { return md::ulp::run(argc, argv); }
