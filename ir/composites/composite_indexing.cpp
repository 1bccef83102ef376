// Composite ops that find and select by position.
#include "ir/infer/expansion.h"
#include "ir/infer/indexing.h"
#include "registry/ops/indexing.h"

namespace md {

Arg expand_rule(ops::GetItem, const Expansion& e) {
  const OpenedIndex opened = open_index(e.caller, e.arg(0), e.arg(1), IndexUse::Read);
  return opened.positions.items.empty() ? opened.x : e.call(id::Index, {opened.x, opened.positions});
}

// --- By mask -------------------------------------------------------------------------------------------------------

Arg expand_rule(ops::MaskedSelect, const Expansion& e) {
  const TensorType x = e.tensor(0), mask = e.tensor(1);
  if (mask.dtype != DType::Bool) e.fail(ErrorKind::Runtime, "expected BoolTensor for mask");
  SizeVec sizes = broadcast(e, x.sizes, mask.sizes);
  if (sizes.empty()) sizes.push_back(1);
  const Arg all = e.call(id::Expand, {e.arg(0), sizes_arg(sizes)}),
            held = e.call(id::Expand, {e.arg(1), sizes_arg(sizes)});
  return e.call(id::Index, {all, ListArg{{held}}});
}

namespace {

Arg columns_of_nonzero(const Expansion& e) {
  const Arg x = e.rank(0) == 0 ? e.call(id::Unsqueeze, {e.arg(0), 0}) : e.arg(0);
  return e.call(id::Unbind, {e.call(id::NonZero, {x}), 1});
}

}  // namespace

Arg expand_rule(ops::NonZeroTuple, const Expansion& e) { return columns_of_nonzero(e); }
Arg expand_rule(ops::WhereIndices, const Expansion& e) { return columns_of_nonzero(e); }

Arg expand_rule(ops::ArgWhere, const Expansion& e) { return e.call(id::NonZero, {e.arg(0)}); }

// --- Unique --------------------------------------------------------------------------------------------------------

namespace {

// Of the values, the inverse and the counts those that are wanted.
Arg unique(const Expansion& e, const Arg& dim, bool consecutive, bool inverse, bool counts) {
  const std::vector<Arg> parts = e.call(id::UniqueParts, {e.arg(0), dim, consecutive}).get<ListArg>().items;
  if (!inverse && !counts) return parts[0];
  ListArg wanted{{parts[0]}, true};
  if (inverse) wanted.items.push_back(parts[1]);
  if (counts) wanted.items.push_back(parts[2]);
  return wanted;
}

}  // namespace

Arg expand_rule(ops::Unique, const Expansion& e) { return unique(e, e.arg(4), false, false, false); }
Arg expand_rule(ops::UniqueInverse, const Expansion& e) { return unique(e, e.arg(4), false, true, false); }
Arg expand_rule(ops::UniqueCounts, const Expansion& e) { return unique(e, e.arg(4), false, false, true); }
Arg expand_rule(ops::UniqueBoth, const Expansion& e) { return unique(e, e.arg(4), false, true, true); }
Arg expand_rule(ops::UniqueConsecutive, const Expansion& e) { return unique(e, e.arg(3), true, false, false); }
Arg expand_rule(ops::UniqueConsecutiveInverse, const Expansion& e) { return unique(e, e.arg(3), true, true, false); }
Arg expand_rule(ops::UniqueConsecutiveCounts, const Expansion& e) { return unique(e, e.arg(3), true, false, true); }
Arg expand_rule(ops::UniqueConsecutiveBoth, const Expansion& e) { return unique(e, e.arg(3), true, true, true); }

// --- Repeating -----------------------------------------------------------------------------------------------------

Arg expand_rule(ops::RepeatInterleaveTensor, const Expansion& e) {
  const TensorType repeats = e.tensor(1);
  if (repeats.dim() > 1) e.fail(ErrorKind::Runtime, "repeats must be 0-dim or 1-dim tensor");
  const bool flattens = e.arg(2).is_none();
  const Arg x = flattens ? e.call(id::Flatten, {e.arg(0)}) : e.arg(0);
  const TensorType type = type_of(x);
  if (!flattens && type.dim() == 0) no_dimensions(e.size(2));
  const int d = flattens ? 0 : checked_dim(e, e.size(2), type.dim());
  const Size n = type.dim() == 0 ? Size(1) : type.sizes[d];
  Arg counts = repeats.dim() == 0 ? e.call(id::Unsqueeze, {e.arg(1), 0}) : e.arg(1);
  const Size given = type_of(counts).sizes[0];
  if (!guard_eq(given, n)) {
    if (!guard_eq(given, 1)) {
      throw OpError(ErrorKind::Runtime,
                    fmt::format("repeats must have the same size as input along dim, but got repeats.size(0) = {} and "
                                "input.size({}) = {}",
                                to_string(given), d, to_string(n)));
    }
    counts = e.call(id::Expand, {counts, ListArg{{Arg(n)}}});
  }
  const Arg positions = e.call(id::RepeatPositions, {counts, e.arg(3)});
  return e.call(id::IndexSelect, {type.dim() == 0 ? e.call(id::Unsqueeze, {x, 0}) : x, d, positions});
}

// --- Searching -----------------------------------------------------------------------------------------------------

namespace {

Arg number_tensor(const Expansion& e, const Arg& number, const TensorType& other) {
  const bool real = number.is<double>();
  return e.call(id::Full, {ListArg{}, number, real && !is_floating(other.dtype) ? default_dtype() : other.dtype});
}

Arg bucketized(const Expansion& e, const Arg& x) {
  const TensorType boundaries = e.tensor(1);
  if (boundaries.dim() != 1) {
    e.fail(ErrorKind::Runtime, "boundaries tensor must be 1 dimension, but got dim({})", boundaries.dim());
  }
  return e.call(id::SearchSorted, {e.arg(1), x, e.arg(2), e.arg(3)});
}

}  // namespace

Arg expand_rule(ops::SearchSortedScalar, const Expansion& e) {
  if (e.rank(0) != 1) {
    e.fail(ErrorKind::Runtime,
           "input value can be a scalar only when boundaries tensor dimension is 1, but we got "
           "boundaries tensor dim({})",
           e.rank(0));
  }
  return e.call(id::SearchSorted,
                {e.arg(0), number_tensor(e, e.arg(1), e.tensor(0)), e.arg(2), e.arg(3), e.arg(4), e.arg(5)});
}

Arg expand_rule(ops::Bucketize, const Expansion& e) { return bucketized(e, e.arg(0)); }
Arg expand_rule(ops::BucketizeScalar, const Expansion& e) {
  return bucketized(e, number_tensor(e, e.arg(0), e.tensor(1)));
}

}  // namespace md
