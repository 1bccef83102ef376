// Convolution: results are cut into patches, each computed by a kernel of its level from inputs laid out for it
// (kernel_table.h). How they are cut does not matter to the bits.
#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "backend/blocks/kernel_args.h"
#include "backend/machine/thread_pool.h"
#include "ir/core/threads.h"

namespace md::blocks {
namespace {

constexpr std::int64_t kLaidOutBytes = 3 << 16;  // of a patch: with a panel of weights in the second-level cache
constexpr std::int64_t kManyWeights = 1 << 20;   // bytes: more than that cache holds
constexpr std::int64_t kLeastWork = 1 << 17;     // multiply-adds worth a task of their own
constexpr std::int64_t kSlack = 64;              // elements read, but not used, behind the last one laid out

std::int64_t number(const KernelArgs& c, std::size_t arg) { return c.args[arg].get<Size>().value(); }
std::int64_t number(const KernelArgs& c, std::size_t arg, std::size_t i) {
  return c.args[arg].get<ListArg>().items[i].get<Size>().value();
}

std::int64_t divide_up(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
std::int64_t round_up(std::int64_t a, std::int64_t unit) { return divide_up(a, unit) * unit; }
std::int64_t reach(const WindowDim& d) { return (d.kernel - 1) * d.dilation + 1; }

// How the results of one group are cut.
struct Cuts {
  std::int64_t images, image_cuts;     // of the batch
  std::int64_t rows, columns;          // of a patch
  std::int64_t row_cuts, column_cuts;  // of a frame
  std::int64_t filters, filter_cuts;
};

struct Plan {
  Convolution c;
  Cuts cuts;
  std::int64_t batch, groups, out;  // elements of a plane of results
  std::int64_t item;
  // Of all elements of a window, then of those without some of its rows: offsets, then places.
  std::vector<Ref<Storage>> offsets;
  std::vector<WindowElements> elements;
  std::vector<std::uint8_t> row_elements;

  std::int64_t padded_filters() const { return round_up(c.filters, c.panel); }
  std::int64_t patches() const { return cuts.image_cuts * groups * c.dims[0].out * cuts.row_cuts * cuts.column_cuts; }
  std::int64_t laid_out_bytes() const { return (cuts.images * c.laid_out + kSlack) * item; }
  std::int64_t weight_bytes() const { return padded_filters() * c.depth * item; }
};

// Dimensions of size 1 in front. Where windows are single elements, a plane is one long row.
void arrange(WindowDim* dims) {
  WindowDim &d0 = dims[0], &d1 = dims[1], &d2 = dims[2];
  const auto is_single = [](const WindowDim& d) { return d.kernel == 1 && d.stride == 1 && d.padding == 0; };
  if (is_single(d0) && is_single(d1) && is_single(d2)) {
    d2.in = d2.out = d0.in * d1.in * d2.in;
    d0 = d1 = WindowDim{};
  }
  for (int i = 0; i < 2 && d2.in == 1 && d2.out == 1 && d2.kernel == 1; ++i) {
    std::swap(d1, d2);
    std::swap(d0, d1);
  }
}

// Remainders by the stride that elements of the window fall on; those above 63 always count.
std::uint64_t used_remainders(const WindowDim& d) {
  std::uint64_t used = 0;
  for (std::int64_t k = 0; k < d.kernel; ++k) {
    if (const std::int64_t r = k * d.dilation % d.stride; r < 64) used |= std::uint64_t{1} << r;
  }
  return used;
}

// Which way round vectors lie, by what is computed for nothing and what a tile costs beside its multiply-adds, which
// was measured: transposition of a tile as much as 9 steps, plain stores as 2.
void choose_panel(const ConvolutionKernels& kernels, Convolution& c) {
  const std::int64_t panel = c.filters > 2 ? c.filters > 4 ? 8 : 4 : c.filters;
  const std::int64_t columns = c.dims[2].out;
  const auto cost = [&](std::int64_t filters, std::int64_t positions, std::int64_t extra) {
    return static_cast<double>(filters) * static_cast<double>(positions) * static_cast<double>(c.depth + extra);
  };
  c.filter_lanes = cost(round_up(c.filters, kernels.lanes), columns, 9) <
                   cost(round_up(c.filters, panel), round_up(columns, kernels.lanes), 2);
  c.panel = c.filter_lanes ? kernels.filter_panel : panel;
}

void set_columns(Convolution& c, std::int64_t columns, std::int64_t item) {
  const WindowDim& d = c.dims[2];
  c.width = columns + (reach(d) - 1) / d.stride;
  c.remainders = std::min(d.stride, reach(d));
  c.pitch = c.remainders * c.width;
  // Channels a power of two apart would share few sets of a cache.
  if (c.pitch * item % 128 == 0) c.pitch += 64 / item;
}

std::int64_t laid_out_rows(const WindowDim& d, std::int64_t rows) { return (rows - 1) * d.stride + reach(d); }

// Whole images together, where reading weights once for all saves more than reading inputs once for each panel costs.
void join_images(Plan& p) {
  const std::int64_t image = p.c.laid_out * p.item, panels = divide_up(p.c.filters, p.c.panel);
  const std::int64_t shared = std::max<std::int64_t>(1, p.batch * p.groups / num_threads());
  std::int64_t images = std::min({8 * kLaidOutBytes / image, p.batch, shared});
  const bool whole = p.c.dims[0].out * p.cuts.row_cuts * p.cuts.column_cuts == 1;
  if (!whole || images < 2 || p.weight_bytes() < kManyWeights ||
      panels * image > p.weight_bytes() * (images - 1) / images) {
    images = 1;
  }
  p.cuts.image_cuts = divide_up(p.batch, images);
  p.cuts.images = divide_up(p.batch, p.cuts.image_cuts);
}

// Patches as large as the cache allows, but enough of them for the threads.
void cut(const ConvolutionKernels& kernels, Plan& p) {
  Convolution& c = p.c;
  const auto& [d0, d1, d2] = c.dims;
  // Many weights are read anew for every patch: then larger ones.
  const std::int64_t room = p.weight_bytes() > kManyWeights ? 2 * kLaidOutBytes : kLaidOutBytes;
  const std::int64_t fitting = room / p.item / (d0.kernel * c.channels);  // elements of a channel
  const std::int64_t unit = c.filter_lanes ? 4 * kernels.filter_positions : 3 * kernels.lanes;
  const std::int64_t most_columns = std::max(unit, fitting / reach(d1) / std::min(d2.stride, reach(d2)));
  p.cuts.column_cuts = divide_up(d2.out, most_columns);
  p.cuts.columns = std::min(d2.out, round_up(divide_up(d2.out, p.cuts.column_cuts), unit));
  p.cuts.column_cuts = divide_up(d2.out, p.cuts.columns);
  set_columns(c, p.cuts.columns, p.item);

  const std::int64_t wanted = num_threads() == 1 ? 1 : 4 * num_threads();
  const std::int64_t others = p.batch * p.groups * d0.out * p.cuts.column_cuts;
  std::int64_t rows = (fitting / c.pitch - reach(d1)) / d1.stride + 1;
  rows = std::min(rows, std::max<std::int64_t>(4, d1.out / divide_up(wanted, others)));
  p.cuts.row_cuts = divide_up(d1.out, std::clamp<std::int64_t>(rows, 1, d1.out));
  p.cuts.rows = divide_up(d1.out, p.cuts.row_cuts);
  p.cuts.row_cuts = divide_up(d1.out, p.cuts.rows);
  c.rows = laid_out_rows(d1, p.cuts.rows);
  c.laid_out = d0.kernel * c.rows * c.channels * c.pitch;
  join_images(p);

  const std::int64_t panels = divide_up(c.filters, c.panel);
  p.cuts.filter_cuts = std::clamp<std::int64_t>(divide_up(wanted, p.patches()), 1, panels);
  p.cuts.filters = divide_up(panels, p.cuts.filter_cuts) * c.panel;
  p.cuts.filter_cuts = divide_up(c.filters, p.cuts.filters);
}

// The elements in rows [first, last) of a window, in the order of the weights: channel, then the window row by row.
void place_windows(Plan& p, std::int64_t first, std::int64_t last) {
  const auto& [d0, d1, d2] = p.c.dims;
  const std::int64_t count = p.c.channels * d0.kernel * (last - first) * d2.kernel;
  // Not the heap's memory, which comes fresh from the system each time if it is large.
  p.offsets.push_back(allocate_storage(static_cast<std::size_t>(2 * count) * sizeof(std::int64_t)));
  auto* offset = static_cast<std::int64_t*>(p.offsets.back()->data());
  std::int64_t* place = offset + count;
  p.elements.push_back({count, offset, place});
  for (std::int64_t channel = 0; channel < p.c.channels; ++channel) {
    for (std::int64_t k0 = 0; k0 < d0.kernel; ++k0) {
      for (std::int64_t k1 = first; k1 < last; ++k1) {
        const std::int64_t row = ((k0 * p.c.rows + k1 * d1.dilation) * p.c.channels + channel) * p.c.pitch;
        const std::int64_t row_of_window = ((channel * d0.kernel + k0) * d1.kernel + k1) * d2.kernel;
        std::int64_t remainder = 0, step = 0;  // of the column by the stride
        for (std::int64_t k2 = 0; k2 < d2.kernel; ++k2) {
          *offset++ = row + remainder * p.c.width + step;
          *place++ = row_of_window + k2;
          remainder += d2.dilation;
          if (remainder >= d2.stride) step += remainder / d2.stride, remainder %= d2.stride;
        }
      }
    }
  }
}

// Which elements each row of results needs; all, where `whole`.
void choose_elements(Plan& p, bool whole) {
  constexpr std::size_t kMostKinds = 16;
  const WindowDim& d = p.c.dims[1];
  place_windows(p, 0, d.kernel);
  p.row_elements.assign(static_cast<std::size_t>(d.out), 0);
  std::pair<std::int64_t, std::int64_t> known{0, d.kernel};
  for (std::int64_t r = 0; !whole && r < d.out; ++r) {
    const std::int64_t start = r * d.stride - d.padding;
    const std::int64_t first = start >= 0 ? 0 : std::min(d.kernel, divide_up(-start, d.dilation));
    const std::int64_t last = std::clamp(divide_up(d.in - start, d.dilation), first, d.kernel);
    if (first == 0 && last == d.kernel) continue;
    if (known != std::pair{first, last}) {
      if (p.elements.size() == kMostKinds) break;
      place_windows(p, first, last);
      known = {first, last};
    }
    p.row_elements[static_cast<std::size_t>(r)] = static_cast<std::uint8_t>(p.elements.size() - 1);
  }
  p.c.elements = p.elements.data();
  p.c.row_elements = p.row_elements.data();
}

Plan plan_of(const KernelArgs& a, const ConvolutionKernels& kernels, const TensorImpl& x, const TensorImpl& w) {
  const TensorImpl& out = *a.out[0];
  Plan p{};
  p.batch = x.sizes[0], p.groups = number(a, 5), p.out = 1;
  p.item = static_cast<std::int64_t>(item_size(x.dtype));
  Convolution& c = p.c;
  c.channels = w.sizes[1], c.filters = w.sizes[0] / p.groups, c.depth = c.channels;
  c.x_image = x.strides[0], c.x_channel = x.strides[1];
  c.w_filter = w.strides[0], c.w_channel = w.strides[1];
  const std::size_t n = x.sizes.size() - 2;
  for (std::size_t i = 0; i < n; ++i) {
    WindowDim& d = c.dims[kMostWindowDims - n + i];
    d.in = x.sizes[i + 2], d.out = out.sizes[i + 2], d.kernel = w.sizes[i + 2];
    d.stride = number(a, 2, i), d.padding = number(a, 3, i), d.dilation = number(a, 4, i);
    p.out *= d.out, c.depth *= d.kernel;
  }
  if (c.depth == 0 || out.numel() == 0) return p;
  arrange(c.dims);
  c.used_rows = used_remainders(c.dims[1]), c.used_columns = used_remainders(c.dims[2]);
  choose_panel(kernels, c);
  cut(kernels, p);
  return p;
}

// Panels of one filter are the weights themselves.
bool takes_weights_as_they_are(const Convolution& c) {
  return c.panel == 1 && c.w_filter == c.depth && c.w_channel * c.channels == c.depth;
}

// The weights of all groups in panels. Clears `finite` if one of them is not.
const char* packed_weights(const ConvolutionKernels& kernels, const Plan& p, const char* weights, Ref<Storage>& room,
                           std::atomic<bool>& finite) {
  if (takes_weights_as_they_are(p.c)) return weights;
  const std::int64_t group = p.padded_filters() * p.c.depth * p.item, panels = divide_up(p.c.filters, p.c.panel);
  room = allocate_storage(static_cast<std::size_t>(p.groups * group));
  auto* const packed = static_cast<char*>(room->data());
  const std::int64_t least = std::max<std::int64_t>(1, kLeastWork / 4 / (p.c.panel * p.c.depth));
  parallel_for(p.groups * panels, least, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t g = i / panels;
      const char* const of_group = weights + g * p.c.filters * p.c.w_filter * p.item;
      if (!kernels.pack(p.c, of_group, i % panels, i % panels + 1, packed + g * group)) finite = false;
    }
  });
  return packed;
}

struct Memory {
  const char *x, *weights;
  char* out;
};

// Tasks are numbered by image, group, rows of results (of all frames), columns, filters.
void run_task(const ConvolutionKernels& kernels, const Plan& p, const Memory& m, std::int64_t task, void* laid_out) {
  const Cuts& cuts = p.cuts;
  const auto next = [&](std::int64_t count) {
    const std::int64_t i = task % count;
    task /= count;
    return i;
  };
  const std::int64_t filter = next(cuts.filter_cuts) * cuts.filters, column = next(cuts.column_cuts) * cuts.columns;
  const std::int64_t row = next(cuts.row_cuts) * cuts.rows, frame = next(p.c.dims[0].out), group = next(p.groups);
  const std::int64_t rows_of_frame = p.c.dims[1].out;
  const std::int64_t image = task * cuts.images;
  const ConvolutionPatch patch{
      .x = m.x + (image * p.c.x_image + group * p.c.channels * p.c.x_channel) * p.item,
      .weights = m.weights + (group * p.padded_filters() + filter) * p.c.depth * p.item,
      .out = m.out + ((image * p.groups + group) * p.c.filters + filter) * p.out * p.item,
      .images = std::min(cuts.images, p.batch - image),
      .out_image = p.groups * p.c.filters * p.out,
      .filters = std::min(cuts.filters, p.c.filters - filter),
      .plane = p.out,
      .row = frame * rows_of_frame + row,
      .rows = std::min(cuts.rows, rows_of_frame - row),
      .column = column,
      .columns = std::min(cuts.columns, p.c.dims[2].out - column),
  };
  kernels.run(p.c, patch, laid_out);
}

// Images and channels, filters and channels may lie in any order: those of weights' gradients change places.
TensorRef with_dense_planes(const TensorImpl& t) {
  std::int64_t plane = 1;
  for (std::size_t d = t.sizes.size(); !t.is_contiguous() && d-- > 2; plane *= t.sizes[d]) {
    if (t.sizes[d] != 1 && t.strides[d] != plane) return dense_copy(t);
  }
  return TensorRef(const_cast<TensorImpl*>(&t));
}

}  // namespace

