// Views of one example as views of all: the same ones behind the batch.
#include <algorithm>

#include "ir/batching/batch_rules.h"

namespace md {

namespace {

// The sizes of the result, where an example's elements keep their order.
Arg viewed(const Batching& b) {
  return b.caller.call(id::View, {b.arg(0), sizes_arg(b.behind_batch(b.result_sizes()))});
}

Arg shifted_list(const Arg& dims, int rank) {
  ListArg out;
  for (const Arg& d : dims.get<ListArg>().items) out.items.push_back(shifted_dim(d, rank));
  return out;
}

// The arguments with the dimensions at these places shifted.
Arg with_shifted(const Batching& b, std::initializer_list<std::size_t> places) {
  std::vector<Arg> args = b.copied();
  const int rank = b.rank_of_one(0);
  if (rank == 0) args[0] = b.caller.call(id::Unsqueeze, {args[0], 1});
  for (const std::size_t i : places) args[i] = shifted_dim(args[i], rank);
  return b.again(std::move(args));
}

}  // namespace

Arg batch_view(const Batching& b) { return viewed(b); }

Arg batch_squeeze(const Batching& b) {
  const TensorType one = b.one(0);
  ListArg dims;
  if (b.op.id == id::SqueezeDim) {
    if (one.dim() > 0) dims = shifted_list(b.arg(1), one.dim()).get<ListArg>();
  } else {
    for (int i = 0; i < one.dim(); ++i)
      if (guard_eq(one.sizes[static_cast<std::size_t>(i)], 1)) dims.items.emplace_back(i + 1);
  }
  if (dims.items.empty()) return viewed(b);
  return b.caller.call(id::SqueezeDim, {b.arg(0), dims});
}

Arg batch_unsqueeze(const Batching& b) {
  const std::int64_t d = hint(b.arg(1).get<Size>());
  return b.caller.call(id::Unsqueeze, {b.arg(0), Size(d < 0 ? d + b.rank_of_one(0) + 2 : d + 1)});
}

Arg batch_expand(const Batching& b) {
  const SizeVec sizes = b.result_sizes();
  const Arg x = padded(b, b.arg(0), b.rank_of_one(0), static_cast<int>(sizes.size()));
  return b.caller.call(id::Expand, {x, sizes_arg(b.behind_batch(sizes))});
}

Arg batch_permute(const Batching& b) {
  const int rank = b.rank_of_one(0);
  if (rank == 0) return viewed(b);
  ListArg dims = shifted_list(b.arg(1), rank).get<ListArg>();
  dims.items.insert(dims.items.begin(), Arg(0));
  return b.caller.call(id::Permute, {b.arg(0), dims});
}

Arg batch_transpose(const Batching& b) { return b.rank_of_one(0) == 0 ? viewed(b) : with_shifted(b, {1, 2}); }

Arg batch_matrix_t(const Batching& b) {
  return b.rank_of_one(0) < 2 ? viewed(b) : b.caller.call(id::Transpose, {b.arg(0), 1, 2});
}

Arg batch_reversed_t(const Batching& b) {
  ListArg dims{{Arg(0)}};
  for (int i = b.rank_of_one(0); i > 0; --i) dims.items.emplace_back(i);
  return b.caller.call(id::Permute, {b.arg(0), dims});
}

Arg batch_last_two_t(const Batching& b) { return b.caller.call(id::Transpose, {b.arg(0), -2, -1}); }

Arg batch_dim_view(const Batching& b) { return with_shifted(b, {1}); }

Arg batch_diagonal(const Batching& b) { return with_shifted(b, {2, 3}); }

Arg batch_as_strided(const Batching& b) {
  SizeVec sizes{b.batch}, strides{b.tensor(0).strides[0]};
  for (const Arg& s : b.arg(1).get<ListArg>().items) sizes.push_back(s.get<Size>());
  for (const Arg& s : b.arg(2).get<ListArg>().items) strides.push_back(s.get<Size>());
  return b.caller.call(id::AsStrided, {b.arg(0), sizes_arg(sizes), sizes_arg(strides), b.arg(3)});
}

// The strides are those of a contiguous example.
Arg batch_write_view(const Batching& b) {
  SizeVec strides{product(b.one(0).sizes)};
  for (const Arg& s : b.arg(2).get<ListArg>().items) strides.push_back(s.get<Size>());
  const int rank = b.rank_of_one(1);
  const Arg source = b.is_batched(1) ? b.arg(1) : repeated(b, b.arg(1), b.batch);
  if (rank != static_cast<int>(strides.size()) - 1) throw InternalError("write_view with strides of another view");
  return b.caller.call(id::WriteView, {b.whole(0), source, sizes_arg(strides), b.arg(3)});
}

}  // namespace md
