// Ops that read and write by position.
#include <algorithm>

#include "backend/device_blocks/device_call.h"
#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/indexing.h"
#include "ir/infer/infer.h"

namespace md::device_blocks {
namespace {

bool is_positions(const TensorImpl& t) { return t.dtype == DType::Int64 || t.dtype == DType::Int32; }

IndexTensor index_along(const TensorImpl& index, const TensorImpl& x, int dim, OutsideWords words) {
  IndexTensor i{};
  i.data = address_of(index), i.wide = index.dtype == DType::Int64;
  i.dim = dim, i.size = x.dim() ? x.sizes[static_cast<std::size_t>(dim)] : 1;
  i.stride = x.dim() ? x.strides[static_cast<std::size_t>(dim)] : 0;
  i.words = static_cast<Word>(words);
  return i;
}

DimVec without(DimVec strides, int dim) {
  if (!strides.empty()) strides[static_cast<std::size_t>(dim)] = 0;
  return strides;
}
// Strides of an index with one dimension, along dimension `dim` of several.
DimVec only_along(const TensorImpl& index, int dim, std::size_t rank) {
  DimVec strides(rank);
  if (rank) strides[static_cast<std::size_t>(dim)] = index.dim() ? index.strides[0] : 0;
  return strides;
}

bool read_at(const DimVec& sizes, const TensorImpl& x, const DimVec& x_strides, const TensorImpl& out, ReadAtParams& p,
             const DimVec& index_strides) {
  p.indexes = 1;
  if (!lay_out(sizes, p.space,
               {{out.strides, p.to.strides}, {x_strides, p.from.strides}, {index_strides, p.index[0].strides}}))
    return false;
  p.to.data = address_of(out), p.from.data = address_of(x);
  launch(by_size("read_at", x.dtype), out.device(), p.space.total, p);
  return true;
}

// gather: x where the index says along one dimension, and where the index itself lies along the others.
bool gather_along(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &index = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index)) return false;
  const int d = c.dim(x.dim());
  ReadAtParams p{};
  p.index[0] = index_along(index, x, d, OutsideWords::Bounds);
  const DimVec strides = x.dim() == 0 ? DimVec(index.sizes.size()) : without(x.strides, d);
  return read_at(index.sizes, x, strides, out, p, index.strides);
}

bool select_slices(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &index = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index)) return false;
  const int d = c.dim(x.dim());
  ReadAtParams p{};
  p.index[0] = index_along(index, x, d, OutsideWords::InSelf);
  const DimVec strides = x.dim() == 0 ? DimVec(out.sizes.size()) : without(x.strides, d);
  return read_at(out.sizes, x, strides, out, p, only_along(index, d, out.sizes.size()));
}

IndexTensor flat_index(const TensorImpl& index, const TensorImpl& x) {
  IndexTensor i{};
  i.data = address_of(index), i.wide = index.dtype == DType::Int64;
  i.size = x.numel(), i.stride = 1, i.words = static_cast<Word>(OutsideWords::Flat);
  return i;
}

bool take_flat(const DeviceCall& c) {
  const TensorImpl &index = c.tensor(1), &out = *c.out[0];
  const TensorRef x = contiguous(c.args[0].get<TensorRef>());
  if (!x || !is_positions(index)) return false;
  ReadAtParams p{};
  p.from_end = 1, p.index[0] = flat_index(index, *x);
  return read_at(out.sizes, *x, DimVec(out.sizes.size()), out, p, index.strides);
}

// --- x[...] --------------------------------------------------------------------------------------------------------

// The index tensors of x[...] with the dimensions they stand for, and where their positions stand in the result.
struct Indexed {
  struct Axis {
    TensorRef index;
    int dim;
  };
  SmallVector<int, 8> kept;
  std::vector<Axis> axes;
  DimVec positions;  // the sizes the indexes are broadcast to
  std::size_t first = 0;
};

