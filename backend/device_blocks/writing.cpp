// Ops that write by position.
#include <limits>
#include <string>
#include <vector>

#include "backend/device_blocks/indexes.h"
#include "backend/device_blocks/kernel_calls.h"
#include "backend/device_blocks/selecting.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/indexing.h"
#include "ir/reference/reference.h"

namespace md::device_blocks {

bool copy_unless_same(const TensorImpl& x, const TensorImpl& out) { return &x == &out || copy_elements(x, out); }

namespace {

void set_number(const Number& n, WriteAtParams& p) { p.numbered = 1, p.real = n.real, p.whole = n.whole; }

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

void write_to(const TensorImpl& out, WriteAtParams& p) {
  p.to.data = address_of(out);
  // Columns are independent and go through their steps one by one, unless there are too few for that.
  constexpr std::int64_t kManySteps = 64, kFewColumns = 1024;
  if (p.steps.total >= kManySteps && p.columns.total <= kFewColumns) {
    write_sorted(out, p);
  } else {
    launch(by_dtype("write_at", out.dtype), out.device(), p.columns.total, p);
  }
}

bool write(const DeviceCall& c, WriteAtParams& p) {
  const TensorImpl& out = *c.out[0];
  if (is_storage_only(out.dtype) || !copy_unless_same(c.tensor(0), out)) return false;
  write_to(out, p);
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

// The source's elements, or `number`.
bool scatter_along(const DeviceCall& c, Combine combine, const Number* number = nullptr) {
  const TensorImpl &index = c.tensor(2), &out = *c.out[0];
  if (!is_positions(index) || index.numel() == 0) return false;
  WriteAtParams p{};
  p.combine = static_cast<Word>(combine), p.whole_scale = 1;
  const int d = c.dim(out.dim());
  p.index[0] = index_along(index, out, d, OutsideWords::Bounds);
  DimVec source(index.sizes.size());
  if (number) {
    set_number(*number, p);
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
    set_number(number_as(c.args[3], c.out[0]->dtype), p);
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

// Where no element is named twice, no step has to come after another.
void make_columns_of_steps(WriteAtParams& p) {
  if (p.columns.rank + p.steps.rank > kMostDims) return;
  for (Word d = 0; d < p.steps.rank; ++d) {
    const Word at = p.columns.rank++;
    p.columns.sizes[at] = p.steps.sizes[d];
    p.to.strides.of[at] = p.to_steps.of[d], p.from.strides.of[at] = p.from_steps.of[d];
    for (Word k = 0; k < p.indexes; ++k) p.index[k].strides.of[at] = p.index_steps[k].of[d];
  }
  p.columns.total *= p.steps.total;
  p.steps = {1, 0, {}};
}

// One mask and nothing else.
bool is_one_mask(const ListArg& list) {
  int masks = 0, others = 0;
  for (const Arg& a : list.items) {
    const auto* t = a.get_if<TensorRef>();
    if (!a.is_none()) ++(t && is_mask((*t)->dtype) ? masks : others);
  }
  return masks == 1 && others == 0;
}

bool put_indexed(const DeviceCall& c) {
  const TensorImpl &values = c.tensor(2), &out = *c.out[0];
  Indexed e;
  ListArg list;
  if (values.dtype != out.dtype || !expand_masks(c.args[1].get<ListArg>(), list) || !read_indexes(out, list, e))
    return false;
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
  if (is_one_mask(c.args[1].get<ListArg>())) make_columns_of_steps(p);
  return p.columns.total == 0 || p.steps.total == 0 ? copy_unless_same(c.tensor(0), out) : write(c, p);
}

bool scatter_number(const DeviceCall& c, Combine combine) {
  const Number n = number_as(c.args[3], c.out[0]->dtype);
  return scatter_along(c, combine, &n);
}

// What leaves a value as it is that is combined with it.
Number neutral(Combine combine, DType t) {
  Number n;
  visit_dtype(t, [&](auto element) {
    using T = decltype(element);
    constexpr bool real = std::is_floating_point_v<WorkingOf<T>>;
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (combine == Combine::Add) n.real = -0.0;
    if (combine == Combine::Multiply) n = {1, 1};
    if constexpr (real) {
      if (combine == Combine::Larger || combine == Combine::Smaller)
        n.real = combine == Combine::Larger ? -infinity : infinity;
    } else {
      if (combine == Combine::Larger) n.whole = std::numeric_limits<T>::min();
      if (combine == Combine::Smaller) n.whole = std::numeric_limits<T>::max();
    }
  });
  return n;
}

// Sums divided by how many elements they are of, `first` of which were there before.
void divide_by_counts(const DeviceCall& c, MeanParams& p, bool first) {
  const TensorImpl& out = *c.out[0];
  if (out.dtype == DType::Bool) return;
  TensorRef counts = empty_tensor(out.sizes, DType::Int64, out.device());
  const Arg filled[] = {counts, Arg(first ? 1 : 0)}, counted[] = {counts, c.args[1], c.args[2], Arg(1)};
  run_create({op(id::FullLike), filled, {&counts, 1}});
  scatter_number({c.op, counted, {&counts, 1}}, Combine::Add);
  p.to.data = address_of(out), p.counts = address_of(*counts);
  launch(by_dtype("divide_by_counts", out.dtype), out.device(), p.space.total, p);
}

bool reduce_scattered(const DeviceCall& c) {
  const TensorImpl& out = *c.out[0];
  const std::string& how = c.args[4].get<std::string>();
  const Combine combine = how == "prod"   ? Combine::Multiply
                          : how == "amax" ? Combine::Larger
                          : how == "amin" ? Combine::Smaller
                                          : Combine::Add;
  MeanParams mean{};
  if (c.tensor(3).dtype != out.dtype || !lay_out(out.sizes, mean.space, {{out.strides, mean.to.strides}})) return false;
  const bool with_self = c.args[5].get<bool>();
  std::vector<Arg> args(c.args.begin(), c.args.end());
  if (!with_self) {
    const Number n = neutral(combine, out.dtype);
    if (!scatter_along(c, Combine::Keep, &n)) return false;
    args[0] = c.out[0];
  }
  if (!scatter_along({c.op, args, c.out}, combine)) return false;
  if (how == "mean") divide_by_counts(c, mean, with_self);
  return true;
}

}  // namespace

void add_by_position(const TensorImpl& out, const TensorImpl& index, const TensorImpl& values) {
  WriteAtParams p{};
  p.combine = static_cast<Word>(Combine::Add), p.whole_scale = 1, p.indexes = 1;
  p.index[0] = index_along(index, out, 0, OutsideWords::Bounds);
  p.columns = {1, 0, {}}, p.steps = {index.numel(), 1, {index.numel()}};
  p.from.data = address_of(values);
  p.from_steps.of[0] = values.strides[0], p.index_steps[0].of[0] = index.strides[0];
  write_to(out, p);
}

bool run_writing(const DeviceCall& c) {
  const auto reduce = [&] { return c.args[4].get<std::string>() == "add" ? Combine::Add : Combine::Multiply; };
  switch (c.op.id) {
    case id::Scatter:
      return scatter_along(c, Combine::Keep);
    case id::ScatterValue:
      return scatter_number(c, Combine::Keep);
    case id::ScatterAdd:
      return scatter_along(c, Combine::Add);
    case id::ScatterReduceSource:
      return scatter_along(c, reduce());
    case id::ScatterReduceValue:
      return scatter_number(c, reduce());
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
