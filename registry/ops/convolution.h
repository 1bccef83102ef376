// Convolution, pooling, resampling. Rules of the kernels: ir/infer/infer_windows.cpp; reference kernels:
// ir/reference/reference_windows.cpp; composites: ir/composites/composite_convolution.cpp,
// ir/composites/composite_pooling.cpp, ir/composites/composite_resampling.cpp.
#pragma once

#include "registry/ops/activations.h"
#include "registry/ops/scans.h"

namespace md::ops {

// Kernels that only composites call.
constexpr OpDecl inner_kernel(std::string_view name, std::string_view signature, std::string_view doc) {
  OpDecl d = kernel_op(name, signature, doc);
  d.function = d.method = false;
  return d;
}

// --- Kernels over windows ------------------------------------------------------------------------------------------

struct Convolution {
  static constexpr OpDecl decl = inner_kernel(
      "convolution",
      "convolution(Tensor self, Tensor weight, int[] stride, int[] padding, int[] dilation, int groups) -> Tensor",
      "Sums of products of windows of (batch, channels, ...) with every (channels of the group, ...) of `weight`, in "
      "the order of the weight's elements.");
};

struct MaxPool {
  static constexpr OpDecl decl = inner_kernel(
      "max_pool",
      "max_pool(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> "
      "(Tensor values, Tensor indices)",
      "The largest value of every window of the last dimensions and its position in them; a NaN wins.");
};

struct MaxPoolValues {
  static constexpr OpDecl decl = inner_kernel(
      "max_pool_values",
      "max_pool_values(Tensor self, int[] kernel_size, int[] stride, int[] padding, int[] dilation, bool ceil_mode) -> "
      "Tensor",
      "The values of max_pool alone.");
};

struct AvgPool {
  static constexpr OpDecl decl = inner_kernel(
      "avg_pool",
      "avg_pool(Tensor self, int[] kernel_size, int[] stride, int[] padding, bool ceil_mode, bool count_include_pad, "
      "int? divisor_override) -> Tensor",
      "The mean of every window of the last dimensions.");
};

struct AdaptiveAvgPool {
  static constexpr OpDecl decl =
      inner_kernel("adaptive_avg_pool", "adaptive_avg_pool(Tensor self, int[] output_size) -> Tensor",
                   "The means of `output_size` nearly equal windows of the last dimensions.");
};

struct AdaptiveMaxPool {
  static constexpr OpDecl decl = inner_kernel(
      "adaptive_max_pool", "adaptive_max_pool(Tensor self, int[] output_size) -> (Tensor values, Tensor indices)",
      "The largest values of `output_size` nearly equal windows of the last dimensions and their positions.");
};

struct Resample {
  static constexpr OpDecl decl = inner_kernel(
      "resample", "resample(Tensor self, int[] size, str mode, bool align_corners, Index scales) -> Tensor",
      "The last dimensions at other sizes: 'nearest', 'nearest-exact' or 'linear'. `scales`: a number or None each.");
};

// --- Convolutions --------------------------------------------------------------------------------------------------

constexpr OpDecl convolution_op(std::string_view name, std::string_view signature, std::string_view where,
                                std::string_view doc) {
  return rounds_once(also(function_only(composite(name, signature, doc)), where));
}
constexpr OpDecl convolution_overload(std::string_view name, std::string_view signature, std::string_view doc) {
  return rounds_once(function_only(composite(name, signature, doc)));
}

struct Conv1d {
  static constexpr OpDecl decl = convolution_op(
      "conv1d",
      "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int "
      "groups=1) -> Tensor",
      "nn.functional.conv1d", "Cross-correlation of (batch, channels, length), or without batch; no bools.");
};
struct Conv1dPadding {
  static constexpr OpDecl decl = convolution_overload(
      "conv1d.padding",
      "conv1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, "
      "int groups=1) -> Tensor",
      "As conv1d, padded by name: 'valid' not at all, 'same' so that the size stays.");
};
struct Conv2d {
  static constexpr OpDecl decl = convolution_op(
      "conv2d",
      "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int "
      "groups=1) -> Tensor",
      "nn.functional.conv2d", "Cross-correlation of (batch, channels, height, width), or without batch; no bools.");
};
struct Conv2dPadding {
  static constexpr OpDecl decl = convolution_overload(
      "conv2d.padding",
      "conv2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, "
      "int groups=1) -> Tensor",
      "As conv2d, padded by name: 'valid' not at all, 'same' so that the sizes stay.");
};
struct Conv3d {
  static constexpr OpDecl decl = convolution_op(
      "conv3d",
      "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] dilation=1, int "
      "groups=1) -> Tensor",
      "nn.functional.conv3d", "Cross-correlation in three dimensions, with batch or without; no bools.");
};
struct Conv3dPadding {
  static constexpr OpDecl decl = convolution_overload(
      "conv3d.padding",
      "conv3d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, str padding='valid', int[] dilation=1, "
      "int groups=1) -> Tensor",
      "As conv3d, padded by name: 'valid' not at all, 'same' so that the sizes stay.");
};

struct ConvTranspose1d {
  static constexpr OpDecl decl = convolution_op(
      "conv_transpose1d",
      "conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] "
      "output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
      "nn.functional.conv_transpose1d", "The transpose of conv1d as a linear map; weight is (in, out / groups, k).");
};
struct ConvTranspose2d {
  static constexpr OpDecl decl = convolution_op(
      "conv_transpose2d",
      "conv_transpose2d(Tensor input, Tensor weight, Tensor? bias=None, int[] stride=1, int[] padding=0, int[] "
      "output_padding=0, int groups=1, int[] dilation=1) -> Tensor",
      "nn.functional.conv_transpose2d", "The transpose of conv2d as a linear map; weight is (in, out / groups, k, k).");
};

// --- Pooling -------------------------------------------------------------------------------------------------------

struct MaxPool1d {
  static constexpr OpDecl decl = function_only(
      composite("max_pool1d",
                "max_pool1d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool "
                "ceil_mode=False) -> Tensor",
                "The largest value of every window of the last dimension."));
};
struct MaxPool2d {
  static constexpr OpDecl decl = function_only(
      composite("max_pool2d",
                "max_pool2d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool "
                "ceil_mode=False) -> Tensor",
                "The largest value of every window of the last two dimensions."));
};
struct MaxPool3d {
  static constexpr OpDecl decl = function_only(
      composite("max_pool3d",
                "max_pool3d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, int[] dilation=1, bool "
                "ceil_mode=False) -> Tensor",
                "The largest value of every window of the last three dimensions."));
};
struct MaxPool1dWithIndices {
  static constexpr OpDecl decl =
      also(function_only(composite(
               "max_pool1d_with_indices",
               "max_pool1d_with_indices(Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] "
               "dilation=1, bool ceil_mode=False) -> Tensor[]",
               "max_pool1d and the position of each value.")),
           "nn.functional.max_pool1d_with_indices");
};
struct MaxPool2dWithIndices {
  static constexpr OpDecl decl =
      functional("max_pool2d_with_indices",
                 "max_pool2d_with_indices(Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] "
                 "dilation=1, bool ceil_mode=False) -> Tensor[]",
                 "nn.functional.max_pool2d_with_indices",
                 "max_pool2d and the position of each value in the flattened last two dimensions.");
};
struct MaxPool3dWithIndices {
  static constexpr OpDecl decl =
      functional("max_pool3d_with_indices",
                 "max_pool3d_with_indices(Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0, int[] "
                 "dilation=1, bool ceil_mode=False) -> Tensor[]",
                 "nn.functional.max_pool3d_with_indices",
                 "max_pool3d and the position of each value in the flattened last three dimensions.");
};

struct AvgPool1d {
  static constexpr OpDecl decl =
      also(function_only(composite("avg_pool1d",
                                   "avg_pool1d(Tensor self, int[] kernel_size, int[] stride=[], int[] padding=0, bool "
                                   "ceil_mode=False, bool count_include_pad=True) -> Tensor",
                                   "The mean of every window of the last dimension.")),
           "nn.functional.avg_pool1d");
};
struct AvgPool2d {
  static constexpr OpDecl decl = functional(
      "avg_pool2d",
      "avg_pool2d(Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
      "count_include_pad=True, int? divisor_override=None) -> Tensor",
      "nn.functional.avg_pool2d", "The mean of every window of the last two dimensions.");
};
struct AvgPool3d {
  static constexpr OpDecl decl = functional(
      "avg_pool3d",
      "avg_pool3d(Tensor self, int[] kernel_size, int[]? stride=None, int[] padding=0, bool ceil_mode=False, bool "
      "count_include_pad=True, int? divisor_override=None) -> Tensor",
      "nn.functional.avg_pool3d", "The mean of every window of the last three dimensions.");
};

struct AdaptiveAvgPool1d {
  static constexpr OpDecl decl = also(
      function_only(composite("adaptive_avg_pool1d", "adaptive_avg_pool1d(Tensor self, int[] output_size) -> Tensor",
                              "The means of `output_size` nearly equal windows of the last dimension.")),
      "nn.functional.adaptive_avg_pool1d");
};
struct AdaptiveMaxPool1d {
  static constexpr OpDecl decl = function_only(composite(
      "adaptive_max_pool1d", "adaptive_max_pool1d(Tensor self, int[] output_size) -> Tensor[]",
      "The largest values of `output_size` nearly equal windows of the last dimension, and their positions."));
};
struct AdaptiveAvgPool2d {
  static constexpr OpDecl decl =
      functional("adaptive_avg_pool2d", "adaptive_avg_pool2d(Tensor self, Index output_size) -> Tensor",
                 "nn.functional.adaptive_avg_pool2d",
                 "The means of nearly equal windows of the last two dimensions; None keeps a size.");
};
struct AdaptiveMaxPool2dWithIndices {
  static constexpr OpDecl decl =
      functional("adaptive_max_pool2d_with_indices",
                 "adaptive_max_pool2d_with_indices(Tensor self, Index output_size) -> Tensor[]",
                 "nn.functional.adaptive_max_pool2d_with_indices",
                 "The largest values of nearly equal windows of the last two dimensions, and their positions.");
};

struct Interpolate {
  static constexpr OpDecl decl = functional(
      "interpolate",
      "interpolate(Tensor input, Index size=None, Index scale_factor=None, str mode='nearest', bool? "
      "align_corners=None, bool? recompute_scale_factor=None, bool antialias=False) -> Tensor",
      "nn.functional.interpolate",
      "The last one to three dimensions at other sizes: 'nearest', 'nearest-exact', 'linear', 'bilinear', 'trilinear' "
      "or 'area'.");
};

// --- Windows as dimensions, channels as positions --------------------------------------------------------------------

struct Im2Col {
  static constexpr OpDecl decl = functional(
      "im2col", "im2col(Tensor input, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) -> Tensor",
      "nn.functional.unfold", "Windows of (batch, channels, height, width) as columns (batch, channels * k * k, n).");
};
struct Col2Im {
  static constexpr OpDecl decl = functional(
      "col2im",
      "col2im(Tensor input, int[] output_size, int[] kernel_size, int[] dilation=1, int[] padding=0, int[] stride=1) "
      "-> Tensor",
      "nn.functional.fold", "Columns summed where their windows lie: the transpose of unfold.");
};
struct PixelShuffle {
  static constexpr OpDecl decl =
      also(function_only(composite("pixel_shuffle", "pixel_shuffle(Tensor self, int upscale_factor) -> Tensor",
                                   "(.., c * r * r, h, w) as (.., c, h * r, w * r).")),
           "nn.functional.pixel_shuffle");
};
struct PixelUnshuffle {
  static constexpr OpDecl decl =
      also(function_only(composite("pixel_unshuffle", "pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor",
                                   "(.., c, h * r, w * r) as (.., c * r * r, h, w).")),
           "nn.functional.pixel_unshuffle");
};
struct ChannelShuffle {
  static constexpr OpDecl decl =
      also(function_only(composite("channel_shuffle", "channel_shuffle(Tensor self, int groups) -> Tensor",
                                   "Channels of the groups in turn.")),
           "nn.functional.channel_shuffle");
};

}  // namespace md::ops