bool read_indexes(const TensorImpl& x, const ListArg& list, Indexed& e) {
  int dim = 0;
  for (const Arg& a : list.items) {
    if (a.is_none()) {
      e.kept.push_back(dim++);
      continue;
    }
    const auto* t = a.get_if<TensorRef>();
    if (!t || !is_positions(**t) || static_cast<int>(e.axes.size()) == kMostIndexes) return false;
    e.axes.push_back({*t, dim++});
  }
  for (; dim < x.dim(); ++dim) e.kept.push_back(dim);
  if (e.axes.empty()) return false;
  for (const Indexed::Axis& axis : e.axes) {
    const DimVec& sizes = axis.index->sizes;
    while (sizes.size() > e.positions.size()) e.positions.insert(e.positions.begin(), 1);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::int64_t& have = e.positions[e.positions.size() - sizes.size() + i];
      if (have != sizes[i] && have != 1 && sizes[i] != 1) return false;
      if (have == 1) have = sizes[i];
    }
  }
  const int first = e.axes.front().dim, last = e.axes.back().dim;
  const bool together = last - first + 1 == static_cast<int>(e.axes.size());
  e.first = together ? static_cast<std::size_t>(first) : 0;
  return true;
}

// Strides of a tensor with the dimensions of the result x[...]: along those of positions, and along kept ones.
DimVec of_positions(const Indexed& e, const DimVec& strides) {
  return DimVec(strides.begin() + static_cast<std::ptrdiff_t>(e.first),
                strides.begin() + static_cast<std::ptrdiff_t>(e.first + e.positions.size()));
}
DimVec of_kept(const Indexed& e, const DimVec& strides) {
  DimVec kept;
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (i < e.first || i >= e.first + e.positions.size()) kept.push_back(strides[i]);
  return kept;
}
// With those of kept dimensions where the result has them and `positions` between.
DimVec joined(const Indexed& e, const DimVec& kept, const DimVec& positions) {
  DimVec all;
  for (std::size_t i = 0; i < e.first; ++i) all.push_back(kept[i]);
  for (const std::int64_t s : positions) all.push_back(s);
  for (std::size_t i = e.first; i < kept.size(); ++i) all.push_back(kept[i]);
  return all;
}

bool read_indexed(const DeviceCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  Indexed e;
  if (!read_indexes(x, c.args[1].get<ListArg>(), e)) return false;
  ReadAtParams p{};
  p.from_end = 1, p.indexes = static_cast<Word>(e.axes.size());
  DimVec kept, strides[kMostIndexes];
  for (const int d : e.kept) kept.push_back(x.strides[static_cast<std::size_t>(d)]);
  for (std::size_t i = 0; i < static_cast<std::size_t>(kMostIndexes); ++i) {
    strides[i] = DimVec(out.sizes.size());
    if (i >= e.axes.size()) continue;
    p.index[i] = index_along(*e.axes[i].index, x, e.axes[i].dim, OutsideWords::Indexing);
    strides[i] = joined(e, DimVec(kept.size()), spread(*e.axes[i].index, e.positions));
  }
  const DimVec from = joined(e, kept, DimVec(e.positions.size()));
  static_assert(kMostIndexes == 5);
  if (!lay_out(out.sizes, p.space,
               {{out.strides, p.to.strides},
                {from, p.from.strides},
                {strides[0], p.index[0].strides},
                {strides[1], p.index[1].strides},
                {strides[2], p.index[2].strides},
                {strides[3], p.index[3].strides},
                {strides[4], p.index[4].strides}}))
    return false;
  p.to.data = address_of(out), p.from.data = address_of(x);
  launch(by_size("read_at", x.dtype), out.device(), p.space.total, p);
  return true;
}

}  // namespace

bool copy_unless_same(const TensorImpl& x, const TensorImpl& out) { return &x == &out || copy_elements(x, out); }

bool run_reading(const DeviceCall& c) {
  switch (c.op.id) {
    case id::Gather:
      return gather_along(c);
    case id::IndexSelect:
      return select_slices(c);
    case id::Take:
      return take_flat(c);
    case id::Index:
      return read_indexed(c);
    default:
      return false;
  }
}

