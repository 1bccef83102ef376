// Reference kernels that read and write elements by position.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/core/error.h"
#include "ir/infer/infer.h"
#include "ir/reference/positions.h"
#include "registry/ops/indexing.h"

namespace md {
namespace {

std::int64_t as_int(const Arg& a) { return a.get<Size>().value(); }

int wrapped_dim(const KernelCall& c, int rank) {
  const std::int64_t d = as_int(c.args[static_cast<std::size_t>(c.op.dim)]);
  return static_cast<int>(d < 0 ? d + std::max(rank, 1) : d);
}

std::string sizes_text(const DimVec& sizes) {
  return md::sizes_text([&] {
    SizeVec s;
    for (const std::int64_t n : sizes) s.push_back(n);
    return s;
  }());
}

template <class U>
void copy_run(const U* from, std::int64_t step, U* to, std::int64_t step_to, std::int64_t n) {
  if (step == 1 && step_to == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(U));
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) to[i * step_to] = from[i * step];
}

// Elements of `here` at the pairs' positions become those of `there`.
void write_runs(const SlicePairs& p, const TensorImpl& here, const TensorImpl& there) {
  visit_size(here.dtype, [&](auto u) {
    using U = decltype(u);
    for_each_run(p, [to = here.as<U>(), from = there.as<U>()](std::int64_t a, std::int64_t b, std::int64_t step_a,
                                                              std::int64_t step_b, std::int64_t n) {
      copy_run(from + b, step_b, to + a, step_a, n);
    });
  });
}
void read_runs(const SlicePairs& p, const TensorImpl& here, const TensorImpl& there) {
  visit_size(here.dtype, [&](auto u) {
    using U = decltype(u);
    for_each_run(p, [from = here.as<U>(), to = there.as<U>()](std::int64_t a, std::int64_t b, std::int64_t step_a,
                                                              std::int64_t step_b, std::int64_t n) {
      copy_run(from + a, step_a, to + b, step_b, n);
    });
  });
}

// here = here + scale * there, in the working dtype and rounded once for each element; bools are joined by or.
template <class T>
void add_runs(const SlicePairs& p, const TensorImpl& here, const TensorImpl& there, WorkingOf<T> scale) {
  for_each_run(p, [to = here.as<T>(), from = there.as<T>(), scale](std::int64_t a, std::int64_t b, std::int64_t step_a,
                                                                   std::int64_t step_b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) {
      T& x = to[a + i * step_a];
      const T y = from[b + i * step_b];
      if constexpr (std::is_same_v<T, bool>) {
        x = x || (y && scale);
      } else {
        ScalarBuilder<WorkingOf<T>> builder;
        const auto scaled = scale == 1 ? widen(y) : builder.mul(scale, widen(y));
        x = narrow<T>(builder.add(widen(x), scaled));
      }
    }
  });
}
void add_values(const SlicePairs& p, const TensorImpl& here, const TensorImpl& there, const Arg& scale) {
  visit_dtype(here.dtype, [&](auto t) {
    using T = decltype(t);
    WorkingOf<T> factor;
    number_element(scale, working(here.dtype), &factor);
    add_runs<T>(p, here, there, factor);
  });
}

bool broadcasts_to(const DimVec& sizes, const DimVec& wanted) {
  if (sizes.size() > wanted.size()) return false;
  for (std::size_t i = 1; i <= sizes.size(); ++i) {
    const std::int64_t s = sizes[sizes.size() - i];
    if (s != 1 && s != wanted[wanted.size() - i]) return false;
  }
  return true;
}

}  // namespace

// --- x[...] --------------------------------------------------------------------------------------------------------

void reference_kernel(ops::Index, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  read_runs(indexed_elements(x, c.args[1].get<ListArg>()).pairs(x, out), x, out);
}

