// Products of matrices, joining, convolution: the batch becomes part of a dimension where that makes one large call.
#include <algorithm>

#include "ir/batching/batch_rules.h"

namespace md {

namespace {

// Dimensions `at` and `at + 1` as one.
Arg merged(const Batching& b, const Arg& x, std::size_t at) {
  const SizeVec have = type_of(x).sizes;
  SizeVec sizes;
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (i == at + 1)
      sizes.back() = sizes.back() * have[i];
    else
      sizes.push_back(have[i]);
  }
  return reshaped(b, x, sizes);
}

// Dimension `at` as `first` times the rest of it.
Arg divided(const Batching& b, const Arg& x, std::size_t at, Size first, Size second) {
  SizeVec sizes;
  const SizeVec have = type_of(x).sizes;
  for (std::size_t i = 0; i < have.size(); ++i) {
    if (i != at) {
      sizes.push_back(have[i]);
      continue;
    }
    sizes.push_back(first);
    sizes.push_back(second);
  }
  return reshaped(b, x, sizes);
}

}  // namespace

Arg batch_mm(const Batching& b) {
  if (b.is_batched(1)) return b.caller.call(id::Matmul, {b.arg(0), b.arg(1)});
  const Arg rows = b.call(id::Mm, {merged(b, b.arg(0), 0), b.arg(1)});
  return divided(b, rows, 0, b.batch, b.one(0).sizes[0]);
}

Arg batch_bmm(const Batching& b) {
  const Arg made = b.call(id::Bmm, {merged(b, b.whole(0), 0), merged(b, b.whole(1), 0)});
  return divided(b, made, 0, b.batch, b.one(0).sizes[0]);
}

// What multiplies all examples from the right in the same way does so at once; others by their parts.
Arg batch_matmul(const Batching& b) {
  if (b.is_batched(1) || b.rank_of_one(0) < 1 || b.rank_of_one(1) < 1 || b.rank_of_one(1) > 2) return NoneArg{};
  return b.again(b.copied());
}

Arg batch_cat(const Batching& b) {
  int rank = 1;
  for (const Arg& a : b.logical[0].get<ListArg>().items) rank = std::max(rank, type_of(a).dim());
  ListArg parts;
  // An empty vector among tensors of more dimensions counts as nothing.
  const auto& given = b.arg(0).get<ListArg>().items;
  for (std::size_t i = 0; i < given.size(); ++i)
    if (type_of(given[i]).dim() == rank + 1) parts.items.push_back(given[i]);
  return b.caller.call(id::Cat, {parts, shifted_dim(b.arg(1), rank)});
}

// Examples of pictures are more pictures, examples of weights more channels, of both more groups.
Arg batch_convolution(const Batching& b) {
  std::vector<Arg> args = b.copied();
  const Size groups = b.arg(5).get<Size>();
  const bool one_group = guard_eq(groups, 1);
  if (b.is_batched(0) && !b.is_batched(1)) {
    args[0] = merged(b, b.arg(0), 0);
    const Arg made = b.again(std::move(args));
    return divided(b, made, 0, b.batch, b.one(0).sizes[0]);
  }
  const Size channels = b.one(1).sizes[0];
  args[1] = merged(b, b.arg(1), 0);
  if (b.is_batched(0) || !one_group) {
    args[0] = merged(b, b.call(id::Transpose, {b.whole(0), 0, 1}), 1);
    args[5] = groups * b.batch;
  }
  const Arg made = divided(b, b.again(std::move(args)), 1, b.batch, channels);
  return b.call(id::Transpose, {made, 0, 1});
}

}  // namespace md
