#include "backend/blocks/engine.h"

namespace md::blocks {

void BlockEngine::run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  bool done = false;
  switch (op.kind()) {
    case OpKind::Pointwise:
      done = run_pointwise(kernels_, op, args, *out[0]);
      break;
    case OpKind::Reduction:
      done = run_reduction(kernels_, op, args, out);
      break;
    case OpKind::Kernel:
      done = run_kernel(kernels_, op, args, out);
      break;
    case OpKind::Create:
      done = run_create(kernels_, op, args, *out[0]);
      break;
    case OpKind::Random:
      done = run_random(op, args, out);
      break;
    default:
      break;
  }
  if (!done) reference_engine().run(op, args, out);
}

}  // namespace md::blocks
