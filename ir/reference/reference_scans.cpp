// Reference kernels along one dimension: running sums, sorting, gathering, counting.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "ir/core/error.h"
#include "ir/reference/positions.h"
#include "ir/reference/reference.h"
#include "registry/ops/math.h"
#include "registry/ops/scans.h"

namespace md {
namespace {

std::int64_t as_int(const Arg& a) { return a.get<Size>().value(); }

// One dimension of a tensor, wherever the others are.
struct Line {
  std::int64_t size = 1, stride = 0;
};
int wrapped(const KernelCall& c, int rank) {
  const std::int64_t d = as_int(c.args[static_cast<std::size_t>(c.op.dim)]);
  return static_cast<int>(d < 0 ? d + std::max(rank, 1) : d);
}
Line line_of(const TensorImpl& t, int dim) { return t.dim() == 0 ? Line{} : Line{t.sizes[dim], t.strides[dim]}; }
// The tensor's first position along `dim`.
TensorImpl first_of(const TensorImpl& t, int dim) {
  DimVec sizes = t.sizes;
  if (t.dim() > 0) sizes[dim] = std::min<std::int64_t>(sizes[dim], 1);
  return TensorImpl(t.storage, t.dtype, sizes, t.strides, t.offset);
}

// f(offset in x, offset in out[0], offset in out[1]) for every line along the op's dimension.
template <class F>
void for_each_line(const KernelCall& c, const TensorImpl& x, F&& f) {
  const int d = wrapped(c, x.dim());
  const TensorImpl kept = first_of(x, d), first = first_of(*c.out[0], d), second = first_of(*c.out.back(), d);
  ElementCursor from(kept, kept.sizes), to(first, first.sizes), other(second, second.sizes);
  for (std::int64_t n = kept.numel(); n > 0; --n, from.next(), to.next(), other.next()) {
    f(from.offset(), to.offset(), other.offset());
  }
}

// --- Running -------------------------------------------------------------------------------------------------------

// Floats accumulate in float64 and are rounded for every element; integers wrap.
template <class T>
using Accumulator = std::conditional_t<std::is_floating_point_v<WorkingOf<T>>, double, std::int64_t>;

template <class Step>
void accumulate(const KernelCall& c, std::int64_t start, Step&& step) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const Line line = line_of(x, wrapped(c, x.dim())), result = line_of(out, wrapped(c, x.dim()));
  visit_dtype(out.dtype, [&](auto to) {
    using To = decltype(to);
    visit_dtype(x.dtype, [&](auto from) {
      const auto* in = x.as<decltype(from)>();
      for_each_line(c, x, [&](std::int64_t at, std::int64_t put, std::int64_t) {
        auto sum = static_cast<Accumulator<To>>(start);
        for (std::int64_t i = 0; i < line.size; ++i) {
          sum = step(sum, static_cast<Accumulator<To>>(widen(convert_value<To>(in[at + i * line.stride]))));
          out.as<To>()[put + i * result.stride] = narrow<To>(static_cast<WorkingOf<To>>(sum));
        }
      });
    });
  });
}

}  // namespace

void reference_kernel(ops::CumSum, const KernelCall& c) {
  accumulate(c, 0, [](auto sum, auto x) { return ScalarBuilder<decltype(sum)>().add(sum, x); });
}
void reference_kernel(ops::CumProd, const KernelCall& c) {
  accumulate(c, 1, [](auto product, auto x) { return ScalarBuilder<decltype(product)>().mul(product, x); });
}

namespace {
// log(exp(a) + exp(b))
double log_of_sum(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return a + b;
  const double larger = std::max(a, b), smaller = std::min(a, b);
  if (std::isinf(larger)) return larger;
  ScalarBuilder<double> builder;
  return larger + math::log1p(builder, math::exp(builder, smaller - larger));
}
}  // namespace

void reference_kernel(ops::LogCumSumExp, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const Line line = line_of(x, wrapped(c, x.dim())), result = line_of(out, wrapped(c, x.dim()));
  visit_dtype(out.dtype, [&](auto t) {
    using T = decltype(t);
    if constexpr (std::is_floating_point_v<WorkingOf<T>>) {
      for_each_line(c, x, [&](std::int64_t at, std::int64_t put, std::int64_t) {
        double sum = -std::numeric_limits<double>::infinity();
        for (std::int64_t i = 0; i < line.size; ++i) {
          sum = log_of_sum(sum, static_cast<double>(widen(x.as<T>()[at + i * line.stride])));
          out.as<T>()[put + i * result.stride] = narrow<T>(static_cast<WorkingOf<T>>(sum));
        }
      });
    }
  });
}

