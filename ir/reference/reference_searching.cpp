// Reference kernels that find, count and search. Where the operands' values decide how much there is, the results are
// allocated here.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ir/core/error.h"
#include "ir/graph/dynamic.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/indexing.h"
#include "ir/infer/unbacked.h"
#include "ir/reference/device_copies.h"
#include "ir/reference/positions.h"
#include "ir/tensor/readable.h"
#include "registry/ops/indexing.h"

namespace md {
namespace {

using Results = std::vector<TensorRef>;

TensorRef vector_of(const std::vector<std::int64_t>& values) {
  TensorRef t = empty_tensor({static_cast<std::int64_t>(values.size())}, DType::Int64);
  std::copy(values.begin(), values.end(), t->as<std::int64_t>());
  return t;
}

// f(value) for each element in row-major order, as its working dtype.
template <class T, class F>
void each_value(const TensorImpl& t, F&& f) {
  ElementCursor at(t, t.sizes);
  for (std::int64_t n = t.numel(); n > 0; --n, at.next()) f(widen(t.as<T>()[at.offset()]));
}

const TensorImpl& tensor(std::span<const Arg> args, int i) {
  return *args[static_cast<std::size_t>(i)].get<TensorRef>();
}

// --- Positions -----------------------------------------------------------------------------------------------------

// The sizes that have been found out, in the order inference asks for them.
class FoundSizes final : public UnbackedSupply {
 public:
  explicit FoundSizes(const std::vector<std::int64_t>& sizes) : sizes_(sizes) {}
  Size next(const Op&, SizeRange) override { return sizes_.at(at_++); }

 private:
  const std::vector<std::int64_t>& sizes_;
  std::size_t at_ = 0;
};

Results index_elements(std::span<const Arg> args) {
  const TensorImpl& x = tensor(args, 0);
  const IndexedElements e = indexed_elements(x, args[1].get<ListArg>());
  TensorRef out = empty_tensor(e.result, x.dtype);
  FoundSizes sizes(e.counts);
  const SupplyScope scope(sizes);
  const TensorType layout = infer(op(id::Index), args).front();
  for (std::size_t i = 0; i < out->strides.size(); ++i) out->strides[i] = layout.strides[i].value();
  const SlicePairs p = e.pairs(x, *out);
  visit_size(x.dtype, [&](auto u) {
    using U = decltype(u);
    for_each_run(p, [from = x.as<U>(), to = out->as<U>()](std::int64_t a, std::int64_t b, std::int64_t step_a,
                                                          std::int64_t step_b, std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) to[b + i * step_b] = from[a + i * step_a];
    });
  });
  return {out};
}

// Column after column, as torch lays the result out.
Results nonzero_positions(std::span<const Arg> args) {
  const TensorImpl& x = tensor(args, 0);
  std::int64_t count = 0;
  visit_dtype(x.dtype, [&](auto t) { each_value<decltype(t)>(x, [&](auto v) { count += v != decltype(v)(0); }); });
  TensorRef out = empty_tensor({count, x.dim()}, DType::Int64);
  out->strides = {1, count};
  auto* to = out->as<std::int64_t>();
  DimVec at(x.sizes.size());
  visit_dtype(x.dtype, [&](auto t) {
    each_value<decltype(t)>(x, [&](auto v) {
      if (v != decltype(v)(0)) {
        for (std::size_t d = 0; d < at.size(); ++d) to[static_cast<std::int64_t>(d) * count] = at[d];
        ++to;
      }
      for (std::size_t d = at.size(); d-- > 0;) {
        if (++at[d] < x.sizes[d]) break;
        at[d] = 0;
      }
    });
  });
  return {out};
}

Results repeat_positions(std::span<const Arg> args) {
  const TensorImpl& repeats = tensor(args, 0);
  const std::vector<std::int64_t> counts = vector_positions(repeats);
  std::int64_t total = 0;
  for (const std::int64_t n : counts) {
    if (n < 0) throw OpError(ErrorKind::Runtime, "repeats can not be negative");
    if (__builtin_add_overflow(total, n, &total))
      throw OpError(ErrorKind::Runtime, "repeat_interleave: there are more repetitions than a tensor has elements");
  }
  if (!args[1].is_none() && args[1].get<Size>().value() != total) {
    throw OpError(ErrorKind::Runtime, "allocated size does not match required size");
  }
  TensorRef out = empty_tensor({total}, repeats.dtype);
  std::int64_t at = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    for (std::int64_t k = 0; k < counts[i]; ++k, ++at) {
      if (repeats.dtype == DType::Int32) {
        out->as<std::int32_t>()[at] = static_cast<std::int32_t>(i);
      } else {
        out->as<std::int64_t>()[at] = static_cast<std::int64_t>(i);
      }
    }
  }
  return {out};
}

