// Between dtypes, in blocks: halves and small integers are computed with in wider ones.
#include "backend/blocks/conversion.h"

namespace md::blocks {

namespace {

ConvertKernel widening(const KernelTable& k, DType t) { return k.widen[static_cast<int>(t)]; }
ConvertKernel narrowing(const KernelTable& k, DType t) { return k.narrow[static_cast<int>(t)]; }
ConvertKernel between(const KernelTable& k, DType from, DType to) {
  const DType a = working(from), b = working(to);
  return a == b ? nullptr : k.convert[compute_index(a)][compute_index(b)];
}

}  // namespace

Conversion Conversion::copy(const KernelTable& k, DType from, DType to) {
  Conversion c;
  if (from == to) return c;
  c.add(widening(k, from));
  c.add(between(k, from, to));
  c.add(narrowing(k, to));
  return c;
}

Conversion Conversion::load(const KernelTable& k, DType from, DType to) {
  Conversion c = copy(k, from, to);
  c.add(widening(k, to));
  return c;
}

Conversion Conversion::store(const KernelTable& k, DType from, DType to) {
  Conversion c;
  c.add(narrowing(k, from));
  if (from == to) return c;
  c.add(widening(k, from));
  c.add(between(k, from, to));
  c.add(narrowing(k, to));
  return c;
}

void Conversion::operator()(const void* in, void* out, std::int64_t n) const {
  if (count_ == 1) return steps_[0](in, out, n);
  alignas(64) unsigned char between[2][kBlock * 8];
  for (int i = 0; i < count_; ++i) {
    void* const to = i + 1 == count_ ? out : between[i % 2];
    steps_[i](in, to, n);
    in = to;
  }
}

}  // namespace md::blocks
