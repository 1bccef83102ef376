// Tensors made of numbers, of positions and of random numbers.
#include <algorithm>
#include <cmath>

#include "backend/device_blocks/kernel_calls.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/reference.h"
#include "ir/reference/uninitialised.h"
#include "ir/tensor/philox.h"
#include "ir/tensor/strided.h"

namespace md::device_blocks {
namespace {

bool start_filling(const TensorImpl& out, FillParams& p) {
  p.to.data = address_of(out);
  return !is_storage_only(out.dtype) && lay_out(out.sizes, p.space, {{out.strides, p.to.strides}});
}

bool fill_number(const DeviceCall& c, const Arg& number) {
  FillParams p{};
  const TensorImpl& out = *c.out[0];
  if (!start_filling(out, p)) return false;
  p.bits = bits_of_number(number, out.dtype);
  launch(by_size("fill", out.dtype), out.device(), p.space.total, p);
  return true;
}

bool fill_eye(const DeviceCall& c) {
  FillParams p{};
  const TensorImpl& out = *c.out[0];
  if (!start_filling(out, p)) return false;
  p.bits = bits_of_number(Arg(1), out.dtype), p.columns = out.sizes[1];
  launch(by_size("eye", out.dtype), out.device(), p.space.total, p);
  return true;
}

bool fill_range(const DeviceCall& c) {
  FillParams p{};
  const TensorImpl& out = *c.out[0];
  if (out.dtype == DType::Bool || !start_filling(out, p)) return false;
  const bool floats = c.args[0].is<double>() || c.args[1].is<double>() || c.args[2].is<double>();
  const bool real = floats && is_floating(out.dtype);
  if (real) {
    p.start = number_as(c.args[0], DType::Float64).real, p.step = number_as(c.args[2], DType::Float64).real;
  } else {
    p.whole = number_as(c.args[0], DType::Int64).whole, p.whole_step = number_as(c.args[2], DType::Int64).whole;
  }
  launch(by_dtype(real ? "arange_real" : "arange_whole", out.dtype), out.device(), p.space.total, p);
  return true;
}

// Both ends and the step between, as the reference computes them.
template <class T>
void set_line(double start, double end, std::int64_t n, FillParams& p) {
  const auto from = static_cast<T>(start), to = static_cast<T>(end);
  p.start = from, p.end = to;
  p.step = n > 1 ? (to - from) / static_cast<T>(n - 1) : 0;
}
template <class T>
void set_line_of_halves(double start, double end, std::int64_t n, FillParams& p) {
  const auto rounded = [](double v) { return static_cast<double>(convert_value<float>(convert_value<T>(v))); };
  p.start = rounded(start), p.end = rounded(end);
  p.step = n > 1 ? rounded(rounded(p.end - p.start) / rounded(static_cast<double>(n - 1))) : 0;
}

bool fill_line(const DeviceCall& c) {
  FillParams p{};
  const TensorImpl& out = *c.out[0];
  if (out.dtype == DType::Bool || !start_filling(out, p)) return false;
  const double start = number_as(c.args[0], DType::Float64).real, end = number_as(c.args[1], DType::Float64).real;
  const std::int64_t n = out.numel();
  visit_dtype(out.dtype, [&](auto element) {
    using T = decltype(element);
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>)
      set_line<T>(start, end, n, p);
    else if constexpr (std::is_integral_v<T>)
      set_line<double>(std::trunc(start), std::trunc(end), n, p);
    else
      set_line_of_halves<T>(start, end, n, p);
  });
  launch(by_dtype("linspace", out.dtype), out.device(), p.space.total, p);
  return true;
}

// Positions as int64s, which are converted.
bool fill_triangle(const DeviceCall& c, bool lower) {
  const TensorImpl& out = *c.out[0];
  TriangleParams p{};
  p.count = out.sizes[1], p.rows = c.whole(0), p.columns = c.whole(1), p.lower = lower;
  p.offset = std::clamp(c.whole(2), -p.rows, p.columns);
  if (is_storage_only(out.dtype)) return false;
  const TensorRef places = empty_tensor(out.sizes, DType::Int64, out.device());
  p.to = address_of(*places);
  launch("triangle", out.device(), p.count, p);
  return copy_elements(*places, out);
}

}  // namespace

bool run_create(const DeviceCall& c) {
  switch (c.op.id) {
    case id::Empty:
    case id::EmptyLike:
      return !fills_uninitialised;
    case id::Zeros:
      return fill_number(c, Arg(0));
    case id::Ones:
      return fill_number(c, Arg(1));
    case id::Full:
    case id::FullLike:
      return fill_number(c, c.args[1]);
    case id::Arange:
      return fill_range(c);
    case id::Linspace:
      return fill_line(c);
    case id::Eye:
      return fill_eye(c);
    case id::TrilIndices:
      return fill_triangle(c, true);
    case id::TriuIndices:
      return fill_triangle(c, false);
    default:
      return false;
  }
}

namespace {

bool draw_each_event(const DeviceCall& c, int argument) {
  const TensorImpl& out = *c.out[0];
  const std::string entry = by_dtype("bernoulli_each", out.dtype);
  const TensorRef probabilities =
      converted(c.args[static_cast<std::size_t>(argument)].get<TensorRef>(), DType::Float64);
  EventsParams p{};
  if (!has_kernel(entry) || !probabilities) return false;
  const DimVec from = spread(*probabilities, out.sizes);
  if (!lay_out(out.sizes, p.draw.space, {{out.strides, p.draw.to.strides}, {from, p.probability.strides}}))
    return false;
  p.draw.to.data = address_of(out), p.probability.data = address_of(*probabilities);
  const std::uint64_t blocks = blocks_f32(static_cast<std::uint64_t>(p.draw.space.total));
  const RandomRange r = reserve_random(blocks);
  p.draw.seed = r.seed, p.draw.first = r.first;
  launch(entry, out.device(), static_cast<std::int64_t>(blocks), p);
  return true;
}

}  // namespace

bool run_random(const DeviceCall& c) {
  if (run_sampling(c)) return true;
  if (c.op.id == id::Bernoulli) return draw_each_event(c, 0);
  if (c.op.id == id::BernoulliTensor) return draw_each_event(c, 1);
  const TensorImpl& out = *c.out[0];
  DrawParams p{};
  const char* kernel = nullptr;
  const bool wide = out.dtype == DType::Float64;
  std::uint64_t of_block = 2;
  switch (c.op.id) {
    case id::Rand:
      kernel = "rand", of_block = wide ? 2 : 4;
      break;
    case id::Randn:
      kernel = "randn";
      break;
    case id::Randint:
      kernel = "randint";
      p.low = static_cast<std::uint64_t>(number_as(c.args[0], DType::Int64).whole);
      p.range = static_cast<std::uint64_t>(number_as(c.args[1], DType::Int64).whole) - p.low;
      break;
    case id::BernoulliP:
      kernel = "bernoulli", of_block = 4;
      p.p = c.args[1].get<double>();
      break;
    default:
      return false;
  }
  const std::string entry = by_dtype(kernel, out.dtype);
  if (!has_kernel(entry) || !lay_out(out.sizes, p.space, {{out.strides, p.to.strides}})) return false;
  p.to.data = address_of(out);
  const std::uint64_t blocks = (static_cast<std::uint64_t>(p.space.total) + of_block - 1) / of_block;
  const RandomRange r = reserve_random(blocks);
  p.seed = r.seed, p.first = r.first;
  launch(entry, out.device(), static_cast<std::int64_t>(blocks), p);
  return true;
}

}  // namespace md::device_blocks