namespace {

template <class T>
bool is_nan(T x) {
  return x != x;
}

// `keeps(next, best)`: whether the next value takes over.
template <class Keeps>
void running_extreme(const KernelCall& c, Keeps&& keeps) {
  const TensorImpl &x = c.tensor(0), &values = *c.out[0], &positions = *c.out[1];
  const int d = wrapped(c, x.dim());
  const Line line = line_of(x, d), to = line_of(values, d), other = line_of(positions, d);
  visit_dtype(x.dtype, [&](auto t) {
    using T = decltype(t);
    for_each_line(c, x, [&](std::int64_t at, std::int64_t put, std::int64_t place) {
      std::int64_t best = 0;
      for (std::int64_t i = 0; i < line.size; ++i) {
        const auto next = widen(x.as<T>()[at + i * line.stride]), so_far = widen(x.as<T>()[at + best * line.stride]);
        if (is_nan(next) || (!is_nan(so_far) && keeps(next, so_far))) best = i;
        values.as<T>()[put + i * to.stride] = x.as<T>()[at + best * line.stride];
        positions.as<std::int64_t>()[place + i * other.stride] = best;
      }
    });
  });
}

}  // namespace

void reference_kernel(ops::CumMax, const KernelCall& c) {
  running_extreme(c, [](auto next, auto best) { return next >= best; });
}
void reference_kernel(ops::CumMin, const KernelCall& c) {
  running_extreme(c, [](auto next, auto best) { return next <= best; });
}

// --- Order ---------------------------------------------------------------------------------------------------------

namespace {

// NaN counts as larger than everything.
template <class T>
bool comes_before(T a, T b) {
  return a < b || (is_nan(b) && !is_nan(a));
}

template <class T>
void sort_lines(const KernelCall& c, bool descending) {
  const TensorImpl &x = c.tensor(0), &values = *c.out[0], &positions = *c.out[1];
  const int d = wrapped(c, x.dim());
  const Line line = line_of(x, d), to = line_of(values, d), other = line_of(positions, d);
  std::vector<std::int64_t> order(static_cast<std::size_t>(line.size));
  std::vector<T> row(order.size());
  for_each_line(c, x, [&](std::int64_t at, std::int64_t put, std::int64_t place) {
    for (std::int64_t i = 0; i < line.size; ++i) row[i] = x.as<T>()[at + i * line.stride];
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) {
      const auto p = widen(T(row[a])), q = widen(T(row[b]));
      return descending ? comes_before(q, p) : comes_before(p, q);
    });
    for (std::int64_t i = 0; i < line.size; ++i) {
      values.as<T>()[put + i * to.stride] = row[order[i]];
      positions.as<std::int64_t>()[place + i * other.stride] = order[i];
    }
  });
}

}  // namespace

void reference_kernel(ops::Sort, const KernelCall& c) {
  const bool descending = c.args[2].get<bool>();
  visit_dtype(c.tensor(0).dtype, [&](auto t) { sort_lines<decltype(t)>(c, descending); });
}

void reference_kernel(ops::Gather, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &index = c.tensor(2), &out = *c.out[0];
  const int d = wrapped(c, x.dim());
  const Line line = line_of(x, d);
  // x without its dimension d, which the index decides.
  TensorImpl others(x.storage, x.dtype, index.sizes, DimVec(index.sizes.size()), x.offset);
  for (int i = 0; i < index.dim(); ++i) others.strides[i] = i == d || x.dim() == 0 ? 0 : x.strides[i];
  ElementCursor from(others, index.sizes), at(index, index.sizes), to(out, out.sizes);
  const bool wide = index.dtype == DType::Int64;
  visit_dtype(x.dtype, [&](auto t) {
    using T = decltype(t);
    for (std::int64_t n = index.numel(); n > 0; --n, from.next(), at.next(), to.next()) {
      const std::int64_t i = wide ? index.as<std::int64_t>()[at.offset()] : index.as<std::int32_t>()[at.offset()];
      if (i < 0 || i >= line.size) {
        throw OpError(ErrorKind::Runtime,
                      fmt::format("index {} is out of bounds for dimension {} with size {}", i, d, line.size));
      }
      out.as<T>()[to.offset()] = x.as<T>()[from.offset() + i * line.stride];
    }
  });
}

namespace {
// n elements of `in` at a distance of `step` as a dense run, if the result's are `out_step` = 1 apart.
template <class T>
void turn_run(const T* in, std::int64_t step, T* out, std::int64_t out_step, std::int64_t n) {
  if (step == -1 && out_step == 1) {
    std::reverse_copy(in - n + 1, in + 1, out);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i * out_step] = in[i * step];
  }
}
}  // namespace