// --- Unique --------------------------------------------------------------------------------------------------------

// Rows of equal length; an order of the rows in which equals are neighbours.
template <class T>
struct Rows {
  TensorRef values;
  std::int64_t count = 0, length = 1;

  const T* row(std::int64_t i) const { return values->as<T>() + i * length; }
  bool equal(std::int64_t i, std::int64_t j) const {
    const T *a = row(i), *b = row(j);
    for (std::int64_t k = 0; k < length; ++k) {
      if (!(widen(a[k]) == widen(b[k]))) return false;
    }
    return true;
  }
  // NaN counts as larger than everything.
  bool before(std::int64_t i, std::int64_t j) const {
    const T *a = row(i), *b = row(j);
    for (std::int64_t k = 0; k < length; ++k) {
      const auto x = widen(a[k]), y = widen(b[k]);
      if (x < y || (y != y && x == x)) return true;
      if (y < x || (x != x && y == y)) return false;
    }
    return false;
  }
};

// The slices of dimension `d` (of the flattened tensor: -1), each with its elements in row-major order.
template <class T>
Rows<T> rows_of(const TensorImpl& x, int d) {
  Rows<T> rows;
  rows.count = d < 0 || x.dim() == 0 ? x.numel() : x.sizes[d];
  const std::int64_t total = x.numel();
  rows.length = rows.count ? total / rows.count : 1;
  TensorImpl turned(x.storage, x.dtype, x.sizes, x.strides, x.offset);
  if (d > 0) {
    std::rotate(turned.sizes.begin(), turned.sizes.begin() + d, turned.sizes.begin() + d + 1);
    std::rotate(turned.strides.begin(), turned.strides.begin() + d, turned.strides.begin() + d + 1);
  }
  rows.values = empty_tensor({total}, x.dtype);
  ElementCursor at(turned, turned.sizes);
  for (std::int64_t i = 0; i < total; ++i, at.next()) rows.values->template as<T>()[i] = x.as<T>()[at.offset()];
  return rows;
}

// Puts row firsts[k] to position k of dimension `d`.
template <class T>
void store_rows(const Rows<T>& rows, const std::vector<std::int64_t>& firsts, const TensorImpl& out, int d) {
  TensorImpl turned(out.storage, out.dtype, out.sizes, out.strides, out.offset);
  if (d > 0) {
    std::rotate(turned.sizes.begin(), turned.sizes.begin() + d, turned.sizes.begin() + d + 1);
    std::rotate(turned.strides.begin(), turned.strides.begin() + d, turned.strides.begin() + d + 1);
  }
  ElementCursor to(turned, turned.sizes);
  for (const std::int64_t first : firsts) {
    for (std::int64_t k = 0; k < rows.length; ++k, to.next()) out.as<T>()[to.offset()] = rows.row(first)[k];
  }
}

