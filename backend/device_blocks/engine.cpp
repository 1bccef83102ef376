// Which function runs an op, by the kind of the op; what none does is done on the CPU.
#include "backend/device_blocks/engine.h"

#include <algorithm>
#include <vector>

#include "backend/device/recorder.h"
#include "backend/device_blocks/device_call.h"
#include "backend/device_blocks/host_calls.h"
#include "backend/device_blocks/kernel_calls.h"
#include "ir/core/error.h"
#include "ir/graph/dynamic.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/device_copies.h"

namespace md::device_blocks {
namespace {

bool any_elsewhere(const Arg& a, Device here) {
  if (const auto* t = a.get_if<TensorRef>()) return *t && !((*t)->device() == here);
  const auto* l = a.get_if<ListArg>();
  return l && std::ranges::any_of(l->items, [&](const Arg& x) { return any_elsewhere(x, here); });
}
// Operands that the rules let come from the CPU (positions, numbers in tensors) follow the result.
Arg brought(const Arg& a, Device here) {
  if (const auto* t = a.get_if<TensorRef>()) return *t ? Arg(on_device(*t, here)) : a;
  const auto* list = a.get_if<ListArg>();
  if (!list) return a;
  ListArg items{{}, list->tuple};
  for (const Arg& x : list->items) items.items.push_back(brought(x, here));
  return items;
}

// Into results whose sizes were known all the same.
bool run_made(const DeviceCall& c) {
  const std::vector<TensorRef> made = md::run_dynamic(c.op, c.args);
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!(made[i]->sizes == c.out[i]->sizes))
      throw InternalError(std::string(c.op.name()) + ": results of other sizes");
    if (!copy_elements(*made[i], *c.out[i])) return false;
  }
  return true;
}

bool run_by_kernel(const DeviceCall& c) {
  if (is_dynamic(c.op, c.args)) return run_made(c);
  switch (c.op.kind()) {
    case OpKind::Pointwise:
      return run_pointwise(c);
    case OpKind::Reduction:
      return run_reduction(c);
    case OpKind::Create:
      return run_create(c);
    case OpKind::Random:
      return run_random(c);
    case OpKind::Kernel:
      return run_kernel(c);
    default:
      return false;
  }
}

Device device_of_operands(std::span<const Arg> args) { return args[0].get<TensorRef>()->device(); }

bool make_by_kernel(const DeviceCall& c, std::vector<TensorRef>& made) {
  return make_selected(c, made) || make_grouped(c, made);
}

}  // namespace

bool DeviceEngine::run_dynamic(const Op& op, std::span<const Arg> args, std::vector<TensorRef>& made) {
  const Device here = device_of_operands(args);
  std::vector<Arg> here_args;
  for (const Arg& a : args) here_args.push_back(brought(a, here));
  if (make_by_kernel({op, here_args, {}}, made)) return true;
  made.clear();
  // Whoever asks for an element as a number wants it on the CPU.
  if (op.id != id::Item && op.id != id::ItemNumber && op.id != id::Position) count_on_host(op);
  return false;
}

void DeviceEngine::run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  const Device here = out[0]->device();
  const bool empty = std::ranges::all_of(out, [](const TensorRef& t) { return t->numel() == 0; });
  const bool elsewhere = std::ranges::any_of(args, [&](const Arg& a) { return any_elsewhere(a, here); });
  if (!empty) {
    if (!elsewhere) {
      if (run_by_kernel({op, args, out})) return;
    } else {
      std::vector<Arg> here_args;
      // What a tensor is made like is not read.
      const bool is_like = op.kind() == OpKind::Create;
      for (const Arg& a : args) here_args.push_back(is_like && &a == args.data() ? a : brought(a, here));
      if (run_by_kernel({op, here_args, out})) return;
    }
  }
  if (device::current_recorder()) throw device::CannotRecord("it has no kernel for GPUs: the CPU does it, with copies");
  run_on_host(op, args, out);
}

void install_device_engine() {
  static DeviceEngine& e = *new DeviceEngine;
  set_engine(DeviceType::Cuda, &e);
}

}  // namespace md::device_blocks