void reference_kernel(ops::Flip, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  if (x.numel() == 0) return;
  DimVec strides = x.strides;
  std::int64_t start = 0;
  for (const Arg& a : c.args[1].get<ListArg>().items) {
    if (x.dim() == 0) continue;
    const std::int64_t given = as_int(a);
    const auto d = static_cast<std::size_t>(given < 0 ? given + x.dim() : given);
    start += (x.sizes[d] - 1) * x.strides[d];
    strides[d] = -x.strides[d];
  }
  std::vector<std::size_t> order(x.sizes.size());  // as the result lies in memory
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return out.strides[a] > out.strides[b]; });
  SideBySide s;
  for (const std::size_t d : order) s.add(x.sizes[d], strides[d], out.strides[d]);
  const std::size_t rank = s.sizes.size();
  const std::int64_t n = rank ? s.sizes.back() : 1, step = rank ? s.a.back() : 1, out_step = rank ? s.b.back() : 1;
  visit_dtype(x.dtype, [&](auto t) {
    using T = decltype(t);
    walk(s, rank ? rank - 1 : 0, [&](std::int64_t from, std::int64_t to) {
      turn_run(x.as<T>() + start + from, step, out.as<T>() + to, out_step, n);
    });
  });
}

// --- Counting ------------------------------------------------------------------------------------------------------

namespace {

double as_double(const Arg& a) {
  double v;
  number_element(a, DType::Float64, &v);
  return v;
}

// Elements are of type E; halves are counted in float32.
template <class E>
void count_into_bins(const KernelCall& c) {
  using T = WorkingOf<E>;
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  T low = static_cast<T>(as_double(c.args[2])), high = static_cast<T>(as_double(c.args[3]));
  const std::int64_t bins = out.numel();
  std::vector<std::int64_t> counts(static_cast<std::size_t>(bins));
  const auto for_each = [&](auto&& f) {
    ElementCursor at(x, x.sizes);
    for (std::int64_t n = x.numel(); n > 0; --n, at.next()) f(T(widen(x.as<E>()[at.offset()])));
  };
  if (low == high && x.numel() > 0) {
    low = high = widen(x.as<E>()[0]);
    for_each([&](T v) { low = v < low || v != v ? v : low, high = v > high || v != v ? v : high; });
  }
  if (low == high) low -= 1, high += 1;
  if (!std::isfinite(low) || !std::isfinite(high)) {
    throw OpError(ErrorKind::Runtime, fmt::format("histc(): range of [{}, {}] is not finite", low, high));
  }
  if (low > high) throw OpError(ErrorKind::Runtime, "histc(): max must be larger than min");
  for_each([&](T v) {
    if (!(v >= low && v <= high)) return;
    const auto bin = static_cast<std::int64_t>((v - low) * static_cast<T>(bins) / (high - low));
    ++counts[static_cast<std::size_t>(std::min(bin, bins - 1))];
  });
  std::transform(counts.begin(), counts.end(), out.as<E>(), convert_value<E, std::int64_t>);
}

}  // namespace

void reference_kernel(ops::Histc, const KernelCall& c) {
  visit_dtype(c.tensor(0).dtype, [&](auto t) {
    if constexpr (std::is_floating_point_v<WorkingOf<decltype(t)>>) count_into_bins<decltype(t)>(c);
  });
}

void reference_kernel(ops::OneHot, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const std::int64_t classes = out.sizes[out.dim() - 1];
  std::fill_n(out.as<std::int64_t>(), out.numel(), 0);
  ElementCursor at(x, x.sizes);
  for (std::int64_t row = 0; row < x.numel(); ++row, at.next()) {
    const std::int64_t i = x.as<std::int64_t>()[at.offset()];
    if (i < 0) throw OpError(ErrorKind::Runtime, "Class values must be non-negative.");
    if (i >= classes) throw OpError(ErrorKind::Runtime, "Class values must be smaller than num_classes.");
    out.as<std::int64_t>()[row * classes + i] = 1;
  }
}

// --- Index patterns ------------------------------------------------------------------------------------------------

namespace {

void fill_triangle(const KernelCall& c, bool lower) {
  const TensorImpl& out = *c.out[0];
  if (out.numel() == 0) return;
  const std::int64_t rows = as_int(c.args[0]), columns = as_int(c.args[1]);
  const std::int64_t offset = std::clamp(as_int(c.args[2]), -rows, columns);
  visit_dtype(out.dtype, [&](auto t) {
    using T = decltype(t);
    T* row = out.as<T>();
    T* column = row + out.strides[0];
    // Only rows that have elements: there may be 2^62 of the others.
    const std::int64_t begin = lower ? std::max<std::int64_t>(-offset, 0) : 0;
    const std::int64_t end = lower ? rows : std::min(rows, columns - offset);
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t edge = std::clamp<std::int64_t>(i + offset + (lower ? 1 : 0), 0, columns);
      for (std::int64_t j = lower ? 0 : edge; j < (lower ? edge : columns); ++j) {
        *row++ = convert_value<T>(i);
        *column++ = convert_value<T>(j);
      }
    }
  });
}

}  // namespace

void reference_kernel(ops::TrilIndices, const KernelCall& c) { fill_triangle(c, true); }
void reference_kernel(ops::TriuIndices, const KernelCall& c) { fill_triangle(c, false); }

}  // namespace md
