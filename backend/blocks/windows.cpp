// Convolution as matrix products of the weight with columns that hold windows; pooling and resampling by planes.
#include "ir/windows.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "backend/blocks/kernel_args.h"
#include "backend/thread_pool.h"

namespace md::blocks {
namespace {

constexpr std::int64_t kPlaneWork = 1 << 14;  // elements worth a task of their own

template <class O>
bool by_planes(O op, const KernelArgs& a) {
  const KernelCall c{a.op, a.args, a.out};
  const std::int64_t planes = plane_count(c);
  const std::int64_t elements = std::max(c.tensor(0).numel(), a.out[0]->numel()) / std::max<std::int64_t>(planes, 1);
  const std::int64_t least = std::max<std::int64_t>(1, kPlaneWork / std::max<std::int64_t>(elements, 1));
  parallel_for(planes, least, [&](std::int64_t begin, std::int64_t end) { run_planes(op, c, begin, end); });
  return true;
}

// --- Convolution -----------------------------------------------------------------------------------------------------

using Dims = std::array<WindowDim, kMostWindowDims>;

constexpr std::int64_t kColumnBytes = 3 << 17;  // of windows laid out at a time: a part of the second-level cache
constexpr std::int64_t kColumnUnit = 48;        // columns: a multiple of every tile

struct Shape {
  Dims dims{};
  std::int64_t batch, groups, channels, filters;  // channels and filters of one group
  std::int64_t in, out, window;                   // elements of a plane, positions, elements of a window
  std::int64_t item;