template <class T>
Results unique_of(const TensorImpl& x, const Arg& dim, bool consecutive) {
  const int given = dim.is_none() ? -1 : static_cast<int>(dim.get<Size>().value());
  const int d = dim.is_none() ? -1 : given < 0 ? given + std::max(x.dim(), 1) : given;
  const Rows<T> rows = rows_of<T>(x, d);
  std::vector<std::int64_t> order(static_cast<std::size_t>(rows.count)), firsts, counts;
  std::iota(order.begin(), order.end(), 0);
  if (!consecutive) {
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t i, std::int64_t j) { return rows.before(i, j); });
  }
  const bool flat = d < 0 || x.dim() == 0;
  TensorRef inverse = empty_tensor(d < 0 ? x.sizes : DimVec{rows.count}, DType::Int64);
  for (std::size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || !rows.equal(order[k - 1], order[k])) {
      firsts.push_back(order[k]);
      counts.push_back(0);
    }
    ++counts.back();
    inverse->as<std::int64_t>()[order[k]] = static_cast<std::int64_t>(firsts.size()) - 1;
  }
  DimVec sizes = flat ? DimVec{0} : x.sizes;
  sizes[flat ? 0 : static_cast<std::size_t>(d)] = static_cast<std::int64_t>(firsts.size());
  TensorRef out = empty_tensor(sizes, x.dtype);
  if (out->numel() > 0) store_rows(rows, firsts, *out, flat ? 0 : d);
  return {out, inverse, vector_of(counts)};
}

// --- Counting ------------------------------------------------------------------------------------------------------

template <class W>
TensorRef weighted_counts(const std::vector<std::int64_t>& values, std::int64_t bins, const TensorImpl& weights,
                          DType t) {
  TensorRef out = empty_tensor({bins}, t);
  std::fill_n(out->as<W>(), bins, W(0));
  std::size_t i = 0;
  visit_dtype(weights.dtype, [&](auto e) {
    each_value<decltype(e)>(weights,
                            [&](auto w) { out->as<W>()[values[i++]] += static_cast<W>(static_cast<double>(w)); });
  });
  return out;
}

Results count_values(std::span<const Arg> args) {
  const TensorImpl& x = tensor(args, 0);
  std::vector<std::int64_t> values;
  visit_dtype(x.dtype, [&](auto t) {
    each_value<decltype(t)>(x, [&](auto v) { values.push_back(static_cast<std::int64_t>(v)); });
  });
  std::int64_t bins = args[2].get<Size>().value();
  for (const std::int64_t v : values) {
    if (v < 0) throw OpError(ErrorKind::Runtime, "bincount only supports 1-d non-negative integral inputs.");
    if (v == std::numeric_limits<std::int64_t>::max()) throw OpError(ErrorKind::Runtime, "bincount(): too many bins");
    bins = std::max(bins, v + 1);
  }
  if (args[1].is_none() || values.empty()) {
    TensorRef out = empty_tensor({bins}, DType::Int64);
    std::fill_n(out->as<std::int64_t>(), bins, 0);
    for (const std::int64_t v : values) ++out->as<std::int64_t>()[v];
    return {out};
  }
  const TensorImpl& weights = tensor(args, 1);
  if (weights.dtype == DType::Float32) return {weighted_counts<float>(values, bins, weights, DType::Float32)};
  return {weighted_counts<double>(values, bins, weights, DType::Float64)};
}

// --- Elements as sizes ---------------------------------------------------------------------------------------------

// A tensor without memory whose size is the number: what a trace's symbol is bound to.
Results element_as_size(std::span<const Arg> args) {
  const TensorImpl& x = tensor(args, 0);
  std::int64_t value = 0;
  visit_dtype(x.dtype, [&](auto t) {
    const auto element = widen(*x.as<decltype(t)>());
    if constexpr (std::is_floating_point_v<decltype(element)>) {
      if (!(element >= -0x1p63 && element < 0x1p63)) throw OpError(ErrorKind::Value, "no int has this value");
    }
    value = static_cast<std::int64_t>(element);
  });
  return {make_ref<TensorImpl>(allocate_storage(0), DType::Int64, DimVec{value}, DimVec{0}, 0)};
}

Results element_as_number(std::span<const Arg> args) {
  const TensorImpl& x = tensor(args, 0);
  TensorRef out = empty_tensor({}, DType::Float64);
  visit_dtype(x.dtype, [&](auto t) { *out->as<double>() = static_cast<double>(widen(*x.as<decltype(t)>())); });
  out->wrapped_number = true;
  return {out};
}

