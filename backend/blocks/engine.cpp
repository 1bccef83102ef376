// Which block function runs an op, by the kind of the op.
#include "ir/reference/engine.h"

#include <algorithm>
#include <vector>

#include "backend/blocks/engine.h"
#include "ir/graph/op_ids.h"
#include "ir/run/long_work.h"

namespace md::blocks {

namespace {

// What an op may take on one thread, roughly: what it reads and writes once, or the terms of its products.
double expected_nanoseconds(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  constexpr double kTermsPerNanosecond = 32;
  double largest = 0;
  const TensorImpl* operands[2] = {};
  int count = 0;
  for (const Arg& a : args) {
    const auto* t = a.get_if<TensorRef>();
    if (!t || !*t) continue;
    largest = std::max(largest, static_cast<double>((*t)->numel()));
    if (count < 2) operands[count++] = t->get();
  }
  const double results = out.empty() ? 0 : static_cast<double>(out[0]->numel());
  double terms = 0;  // of each result
  if (op.id == id::Mm || op.id == id::Bmm || op.id == id::BatchedMm)
    terms = static_cast<double>(operands[0]->sizes.back());
  if (op.id == id::Convolution && operands[1] && operands[1]->sizes[0])
    terms = static_cast<double>(operands[1]->numel() / operands[1]->sizes[0]);
  return std::max({largest, results, results * terms / kTermsPerNanosecond});
}

bool any_storage_only(const Arg& a) {
  if (const auto* t = a.get_if<TensorRef>()) return *t && is_storage_only((*t)->dtype);
  const auto* l = a.get_if<ListArg>();
  return l && std::ranges::any_of(l->items, [](const Arg& x) { return any_storage_only(x); });
}
// Block kernels do not read or write such elements.
bool any_storage_only(std::span<const Arg> args, std::span<const TensorRef> out) {
  const auto stored = [](const TensorRef& t) { return is_storage_only(t->dtype); };
  return std::ranges::any_of(out, stored) ||
         std::ranges::any_of(args, [](const Arg& a) { return any_storage_only(a); });
}

}  // namespace

void BlockEngine::run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  const double expected = expected_nanoseconds(op, args, out);
  if (expected < kLongWork) [[likely]]
    return run_now(op, args, out);
  HeldMemory held;
  std::vector<Arg> held_args;
  std::vector<TensorRef> held_out;
  for (const Arg& a : args) held_args.push_back(held.add(a));
  for (const TensorRef& t : out) held_out.push_back(held.add(*t));
  const LongWork others_go_on(expected, held);
  run_now(op, held_args, held_out);
}

void BlockEngine::run_now(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  bool done = false;
  if (any_storage_only(args, out)) return reference_engine().run(op, args, out);
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
      done = run_random(kernels_, op, args, out);
      break;
    default:
      break;
  }
  if (!done) reference_engine().run(op, args, out);
}

}  // namespace md::blocks
