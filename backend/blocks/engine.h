// Single ops on real tensors without any compilation: block kernels made ahead of time (kernels/), driven here.
#pragma once

#include "backend/blocks/conversion.h"
#include "ir/reference/engine.h"
#include "ir/run/eager.h"

namespace md::blocks {

class BlockEngine final : public Engine {
 public:
  explicit BlockEngine(const KernelTable& kernels) : kernels_(kernels) {}
  void run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) override;
  void run_now(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out);

 private:
  const KernelTable& kernels_;
};

// The parts of BlockEngine::run, by kind. Each returns false if the call is one it leaves to the reference engine.
bool run_pointwise(const KernelTable& kernels, const Op& op, std::span<const Arg> args, TensorImpl& out);
bool run_reduction(const KernelTable& kernels, const Op& op, std::span<const Arg> args, std::span<const TensorRef> out);
bool run_kernel(const KernelTable& kernels, const Op& op, std::span<const Arg> args, std::span<const TensorRef> out);
bool run_random(const KernelTable& kernels, const Op& op, std::span<const Arg> args, std::span<const TensorRef> out);
bool run_create(const KernelTable& kernels, const Op& op, std::span<const Arg> args, TensorImpl& out);

// A compact copy of t.
TensorRef dense_copy(const TensorImpl& t);
// to[...] = convert(from[...]); same sizes, no overlap.
void copy_converted(const Conversion& convert, const TensorImpl& from, TensorImpl& to);

// A number argument as an element of dtype t in memory, or as the value of its working dtype a body takes.
void convert_number(const KernelTable& kernels, const Arg& number, DType t, void* element);
void load_number(const KernelTable& kernels, const Arg& number, DType t, void* value);

// Least elements one thread should get in a cheap elementwise loop.
inline constexpr std::int64_t kGrain = 32 * kBlock;

}  // namespace md::blocks