bool run_op(ops::Convolution, const KernelArgs& c) {
  const DType t = c.out[0]->dtype;
  if (t != working(t) || t == DType::Bool || !c.out[0]->is_contiguous()) return false;
  const ConvolutionKernels& kernels = c.kernels.convolution[compute_index(t)];
  const TensorRef x = with_dense_planes(c.tensor(0)), w = with_dense_planes(c.tensor(1));
  Plan p = plan_of(c, kernels, *x, *w);
  if (c.out[0]->numel() == 0) return true;
  if (p.c.depth == 0) return false;
  Ref<Storage> packed;
  std::atomic<bool> finite{true};
  const Memory m{static_cast<const char*>(x->data()),
                 packed_weights(kernels, p, static_cast<const char*>(w->data()), packed, finite),
                 static_cast<char*>(c.out[0]->data())};
  choose_elements(p, !p.c.filter_lanes || !finite);
  const std::int64_t work = p.cuts.images * p.cuts.rows * p.cuts.columns * p.c.depth * p.cuts.filters;
  parallel_for(p.patches() * p.cuts.filter_cuts, std::max<std::int64_t>(1, kLeastWork / work),
               [&](std::int64_t begin, std::int64_t end) {
                 const Ref<Storage> room = allocate_storage(static_cast<std::size_t>(p.laid_out_bytes()));
                 for (std::int64_t i = begin; i < end; ++i) run_task(kernels, p, m, i, room->data());
               });
  return true;
}

}  // namespace md::blocks
