// Inference rules of the ops that work by position.
#include <algorithm>

#include "ir/infer/indexing.h"
#include "ir/infer/infer.h"
#include "ir/infer/unbacked.h"
#include "registry/ops/indexing.h"

namespace md {
namespace {

TensorType like(const InferCall& c, const TensorType& x) {
  TensorType out = fresh_type(c, x.dtype, x.sizes);
  out.strides = like_strides(x);
  return out;
}

// A copy of the first operand into which values of `source` go.
TensorType written(const InferCall& c, bool source_grad = false) {
  const TensorType x = c.tensor(0);
  TensorType out = like(c, x);
  out.requires_grad = (x.requires_grad || source_grad) && grad_enabled() && is_differentiable(x.dtype);
  return out;
}

void need_same_dtype(const InferCall& c, const TensorType& x, const TensorType& source) {
  if (x.dtype == source.dtype) return;
  c.fail(ErrorKind::Runtime, "self ({}) and source ({}) must have the same scalar type", info(x.dtype).guard_name,
         info(source.dtype).guard_name);
}

// --- x[...] --------------------------------------------------------------------------------------------------------

// What the items of an index say about the result.
class IndexShape {
 public:
  explicit IndexShape(const InferCall& c) : c_(c), x_(c.tensor(0)) {
    const auto* list = c.arg(1).get_if<ListArg>();
    if (!list) fail_type(c.arg(1));
    for (const Arg& a : list->items) add(a);
    if (!open_.empty()) name_count();
    if (dim_ > x_.dim())
      throw OpError(ErrorKind::Index, fmt::format("too many indices for tensor of dimension {}", x_.dim()));
  }

  bool has_masks() const { return masks_ > 0; }

  SizeVec sizes() const {
    SizeVec out;
    const bool split = last_ - first_ + 1 != static_cast<int>(taken_.size());
    const int at = split || first_ < 0 ? 0 : first_;
    for (int d = 0, kept = 0; d <= x_.dim(); ++d) {
      if (kept == at && static_cast<int>(out.size()) == at) {
        for (const Size s : positions_) out.push_back(s);
      }
      if (d == x_.dim() || is_taken(d)) continue;
      out.push_back(x_.sizes[d]);
      ++kept;
    }
    return out;
  }
  const SizeVec& positions() const { return positions_; }

  // Dense, in the order in which the operands lie in memory.
  SizeVec strides(const SizeVec& sizes) const {
    const bool split = last_ - first_ + 1 != static_cast<int>(taken_.size());
    const int at = split || first_ < 0 ? 0 : first_;
    const int count = static_cast<int>(positions_.size());
    std::vector<TensorType> operands(1);
    TensorType& kept = operands[0];
    kept.sizes = sizes;
    kept.strides = SizeVec(sizes.size());
    for (int d = 0, to = 0; d < x_.dim(); ++d) {
      if (is_taken(d)) continue;
      kept.strides[to < at ? to : to + count] = x_.strides[d];
      ++to;
    }
    for (const TensorType& t : tensors_) {
      TensorType wide;
      wide.sizes = SizeVec(sizes.size(), Size(1));
      wide.strides = SizeVec(sizes.size());
      for (int i = 0; i < t.dim(); ++i) {
        wide.sizes[at + count - t.dim() + i] = t.sizes[i];
        wide.strides[at + count - t.dim() + i] = t.strides[i];
      }
      operands.push_back(std::move(wide));
    }
    return joined_strides(operands, sizes);
  }

 private:
  [[noreturn]] void fail_type(const Arg& a) const {
    c_.fail(ErrorKind::Type, "indices must be a tuple of tensors{}", a.is_none() ? ", not None" : "");
  }
  bool is_taken(int d) const { return std::ranges::find(taken_, d) != taken_.end(); }

