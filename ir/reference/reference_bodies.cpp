// The bodies of pointwise ops and the combiners of reductions, instantiated on scalars: tables by op and dtype.
#include <array>

#include "ir/graph/op_visit.h"
#include "ir/reference/reference.h"
#include "registry/reduction_order.h"

namespace md {
namespace {

// Bool operands are masks; any builder serves for them.
template <class T>
using BuilderOf = ScalarBuilder<std::conditional_t<std::is_same_v<T, bool>, std::int32_t, T>>;

template <class O, class T>
auto run_body(BuilderOf<T>& b, const void* const* in, std::int64_t i) {
  constexpr bool masks = std::is_same_v<T, bool>;
  const auto at = [&](int k) { return static_cast<const T*>(in[k])[i]; };
  if constexpr (O::decl.promote == Promote::Select) {
    return apply_body<O, masks>(b, static_cast<const bool*>(in[0])[i], at(1), at(2));
  } else if constexpr (arity<O> == 1) {
    return apply_body<O, masks>(b, at(0));
  } else {
    return apply_body<O, masks>(b, at(0), at(1));
  }
}

template <class O, class T>
bool run_bodies(const void* const* in, void* out, std::int64_t n) {
  BuilderOf<T> b;
  using R = decltype(run_body<O, T>(b, in, 0));
  bool ok = true;
  for (std::int64_t i = 0; i < n; ++i) {
    static_cast<R*>(out)[i] = run_body<O, T>(b, in, i);
    if constexpr (CanFail<O> && std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      ok &= !O::fails_int(b, static_cast<const T*>(in[0])[i], static_cast<const T*>(in[1])[i]);
    }
  }
  return ok;
}

template <class O, class T>
T fold_identity() {
  BuilderOf<T> b;
  if constexpr (std::is_same_v<T, bool>) {
    return O::identity_bool(b);
  } else {
    return O::identity(b);
  }
}

template <class O, class T>
T fold_two(T x, T y) {
  BuilderOf<T> b;
  if constexpr (std::is_same_v<T, bool>) {
    return O::combine_bool(b, x, y);
  } else {
    return O::combine(b, x, y);
  }
}

template <class O, class T>
T fold_chunk(const T* x, std::int64_t n, int lanes) {
  T lane[kInnerLanes];
  std::fill_n(lane, lanes, fold_identity<O, T>());
  for (std::int64_t i = 0; i < n; ++i) lane[i % lanes] = fold_two<O>(lane[i % lanes], x[i]);
  for (int half = lanes / 2; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) lane[i] = fold_two<O>(lane[i], lane[i + half]);
  }
  return lane[0];
}

template <class O, class T>
void fold(const void* values, std::int64_t n, int lanes, void* out) {
  const T* x = static_cast<const T*>(values);
  std::vector<T> level;
  for (std::int64_t i = 0; i < n; i += kReductionChunk) {
    level.push_back(fold_chunk<O>(x + i, std::min(kReductionChunk, n - i), lanes));
  }
  while (level.size() > 1) {
    std::vector<T> above;
    for (std::size_t i = 0; i + 1 < level.size(); i += 2) above.push_back(fold_two<O, T>(level[i], level[i + 1]));
    if (level.size() % 2) above.push_back(level.back());
    level.swap(above);
  }
  // An empty sum is +0 although its lanes start at -0.
  *static_cast<T*>(out) = n == 0 ? static_cast<T>(fold_identity<O, T>() + T(0)) : static_cast<T>(level[0]);
}

template <class O, class T>
std::int64_t find(const void* values, std::int64_t n) {
  BuilderOf<T> b;
  const T* x = static_cast<const T*>(values);
  std::int64_t best = 0;
  for (std::int64_t i = 1; i < n; ++i) {
    bool wins;
    if constexpr (std::is_same_v<T, bool>) {
      wins = O::wins_bool(b, x[i], x[best]);
    } else {
      wins = O::wins(b, x[i], x[best]);
    }
    if (wins) best = i;
  }
  return best;
}

struct Row {
  std::array<BodyFn, kDTypeCount> body{};
  std::array<FoldFn, kDTypeCount> fold{};
  std::array<FindFn, kDTypeCount> find{};
  std::string_view failure;
};

template <class O, DType kType, class T>
constexpr void fill_entry(Row& row) {
  constexpr auto i = static_cast<std::size_t>(kType);
  constexpr DTypeCategory c = info(kType).category;
  if constexpr (O::decl.kind == OpKind::Pointwise) {
    if constexpr (computes_in<O>(c)) row.body[i] = run_bodies<O, T>;
  } else if constexpr (O::decl.kind == OpKind::Reduction) {
    if constexpr (computes_in<O>(c) && (probe::Wins<O> || probe::WinsBool<O>)) row.find[i] = find<O, T>;
    if constexpr (computes_in<O>(c) && !(probe::Wins<O> || probe::WinsBool<O>)) row.fold[i] = fold<O, T>;
  }
}

template <class O>
constexpr Row row_of() {
  Row row;
  fill_entry<O, DType::Bool, bool>(row);
  fill_entry<O, DType::Int32, std::int32_t>(row);
  fill_entry<O, DType::Int64, std::int64_t>(row);
  fill_entry<O, DType::Float32, float>(row);
  fill_entry<O, DType::Float64, double>(row);
  if constexpr (CanFail<O>) row.failure = O::failure;
  return row;
}

constexpr Row kRows[] = {
#define MD_OP(S) row_of<ops::S>(),
#include "registry/ops.inc"
#undef MD_OP
};

const Row& row(OpId id) { return kRows[id]; }

}  // namespace

BodyFn reference_body(OpId id, DType compute) { return row(id).body[static_cast<std::size_t>(working(compute))]; }
FoldFn reference_fold(OpId id, DType compute) { return row(id).fold[static_cast<std::size_t>(working(compute))]; }
FindFn reference_find(OpId id, DType compute) { return row(id).find[static_cast<std::size_t>(working(compute))]; }
std::string_view failure_of(OpId id) { return row(id).failure; }

}  // namespace md
