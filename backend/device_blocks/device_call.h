// What the drivers of kernels share: a bound call whose tensors are on one device, and launches.
#pragma once

#include <span>
#include <string_view>

#include "backend/device/statuses.h"
#include "backend/device_blocks/layouts.h"
#include "ir/graph/graph.h"

namespace md::device_blocks {

struct DeviceCall {
  const Op& op;
  std::span<const Arg> args;
  std::span<const TensorRef> out;

  Device device() const { return out[0]->device(); }
  const TensorImpl& tensor(int i) const { return *args[static_cast<std::size_t>(i)].get<TensorRef>(); }
  std::int64_t whole(int i) const { return args[static_cast<std::size_t>(i)].get<Size>().value(); }
  // The call's `dim` argument, counted from the front.
  int dim(int rank) const;
};

// Whether there is a kernel of this name.
bool has_kernel(std::string_view entry);

// Blocks of `block` threads for `threads` of them (kernels take further points in turn where there are too many), on
// the current stream of the device. The first parameter is all parameters.
void launch_words(std::string_view entry, Device device, std::int64_t threads, unsigned block,
                  std::span<const std::uint64_t> words, std::uint64_t* status);

template <class P>
void launch(std::string_view entry, Device device, std::int64_t threads, P params, unsigned block = 256) {
  static_assert(sizeof(P) % 8 == 0 && alignof(P) == 8 && sizeof(P) <= 4096);
  std::uint64_t* status = nullptr;
  if constexpr (requires { params.status; }) status = &params.status;
  launch_words(entry, device, threads, block, {reinterpret_cast<const std::uint64_t*>(&params), sizeof(P) / 8}, status);
}

// "copy_4", "cumsum_f32"
std::string by_size(std::string_view kernel, DType t);
std::string by_dtype(std::string_view kernel, DType t);

// Copies elements on a device: `from` is broadcast to `to` and converted. False if no kernel can.
bool copy_elements(const TensorImpl& from, const TensorImpl& to);
// `t` itself, or its elements row by row in a tensor of their own.
TensorRef contiguous(const TensorRef& t);
// `t` itself, or converted. Null if no kernel can.
TensorRef converted(const TensorRef& t, DType to);

// A number as an element of dtype t holds it, widened.
struct Number {
  double real = 0;
  std::int64_t whole = 0;
};
Number number_as(const Arg& number, DType t);
// Its bits as they lie in memory.
std::uint64_t bits_of_number(const Arg& number, DType t);

// By kind of op. Each returns false if there is no kernel for the call, and has done nothing then.
bool run_pointwise(const DeviceCall& c);
bool run_reduction(const DeviceCall& c);
bool run_create(const DeviceCall& c);
bool run_random(const DeviceCall& c);
bool run_kernel(const DeviceCall& c);

}  // namespace md::device_blocks