// --- Writing -------------------------------------------------------------------------------------------------------

namespace {

void set_number(const Arg& value, const TensorImpl& out, WriteAtParams& p) {
  const Number n = number_as(value, out.dtype);
  p.numbered = 1, p.real = n.real, p.whole = n.whole;
}

void write_sorted(const TensorImpl& out, const WriteAtParams& p) {
  const std::int64_t total = p.columns.total * p.steps.total;
  TensorRef keys = empty_tensor({total}, DType::Int64, out.device()),
            order = empty_tensor({total}, DType::Int64, out.device());
  SortedWriteParams s{p, address_of(*keys), address_of(*order), 0};
  launch("write_keys", out.device(), total, s);
  sort_rows(total, false, keys, order);
  s.keys = address_of(*keys), s.order = address_of(*order);
  launch(by_dtype("write_sorted", out.dtype), out.device(), total, s);
}

bool write(const DeviceCall& c, WriteAtParams& p) {
  const TensorImpl& out = *c.out[0];
  if (is_storage_only(out.dtype) || !copy_unless_same(c.tensor(0), out)) return false;
  p.to.data = address_of(out);
  // Columns are independent and go through their steps one by one, unless there are too few for that.
  constexpr std::int64_t kManySteps = 64, kFewColumns = 1024;
  if (p.steps.total >= kManySteps && p.columns.total <= kFewColumns) {
    write_sorted(out, p);
  } else {
    launch(by_dtype("write_at", out.dtype), out.device(), p.columns.total, p);
  }
  return true;
}

// Lines of the index along `dim` are columns; their elements are steps.
bool lay_out_lines(const TensorImpl& out, const TensorImpl& index, const DimVec& source, int dim, WriteAtParams& p) {
  const auto d = static_cast<std::size_t>(dim);
  DimVec to = out.strides, sizes = index.sizes, from = source, at = index.strides;
  p.indexes = 1;
  if (sizes.empty()) {
    p.columns = {1, 0, {}}, p.steps = {1, 0, {}};
    return true;
  }
  p.steps = {sizes[d], 1, {sizes[d]}};
  p.from_steps.of[0] = from[d], p.index_steps[0].of[0] = at[d];
  sizes[d] = 1;
  return lay_out(sizes, p.columns, {{to, p.to.strides}, {from, p.from.strides}, {at, p.index[0].strides}});
}

bool scatter_along(const DeviceCall& c, Combine combine, bool number) {
  const TensorImpl &index = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index) || index.numel() == 0) return false;
  WriteAtParams p{};
  p.combine = static_cast<Word>(combine), p.whole_scale = 1;
  const int d = c.dim(out.dim());
  p.index[0] = index_along(index, out, d, OutsideWords::Bounds);
  DimVec source(index.sizes.size());
  if (number) {
    set_number(c.args[3], out, p);
  } else {
    const TensorImpl& s = c.tensor(3);
    if (s.dtype != out.dtype) return false;
    if (s.dim()) source = s.strides;
    p.from.data = address_of(s);
  }
  const TensorImpl to(out.storage, out.dtype, out.dim() ? out.sizes : index.sizes,
                      out.dim() ? out.strides : DimVec(index.sizes.size()), out.offset);
  return lay_out_lines(to, index, source, d, p) && write(c, p);
}

// The elements other than those along `dim` are columns; positions of the vector `index` are steps.
bool write_slices(const DeviceCall& c, WriteAtParams& p, const TensorImpl* source, OutsideWords words, bool from_end) {
  const TensorImpl &index = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index) || index.numel() == 0) return false;
  const int d = c.dim(out.dim());
  p.index[0] = index_along(index, out, d, words);
  p.indexes = 1, p.from_end = from_end;
  const Line to = line_of(out, d);
  Line from;
  from.strides = DimVec(to.sizes.size());
  if (source && source->dim()) from = line_of(*source, d);
  if (source) p.from.data = address_of(*source);
  p.steps = {index.numel(), 1, {index.numel()}};
  p.from_steps.of[0] = from.step, p.index_steps[0].of[0] = index.dim() ? index.strides[0] : 0;
  return lay_out(to.sizes, p.columns, {{to.strides, p.to.strides}, {from.strides, p.from.strides}}) && write(c, p);
}