void reference_kernel(ops::IndexPut, const KernelCall& c) {
  const TensorImpl &values = c.tensor(2), &out = *c.out[0];
  const IndexedElements e = indexed_elements(out, c.args[1].get<ListArg>());
  if (!broadcasts_to(values.sizes, e.result)) {
    throw OpError(ErrorKind::Runtime,
                  fmt::format("index_put(): shape mismatch: value tensor of shape {} cannot be broadcast to indexing "
                              "result of shape {}",
                              sizes_text(values.sizes), sizes_text(e.result)));
  }
  const SlicePairs p = e.pairs(out, values);
  copy_unless_same(c.tensor(0), out);
  if (c.args[3].get<bool>()) {
    add_values(p, out, values, 1);
  } else {
    write_runs(p, out, values);
  }
}

// --- Of the flattened tensor ---------------------------------------------------------------------------------------

namespace {

// Where element `at` of the flattened tensor lies, negative ones counted from the end.
std::int64_t flat_offset(const TensorImpl& x, std::int64_t at, std::int64_t count) {
  if (at < -count || at >= count) {
    throw OpError(ErrorKind::Index,
                  fmt::format("out of range: tried to access index {} on a tensor of {} elements.", at, count));
  }
  if (at < 0) at += count;
  std::int64_t offset = 0;
  for (int d = x.dim(); d-- > 0;) {
    offset += at % x.sizes[d] * x.strides[d];
    at /= x.sizes[d];
  }
  return offset;
}

SlicePairs flat_pairs(const TensorImpl& x, const TensorImpl& index, const TensorImpl& other) {
  SlicePairs p;
  const std::int64_t count = x.numel();
  p.here = vector_positions(index);
  for (std::int64_t& at : p.here) at = flat_offset(x, at, count);
  ElementCursor cursor(other, other.sizes);
  for (std::size_t k = 0; k < p.here.size(); ++k, cursor.next()) p.there.push_back(cursor.offset());
  return p;
}

}  // namespace

void reference_kernel(ops::Take, const KernelCall& c) {
  read_runs(flat_pairs(c.tensor(0), c.tensor(1), *c.out[0]), c.tensor(0), *c.out[0]);
}

void reference_kernel(ops::Put, const KernelCall& c) {
  const TensorImpl& out = *c.out[0];
  const SlicePairs p = flat_pairs(out, c.tensor(1), c.tensor(2));
  copy_unless_same(c.tensor(0), out);
  if (c.args[3].get<bool>()) {
    add_values(p, out, c.tensor(2), 1);
  } else {
    write_runs(p, out, c.tensor(2));
  }
}

// --- Slices of one dimension ---------------------------------------------------------------------------------------

namespace {

// Slice index[k] of `x` along `d`, with slice k of `other`.
SlicePairs slice_pairs(const TensorImpl& x, int d, std::vector<std::int64_t> index, const TensorImpl& other) {
  SlicePairs p;
  const std::int64_t stride = x.dim() ? x.strides[d] : 0, other_stride = other.dim() ? other.strides[d] : 0;
  for (int i = 0; i < x.dim(); ++i) {
    if (i != d) (i < d ? p.outer : p.inner).add(x.sizes[i], x.strides[i], other.dim() ? other.strides[i] : 0);
  }
  for (std::size_t k = 0; k < index.size(); ++k) p.there.push_back(static_cast<std::int64_t>(k) * other_stride);
  for (std::int64_t& at : index) at *= stride;
  p.here = std::move(index);
  return p;
}

template <class Fail>
std::vector<std::int64_t> checked_positions(const TensorImpl& index, std::int64_t size, Fail&& fail) {
  std::vector<std::int64_t> positions = vector_positions(index);
  for (const std::int64_t at : positions) {
    if (at < 0 || at >= size) fail(at);
  }
  return positions;
}

std::int64_t size_at(const TensorImpl& x, int d) { return x.dim() ? x.sizes[d] : 1; }

std::string bounds_text(std::int64_t at, int d, std::int64_t size) {
  return fmt::format("index {} is out of bounds for dimension {} with size {}", at, d, size);
}

}  // namespace

void reference_kernel(ops::IndexSelect, const KernelCall& c) {
  const TensorImpl &x = c.tensor(0), &out = *c.out[0];
  const int d = wrapped_dim(c, x.dim());
  auto index = checked_positions(c.tensor(2), size_at(x, d),
                                 [](std::int64_t) { throw OpError(ErrorKind::Index, "index out of range in self"); });
  read_runs(slice_pairs(x, d, std::move(index), out), x, out);
}

