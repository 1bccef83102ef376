// cond, while_loop, scan and map on real tensors.
#include "ir/run/run_regions.h"

#include <algorithm>
#include <utility>

#include "ir/core/error.h"
#include "ir/core/scalar_builder.h"
#include "ir/graph/op_ids.h"
#include "ir/run/eager.h"
#include "ir/run/run_callee.h"
#include "ir/tensor/batched.h"
#include "ir/tensor/readable.h"
#include "ir/tensor/strided.h"

namespace md {
namespace {

using Tensors = std::vector<TensorRef>;

Tensors tensors_of(std::span<Arg> args) {
  Tensors out;
  for_each_tensor(args, [&](TensorRef& t) { out.push_back(t); });
  return out;
}

bool holds(const TensorRef& x) {
  const TensorImpl& t = *x;
  if (batch_of(t)) {
    throw OpError(ErrorKind::Runtime,
                  "vmap: a loop or choice depends on a tensor that differs from example to example, which cond() "
                  "alone knows; use torch.where()");
  }
  if (!t.has_memory()) {
    throw OpError(ErrorKind::Runtime, "Tensor.item() cannot be called on " + to_string(t.device()) + " tensors");
  }
  if (t.numel() != 1) {
    throw OpError(ErrorKind::Runtime, t.numel() ? "Boolean value of Tensor with more than one value is ambiguous"
                                                : "Boolean value of Tensor with no values is ambiguous");
  }
  return visit_dtype(t.dtype, [&](auto element) { return widen(*readable(x)->as<decltype(element)>()) != 0; });
}

bool holds(const Arg& predicate) {
  const auto* known = predicate.get_if<bool>();
  return known ? *known : holds(predicate.get<TensorRef>());
}

// A carried tensor belongs to the loop, row-major: what the loop gives shares no memory with what it was given.
TensorRef own_copy(const TensorRef& t) {
  const Arg args[] = {t, MemoryFormat::Contiguous};
  return call_op(op(id::CloneFormat), args).get<TensorRef>();
}

TensorRef row(const TensorRef& of, std::int64_t i) {
  const Arg args[] = {of, std::int64_t{0}, i};
  const Arg contiguous[] = {call_op(op(id::Select), args), MemoryFormat::Contiguous};
  return call_op(op(id::Contiguous), contiguous).get<TensorRef>();
}

TensorRef stacked(const Tensors& rows) {
  const Arg args[] = {ListArg{std::vector<Arg>(rows.begin(), rows.end()), false}, std::int64_t{0}};
  return call_op(op(id::Stack), args).get<TensorRef>();
}

Tensors run_while(std::span<Arg> args, const RunRegion& run) {
  Tensors inputs = tensors_of(args);
  const std::size_t carried = args[0].get<ListArg>().items.size();
  for (std::size_t k = 0; k < carried; ++k) inputs[k] = own_copy(inputs[k]);
  while (holds(run(0, inputs).at(0))) std::ranges::move(run(1, inputs), inputs.begin());
  inputs.resize(carried);
  return inputs;
}

// Scan; map is one without a state.
Tensors run_rows(std::span<Arg> init, Arg& xs, std::span<Arg> captured, const RunRegion& run) {
  Tensors state = tensors_of(init);
  const std::size_t carried = state.size();
  for (TensorRef& t : state) t = own_copy(t);
  const Tensors rows_of = tensors_of(std::span(&xs, 1)), outer = tensors_of(captured);
  const std::int64_t length = rows_of.empty() ? 0 : rows_of[0]->sizes[0];
  std::vector<Tensors> made;
  for (std::int64_t i = 0; i < length; ++i) {
    Tensors inputs = state;
    for (const TensorRef& t : rows_of) inputs.push_back(row(t, i));
    inputs.insert(inputs.end(), outer.begin(), outer.end());
    Tensors results = run(0, inputs);
    if (made.empty()) made.resize(results.size() - carried);
    for (std::size_t k = 0; k < made.size(); ++k) made[k].push_back(std::move(results[carried + k]));
    results.resize(carried);
    state = std::move(results);
  }
  for (const Tensors& rows : made) state.push_back(stacked(rows));
  return state;
}

}  // namespace

Tensors run_regions(RegionKind kind, std::span<Arg> args, const RunRegion& run) {
  switch (kind) {
    case RegionKind::Cond:
      return run(holds(args[0]) ? 0 : 1, tensors_of(args.subspan(1)));
    case RegionKind::WhileLoop:
      return run_while(args, run);
    case RegionKind::Scan:
      return run_rows(args.first(1), args[1], args.subspan(2), run);
    case RegionKind::Map:
      return run_rows({}, args[0], args.subspan(1), run);
  }
  return {};
}

}  // namespace md