Results position_as_size(std::span<const Arg> args) {
  const std::int64_t size = args[1].get<Size>().value();
  Results at = element_as_size(args);
  std::int64_t& value = at[0]->sizes[0];
  if (value < -size || value >= size) {
    throw OpError(ErrorKind::Index, fmt::format("index {} is out of bounds for dimension 0 with size {}", value, size));
  }
  if (value < 0) value += size;
  return at;
}

Results unique_parts(std::span<const Arg> args) {
  Results results;
  visit_dtype(tensor(args, 0).dtype,
              [&](auto t) { results = unique_of<decltype(t)>(tensor(args, 0), args[1], args[2].get<bool>()); });
  return results;
}

// What is asked of elements that are not there.
void expect_elements(const Op& op, std::span<const Arg> args) {
  for (const Arg& a : args) {
    if (const auto* l = a.get_if<ListArg>()) expect_elements(op, l->items);
    const auto* t = a.get_if<TensorRef>();
    if (!t || (*t)->has_memory()) continue;
    const std::string where = to_string((*t)->device());
    if (op.id == id::Item || op.id == id::ItemNumber || op.id == id::Position)
      throw OpError(ErrorKind::Runtime, fmt::format("Tensor.item() cannot be called on {} tensors", where));
    throw OpError(ErrorKind::NotImplemented,
                  fmt::format("{}(): the sizes of the result depend on elements, which {} tensors do not have",
                              op.public_name, where));
  }
}

struct Row {
  OpId op;
  Results (*run)(std::span<const Arg>);
};
constexpr Row kRows[] = {
    {id::Index, index_elements},      {id::NonZero, nonzero_positions},        {id::UniqueParts, unique_parts},
    {id::BinCount, count_values},     {id::RepeatPositions, repeat_positions}, {id::Item, element_as_size},
    {id::Position, position_as_size}, {id::ItemNumber, element_as_number},
};

// Stands for the size that is about to be found out: it broadcasts with every other.
class AnySize final : public UnbackedSupply {
 public:
  Size next(const Op&, SizeRange) override { return 1; }
};

// Into results whose sizes were known all the same.
void run_into(const KernelCall& c) {
  const Results made = run_dynamic(c.op, c.args);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!(made[i]->sizes == c.out[i]->sizes))
      throw InternalError(std::string(c.op.name()) + ": results of other sizes");
    copy_unless_same(*made[i], *c.out[i]);
  }
}

}  // namespace

bool is_dynamic(const Op& op, std::span<const Arg> args) {
  if (!op.decl->dynamic_sizes) return false;
  if (op.id != id::Index) return true;
  const auto* list = args[1].get_if<ListArg>();
  return list && std::ranges::any_of(list->items, [](const Arg& a) {
           return (a.is<TensorRef>() || a.is<Node*>()) && is_mask(type_of(a).dtype);
         });
}

static Arg readable_arg(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) return *t ? readable(*t) : *t;
  const auto* l = a.get_if<ListArg>();
  if (!l) return a;
  ListArg out{{}, l->tuple};
  for (const Arg& x : l->items) out.items.push_back(readable_arg(x));
  return out;
}

std::vector<TensorRef> run_dynamic(const Op& op, std::span<const Arg> args) {
  expect_elements(op, args);
  AnySize any;
  const SupplyScope scope(any);
  std::vector<Arg> open(args.begin(), args.end());
  open.at(static_cast<std::size_t>(op.schema.find("count"))) = NoneArg{};  // of a graph: no value yet
  const std::vector<TensorType> types = infer(op, open);                   // checks
  const Row* row = std::ranges::find(kRows, op.id, &Row::op);
  if (row == std::end(kRows))
    throw InternalError(std::string(op.name()) + " has no kernel for results of unknown size");
  std::vector<TensorRef> made;
  const Device here = types[0].device;
  if (here.is_cpu() || !engine(here).run_dynamic(op, open, made)) {
    for (Arg& a : open) a = readable_arg(a);
    made = row->run(open);
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = on_device(made[i], types[i].device);
    made[i]->set_grad_state(types[i].grad_state());
  }
  return made;
}

