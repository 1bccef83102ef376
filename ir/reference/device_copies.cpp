// Bytes are moved where both sides are laid out alike; else one side or both go by a row-major copy beside them.
#include "ir/reference/device_copies.h"

#include "ir/graph/op_ids.h"
#include "ir/tensor/readable.h"

namespace md {
namespace {

bool copies(const Op& op) { return op.id == id::Copy || op.id == id::CopyToDevice; }

const TensorRef& source_of(const Op& op, std::span<const Arg> args) {
  return args[op.id == id::Copy ? 1 : 0].get<TensorRef>();
}

class AcrossDevices final : public Engine {
 public:
  void run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) override {
    const TensorRef from = own_tensor(*source_of(op, args)), to = own_tensor(*out[0]);
    const CopyMeanwhile others(from, to);
    copy_across(from, to);
  }
};

bool is_without_gaps(const TensorImpl& t) {
  return covered_bytes(t).count == static_cast<std::size_t>(t.numel()) * item_size(t.dtype);
}

bool laid_out_alike(const TensorImpl& a, const TensorImpl& b) {
  if (a.dtype != b.dtype || !(a.sizes == b.sizes)) return false;
  return (a.is_contiguous() && b.is_contiguous()) || (a.strides == b.strides && is_without_gaps(a));
}

// On one device.
void copy_within(const TensorRef& from, const TensorRef& to) {
  engine(to->device()).run(op(id::Copy), std::vector<Arg>{to, from}, std::span(&to, 1));
}

}  // namespace

void copy_across(const TensorRef& from, const TensorRef& to) {
  const auto move = [](const TensorImpl& a, const TensorImpl& b) {
    copy_bytes(b.data(), b.device(), a.data(), a.device(), covered_bytes(b).count);
  };
  if (to->numel() == 0) return;
  if (laid_out_alike(*from, *to)) return move(*from, *to);
  TensorRef compact = from;
  if (from->dtype != to->dtype || !from->is_contiguous()) {
    compact = empty_tensor(from->sizes, to->dtype, from->device());
    copy_within(from, compact);
  }
  if (laid_out_alike(*compact, *to)) return move(*compact, *to);
  const TensorRef arrived = empty_tensor(compact->sizes, to->dtype, to->device());
  move(*compact, *arrived);
  copy_within(arrived, to);
}

bool crosses_devices(const Op& op, std::span<const Arg> args, const TensorImpl& out) {
  if (!copies(op) || !out.has_memory()) return false;
  const TensorImpl& from = *source_of(op, args);
  return from.has_memory() && !(from.device() == out.device());
}

Engine& engine_of(const Op& op, std::span<const Arg> args, const TensorImpl& out) {
  static AcrossDevices across;
  return crosses_devices(op, args, out) ? across : engine(out.device());
}

TensorRef on_device(const TensorRef& t, Device device) {
  if (t->device() == device) return t;
  TensorRef made = empty_tensor(t->sizes, t->dtype, device);
  if (is_without_gaps(*t)) made->strides = t->strides;
  if (device.has_memory() && t->has_memory()) copy_across(t, made);
  return made;
}

}  // namespace md