  std::int64_t depth() const { return channels * window; }
};

std::int64_t number(const KernelArgs& c, std::size_t arg) { return c.args[arg].get<Size>().value(); }
std::int64_t number(const KernelArgs& c, std::size_t arg, std::size_t i) {
  return c.args[arg].get<ListArg>().items[i].get<Size>().value();
}

Shape shape_of(const KernelArgs& c) {
  const TensorImpl &x = c.tensor(0), &w = c.tensor(1), &out = *c.out[0];
  const std::int64_t groups = number(c, 5);
  Shape s{.batch = x.sizes[0],
          .groups = groups,
          .channels = w.sizes[1],
          .filters = w.sizes[0] / groups,
          .in = 1,
          .out = 1,
          .window = 1,
          .item = static_cast<std::int64_t>(item_size(x.dtype))};
  const std::size_t n = x.sizes.size() - 2;
  for (std::size_t i = 0; i < n; ++i) {
    WindowDim& d = s.dims[kMostWindowDims - n + i];
    d.in = x.sizes[i + 2], d.out = out.sizes[i + 2], d.kernel = w.sizes[i + 2];
    d.stride = number(c, 2, i), d.padding = number(c, 3, i), d.dilation = number(c, 4, i);
    s.in *= d.in, s.out *= d.out, s.window *= d.kernel;
  }
  return s;
}

// Windows of one position are the plane itself.
bool is_plane(const Shape& s) {
  return std::ranges::all_of(s.dims,
                             [](const WindowDim& d) { return d.kernel == 1 && d.stride == 1 && d.padding == 0; });
}

// A part of a row of results seen through one element of the window: zeros where that lies in the padding, and between
// them elements of a row of the operand.
struct Cut {
  std::int64_t before, copied, behind;
  std::int64_t from;  // in the operand's row
};
Cut cut_row(const WindowDim& d, std::int64_t k, std::int64_t first, std::int64_t last) {
  const std::int64_t shift = k * d.dilation - d.padding;
  // Positions whose element lies inside: 0 <= i * stride + shift < in.
  const std::int64_t low = shift < 0 ? std::clamp((-shift + d.stride - 1) / d.stride, first, last) : first;
  const std::int64_t high = shift >= d.in ? low : std::clamp((d.in - shift + d.stride - 1) / d.stride, low, last);
  return {low - first, high - low, last - high, low * d.stride + shift};
}

template <class T>
void copy_cut(const Cut& cut, std::int64_t stride, const T* row, T* to) {
  for (std::int64_t i = 0; i < cut.before; ++i) to[i] = T(0);
  to += cut.before;
  row += cut.from;
  if (stride == 1) {
    std::memcpy(to, row, static_cast<std::size_t>(cut.copied) * sizeof(T));
  } else {
    for (std::int64_t i = 0; i < cut.copied; ++i) to[i] = row[i * stride];
  }
  to += cut.copied;
  for (std::int64_t i = 0; i < cut.behind; ++i) to[i] = T(0);
}

// Positions [first, last) of row (r0, r1) of the results: a piece of every row of the matrix, which are `n` apart.
template <class T>
void fill_row(const Shape& s, const T* planes, std::int64_t r0, std::int64_t r1, std::int64_t first, std::int64_t last,
              std::int64_t n, T* to) {
  const Dims& d = s.dims;
  SmallVector<Cut, 16> cuts(static_cast<std::size_t>(d[2].kernel));
  for (std::int64_t k = 0; k < d[2].kernel; ++k) cuts[static_cast<std::size_t>(k)] = cut_row(d[2], k, first, last);
  const Cut nothing{last - first, 0, 0, 0};
  for (std::int64_t c = 0; c < s.channels; ++c, planes += s.in) {
    for (std::int64_t k0 = 0; k0 < d[0].kernel; ++k0) {
      const std::int64_t p0 = r0 * d[0].stride - d[0].padding + k0 * d[0].dilation;
      for (std::int64_t k1 = 0; k1 < d[1].kernel; ++k1) {
        const std::int64_t p1 = r1 * d[1].stride - d[1].padding + k1 * d[1].dilation;
        const bool inside = p0 >= 0 && p0 < d[0].in && p1 >= 0 && p1 < d[1].in;
        const T* const row = inside ? planes + (p0 * d[1].in + p1) * d[2].in : planes;
        for (const Cut& cut : cuts) {
          copy_cut(inside ? cut : nothing, d[2].stride, row, to);
          to += n;
        }
      }
    }
  }
}

// Whether rows of results lie one after the other as the operand's do: one step of 1 in planes of equal width.
bool keeps_rows(const Dims& d) {
  const bool flat = d[0].kernel == 1 && d[0].in == 1 && d[0].out == 1;
  return flat && d[1].stride == 1 && d[2].stride == 1 && d[2].out == d[2].in;
}

// As fill_columns, there: a row of the matrix is the plane itself, moved, with zeros where it was moved over an edge.
template <class T>
void fill_moved(const Shape& s, const T* planes, std::int64_t begin, std::int64_t end, T* to) {
  const Dims& d = s.dims;
  const std::int64_t width = d[2].in, n = end - begin;
  const auto moved = [&](std::int64_t k1, std::int64_t k2) {
    const std::int64_t aside = k2 * d[2].dilation - d[2].padding;
    const std::int64_t shift = (k1 * d[1].dilation - d[1].padding) * width + aside;
    const std::int64_t low = std::clamp(-shift, begin, end), high = std::clamp(s.in - shift, low, end);
    std::fill_n(to, low - begin, T(0));
    std::memcpy(to + (low - begin), planes + low + shift, static_cast<std::size_t>(high - low) * sizeof(T));
    std::fill_n(to + (high - begin), end - high, T(0));
    if (aside == 0) return;
    const std::int64_t first = aside < 0 ? 0 : std::max<std::int64_t>(width - aside, 0);
    const std::int64_t last = aside < 0 ? std::min(-aside, width) : width;
    for (std::int64_t row = begin / width * width; row < end; row += width) {
      const std::int64_t from = std::max(row + first, begin), until = std::min(row + last, end);
      for (std::int64_t i = from; i < until; ++i) to[i - begin] = T(0);
    }
  };
  for (std::int64_t c = 0; c < s.channels; ++c, planes += s.in) {
    for (std::int64_t k1 = 0; k1 < d[1].kernel; ++k1) {
      for (std::int64_t k2 = 0; k2 < d[2].kernel; ++k2, to += n) moved(k1, k2);
    }
  }
}

// Columns [begin, end) of the matrix whose rows are the elements of a window and whose columns are positions.
template <class T>
void fill_columns(const Shape& s, const T* planes, std::int64_t begin, std::int64_t end, T* to) {
  const Dims& d = s.dims;
  if (keeps_rows(d)) return fill_moved(s, planes, begin, end, to);
  for (std::int64_t at = begin; at < end;) {
    const std::int64_t row = at / d[2].out, first = at % d[2].out;
    const std::int64_t last = std::min(d[2].out, first + (end - at));
    fill_row(s, planes, row / d[1].out, row % d[1].out, first, last, end - begin, to + (at - begin));
    at += last - first;
  }
}

struct Memory {
  const char *x, *w;
  char* out;
};

// Positions [begin, end) of all filters of one group of one image.
template <class T>
void convolve_part(ProductKernel kernel, const Shape& s, const Memory& m, std::int64_t image, std::int64_t group,
                   std::int64_t begin, std::int64_t end) {
  const std::int64_t n = end - begin, k = s.depth();
  const auto* planes = reinterpret_cast<const T*>(m.x) + (image * s.groups + group) * s.channels * s.in;
  auto* const out = reinterpret_cast<T*>(m.out) + (image * s.groups + group) * s.filters * s.out + begin;
  Product p{s.filters, n,   k,    reinterpret_cast<const T*>(m.w) + group * s.filters * k, k, 1, planes + begin, s.in,
            1,         out, s.out};
  const std::int64_t columns = is_plane(s) ? 0 : (k * n * s.item + 63) / 64 * 64;
  const Ref<Storage> room = allocate_storage(static_cast<std::size_t>(columns + product_workspace(p, s.item)));
  if (columns > 0) {
    auto* const laid_out = static_cast<T*>(room->data());
    fill_columns(s, planes, begin, end, laid_out);
    p.b = laid_out, p.b_row = n;
  }
  kernel(p, static_cast<char*>(room->data()) + columns);
}

// Pieces of the positions: whole units whose windows fit the cache.
std::int64_t piece_of(const Shape& s) {
  const std::int64_t fitting = kColumnBytes / std::max<std::int64_t>(1, s.depth() * s.item) / kColumnUnit * kColumnUnit;
  return std::clamp(fitting, kColumnUnit, 32 * kColumnUnit);
}

}  // namespace

bool run_op(ops::Convolution, const KernelArgs& c) {
  const DType t = c.out[0]->dtype;
  const ProductKernel kernel = t == working(t) ? c.kernels.product[compute_index(t)] : nullptr;
  const Shape s = shape_of(c);
  if (!kernel || !c.out[0]->is_contiguous() || s.depth() == 0) return false;
  const auto dense = [](const TensorImpl& x) {
    return x.is_contiguous() ? TensorRef(const_cast<TensorImpl*>(&x)) : dense_copy(x);
  };
  const TensorRef x = dense(c.tensor(0)), w = dense(c.tensor(1));
  const Memory m{static_cast<const char*>(x->data()), static_cast<const char*>(w->data()),
                 static_cast<char*>(c.out[0]->data())};
  const std::int64_t piece = piece_of(s), pieces = (s.out + piece - 1) / piece;
  const std::int64_t work = std::max<std::int64_t>(1, std::min(piece, s.out) * s.depth() * s.filters);
  parallel_for(s.batch * s.groups * pieces, std::max<std::int64_t>(1, (1 << 17) / work),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) {
                   const std::int64_t image = i / pieces / s.groups, group = i / pieces % s.groups;
                   const std::int64_t first = i % pieces * piece, last = std::min(s.out, first + piece);
                   // Elements of one size move alike, whatever they mean.
                   const auto part = s.item == 4 ? convolve_part<float> : convolve_part<double>;
                   part(kernel, s, m, image, group, first, last);
                 }
               });
  return true;
}

bool run_op(ops::MaxPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::MaxPoolValues o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AvgPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AdaptiveMaxPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::AdaptiveAvgPool o, const KernelArgs& c) { return by_planes(o, c); }
bool run_op(ops::Resample o, const KernelArgs& c) { return by_planes(o, c); }

}  // namespace md::blocks