void reference_kernel(ops::NonZero, const KernelCall& c) { run_into(c); }
void reference_kernel(ops::UniqueParts, const KernelCall& c) { run_into(c); }
void reference_kernel(ops::BinCount, const KernelCall& c) { run_into(c); }
void reference_kernel(ops::RepeatPositions, const KernelCall& c) { run_into(c); }
void reference_kernel(ops::Item, const KernelCall& c) { run_into(c); }
void reference_kernel(ops::ItemNumber, const KernelCall& c) { run_into(c); }

void reference_kernel(ops::AssertSizes, const KernelCall& c) {
  const std::int64_t a = c.args[0].get<Size>().value(), b = c.args[1].get<Size>().value();
  const std::string& relation = c.args[2].get<std::string>();
  const bool holds = relation == "lt"   ? a < b
                     : relation == "le" ? a <= b
                     : relation == "eq" ? a == b
                     : relation == "ne" ? a != b
                     : relation == "gt" ? a > b
                                        : a >= b;
  if (!holds) throw OpError(ErrorKind::Runtime, "Expected cond to be True, but got False.");
}

void reference_kernel(ops::Position, const KernelCall& c) { run_into(c); }

// --- Searching -----------------------------------------------------------------------------------------------------

namespace {

// The first of n sorted values for which `passes` holds; they lie `step` apart, in the order `sorter` gives.
template <class Read, class Passes>
std::int64_t first_passing(std::int64_t n, Read&& read, Passes&& passes) {
  std::int64_t low = 0, high = n;
  while (low < high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (passes(read(middle))) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// Values are compared as float64, or as int64 where all are integers.
template <class S, class C>
void search(const KernelCall& c, const TensorImpl& rows, const TensorImpl& x, const TensorImpl* sorter, bool right) {
  std::vector<C> values;
  visit_dtype(x.dtype, [&](auto v) {
    each_value<decltype(v)>(x, [&](auto value) { values.push_back(static_cast<C>(value)); });
  });
  const TensorImpl& out = *c.out[0];
  const int last = rows.dim() - 1;
  // One row of values for each row of boundaries, or all for the only one.
  TensorImpl starts(rows.storage, rows.dtype, x.sizes, DimVec(x.sizes.size()), rows.offset);
  TensorImpl turns(rows.storage, DType::Int64, x.sizes, DimVec(x.sizes.size()), 0);
  for (int d = 0; d < last; ++d) {
    starts.strides[d] = rows.strides[d];
    turns.strides[d] = sorter ? sorter->strides[d] : 0;
  }
  ElementCursor from(starts, x.sizes), by(turns, x.sizes), to(out, out.sizes);
  const std::int64_t n = rows.sizes[last];
  for (const C value : values) {
    const S* row = rows.as<S>() + from.offset();
    const auto read = [&](std::int64_t i) {
      if (sorter) i = sorter->as<std::int64_t>()[by.offset() + i * sorter->strides[last]];
      if (i < 0 || i >= n) throw OpError(ErrorKind::Runtime, "searchsorted(): sorter index out of range");
      return static_cast<C>(widen(row[i * rows.strides[last]]));
    };
    const std::int64_t place = right ? first_passing(n, read, [&](C b) { return b > value; })
                                     : first_passing(n, read, [&](C b) { return b >= value; });
    if (out.dtype == DType::Int32) {
      out.as<std::int32_t>()[to.offset()] = static_cast<std::int32_t>(place);
    } else {
      out.as<std::int64_t>()[to.offset()] = place;
    }
    from.next(), by.next(), to.next();
  }
}

}  // namespace

void reference_kernel(ops::SearchSorted, const KernelCall& c) {
  const auto* side = c.args[4].get_if<std::string>();
  const bool right = c.args[3].get<bool>() || (side && *side == "right");
  const TensorImpl &rows = c.tensor(0), &x = c.tensor(1);
  const TensorImpl* sorter = c.args[5].is_none() ? nullptr : &c.tensor(5);
  const bool real = is_floating(rows.dtype) || is_floating(x.dtype);
  visit_dtype(rows.dtype, [&](auto s) {
    if (real) {
      search<decltype(s), double>(c, rows, x, sorter, right);
    } else {
      search<decltype(s), std::int64_t>(c, rows, x, sorter, right);
    }
  });
}

}  // namespace md
