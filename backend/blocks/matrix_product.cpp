// Matrix products and joining.
#include "backend/blocks/matrix_product.h"

#include <algorithm>
#include <cstring>

#include "backend/blocks/iteration.h"
#include "backend/blocks/kernel_args.h"
#include "backend/machine/thread_pool.h"
#include "ir/core/threads.h"
#include "ir/graph/op_visit.h"

namespace md::blocks {

namespace {

constexpr std::int64_t kLeastWork = 1 << 17;             // multiply-adds worth a task of their own
constexpr std::int64_t kRowUnit = 24, kColumnUnit = 48;  // of a task: multiples of every tile

// c += 0 terms.
void clear(const Product& p, std::int64_t item) {
  for (std::int64_t i = 0; i < p.m; ++i) {
    std::memset(static_cast<char*>(p.c) + i * p.c_row * item, 0, static_cast<std::size_t>(p.n * item));
  }
}

// Threads pack b together, then share the rows of c.
void multiply_rows(const ProductKernels& kernels, const Product& p, std::int64_t item) {
  // Small pieces, so that no thread waits long for another.
  const auto grain = [](std::int64_t length, std::int64_t unit) {
    return std::max<std::int64_t>(2, length / (16 * num_threads() * unit)) * unit;
  };
  const Ref<Storage> packed = allocate_storage(static_cast<std::size_t>(product_columns(p, item)));
  for_each_panel(p, item, [&](const Product& panel, bool fresh) {
    parallel_for(panel.n, grain(panel.n, kColumnUnit),
                 [&](std::int64_t begin, std::int64_t end) { kernels.pack(panel, begin, end, packed->data()); });
    parallel_for(panel.m, grain(panel.m, kRowUnit), [&](std::int64_t begin, std::int64_t end) {
      Product part = panel;
      part.m = end - begin;
      part.a = moved(panel.a, begin * panel.a_row, item);
      part.c = const_cast<void*>(moved(panel.c, begin * panel.c_row, item));
      const Ref<Storage> workspace = allocate_storage(static_cast<std::size_t>(product_rows(part, item)));
      kernels.add(part, packed->data(), fresh, workspace->data());
    });
  });
}

// Threads share the columns of c; each packs all of a, which is small.
void multiply_columns(const ProductKernels& kernels, const Product& p, std::int64_t item, std::int64_t least) {
  const std::int64_t tasks = num_threads() == 1 ? 1 : 2 * num_threads();
  const std::int64_t wanted = std::max(least, (p.n + tasks - 1) / tasks);
  parallel_for(p.n, (wanted + kColumnUnit - 1) / kColumnUnit * kColumnUnit, [&](std::int64_t begin, std::int64_t end) {
    Product part = p;
    part.n = end - begin;
    part.b = moved(p.b, begin * p.b_column, item);
    part.c = const_cast<void*>(moved(p.c, begin, item));
    const Ref<Storage> workspace = allocate_storage(static_cast<std::size_t>(product_workspace(part, item)));
    kernels.run(part, workspace->data());
  });
}

// How the work is split does not matter to the bits.
void multiply(const ProductKernels& kernels, const Product& p, std::int64_t item) {
  if (p.m == 0 || p.n == 0) return;
  if (p.k == 0) return clear(p, item);
  const bool shared = num_threads() > 1 && p.m * p.n >= 2 * kLeastWork / p.k;
  if (shared && p.m >= (p.m >= p.n ? 2 : 4 * num_threads()) * kRowUnit) return multiply_rows(kernels, p, item);
  multiply_columns(kernels, p, item, shared ? std::max<std::int64_t>(1, kLeastWork / (p.m * p.k)) : p.n);
}

// The same product with its result's column stride 1, if that can be had by transposing everything; a column as a row.
Product oriented(std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a, const MatrixView& b,
                 const MatrixView& c) {
  if (c.row == 1 && n == 1) return {1, m, k, b.data, b.column, b.row, a.data, a.column, a.row, c.data, 1};
  if (c.column == 1 || n == 1) return {m, n, k, a.data, a.row, a.column, b.data, b.row, b.column, c.data, c.row};
  return {n, m, k, b.data, b.column, b.row, a.data, a.column, a.row, c.data, c.column};
}

MatrixView matrix(const TensorImpl& t, std::int64_t batch) {
  const int r = t.dim() - 2;
  const std::int64_t skip = t.matrix_offset(batch);
  return {static_cast<char*>(t.data()) + skip * static_cast<std::int64_t>(item_size(t.dtype)), t.strides[r],
          t.strides[r + 1]};
}

bool multiply_batches(const KernelTable& kernels, const TensorImpl& a, const TensorImpl& b, const TensorImpl& out) {
  const int r = out.dim() - 2;
  if (out.dtype == DType::Bool) return false;
  const ProductKernels& kernel = kernels.product[compute_index(out.dtype)];
  const auto item = static_cast<std::int64_t>(item_size(out.dtype));
  const std::int64_t m = out.sizes[r], n = out.sizes[r + 1], k = a.sizes[r + 1];
  if (m > 1 && n > 1 && out.strides[r] != 1 && out.strides[r + 1] != 1) return false;
  const std::int64_t work = std::max<std::int64_t>(1, m * n * k);
  parallel_for(out.matrices(), std::max<std::int64_t>(1, kLeastWork / work), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      multiply(kernel, oriented(m, n, k, matrix(a, i), matrix(b, i), matrix(out, i)), item);
    }
  });
  return true;
}

