// Reading and writing by position: positions of an example become positions among all.
#include <algorithm>

#include "ir/batching/batch_rules.h"
#include "ir/infer/indexing.h"

namespace md {

namespace {

bool is_tensor_type(ParamType t) {
  return t == ParamType::Tensor || t == ParamType::TensorOpt || t == ParamType::Operand || t == ParamType::OperandOpt;
}

// Numbers of the examples, with `rank` dimensions of size 1 behind them.
Arg example_numbers(const Batching& b, int rank) {
  SizeVec sizes{b.batch};
  for (int i = 0; i < rank; ++i) sizes.push_back(1);
  return reshaped(b, b.call(id::Arange, {0, b.batch, 1, DType::Int64}), sizes);
}

Arg flat(const Batching& b, const Arg& x) {
  const SizeVec sizes = type_of(x).sizes;
  return reshaped(b, x, SizeVec{b.batch, product(SizeVec(sizes.begin() + 1, sizes.end()))});
}

// Positions from the front, in int64.
Arg from_front(const Batching& b, const Arg& positions, Size size) {
  const Arg wide = converted(b, positions, DType::Int64);
  return b.call(id::Where, {b.call(id::Lt, {wide, 0}), b.call(id::Add, {wide, size}), wide});
}

}  // namespace

Arg batch_along_whole(const Batching& b) {
  std::vector<Arg> args = b.copied();
  const int rank = b.rank_of_one(0);
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (!is_tensor_type(b.op.schema.params[i].type) || !is_tensor(args[i])) continue;
    const int k = static_cast<int>(i);
    args[i] = padded(b, b.whole(k), b.rank_of_one(k), 1);
  }
  args[1] = shifted_dim(args[1], rank);
  return reshaped(b, b.again(std::move(args)), b.behind_batch(b.result_sizes()));
}

Arg batch_index_select(const Batching& b) {
  const int rank = b.rank_of_one(0);
  const Arg dim = shifted_dim(b.arg(1), rank);
  const Arg x = padded(b, b.whole(0), rank, 1);
  const SizeVec result = b.behind_batch(b.result_sizes());
  if (!b.is_batched(2)) return reshaped(b, b.call(id::IndexSelect, {x, dim, b.arg(2)}), result);
  // Each example by positions of its own: they are the same along all other dimensions.
  SizeVec sizes = type_of(x).sizes, single;
  const auto at = static_cast<std::size_t>(hint(dim.get<Size>()));
  const Arg positions = padded(b, b.arg(2), b.rank_of_one(2), 1);
  const Size count = type_of(positions).sizes[1];
  for (std::size_t i = 0; i < sizes.size(); ++i) single.push_back(i == 0 ? b.batch : i == at ? count : Size(1));
  sizes[at] = count;
  const Arg wide = converted(b, positions, DType::Int64);
  const Arg everywhere = b.call(id::Expand, {reshaped(b, wide, single), sizes_arg(sizes)});
  return reshaped(b, b.call(id::Gather, {x, dim, everywhere}), result);
}

// The examples follow one another along the dimension.
Arg batch_index_write(const Batching& b) {
  const int rank = b.rank_of_one(0);
  const Arg dim = shifted_dim(b.arg(1), rank);
  const bool has_source = b.op.id == id::IndexAdd || b.op.id == id::IndexCopy;
  std::vector<Arg> args = b.copied();
  const Arg x = padded(b, b.whole(0), rank, 1);
  if (b.op.id == id::IndexFillTensor && b.is_batched(3)) {
    // A value for each example: written into a copy by where the positions are marked.
    const Arg places = b.call(id::FullLike, {x, 0, DType::Bool});
    std::vector<Arg> marks = args;
    marks[0] = places, marks[3] = true;
    const Batching marking{{{op(id::IndexFill), marks}, b.caller, b.place}, b.logical, b.batched | 1, b.batch};
    const Arg marked = batch_index_write(marking);
    const Arg value = padded(b, converted(b, b.arg(3), type_of(x).dtype), 0, type_of(x).dim() - 1);
    return reshaped(b, b.call(id::Where, {marked, value, x}), b.behind_batch(b.result_sizes()));
  }
  const auto joined = [&](const Arg& t) {  // the dimension first, examples before it
    const Arg front = b.call(id::MoveDim, {t, ListArg{{dim}}, ListArg{{Arg(1)}}});
    SizeVec sizes = type_of(front).sizes;
    sizes[1] = sizes[0] * sizes[1];
    return reshaped(b, front, SizeVec(sizes.begin() + 1, sizes.end()));
  };
  const Arg front = b.call(id::MoveDim, {x, ListArg{{dim}}, ListArg{{Arg(1)}}});
  const Size size = type_of(front).sizes[1];
  const Arg positions = padded(b, b.whole(2), b.rank_of_one(2), 1);
  const Arg among = b.call(id::Add, {from_front(b, positions, size), b.call(id::Mul, {example_numbers(b, 1), size})});
  args[0] = joined(x);
  args[1] = 0;
  args[2] = reshaped(b, among, SizeVec{product(type_of(among).sizes)});
  if (has_source) args[3] = joined(padded(b, b.whole(3), b.rank_of_one(3), 1));
  const Arg written = reshaped(b, b.again(std::move(args)), type_of(front).sizes);
  const Arg back = b.call(id::MoveDim, {written, ListArg{{Arg(1)}}, ListArg{{dim}}});
  return reshaped(b, back, b.behind_batch(b.one(0).sizes));
}

