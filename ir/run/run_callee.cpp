// Operands and results of a call compared with what tracing expected, copied where the functional dialect needs it.
#include "ir/run/run_callee.h"

#include <algorithm>
#include <utility>

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/reference/engine.h"
#include "ir/tensor/extent.h"
#include "ir/tensor/strided.h"

namespace md {
namespace {

TensorRef allocate(const ExpectedTensor& t) {
  Ref<Storage> storage = allocate_storage(checked_bytes(t.sizes, t.strides, 0, t.dtype), t.device);
  return make_ref<TensorImpl>(std::move(storage), t.dtype, t.sizes, t.strides, 0);
}

TensorRef copied(const TensorRef& from, const ExpectedTensor& as) {
  TensorRef to = allocate(as);
  engine(to->device()).run(op(id::Copy), std::vector<Arg>{to, from}, std::span(&to, 1));
  return to;
}

bool same_strides(const TensorImpl& t, const ExpectedTensor& as) {
  for (std::size_t d = 0; d < as.sizes.size(); ++d) {
    if (as.sizes[d] == 0) return true;
    if (as.sizes[d] != 1 && t.strides[d] != as.strides[d]) return false;
  }
  return true;
}

}  // namespace

std::vector<ExpectedTensor> expected_tensors(std::span<const TensorType> types, const SizeNumber& number) {
  std::vector<ExpectedTensor> out;
  for (const TensorType& t : types) {
    ExpectedTensor e{t.dtype, {}, {}, t.device};
    for (Size s : t.sizes) e.sizes.push_back(number(s));
    for (Size s : t.strides) e.strides.push_back(number(s));
    out.push_back(std::move(e));
  }
  return out;
}

void for_each_tensor(std::span<Arg> args, const std::function<void(TensorRef&)>& f) {
  for (Arg& a : args) {
    if (auto* t = std::get_if<TensorRef>(&a.v)) f(*t);
    if (auto* l = std::get_if<ListArg>(&a.v)) for_each_tensor(l->items, f);
  }
}

std::vector<TensorRef> run_functional(const Callee& callee, std::vector<Arg> args,
                                      std::span<const ExpectedTensor> expected) {
  const auto results = expected.first(expected.size() - callee.writes.size());
  std::vector<TensorRef> written(callee.writes.size());
  int position = 0;
  for_each_tensor(args, [&](TensorRef& t) {
    const auto at = std::ranges::find(callee.writes, position++);
    if (at == callee.writes.end()) return;
    const auto k = static_cast<std::size_t>(at - callee.writes.begin());
    t = written[k] = copied(t, expected[results.size() + k]);
  });
  std::vector<TensorRef> out = callee.run(args, results);
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (!same_strides(*out[i], results[i])) out[i] = copied(out[i], results[i]);
  }
  std::ranges::move(written, std::back_inserter(out));
  return out;
}

}  // namespace md