// Halves and small integers multiply in their working dtype and are brought back at the end.
bool run_product(const KernelArgs& c) {
  const TensorImpl &a = c.tensor(0), &b = c.tensor(1);
  TensorImpl& out = *c.out[0];
  const DType t = out.dtype, value = working(t);
  if (a.dtype != t || b.dtype != t) return false;
  if (t == value) return multiply_batches(c.kernels, a, b, out);
  const auto widened = [&](const TensorImpl& x) {
    TensorRef wide = empty_tensor(x.sizes, value);
    copy_converted(Conversion::load(c.kernels, t, t), x, *wide);
    return wide;
  };
  const TensorRef sums = empty_tensor(out.sizes, value);
  if (!multiply_batches(c.kernels, *widened(a), *widened(b), *sums)) return false;
  copy_converted(Conversion::store(c.kernels, t, t), *sums, out);
  return true;
}

// Tensors joined: each is copied, converted, into its part of the result.
bool join(const KernelArgs& c) {
  const TensorImpl& out = *c.out[0];
  std::int64_t dim = c.args[1].get<Size>().value();
  if (dim < 0) dim += out.dim();
  const auto& items = c.args[0].get<ListArg>().items;
  TensorImpl part(out.storage, out.dtype, out.sizes, out.strides, out.offset);
  for (const Arg& a : items) {
    const TensorImpl& t = *a.get<TensorRef>();
    if (t.dim() != out.dim()) continue;  // an empty 1-d tensor among others
    part.sizes = t.sizes;
    copy_converted(Conversion::copy(c.kernels, t.dtype, part.dtype), t, part);
    part.offset += t.sizes[static_cast<std::size_t>(dim)] * out.strides[static_cast<std::size_t>(dim)];
  }
  return true;
}

// A copy of the first tensor, part of which the second then covers.
bool write_view(const KernelArgs& c) {
  const TensorImpl &base = c.tensor(0), &source = c.tensor(1);
  TensorImpl& out = *c.out[0];
  if (!out.is_contiguous()) return false;
  const Conversion copy = Conversion::copy(c.kernels, base.dtype, out.dtype);
  copy_converted(copy, base, out);
  DimVec strides;
  for (const Arg& s : c.args[2].get<ListArg>().items) strides.push_back(s.get<Size>().value());
  TensorImpl part(out.storage, out.dtype, source.sizes, strides, out.offset + c.args[3].get<Size>().value());
  copy_converted(copy, source, part);
  return true;
}

bool run_op(ops::Mm, const KernelArgs& c) { return run_product(c); }
bool run_op(ops::Bmm, const KernelArgs& c) { return run_product(c); }
bool run_op(ops::BatchedMm, const KernelArgs& c) { return run_product(c); }
bool run_op(ops::Cat, const KernelArgs& c) { return join(c); }
bool run_op(ops::WriteView, const KernelArgs& c) { return write_view(c); }

template <class O>
concept HasBlockKernel = requires(const KernelArgs& c) { run_op(O{}, c); };

}  // namespace

// Kernel ops without a block kernel are left to the reference engine.
bool run_kernel(const KernelTable& kernels, const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  return visit_op(op.id, [&]<class O>(O o) {
    if constexpr (HasBlockKernel<O>) {
      return run_op(o, KernelArgs{kernels, op, args, out});
    } else {
      return false;
    }
  });
}

}  // namespace md::blocks

namespace md {

void multiply_matrices(DType dtype, std::int64_t m, std::int64_t n, std::int64_t k, const MatrixView& a,
                       const MatrixView& b, const MatrixView& c) {
  const blocks::ProductKernels& kernel = blocks::kernel_table().product[blocks::compute_index(dtype)];
  blocks::multiply(kernel, blocks::oriented(m, n, k, a, b, c), static_cast<std::int64_t>(item_size(dtype)));
}

}  // namespace md
