// The refusals of in-place ops: elements that share memory, results whose sizes, dtype or device do not fit.
#include "ir/infer/inplace.h"

#include <algorithm>
#include <cstdlib>

#include "ir/infer/indexing.h"
#include "ir/infer/infer.h"
#include "ir/infer/type_caller.h"
#include "ir/infer/unbacked.h"
#include "registry/ops/activations.h"

namespace md {
namespace {

[[noreturn]] void refuse(const std::string& message) { throw OpError(ErrorKind::Runtime, message); }

void check_no_overlap(const std::string& what, const TensorType& x) {
  if (overlaps_itself(x)) {
    refuse(what + ": the tensor has elements that share memory (it is expanded); clone() it before writing in place");
  }
}

bool same_sizes(const SizeVec& a, const SizeVec& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!guard_eq(a[i], b[i])) return false;
  }
  return true;
}

}  // namespace

bool overlaps_itself(const TensorType& x) {
  if (is_row_major(x.sizes, x.strides)) return false;
  struct Dim {
    Size stride, size;
    std::int64_t order;
  };
  SmallVector<Dim, 8> dims;
  for (int i = 0; i < x.dim(); ++i) {
    if (layout_eq(x.sizes[i], 0)) return false;
    if (layout_eq(x.sizes[i], 1)) continue;
    const std::int64_t step = hint_or_guess(x.strides[i]);
    dims.push_back({step < 0 ? Size(0) - x.strides[i] : x.strides[i], x.sizes[i], std::abs(step)});
  }
  std::sort(dims.begin(), dims.end(), [](const Dim& a, const Dim& b) { return a.order < b.order; });
  Size reach = 0;
  for (const auto& [stride, size, order] : dims) {
    if (!layout_lt(reach, stride)) {
      // Strides in another order would be asked other questions.
      for (std::size_t i = 1; i < dims.size(); ++i) layout_lt(dims[i].stride, dims[i - 1].stride);
      return true;
    }
    reach = reach + stride * (size - 1);
  }
  return false;
}

void check_inplace(const Op& op, const TensorType& self, const TensorType& result) {
  const std::string what = op.public_name + "_()";
  if (!same_sizes(result.sizes, self.sizes)) {
    refuse(fmt::format("{}: the result of sizes {} does not fit a tensor of sizes {}", what, sizes_text(result.sizes),
                       sizes_text(self.sizes)));
  }
  if (!(result.device == self.device)) {
    refuse(fmt::format("{}: Expected all tensors to be on the same device, but found at least two devices, {} and {}!",
                       what, to_string(self.device), to_string(result.device)));
  }
  if (info(result.dtype).category > info(self.dtype).category) {
    refuse(fmt::format("{}: a result of {} cannot be stored in a tensor of {}", what, info(result.dtype).name,
                       info(self.dtype).name));
  }
  if (op.decl == &ops::FloatPower::decl && result.dtype != self.dtype) {
    refuse(fmt::format("the base given to {} has dtype {} but the operation's result requires dtype {}",
                       op.public_name + "_", info(self.dtype).guard_name, info(result.dtype).guard_name));
  }
  check_no_overlap(what, self);
}

void check_grad_write(bool requires_grad, GradHistory history) {
  if (!grad_enabled()) return;
  if (history == GradHistory::UntrackedView) {
    refuse(
        "A view was created in no_grad mode and is being modified inplace with grad mode enabled; clone() it, or write "
        "to it in no_grad mode");
  }
  if (!requires_grad || history == GradHistory::Computed) return;
  refuse(fmt::format("a {}leaf Variable that requires grad is being used in an in-place operation.",
                     history == GradHistory::LeafView ? "view of a " : ""));
}

int check_assignment(const TensorType& part, const Arg& value) {
  check_no_overlap("assignment to x[...]", part);
  if (value.is_number()) return 0;
  if (!value.is<TensorRef>() && !value.is<Node*>()) {
    throw OpError(ErrorKind::Type, "assignment to x[...] takes a tensor or a number");
  }
  const TensorType source = type_of(value);
  int dropped = 0;
  while (source.dim() - dropped > part.dim() && guard_eq(source.sizes[dropped], 1)) ++dropped;
  bool fits = source.dim() - dropped <= part.dim();
  for (int i = 1; fits && i <= source.dim() - dropped; ++i) {
    const Size s = source.sizes[source.dim() - i];
    fits = guard_eq(s, part.sizes[part.dim() - i]) || guard_eq(s, 1);
  }
  if (!fits) {
    refuse(fmt::format("assignment to x[...]: a value of sizes {} does not fit a part of sizes {}",
                       sizes_text(source.sizes), sizes_text(part.sizes)));
  }
  return dropped;
}

bool check_item_assignment(const Arg& x, const Arg& index, const Arg& value) {
  TypeCaller caller;
  const Assignment a = open_assignment(caller, x, index, value);
  const TensorType self = type_of(a.args[0]), result = infer(op(a.op), a.args).at(0);
  check_grad_write(self.requires_grad, self.history);
  check_inplace(op(a.op), self, result);
  return result.requires_grad && is_differentiable(self.dtype);
}

}  // namespace md
