// Reference kernels of creation, random, matrix and joining ops.
#include <cmath>

#include "ir/reference/fill_elements.h"
#include "ir/reference/random_fill.h"
#include "ir/reference/reference.h"
#include "ir/reference/uninitialised.h"
#include "registry/ops/kernels.h"

namespace md {
namespace {

void fill_number(const TensorImpl& out, const Arg& number) {
  visit_dtype(working(out.dtype), [&](auto v) {
    number_element(number, is_storage_only(out.dtype) ? working(out.dtype) : out.dtype, &v);
    fill_elements(out, [v](std::int64_t) { return v; });
  });
}

double as_double(const Arg& a) {
  double v;
  number_element(a, DType::Float64, &v);
  return v;
}

std::int64_t as_int(const Arg& a) {
  std::int64_t v;
  number_element(a, DType::Int64, &v);
  return v;
}

// Counted from the nearer end, so that both ends are exact, with one rounding after the step's.
template <class T>
void fill_line(const TensorImpl& out, T start, T end) {
  const std::int64_t n = out.numel();
  const T step = n > 1 ? (end - start) / static_cast<T>(n - 1) : 0;
  fill_elements(out, [=](std::int64_t i) {
    return i < n / 2 || n == 1 ? std::fma(step, static_cast<T>(i), start)
                               : std::fma(-step, static_cast<T>(n - 1 - i), end);
  });
}

// Each operation rounds.
template <class T>
void fill_line_of_halves(const TensorImpl& out, double from, double to) {
  const std::int64_t n = out.numel();
  const auto rounded = [](double v) { return static_cast<double>(convert_value<float>(convert_value<T>(v))); };
  const double start = rounded(from), end = rounded(to);
  const double step = n > 1 ? rounded(rounded(end - start) / rounded(static_cast<double>(n - 1))) : 0;
  fill_elements(out, [=](std::int64_t i) {
    const bool near_start = i < n / 2 || n == 1;
    const double way = rounded(step * rounded(static_cast<double>(near_start ? i : n - 1 - i)));
    return rounded(near_start ? start + way : end - way);
  });
}

}  // namespace

void fill_uninitialised(const TensorImpl& t) {
  if (is_floating(t.dtype)) return fill_elements(t, [](std::int64_t) { return std::nan(""); });
  if (t.dtype == DType::Bool) return fill_elements(t, [](std::int64_t) { return true; });
  fill_elements(t, [&](std::int64_t) { return integer_max(t.dtype); });
}
void reference_kernel(ops::Empty, const KernelCall& c) {
  if (fills_uninitialised) fill_uninitialised(*c.out[0]);
}
void reference_kernel(ops::EmptyLike, const KernelCall& c) {
  if (fills_uninitialised) fill_uninitialised(*c.out[0]);
}
void reference_kernel(ops::Zeros, const KernelCall& c) { fill_number(*c.out[0], 0); }
void reference_kernel(ops::Ones, const KernelCall& c) { fill_number(*c.out[0], 1); }
void reference_kernel(ops::Full, const KernelCall& c) { fill_number(*c.out[0], c.args[1]); }
void reference_kernel(ops::FullLike, const KernelCall& c) { fill_number(*c.out[0], c.args[1]); }

void reference_kernel(ops::Arange, const KernelCall& c) {
  const bool floats = c.args[0].is<double>() || c.args[1].is<double>() || c.args[2].is<double>();
  if (!floats || !is_floating(c.out[0]->dtype)) {
    const std::int64_t start = as_int(c.args[0]), step = as_int(c.args[2]);
    return fill_elements(*c.out[0], [=](std::int64_t i) { return start + i * step; });
  }
  // In double and rounded once, whatever the dtype.
  const double start = as_double(c.args[0]), step = as_double(c.args[2]);
  fill_elements(*c.out[0], [=](std::int64_t i) { return start + static_cast<double>(i) * step; });
}

void reference_kernel(ops::Linspace, const KernelCall& c) {
  const double start = as_double(c.args[0]), end = as_double(c.args[1]);
  visit_dtype(c.out[0]->dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      fill_line<T>(*c.out[0], static_cast<T>(start), static_cast<T>(end));
    else if constexpr (std::is_integral_v<T>)
      fill_line<double>(*c.out[0], std::trunc(start), std::trunc(end));
    else
      fill_line_of_halves<T>(*c.out[0], start, end);
  });
}