bool add_slices(const DeviceCall& c) {
  WriteAtParams p{};
  const DType t = c.out[0]->dtype;
  if (c.tensor(3).dtype != t) return false;
  p.combine = static_cast<Word>(Combine::Add);
  const Number scale = number_as(c.args[4], working(t));
  p.scale = scale.real, p.whole_scale = scale.whole;
  p.scaled = is_floating(t) ? scale.real != 1 : scale.whole != 1;
  return write_slices(c, p, &c.tensor(3), OutsideWords::Bounds, false);
}

bool fill_slices(const DeviceCall& c) {
  WriteAtParams p{};
  const auto* t = c.args[3].get_if<TensorRef>();
  if (!t) {
    set_number(c.args[3], *c.out[0], p);
    return write_slices(c, p, nullptr, OutsideWords::Indexing, true);
  }
  const TensorRef value = converted(*t, c.out[0]->dtype);
  if (!value || value->numel() != 1) return false;
  const DimVec still(c.out[0]->sizes.size());
  const TensorImpl repeated(value->storage, value->dtype, c.out[0]->sizes, still, value->offset);
  return write_slices(c, p, &repeated, OutsideWords::Indexing, true);
}

bool put_flat(const DeviceCall& c) {
  const TensorImpl &index = c.tensor(1), &source = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index) || index.numel() == 0 || !out.is_contiguous() || source.dtype != out.dtype) return false;
  WriteAtParams p{};
  p.combine = static_cast<Word>(c.args[3].get<bool>() ? Combine::Add : Combine::Keep);
  p.whole_scale = 1, p.indexes = 1, p.from_end = 1, p.index[0] = flat_index(index, out);
  p.columns = {1, 0, {}};
  const TensorRef values = contiguous(c.args[2].get<TensorRef>()), places = contiguous(c.args[1].get<TensorRef>());
  if (!values || !places) return false;
  p.index[0].data = address_of(*places), p.from.data = address_of(*values);
  p.steps = {index.numel(), 1, {index.numel()}};
  p.from_steps.of[0] = 1, p.index_steps[0].of[0] = 1;
  return write(c, p);
}

// x[mask] = one value: a choice for each element.
bool put_where(const DeviceCall& c) {
  const auto& items = c.args[1].get<ListArg>().items;
  const auto* mask = items.size() == 1 ? items[0].get_if<TensorRef>() : nullptr;
  const TensorImpl &values = c.tensor(2), &out = *c.out[0];
  if (!mask || (*mask)->dtype != DType::Bool || values.numel() != 1 || c.args[3].get<bool>()) return false;
  if (values.dtype != out.dtype || (*mask)->dim() > out.dim() || values.dim() > 1) return false;
  DimVec sizes = (*mask)->sizes, strides = (*mask)->strides;
  for (int d = 0; d < (*mask)->dim(); ++d)
    if (sizes[static_cast<std::size_t>(d)] != out.sizes[static_cast<std::size_t>(d)]) return false;
  while (sizes.size() < out.sizes.size()) sizes.push_back(1), strides.push_back(0);
  const auto along = make_ref<TensorImpl>((*mask)->storage, DType::Bool, sizes, strides, (*mask)->offset);
  const auto value = make_ref<TensorImpl>(values.storage, values.dtype, DimVec{}, DimVec{}, values.offset);
  const Arg args[] = {along, value, c.args[0]};
  return run_pointwise({op(id::Where), args, c.out});
}