  void add(const Arg& a) {
    if (a.is_none()) {
      ++dim_;
      return;
    }
    if (const auto* list = a.get_if<ListArg>()) {
      TensorType t;
      t.sizes = list_sizes(*list);
      t.strides = row_major_strides(t.sizes);
      return take(std::move(t), 1);
    }
    if (!a.is<TensorRef>() && !a.is<Node*>()) fail_type(a);
    TensorType t = type_of(a);
    if (is_mask(t.dtype)) return add_mask(t);
    if (t.dtype != DType::Int64 && t.dtype != DType::Int32) {
      throw OpError(ErrorKind::Index, "tensors used as indices must be long, int, byte or bool tensors");
    }
    take(std::move(t), 1);
  }

  void add_mask(const TensorType& mask) {
    for (int i = 0; i < mask.dim() && dim_ + i < x_.dim(); ++i) {
      if (guard_eq(mask.sizes[i], x_.sizes[dim_ + i])) continue;
      throw OpError(ErrorKind::Index, fmt::format("The shape of the mask {} at index {} does not match the shape of "
                                                  "the indexed tensor {} at index {}",
                                                  sizes_text(mask.sizes), i, sizes_text(x_.sizes), dim_ + i));
    }
    ++masks_;
    if (c_.op.decl != &ops::Index::decl) {  // how many elements are written is found out by the kernel
      for (int i = 0; i < std::max(mask.dim(), 1); ++i) taken_.push_back(dim_ + i);
      dim_ += mask.dim();
      return;
    }
    const bool traced = c_.arg(0).is<Node*>();
    if (traced) open_.push_back(tensors_.size());
    TensorType t;
    t.sizes = SizeVec{traced ? Size(1) : dynamic_size(c_)};  // of real masks every count is known
    t.strides = SizeVec{1};
    take(std::move(t), mask.dim());
  }

  // While tracing, masks hold as often as there are positions beside them, else as often as one symbol says.
  void name_count() {
    Size& count = positions_.back();
    if (guard_eq(count, 1)) count = dynamic_size(c_);
    for (const std::size_t i : open_) tensors_[i].sizes = SizeVec{count};
  }

  void take(TensorType t, int dims) {
    for (int i = 0; i < dims; ++i, ++dim_) {
      taken_.push_back(dim_);
      if (first_ < 0) first_ = dim_;
      last_ = dim_;
      if (dim_ < x_.dim() && x_.sizes[dim_].is_const(0)) empty_ = true;
    }
    try {
      positions_ = tensors_.empty() ? t.sizes : broadcast(c_, positions_, t.sizes);
    } catch (const OpError&) {
      throw OpError(ErrorKind::Index,
                    fmt::format("shape mismatch: indexing tensors could not be broadcast together with shapes {}, {}",
                                sizes_text(positions_), sizes_text(t.sizes)));
    }
    tensors_.push_back(std::move(t));
  }

 public:
  // Positions in a dimension without any.
  void check_empty() const {
    const bool none = std::ranges::any_of(positions_, [](Size s) { return s.is_const(0); });
    if (empty_ && !none && !has_masks()) {
      throw OpError(ErrorKind::Index, "index is out of bounds for dimension with size 0");
    }
  }

