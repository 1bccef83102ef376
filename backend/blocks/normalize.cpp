// Layer and RMS norms found among the parts of a composite and run row by row.
#include "backend/blocks/normalize.h"

#include <string_view>

#include "backend/blocks/kernel_table.h"
#include "backend/machine/thread_pool.h"
#include "ir/graph/op_ids.h"

namespace md::blocks {

namespace v2 {
extern const NormalizeKernel kNormalize[2];
}
namespace v3 {
extern const NormalizeKernel kNormalize[2];
}
namespace v4 {
extern const NormalizeKernel kNormalize[2];
}

namespace {

NormalizeKernel kernel_for(DType t) {
  const int i = compute_index(t);
  const std::string_view level = kernel_table().level;
  return level == "x86-64-v4" ? v4::kNormalize[i] : level == "x86-64-v3" ? v3::kNormalize[i] : v2::kNormalize[i];
}

// Reads the parts one after the other, as ir/composites/composite_norms.cpp makes them.
class Reader {
 public:
  Reader(std::span<const std::unique_ptr<Node>> parts, const TensorImpl& out) : parts_(parts), out_(out) {}

  bool read(NormalizedRow& row) {
    row = {};
    row.length = out_.sizes.back();
    const Arg* x = parts_.empty() || parts_[0]->args.empty() ? nullptr : &parts_[0]->args[0];
    if (!x || !x->is<TensorRef>() || !is_operand(*x->get<TensorRef>())) return false;
    row.x = x->get<TensorRef>()->data();
    row.centred = is(0, id::Sum);
    Arg values = *x;
    if (row.centred) {
      const Node* mean = read_mean(*x);
      values = mean ? part(id::Sub, {*x, Arg(const_cast<Node*>(mean))}) : Arg();
    }
    const Arg squares = part(id::Mul, {values, values});
    const Node* mean = squares.is<Node*>() ? read_mean(squares) : nullptr;
    if (!mean || !read_scale(mean, row)) return false;
    Arg result = part(id::Mul, {values, last()});
    row.weight = read_affine(id::Mul, result);
    row.bias = read_affine(id::Add, result);
    return at_ == parts_.size() && result.is<Node*>();
  }

 private:
  bool is(std::size_t i, OpId op) const { return i < parts_.size() && parts_[i]->op == op; }
  Arg last() const { return parts_[at_ - 1].get(); }
  bool is_operand(const TensorImpl& t) const {
    return t.dtype == out_.dtype && t.sizes == out_.sizes && t.is_contiguous();
  }
  static bool same(const Arg& a, const Arg& b) {
    if (a.is<Node*>()) return b.is<Node*>() && a.get<Node*>() == b.get<Node*>();
    return a.is<TensorRef>() && b.is<TensorRef>() && a.get<TensorRef>().get() == b.get<TensorRef>().get();
  }

  // The next part, if it is `op` of these operands; none otherwise.
  Arg part(OpId op, std::initializer_list<Arg> operands) {
    if (!is(at_, op) || parts_[at_]->args.size() < operands.size()) return {};
    std::size_t k = 0;
    for (const Arg& a : operands) {
      if (!same(parts_[at_]->args[k++], a)) return {};
    }
    return parts_[at_++].get();
  }
  // Sum over the last dimension, kept, divided by its size.
  const Node* read_mean(const Arg& x) {
    const Arg sum = part(id::Sum, {x});
    if (!sum.is<Node*>()) return nullptr;
    const TensorType& t = sum.get<Node*>()->type();
    if (t.dtype != out_.dtype || t.dim() != out_.dim() || !t.sizes.back().is_const(1)) return nullptr;
    for (std::size_t d = 0; d + 1 < t.sizes.size(); ++d) {
      if (!(t.sizes[d] == out_.sizes[d])) return nullptr;
    }
    const Arg mean = part(id::Div, {sum});
    if (!mean.is<Node*>()) return nullptr;
    const Arg& n = mean.get<Node*>()->args[1];
    return n.is<Size>() && n.get<Size>().is_const(out_.sizes.back()) ? mean.get<Node*>() : nullptr;
  }
  bool read_scale(const Node* mean, NormalizedRow& row) {
    const Arg moved = part(id::Add, {Arg(const_cast<Node*>(mean))});
    if (!moved.is<Node*>()) return false;
    const Arg& eps = moved.get<Node*>()->args[1];
    if (!eps.is<double>()) return false;
    row.eps = eps.get<double>();
    return part(id::Rsqrt, {moved}).is<Node*>();
  }
  // The row that multiplies or is added, null if this is not the next part.
  const void* read_affine(OpId op, Arg& result) {
    if (!is(at_, op) || !result.is<Node*>() || !same(parts_[at_]->args[0], result)) return nullptr;
    const auto* t = parts_[at_]->args[1].get_if<TensorRef>();
    if (!t || (*t)->dtype != out_.dtype || !(*t)->is_contiguous()) return nullptr;
    if ((*t)->dim() != 1 || (*t)->sizes[0] != out_.sizes.back()) return nullptr;
    result = parts_[at_++].get();
    return (*t)->data();
  }

  std::span<const std::unique_ptr<Node>> parts_;
  const TensorImpl& out_;
  std::size_t at_ = 0;
};

}  // namespace

bool run_normalize(std::span<const std::unique_ptr<Node>> parts, TensorImpl& out) {
  if (!is_computed_floating(out.dtype)) return false;
  if (out.dim() == 0 || out.numel() == 0 || out.sizes.back() > kLongestNormalized) return false;
  NormalizedRow first;
  if (!Reader(parts, out).read(first)) return false;
  const NormalizeKernel kernel = kernel_for(out.dtype);
  const std::int64_t bytes = first.length * static_cast<std::int64_t>(item_size(out.dtype));
  const auto* x = static_cast<const char*>(first.x);
  auto* to = static_cast<char*>(out.data());
  constexpr std::int64_t kElements = 1 << 14;  // of a task
  parallel_for(out.numel() / first.length, std::max<std::int64_t>(1, kElements / first.length),
               [&](std::int64_t begin, std::int64_t end) {
                 NormalizedRow row = first;
                 for (std::int64_t r = begin; r < end; ++r) {
                   row.x = x + r * bytes;
                   row.out = to + r * bytes;
                   kernel(row);
                 }
               });
  return true;
}

}  // namespace md::blocks