Arg batch_take(const Batching& b) {
  const Arg x = flat(b, b.whole(0)), positions = flat(b, b.whole(1));
  const Arg at = from_front(b, positions, type_of(x).sizes[1]);
  return reshaped(b, b.call(id::Gather, {x, 1, at}), b.behind_batch(b.one(1).sizes));
}

Arg batch_put(const Batching& b) {
  const Arg x = flat(b, b.whole(0)), positions = flat(b, b.whole(1));
  const Size size = type_of(x).sizes[1];
  const Arg among = b.call(id::Add, {from_front(b, positions, size), b.call(id::Mul, {example_numbers(b, 1), size})});
  const Arg written = b.call(id::Put, {x, among, flat(b, b.whole(2)), b.arg(3)});
  return reshaped(b, written, b.behind_batch(b.one(0).sizes));
}

namespace {

// Positions for all examples at once, and how many dimensions of an example's result come before those of its
// positions: there the batch's own positions would not stand.
struct WholeIndex {
  ListArg positions;
  int rank = 0;           // of the positions of an example
  int before = 0;         // dimensions of the result before them
  bool numbered = false;  // the first position is the example's number: results begin with the positions
};

// A mask stands for a list of positions.
int rank_of_positions(const Arg& a) {
  if (!is_tensor(a)) return static_cast<int>(list_sizes(a.get<ListArg>()).size());
  const TensorType t = type_of(a);
  return is_mask(t.dtype) ? 1 : t.dim();
}

bool holds_mask(const Arg& index) {
  return std::ranges::any_of(index.get<ListArg>().items,
                             [](const Arg& a) { return is_tensor(a) && is_mask(type_of(a).dtype); });
}

WholeIndex whole_index(const Batching& b) {
  const auto& given = b.arg(1).get<ListArg>().items;
  const auto& logical = b.logical[1].get<ListArg>().items;
  WholeIndex w;
  int first = -1, last = -1;
  for (std::size_t i = 0; i < logical.size(); ++i) {
    if (logical[i].is_none()) continue;
    if (first < 0) first = static_cast<int>(i);
    last = static_cast<int>(i);
    w.rank = std::max(w.rank, rank_of_positions(logical[i]));
  }
  bool together = true;
  for (int i = first; i <= last; ++i) together &= !logical[static_cast<std::size_t>(i)].is_none();
  w.before = together ? first : 0;
  w.numbered = b.is_batched(1) || !together;
  w.positions.items.push_back(w.numbered ? example_numbers(b, w.rank) : Arg());
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool one = is_tensor(given[i]) && b.is_batched(1);
    w.positions.items.push_back(one ? padded(b, given[i], type_of(logical[i]).dim(), w.rank) : given[i]);
  }
  return w;
}

// Of a result that begins with the batch and `w.rank` dimensions of positions: these go behind `w.before` others.
Arg dims_of(const WholeIndex& w, int rank, bool back) {
  std::vector<int> order{0};
  for (int i = 0; i < w.before; ++i) order.push_back(1 + w.rank + i);
  for (int i = 0; i < w.rank; ++i) order.push_back(1 + i);
  for (int i = 1 + w.rank + w.before; i < rank; ++i) order.push_back(i);
  ListArg out;
  out.items.resize(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (back)
      out.items[static_cast<std::size_t>(order[i])] = Arg(static_cast<int>(i));
    else
      out.items[i] = Arg(order[i]);
  }
  return out;
}

}  // namespace

Arg batch_index(const Batching& b) {
  const WholeIndex w = whole_index(b);
  const Arg made = b.call(id::Index, {b.whole(0), w.positions});
  if (!w.numbered || w.before == 0 || w.rank == 0) return made;
  return b.call(id::Permute, {made, dims_of(w, type_of(made).dim(), false)});
}

Arg batch_index_put(const Batching& b) {
  if (holds_mask(b.logical[1])) return batch_one_by_one(b);
  const WholeIndex w = whole_index(b);
  // What an example reads at these positions has the sizes its values are spread over.
  const Arg one[] = {b.logical[0], b.logical[1], NoneArg{}};
  const SizeVec sizes = infer(op(id::Index), one)[0].sizes;
  const int rank = static_cast<int>(sizes.size());
  Arg values = b.arg(2);
  if (b.is_batched(2)) values = padded(b, values, b.rank_of_one(2), rank);
  values = b.call(id::Expand, {values, sizes_arg(b.behind_batch(sizes))});
  if (w.numbered && w.before > 0 && w.rank > 0) values = b.call(id::Permute, {values, dims_of(w, rank + 1, true)});
  return b.call(id::IndexPut, {b.whole(0), w.positions, values, b.arg(3)});
}

}  // namespace md
