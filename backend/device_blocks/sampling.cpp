// multinomial and randperm, with the numbers that the CPU draws.
#include <vector>

#include "backend/device_blocks/kernel_calls.h"
#include "backend/device_blocks/selecting.h"
#include "ir/graph/op_ids.h"
#include "ir/tensor/philox.h"

namespace md::device_blocks {
namespace {

// Running sums of the rows, from the first element on as the CPU adds them.
TensorRef sums_of_rows(const TensorRef& weights) {
  TensorRef sums = empty_tensor(weights->sizes, DType::Float64, weights->device());
  const Arg args[] = {weights, Arg(std::int64_t{-1}), NoneArg{}};
  return run_lines({op(id::CumSum), args, {&sums, 1}}) ? sums : nullptr;
}

bool sample_positions(const DeviceCall& c) {
  const TensorImpl& out = *c.out[0];
  const Device here = out.device();
  TensorRef weights = converted(c.args[0].get<TensorRef>(), DType::Float64);
  if (weights) weights = contiguous(weights);
  const TensorRef sums = weights ? sums_of_rows(weights) : nullptr;
  if (!sums || out.dtype != DType::Int64) return false;
  const bool again = c.args[2].get<bool>();
  SampleParams p{};
  p.size = weights->sizes.back(), p.samples = out.sizes.back();
  p.rows = weights->dim() == 2 ? weights->sizes[0] : 1;
  p.weights = address_of(*weights), p.sums = address_of(*sums);
  const std::int64_t asked = p.samples;
  p.samples = again ? 0 : asked;
  launch("check_weights", here, p.rows, p);
  p.samples = asked;
  const RandomRange r = reserve_random(blocks_64(static_cast<std::uint64_t>(p.rows * (again ? p.samples : p.size))));
  p.seed = r.seed, p.first = r.first;
  if (again) {
    const TensorRef drawn = out.is_contiguous() ? c.out[0] : empty_tensor(out.sizes, DType::Int64, here);
    p.to = address_of(*drawn);
    launch("sample_again", here, p.rows * p.samples, p);
    return copy_unless_same(*drawn, out);
  }
  TensorRef times = empty_tensor(weights->sizes, DType::Float64, here), values, places;
  p.to = address_of(*times);
  launch("waiting_times", here, p.rows * p.size, p);
  if (!sorted_lines(times, times->dim() - 1, false, values, places)) return false;
  const DimVec strides = out.dim() == 2 ? DimVec{p.size, 1} : DimVec{1};
  return copy_elements(TensorImpl(places->storage, DType::Int64, out.sizes, strides, places->offset), out);
}

// Rounds of swaps that do not touch each other, until none is left; the host looks now and then.
bool shuffle(const DeviceCall& c) {
  const TensorImpl& out = *c.out[0];
  const Device here = out.device();
  const std::int64_t n = out.numel();
  if (is_storage_only(out.dtype)) return false;
  const auto numbers = [&](std::int64_t count) { return empty_tensor({count}, DType::Int64, here); };
  const TensorRef partners = numbers(n), claims = numbers(n), order = numbers(n), left = numbers(1);
  const RandomRange r = reserve_random(blocks_64(static_cast<std::uint64_t>(n)));
  ShuffleParams p{n,      0,      address_of(*partners), address_of(*claims), address_of(*order), address_of(*left),
                  r.seed, r.first};
  launch("draw_partners", here, n, p);
  constexpr std::int64_t kRounds = 16;
  for (bool done = n < 2; !done; done = number_at(*left, 0) < p.round) {
    for (std::int64_t k = 0; k < kRounds; ++k, ++p.round) {
      launch("claim_places", here, n, p);
      launch("swap_claimed", here, n, p);
    }
  }
  return copy_elements(*order, out);
}

}  // namespace

bool run_sampling(const DeviceCall& c) {
  if (c.op.id == id::Multinomial) return sample_positions(c);
  return c.op.id == id::Randperm && shuffle(c);
}

}  // namespace md::device_blocks