bool put_indexed(const DeviceCall& c) {
  const TensorImpl &values = c.tensor(2), &out = *c.out[0];
  Indexed e;
  if (values.dtype != out.dtype || !read_indexes(out, c.args[1].get<ListArg>(), e)) return false;
  WriteAtParams p{};
  p.combine = static_cast<Word>(c.args[3].get<bool>() ? Combine::Add : Combine::Keep);
  p.whole_scale = 1, p.from_end = 1, p.indexes = static_cast<Word>(e.axes.size());
  DimVec kept, kept_sizes;
  for (const int d : e.kept) {
    kept.push_back(out.strides[static_cast<std::size_t>(d)]);
    kept_sizes.push_back(out.sizes[static_cast<std::size_t>(d)]);
  }
  const DimVec result = joined(e, kept_sizes, e.positions);
  if (values.sizes.size() > result.size()) return false;
  for (std::size_t i = 1; i <= values.sizes.size(); ++i) {
    const std::int64_t n = values.sizes[values.sizes.size() - i];
    if (n != 1 && n != result[result.size() - i]) return false;
  }
  const DimVec from = spread(values, result);
  const DimVec from_kept = of_kept(e, from), from_positions = of_positions(e, from);
  DimVec strides[kMostIndexes];
  for (std::size_t i = 0; i < static_cast<std::size_t>(kMostIndexes); ++i) {
    strides[i] = DimVec(e.positions.size());
    if (i >= e.axes.size()) continue;
    p.index[i] = index_along(*e.axes[i].index, out, e.axes[i].dim, OutsideWords::Indexing);
    strides[i] = spread(*e.axes[i].index, e.positions);
  }
  p.from.data = address_of(values);
  if (!lay_out(kept_sizes, p.columns, {{kept, p.to.strides}, {from_kept, p.from.strides}}) ||
      !lay_out(e.positions, p.steps,
               {{from_positions, p.from_steps},
                {strides[0], p.index_steps[0]},
                {strides[1], p.index_steps[1]},
                {strides[2], p.index_steps[2]},
                {strides[3], p.index_steps[3]},
                {strides[4], p.index_steps[4]}}))
    return false;
  return p.columns.total == 0 || p.steps.total == 0 ? copy_unless_same(c.tensor(0), out) : write(c, p);
}

bool reduce_scattered(const DeviceCall& c) {
  if (!c.args[5].get<bool>()) return false;
  const std::string& how = c.args[4].get<std::string>();
  if (how == "sum") return scatter_along(c, Combine::Add, false);
  if (how == "prod") return scatter_along(c, Combine::Multiply, false);
  if (how == "amax") return scatter_along(c, Combine::Larger, false);
  return how == "amin" && scatter_along(c, Combine::Smaller, false);
}

}  // namespace

bool run_writing(const DeviceCall& c) {
  const auto reduce = [&] { return c.args[4].get<std::string>() == "add" ? Combine::Add : Combine::Multiply; };
  switch (c.op.id) {
    case id::Scatter:
      return scatter_along(c, Combine::Keep, false);
    case id::ScatterValue:
      return scatter_along(c, Combine::Keep, true);
    case id::ScatterAdd:
      return scatter_along(c, Combine::Add, false);
    case id::ScatterReduceSource:
      return scatter_along(c, reduce(), false);
    case id::ScatterReduceValue:
      return scatter_along(c, reduce(), true);
    case id::ScatterReduce:
      return reduce_scattered(c);
    case id::IndexAdd:
      return add_slices(c);
    case id::IndexCopy: {
      WriteAtParams p{};
      return c.tensor(3).dtype == c.out[0]->dtype && write_slices(c, p, &c.tensor(3), OutsideWords::OfCopy, false);
    }
    case id::IndexFill:
    case id::IndexFillTensor:
      return fill_slices(c);
    case id::Put:
      return put_flat(c);
    case id::IndexPut:
      return put_where(c) || put_indexed(c);
    default:
      return false;
  }
}

}  // namespace md::device_blocks