void reference_kernel(ops::Eye, const KernelCall& c) {
  const std::int64_t m = c.out[0]->sizes[1];
  fill_elements(*c.out[0], [=](std::int64_t i) { return i / m == i % m ? 1 : 0; });
}

namespace {

template <class O>
void draw(O op, const KernelCall& c) {
  fill_random(op, c, reserve_random(random_blocks(op, c)));
}

}  // namespace

void reference_kernel(ops::Rand op, const KernelCall& c) { draw(op, c); }
void reference_kernel(ops::Randn op, const KernelCall& c) { draw(op, c); }
void reference_kernel(ops::Randint op, const KernelCall& c) { draw(op, c); }

namespace {

// One step of the defined chain (docs/numerics.md): fused for floats, wrapping for integers.
template <class T>
T multiply_add(T x, T y, T sum) {
  if constexpr (std::is_floating_point_v<T>) {
    return std::fma(x, y, sum);
  } else {
    ScalarBuilder<T> b;
    return b.add(sum, b.mul(x, y));
  }
}

template <class T>
void multiply(const T* a, std::int64_t a_row, std::int64_t a_col, const T* b, std::int64_t b_row, std::int64_t b_col,
              T* out, std::int64_t out_row, std::int64_t out_col, std::int64_t n, std::int64_t k, std::int64_t m) {
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int64_t j = 0; j < m; ++j) {
      WorkingOf<T> sum = 0;
      for (std::int64_t p = 0; p < k; ++p) {
        sum = multiply_add(widen(a[i * a_row + p * a_col]), widen(b[p * b_row + j * b_col]), sum);
      }
      out[i * out_row + j * out_col] = narrow<T>(sum);
    }
  }
}

void multiply_batches(const KernelCall& c) {
  const TensorImpl &a = c.tensor(0), &b = c.tensor(1), &out = *c.out[0];
  const std::int64_t batches = out.matrices();
  const int r = out.dim() - 2;
  visit_dtype(out.dtype, [&](auto zero) {
    using T = decltype(zero);
    if constexpr (!std::is_same_v<T, bool>) {
      for (std::int64_t i = 0; i < batches; ++i) {
        multiply(a.as<T>() + a.matrix_offset(i), a.strides[r], a.strides[r + 1], b.as<T>() + b.matrix_offset(i),
                 b.strides[r], b.strides[r + 1], out.as<T>() + out.matrix_offset(i), out.strides[r], out.strides[r + 1],
                 out.sizes[r], a.sizes[r + 1], out.sizes[r + 1]);
      }
    }
  });
}

}  // namespace

void reference_kernel(ops::Mm, const KernelCall& c) { multiply_batches(c); }
void reference_kernel(ops::Bmm, const KernelCall& c) { multiply_batches(c); }
void reference_kernel(ops::BatchedMm, const KernelCall& c) { multiply_batches(c); }

namespace {
// `from` into `to` of the same sizes, converted.
void copy_elements(const TensorImpl& from, const TensorImpl& to) {
  constexpr std::int64_t kBlock = 64;
  double buffer[kBlock];
  ElementCursor read(from, from.sizes), write(to, to.sizes);
  for (std::int64_t left = from.numel(); left > 0; left -= kBlock) {
    const std::int64_t n = std::min(left, kBlock);
    gather(from, read, n, to.dtype, buffer);
    scatter(buffer, to.dtype, n, to, write);
  }
}
}  // namespace

void reference_kernel(ops::Cat, const KernelCall& c) {
  const TensorImpl& out = *c.out[0];
  std::int64_t d = c.args[1].get<Size>().value();
  if (d < 0) d += out.dim();
  TensorImpl part(out.storage, out.dtype, out.sizes, out.strides, out.offset);
  for (const Arg& a : c.args[0].get<ListArg>().items) {
    const TensorImpl& t = *a.get<TensorRef>();
    if (t.dim() != out.dim()) continue;  // an empty 1-d tensor among others
    part.sizes = t.sizes;
    copy_elements(t, part);
    part.offset += t.sizes[d] * out.strides[d];
  }
}

void reference_kernel(ops::WriteView, const KernelCall& c) {
  const TensorImpl &out = *c.out[0], &src = c.tensor(1);
  copy_elements(c.tensor(0), out);
  DimVec strides;
  for (const Arg& s : c.args[2].get<ListArg>().items) strides.push_back(as_int(s));
  copy_elements(src, TensorImpl(out.storage, out.dtype, src.sizes, strides, out.offset + as_int(c.args[3])));
}

}  // namespace md
