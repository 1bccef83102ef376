// The engine of the CPU is given readable copies; what it has written goes back.
#include "backend/device_blocks/host_calls.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "ir/reference/engine.h"
#include "ir/tensor/readable.h"

namespace md::device_blocks {
namespace {

struct Counts {
  std::mutex lock;
  std::map<std::string, std::int64_t> of;
};
Counts& counts() {
  static auto& c = *new Counts;
  return c;
}

// Copies of a call's tensors: the same tensor has the same copy, by which engines know a call in place.
class Copies {
 public:
  TensorRef of(const TensorRef& t) {
    if (t->is_readable()) return t;
    for (const auto& [original, copy] : made_)
      if (original == t) return copy;
    return made_.emplace_back(t, readable(t)).second;
  }
  Arg of(const Arg& a) {
    if (const auto* t = a.get_if<TensorRef>()) return *t ? Arg(of(*t)) : a;
    const auto* list = a.get_if<ListArg>();
    if (!list) return a;
    ListArg copies{{}, list->tuple};
    for (const Arg& item : list->items) copies.items.push_back(of(item));
    return copies;
  }
  // Of a result: what nobody has written yet is not read.
  TensorRef of_result(const TensorRef& t) {
    for (const auto& [original, copy] : made_)
      if (original->storage == t->storage) return of(t);
    const CoveredBytes covered = covered_bytes(*t);
    if (covered.count != static_cast<std::size_t>(t->numel()) * item_size(t->dtype)) return of(t);
    auto copy = make_ref<TensorImpl>(allocate_storage(covered.count), t->dtype, t->sizes, t->strides, 0);
    return made_.emplace_back(t, std::move(copy)).second;
  }

 private:
  std::vector<std::pair<TensorRef, TensorRef>> made_;
};

}  // namespace

void count_on_host(const Op& op) {
  const std::lock_guard hold(counts().lock);
  ++counts().of[std::string(op.name())];
}

void run_on_host(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  // Where nothing is computed, the engine of the CPU is asked for its errors alone.
  if (std::ranges::any_of(out, [](const TensorRef& t) { return t->numel() > 0; })) count_on_host(op);
  Copies copies;
  std::vector<Arg> host_args;
  std::vector<TensorRef> host_out;
  for (const Arg& a : args) host_args.push_back(copies.of(a));
  for (const TensorRef& t : out) host_out.push_back(copies.of_result(t));
  engine().run(op, host_args, host_out);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const CoveredBytes covered = covered_bytes(*out[i]);
    if (covered.count)
      copy_bytes(static_cast<char*>(out[i]->storage->data()) + covered.begin, out[i]->device(),
                 static_cast<char*>(host_out[i]->storage->data()) + covered_bytes(*host_out[i]).begin, kCpu,
                 covered.count);
  }
}

std::map<std::string, std::int64_t> host_calls() {
  const std::lock_guard hold(counts().lock);
  return counts().of;
}

}  // namespace md::device_blocks