void reference_kernel(ops::IndexAdd, const KernelCall& c) {
  const TensorImpl& out = *c.out[0];
  const int d = wrapped_dim(c, out.dim());
  const std::int64_t size = size_at(out, d);
  auto index = checked_positions(c.tensor(2), size,
                                 [&](std::int64_t at) { throw OpError(ErrorKind::Runtime, bounds_text(at, d, size)); });
  copy_unless_same(c.tensor(0), out);
  add_values(slice_pairs(out, d, std::move(index), c.tensor(3)), out, c.tensor(3), c.args[4]);
}

void reference_kernel(ops::IndexCopy, const KernelCall& c) {
  const TensorImpl& out = *c.out[0];
  const int d = wrapped_dim(c, out.dim());
  const std::int64_t size = size_at(out, d);
  auto index = checked_positions(c.tensor(2), size, [&](std::int64_t at) {
    throw OpError(ErrorKind::Index, "index_copy_(): " + bounds_text(at, d, size));
  });
  copy_unless_same(c.tensor(0), out);
  write_runs(slice_pairs(out, d, std::move(index), c.tensor(3)), out, c.tensor(3));
}

namespace {

// `value` in the dtype of `out`, as a tensor that repeats it.
TensorImpl repeated(const Arg& value, const TensorImpl& out) {
  TensorRef element = empty_tensor({}, out.dtype);
  if (const auto* t = value.get_if<TensorRef>()) {
    visit_dtype((*t)->dtype, [&](auto from) {
      visit_dtype(out.dtype, [&](auto to) {
        *element->as<decltype(to)>() = convert_value<decltype(to)>(*(*t)->template as<decltype(from)>());
      });
    });
  } else {
    visit_dtype(out.dtype, [&](auto to) {
      WorkingOf<decltype(to)> v;
      number_element(value, out.dtype, &v);
      *element->as<decltype(to)>() = narrow<decltype(to)>(v);
    });
  }
  return TensorImpl(element->storage, out.dtype, out.sizes, DimVec(out.sizes.size()), 0);
}

void fill_slices(const KernelCall& c) {
  const TensorImpl& out = *c.out[0];
  const int d = wrapped_dim(c, out.dim());
  const std::int64_t size = size_at(out, d);
  std::vector<std::int64_t> index = vector_positions(c.tensor(2));
  for (std::int64_t& at : index) {
    if (at < -size || at >= size) throw OpError(ErrorKind::Index, bounds_text(at, d, size));
    if (at < 0) at += size;
  }
  const TensorImpl value = repeated(c.args[3], out);
  copy_unless_same(c.tensor(0), out);
  write_runs(slice_pairs(out, d, std::move(index), value), out, value);
}

}  // namespace

void reference_kernel(ops::IndexFill, const KernelCall& c) { fill_slices(c); }
void reference_kernel(ops::IndexFillTensor, const KernelCall& c) { fill_slices(c); }

void reference_kernel(ops::MaskedScatter, const KernelCall& c) {
  const TensorImpl &mask = c.tensor(1), &source = c.tensor(2), &out = *c.out[0];
  std::int64_t wanted = 0;
  const std::int64_t count = out.numel();
  ElementCursor held(mask, out.sizes);
  for (std::int64_t i = 0; i < count; ++i, held.next()) wanted += mask.as<bool>()[held.offset()];
  if (wanted > source.numel()) {
    throw OpError(ErrorKind::Runtime, "masked_scatter(): Number of elements of source < number of ones in mask");
  }
  copy_unless_same(c.tensor(0), out);
  visit_size(out.dtype, [&](auto u) {
    using U = decltype(u);
    ElementCursor at(mask, out.sizes), to(out, out.sizes), from(source, source.sizes);
    for (std::int64_t i = 0; i < count; ++i, at.next(), to.next()) {
      if (!mask.as<bool>()[at.offset()]) continue;
      out.as<U>()[to.offset()] = source.as<U>()[from.offset()];
      from.next();
    }
  });
}

}  // namespace md
