// Convolution of a patch: its inputs are laid out (kernel_table.h), then every element of the results is one chain of
// multiply-adds over the window, which no tile or vector touches. Nothing is gathered window by window.
#include <algorithm>

#include "backend/blocks/kernels/convolution_filters.h"
#include "backend/blocks/kernels/convolution_layout.h"
#include "backend/blocks/kernels/convolution_positions.h"
#include "backend/blocks/kernels/convolution_weights.h"

namespace md::blocks {
namespace {

template <class T>
struct Convolve {
  using Filters = FiltersInLanes<T>;
  using Positions = PositionsInLanes<T>;
  static constexpr int kLanes = Tile<T>::kLanes;

  using Rows = void (*)(const Convolution& c, const T* x, std::int64_t row, const T* w, T* out, std::int64_t plane,
                        int filters, std::int64_t first, std::int64_t rows, std::int64_t columns);
  static Rows rows_of(const Convolution& c, int filters) {
    if (c.filter_lanes) return filters > kLanes ? &Filters::template filter_rows<2> : &Filters::template filter_rows<1>;
    switch (c.panel) {
      case 1:
        return &Positions::template position_rows<1>;
      case 2:
        return &Positions::template position_rows<2>;
      case 4:
        return &Positions::template position_rows<4>;
      default:
        return &Positions::template position_rows<8>;
    }
  }

  static void run(const Convolution& c, const ConvolutionPatch& p, void* laid_out) {
    const auto& [d0, d1, d2] = c.dims;
    auto* const x = static_cast<T*>(laid_out);
    for (std::int64_t i = 0; i < p.images; ++i) {
      LaidOutPatch<T>::lay_out(c, p, static_cast<const T*>(p.x) + i * c.x_image, x + i * c.laid_out);
    }
    const std::int64_t together = Filters::images_together(c, p), row = d1.stride * c.channels * c.pitch;
    for (std::int64_t f = 0; f < p.filters; f += c.panel) {
      const auto* const w = static_cast<const T*>(p.weights) + f * c.depth;
      T* const out = static_cast<T*>(p.out) + f * p.plane + p.row * d2.out + p.column;
      const int filters = static_cast<int>(std::min(c.panel, p.filters - f));
      std::int64_t i = 0;
      for (; together > 1 && i + together <= p.images; i += together) {
        const auto run_images =
            filters > kLanes ? &Filters::template filter_images<2> : &Filters::template filter_images<1>;
        run_images(c, p, x + i * c.laid_out, row, w, out + i * p.out_image, filters);
      }
      const Rows run_rows = rows_of(c, filters);
      for (; i < p.images; ++i) {
        run_rows(c, x + i * c.laid_out, row, w, out + i * p.out_image, p.plane, filters, p.row % d1.out, p.rows,
                 p.columns);
      }
    }
  }

  static constexpr ConvolutionKernels kernels() {
    return {kLanes, 2 * kLanes, Filters::kMostPositions, &PackedWeights<T>::pack, &run};
  }
};

}  // namespace

namespace MD_LEVEL {

constexpr ConvolutionKernels kConvolutions[kComputeTypes] = {Convolve<float>::kernels(), Convolve<double>::kernels(),
                                                             Convolve<std::int32_t>::kernels(),
                                                             Convolve<std::int64_t>::kernels()};

}  // namespace MD_LEVEL
}  // namespace md::blocks