 private:
  const InferCall& c_;
  TensorType x_;
  int dim_ = 0, first_ = -1, last_ = -2, masks_ = 0;
  bool empty_ = false;
  std::vector<int> taken_;
  std::vector<TensorType> tensors_;
  std::vector<std::size_t> open_;  // of these, the masks whose count is not known
  SizeVec positions_;
};

}  // namespace

TensorType infer_rule(ops::Index, const InferCall& c) {
  const TensorType x = c.tensor(0);
  const IndexShape shape(c);
  shape.check_empty();
  const SizeVec sizes = shape.sizes();
  TensorType out = fresh_type(c, x.dtype, sizes);
  out.strides = shape.strides(sizes);
  out.requires_grad = x.requires_grad && grad_enabled() && is_differentiable(x.dtype);
  return out;
}

TensorType infer_rule(ops::Position, const InferCall& c) {
  const Size size = c.size(1);
  if (guard_eq(size, 0)) throw OpError(ErrorKind::Index, "index is out of bounds for dimension with size 0");
  const std::int64_t last = size.is_const() ? size.value() - 1 : SizeRange::kMax;
  TensorType out = fresh_type(c, DType::Int64, SizeVec{dynamic_size(c, {0, std::max<std::int64_t>(last, 0)})});
  out.strides = SizeVec{0};
  return out;
}

TensorType infer_rule(ops::SelectAt, const InferCall& c) {
  TensorType x = c.tensor(0);
  const int d = checked_dim(c, c.size(1), x.dim());
  x.offset = x.offset + c.size(2) * x.strides[d];
  x.sizes.erase(x.sizes.begin() + d);
  x.strides.erase(x.strides.begin() + d);
  return x;
}

TensorType infer_rule(ops::IndexPut, const InferCall& c) {
  const TensorType x = c.tensor(0), values = c.tensor(2);
  const IndexShape shape(c);
  if (values.dtype != x.dtype) {
    c.fail(ErrorKind::Runtime,
           "Index put requires the source and destination dtypes match, got {} for the destination and {} for the "
           "source.",
           info(x.dtype).guard_name, info(values.dtype).guard_name);
  }
  if (!shape.has_masks()) {
    shape.check_empty();
    const SizeVec sizes = shape.sizes();
    bool fits = values.sizes.size() <= sizes.size();
    for (std::size_t i = 1; fits && i <= values.sizes.size(); ++i) {
      const Size s = values.sizes[values.sizes.size() - i];
      fits = s.is_const(1) || guard_eq(s, sizes[sizes.size() - i]);
    }
    if (!fits) {
      c.fail(ErrorKind::Runtime,
             "shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape {}",
             sizes_text(values.sizes), sizes_text(sizes));
    }
  }
  return written(c, values.requires_grad);
}

namespace {
void need_int64(const InferCall& c, const TensorType& index) {
  if (index.dtype != DType::Int64) {
    c.fail(ErrorKind::Runtime, "Expected a long tensor for index, but got {}", info(index.dtype).guard_name);
  }
}
}  // namespace

TensorType infer_rule(ops::Take, const InferCall& c) {
  const TensorType x = c.tensor(0), index = c.tensor(1);
  need_int64(c, index);
  if (guard_eq(product(x.sizes), 0) && !guard_eq(product(index.sizes), 0)) {
    c.fail(ErrorKind::Index, "tried to take from an empty tensor");
  }
  TensorType out = fresh_type(c, x.dtype, index.sizes);
  out.strides = like_strides(index);
  out.requires_grad = x.requires_grad && grad_enabled() && is_differentiable(x.dtype);
  return out;
}

TensorType infer_rule(ops::Put, const InferCall& c) {
  const TensorType x = c.tensor(0), index = c.tensor(1), source = c.tensor(2);
  need_int64(c, index);
  need_same_dtype(c, x, source);
  if (!guard_eq(product(index.sizes), product(source.sizes))) {
    c.fail(ErrorKind::Runtime, "Expected source and index to have the same number of elements, but got {} and {}",
           to_string(product(source.sizes)), to_string(product(index.sizes)));
  }
  return written(c, source.requires_grad);
}

// --- Along one dimension -------------------------------------------------------------------------------------------

namespace {

void need_vector(const InferCall& c, const TensorType& index, ErrorKind kind) {
  if (index.dim() > 1) c.fail(kind, "Index is supposed to be a vector");
  if (index.dtype != DType::Int64 && index.dtype != DType::Int32) {
    c.fail(ErrorKind::Runtime, "Expected dtype int32 or int64 for index");
  }
}

Size length_of(const TensorType& index) { return index.dim() == 0 ? Size(1) : index.sizes[0]; }

// Slices of `source` that go to positions of `x`: one for each of `index`, of the right sizes.
void check_slices(const InferCall& c, const TensorType& x, int d, const TensorType& index, const TensorType& source) {
  const Size have = source.dim() == 0 ? Size(1) : d < source.dim() ? source.sizes[d] : Size(-1);
  if (!guard_eq(have, length_of(index))) {
    c.fail(ErrorKind::Runtime, "Number of indices ({}) should be equal to source.size(dim): ({}), for dim: {}",
           to_string(length_of(index)), to_string(have), d);
  }
  bool fits = source.dim() == x.dim() || (source.dim() <= 1 && x.dim() <= 1);
  for (int i = 0; fits && i < std::min(x.dim(), source.dim()); ++i) {
    fits = i == d || guard_eq(source.sizes[i], x.sizes[i]);
  }
  if (!fits) {
    throw OpError(ErrorKind::Runtime,
                  fmt::format("source tensor shape must match self tensor shape, excluding the specified dimension. "
                              "Got self.shape = {} source.shape = {}",
                              sizes_text(x.sizes), sizes_text(source.sizes)));
  }
}

}  // namespace

TensorType infer_rule(ops::IndexSelect, const InferCall& c) {
  const TensorType x = c.tensor(0), index = c.tensor(2);
  const int d = checked_dim(c, c.size(1), x.dim());
  need_vector(c, index, ErrorKind::Index);
  if (x.dim() == 0 && !guard_eq(length_of(index), 1)) {
    c.fail(ErrorKind::Runtime, "Index to scalar can have only 1 value, got {} value(s)", to_string(length_of(index)));
  }
  SizeVec sizes = x.sizes;
  if (x.dim() > 0) sizes[d] = length_of(index);
  TensorType out = fresh_type(c, x.dtype, sizes);
  out.requires_grad = x.requires_grad && grad_enabled() && is_differentiable(x.dtype);
  return out;
}

TensorType infer_rule(ops::IndexAdd, const InferCall& c) {
  const TensorType x = c.tensor(0), source = c.tensor(3);
  const int d = checked_dim(c, c.size(1), x.dim());
  need_vector(c, c.tensor(2), ErrorKind::Index);
  need_same_dtype(c, x, source);
  check_slices(c, x, d, c.tensor(2), source);
  if (!is_floating(x.dtype) && c.arg(4).is<double>() && x.dtype == DType::Bool) {
    c.fail(ErrorKind::Runtime, "For integral input tensors, argument alpha must not be a floating point number.");
  }
  return written(c, source.requires_grad);
}

TensorType infer_rule(ops::IndexCopy, const InferCall& c) {
  const TensorType x = c.tensor(0), index = c.tensor(2), source = c.tensor(3);
  const int d = checked_dim(c, c.size(1), x.dim());
  if (index.dim() > 1) c.fail(ErrorKind::Index, "Index should have dimension 1 or 0 (got {})", index.dim());
  if (source.dim() != x.dim() && source.dim() != 0 && x.dim() != 0) {
    c.fail(ErrorKind::Index,
           "When source and destination are not scalars, their dimensionality must match. Source dimensionality ({}), "
           "destination dimensionality ({})",
           source.dim(), x.dim());
  }
  if (source.dim() == 0 && !guard_eq(length_of(index), 1)) {
    c.fail(ErrorKind::Index, "When source is scalar, index should have one element (got {})",
           to_string(length_of(index)));
  }
  if (index.dtype != DType::Int64) {
    c.fail(ErrorKind::Runtime, "Expected a long tensor for index, but got {}", info(index.dtype).guard_name);
  }
  if (x.dtype != source.dtype) {
    c.fail(ErrorKind::Runtime, "self and source expected to have the same dtype, but got (self) {} and (source) {}",
           info(x.dtype).guard_name, info(source.dtype).guard_name);
  }
  check_slices(c, x, d, index, source);
  return written(c, source.requires_grad);
}

namespace {
TensorType filled_slices(const InferCall& c) {
  const TensorType x = c.tensor(0), index = c.tensor(2);
  checked_dim(c, c.size(1), x.dim());
  if (index.dtype != DType::Int64) c.fail(ErrorKind::Index, "Expected dtype int64 for index.");
  if (index.dim() > 1) c.fail(ErrorKind::Runtime, "Index has to be a vector/scalar");
  return written(c);
}
}  // namespace

TensorType infer_rule(ops::IndexFill, const InferCall& c) { return filled_slices(c); }

TensorType infer_rule(ops::IndexFillTensor, const InferCall& c) {
  if (c.rank(3) > 0) {
    c.fail(ErrorKind::Runtime, "only supports a 0-dimensional value tensor, but got tensor with {} dimension(s).",
           c.rank(3));
  }
  return filled_slices(c);
}

namespace {

// `index` has the rank of self (and src) and is no larger apart from `dim`. None without elements fits everything.
TensorType scattered(const InferCall& c, bool has_source) {
  const TensorType x = c.tensor(0), index = c.tensor(2);
  const int d = checked_dim(c, c.size(1), x.dim());
  if (index.dtype != DType::Int64 && index.dtype != DType::Int32) {
    c.fail(ErrorKind::Runtime, "Expected dtype int32/int64 for index");
  }
  const TensorType source = has_source ? c.tensor(3) : x;
  if (source.dtype != x.dtype) c.fail(ErrorKind::Runtime, "Expected self.dtype to be equal to src.dtype");
  TensorType out = written(c, source.requires_grad);
  out.strides = row_major_strides(out.sizes);
  if (guard_eq(product(index.sizes), 0)) return out;
  const auto need_rank = [&](const TensorType& t, const char* what) {
    if (std::max(index.dim(), 1) == std::max(t.dim(), 1)) return;
    throw OpError(ErrorKind::Runtime,
                  fmt::format("Index tensor must have the same number of dimensions as {} tensor", what));
  };
  need_rank(x, "self");
  if (has_source) need_rank(source, "src");
  bool fits = true;
  for (int i = 0; fits && i < index.dim(); ++i) {
    fits = i == d || i >= x.dim() || !guard_lt(x.sizes[i], index.sizes[i]);
    if (fits && has_source && i < source.dim()) fits = !guard_lt(source.sizes[i], index.sizes[i]);
  }
  if (!fits) {
    const std::string and_source =
        has_source ? fmt::format(" and to be no larger size than src {}", sizes_text(source.sizes)) : "";
    throw OpError(ErrorKind::Runtime,
                  fmt::format("Expected index {} to be no larger than self {} apart from dimension {}{}",
                              sizes_text(index.sizes), sizes_text(x.sizes), d, and_source));
  }
  return out;
}

void check_reduce(const InferCall& c) {
  const std::string& reduce = c.arg(4).get<std::string>();
  if (reduce == "add" || reduce == "multiply") return;
  throw OpError(ErrorKind::Runtime, "reduce argument must be either add or multiply.");
}

}  // namespace

TensorType infer_rule(ops::Scatter, const InferCall& c) { return scattered(c, true); }
TensorType infer_rule(ops::ScatterAdd, const InferCall& c) { return scattered(c, true); }

TensorType infer_rule(ops::ScatterValue, const InferCall& c) { return scattered(c, false); }

TensorType infer_rule(ops::ScatterReduceSource, const InferCall& c) {
  check_reduce(c);
  return scattered(c, true);
}

TensorType infer_rule(ops::ScatterReduceValue, const InferCall& c) {
  check_reduce(c);
  return scattered(c, false);
}

TensorType infer_rule(ops::ScatterReduce, const InferCall& c) {
  const std::string& reduce = c.arg(4).get<std::string>();
  const auto known = {"sum", "prod", "mean", "amax", "amin"};
  if (std::ranges::none_of(known, [&](const char* name) { return reduce == name; })) {
    throw OpError(ErrorKind::Runtime, "reduce argument must be either sum, prod, mean, amax or amin, got " + reduce);
  }
  if (reduce == "mean" && c.tensor(0).dtype == DType::Bool) {
    c.fail(ErrorKind::NotImplemented, "the mean is not defined for bool tensors");
  }
  return scattered(c, true);
}

}  // namespace md
