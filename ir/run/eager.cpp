// Eager calls: check and infer, allocate, let the installed engine compute.
#include "ir/run/eager.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>

#include "ir/core/error.h"
#include "ir/gradients/call_node.h"
#include "ir/gradients/node_names.h"
#include "ir/gradients/tape.h"
#include "ir/graph/dynamic.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/asked_gradient.h"
#include "ir/infer/complex_calls.h"
#include "ir/infer/composite.h"
#include "ir/infer/indexing.h"
#include "ir/infer/inplace.h"
#include "ir/infer/memory_formats.h"
#include "ir/reference/device_copies.h"
#include "ir/run/batched_call.h"
#include "ir/run/handled_calls.h"
#include "ir/run/lazy_calls.h"
#include "ir/run/long_work.h"
#include "ir/run/observed_ops.h"
#include "ir/run/op_recorder.h"
#include "ir/run/sweep.h"
#include "ir/tensor/batched.h"
#include "ir/tensor/shared_memory.h"

namespace md {
namespace {

class EagerCaller final : public OpCaller {
 public:
  using OpCaller::call;
  Arg call(const Op& op, std::vector<Arg> bound) override { return call_op(op, bound); }
};

DimVec constant_dims(const SizeVec& sizes) {
  DimVec d;
  for (const Size s : sizes) {
    if (!s.is_const()) throw InternalError("an eager call with a symbolic size");
    d.push_back(s.value());
  }
  return d;
}

TensorRef allocate(const TensorType& t) {
  TensorRef x = empty_tensor(constant_dims(t.sizes), t.dtype, t.device);
  x->strides = constant_dims(t.strides);
  x->set_grad_state(t.grad_state());
  return x;
}

TensorRef view_of(const Op& op, const TensorRef& x, const TensorType& t) {
  TensorRef v =
      make_ref<TensorImpl>(x->storage, t.dtype, constant_dims(t.sizes), constant_dims(t.strides), t.offset.value());
  v->set_grad_state(t.grad_state());
  if (op.id != id::Detach) v->base = x->base ? x->base : x;
  return v;
}

TensorRef lazy_view_of(const Op& op, const TensorRef& x, std::span<const Arg> bound) {
  const Pending pending = pending_of_view(op, pending_of(*x));
  TensorRef v = view_of(op, x, infer(op, bound)[0]);
  set_pending(*v, pending);
  return v;
}

bool makes_pending(const Op& op) { return op.id == id::ConjView || op.id == id::NegView; }

bool is_mask(const Arg& a) {
  const auto* t = a.get_if<TensorRef>();
  return t && (*t)->dtype == DType::Bool;
}

// Pointwise calls whose tensors are contiguous, of one shape and on the CPU need no general inference. Null if this is
// not one.
TensorRef plain_pointwise(const Op& op, std::span<const Arg> args) {
  if (op.device >= 0) return nullptr;
  const TensorImpl* first = nullptr;
  bool grad = false;
  for (int i = 0; i < op.operands; ++i) {
    const auto* t = args[i].get_if<TensorRef>();
    if (!t) continue;
    const TensorImpl& x = **t;
    if (!x.device().is_cpu() || !x.is_contiguous() || (first && !(first->sizes == x.sizes))) return nullptr;
    first = &x;
    grad |= x.requires_grad;
  }
  if (!first || (op.decl->promote == Promote::Select && !is_mask(args[0]))) return nullptr;
  const ComputeTypes types = compute_types(op, args);
  TensorRef out = empty_tensor(first->sizes, types.result);
  if (keeps_strides(op)) out->strides = first->strides;
  if (grad && grad_enabled() && is_floating(types.result)) out->set_grad_state({true, GradHistory::Computed});
  return out;
}

Arg results_arg(std::span<const TensorRef> out) {
  if (out.size() == 1) return out[0];
  return ListArg{std::vector<Arg>(out.begin(), out.end()), true};
}

Arg run(const Op& op, std::span<const Arg> args, std::span<const TensorRef> out) {
  run_call(op, args, out);
  return results_arg(out);
}

// --- In place ------------------------------------------------------------------------------------------------------

bool same_elements(const TensorImpl& a, const TensorImpl& b) {
  return a.data() == b.data() && a.dtype == b.dtype && a.sizes == b.sizes && a.strides == b.strides;
}

// Operands that share memory with `self` other than element by element are copied before `self` is written.
std::vector<Arg> without_overlap(const TensorRef& self, std::span<const Arg> bound) {
  std::vector<Arg> args(bound.begin(), bound.end());
  for (Arg& a : args) {
    const auto* t = a.get_if<TensorRef>();
    if (!t || *t == self || !share_memory(*(*t)->storage, *self->storage) || same_elements(**t, *self)) continue;
    a = call_op(op(id::Clone), std::span<const Arg>(&a, 1));
  }
  return args;
}

// With copies of the operands that share memory with `self`: a kernel that writes into it reads them meanwhile.
Arg apart_from(const TensorImpl& self, const Arg& a) {
  if (const auto* l = a.get_if<ListArg>()) {
    ListArg out{{}, l->tuple};
    for (const Arg& x : l->items) out.items.push_back(apart_from(self, x));
    return out;
  }
  const auto* t = a.get_if<TensorRef>();
  const bool shared = t && share_memory(*(*t)->storage, *self.storage);
  return shared ? call_op(op(id::Clone), std::span<const Arg>(&a, 1)) : a;
}

void run_into(const Op& op, const TensorRef& self, std::span<const Arg> bound) {
  std::vector<Arg> args{bound[0]};
  for (const Arg& a : bound.subspan(1)) args.push_back(apart_from(*self, a));
  run_call(op, args, std::span<const TensorRef>(&self, 1));
}

// In-place pointwise calls on a contiguous tensor and numbers or separate contiguous tensors of the same shape: nothing
// to check but dtypes.
bool plain_inplace(const Op& op, const TensorImpl& self, std::span<const Arg> args) {
  if (op.kind() != OpKind::Pointwise || op.decl->promote == Promote::Select || !self.is_contiguous()) return false;
  if (!self.device().is_cpu()) return false;
  for (int i = 1; i < op.operands; ++i) {
    const auto* t = args[i].get_if<TensorRef>();
    if (!t || t->get() == &self) continue;
    if (!(*t)->device().is_cpu() || share_memory(*(*t)->storage, *self.storage) || !((*t)->sizes == self.sizes))
      return false;
  }
  return compute_types(op, args).result == self.dtype;
}

void store(const TensorRef& self, Arg result) {
  const Arg args[] = {self, std::move(result)};
  run_call(op(id::Copy), args, std::span<const TensorRef>(&self, 1));
}

// Parts refuse operands that do not fit by themselves, so that their types are inferred once. `self` is contiguous: no
// elements of its share memory, which would have to be refused before random numbers are drawn.
void write_composite(const Op& op, const TensorRef& self, std::span<const Arg> bound) {
  Arg value = worth_sweeping(bound) ? run_swept(op, without_overlap(self, bound), self.get()) : call_op(op, bound);
  if (value == Arg(self)) return;
  check_inplace(op, type_of(bound[0]), type_of(value));
  store(self, std::move(value));
}

// The parts of a complex tensor in a last dimension; others themselves.
TensorRef parts_of(const TensorRef& x) {
  if (!is_complex(x->dtype)) return x;
  DimVec sizes = x->sizes, strides;
  for (const std::int64_t s : x->strides) strides.push_back(2 * s);
  sizes.push_back(2), strides.push_back(1);
  return make_ref<TensorImpl>(x->storage, to_real(x->dtype), sizes, strides, 2 * x->offset);
}

// Elements are moved as their parts are; of a complex value a real tensor takes the real parts by copy_ alone.
void write_complex(const Op& op, const TensorRef& self, std::span<const Arg> bound) {
  const bool copies = op.id == id::Copy;
  check_inplace(op, type_of(bound[0]), infer(op, bound)[0]);
  if (!self->has_memory()) return;
  TensorRef value = copies ? bound[1].get<TensorRef>() : call_op(op, bound).get<TensorRef>();
  if (value == self) return;
  if (value->dtype != self->dtype)
    value = eager_caller().call(id::Convert, {value, self->dtype}).get<TensorRef>();
  else if (share_memory(*value->storage, *self->storage))
    value = eager_caller().call(id::Clone, {value}).get<TensorRef>();
  store(parts_of(self), parts_of(value));
}

// What is found out about the operands holds to the end: between the parts of this others may go on.
void write_result(const Op& op, std::span<const Arg> given) {
  HeldMemory held;
  std::vector<Arg> bound;
  for (const Arg& a : given) bound.push_back(held.add(a));
  const TensorRef self = bound[0].get<TensorRef>();
  if (involves_complex(bound)) return write_complex(op, self, bound);
  const bool composite = op.kind() == OpKind::Composite;
  if (composite && self->has_memory() && self->is_contiguous()) return write_composite(op, self, bound);
  const TensorType result = infer(op, bound)[0];
  check_inplace(op, type_of(bound[0]), result);
  if (!self->has_memory()) return;
  if (op.kind() == OpKind::Pointwise && result.dtype == self->dtype) {
    const std::vector<Arg> args = without_overlap(self, bound);
    run_call(op, args, std::span<const TensorRef>(&self, 1));
  } else if (op.decl->writes_self && result.dtype == self->dtype) {
    run_into(op, self, bound);
  } else {
    Arg value = call_op(op, bound);
    if (!(value == Arg(self))) store(self, std::move(value));
  }
}

}  // namespace

OpCaller& eager_caller() {
  static EagerCaller caller;
  return caller;
}

BeforeDynamic& before_dynamic() {
  thread_local BeforeDynamic ask = nullptr;
  return ask;
}

namespace {

template <class F>
void for_each_result(const Arg& result, F&& f) {
  if (const auto* l = result.get_if<ListArg>()) {
    for (const Arg& a : l->items) for_each_result(a, f);
  } else if (const auto* t = result.get_if<TensorRef>()) {
    f(*t);
  }
}

bool shares_storage(const Arg& a, const Storage* s) {
  bool found = false;
  for_each_result(a, [&](const TensorRef& t) { found |= t && t->storage.get() == s; });
  return found;
}

// The results of a composite as the program sees them: a view of what only its parts know is none.
Arg shown(const Op& op, std::span<const Arg> bound, Arg result) {
  for_each_result(result, [&](const TensorRef& t) {
    const auto shared = [&](const Arg& a) { return shares_storage(a, t->storage.get()); };
    if (t->base && std::ranges::none_of(bound, shared)) t->base = nullptr;
    if (asks_for_gradient(op, bound, t->dtype)) t->set_grad_state({true, GradHistory::Leaf});
  });
  return result;
}

Arg opened(const Op& op, std::span<const Arg> bound) {
  EagerCaller caller;
  return shown(op, bound, expand(op, caller, bound));
}

Arg compute(const Op& op, std::span<const Arg> bound) {
  if (in_transform()) {
    const bool asked = is_for_handlers(bound);
    if (asked)
      if (std::optional<Arg> answer = answered_call(op, bound)) return std::move(*answer);
    if (asked && op.kind() == OpKind::Composite) return opened(op, bound);
    if (OpRecorder* const recorder = op_recorder()) return recorder->call(op, bound);
    if (op.kind() == OpKind::View) {
      const TensorRef& x = bound[0].get<TensorRef>();
      if (makes_pending(op) || pending_of(*x)) return lazy_view_of(op, x, bound);
    }
    if (op.kind() == OpKind::Composite && holds_pending(bound)) return opened(op, bound);
  }
  if (involves_complex(bound)) {
    if (makes_pending(op)) return lazy_view_of(op, bound[0].get<TensorRef>(), bound);
    if (opens_complex(op, bound)) return opened(op, bound);
    refuse_complex(op, bound);
  }
  switch (op.kind()) {
    case OpKind::Composite:
      return worth_sweeping(bound) ? shown(op, bound, run_swept(op, bound)) : opened(op, bound);
    case OpKind::View:
      if (op.id == id::NegView) [[unlikely]]
        return lazy_view_of(op, bound[0].get<TensorRef>(), bound);
      return view_of(op, bound[0].get<TensorRef>(), infer(op, bound)[0]);
    case OpKind::Pointwise:
      if (TensorRef out = plain_pointwise(op, bound)) {
        engine().run(op, bound, std::span<const TensorRef>(&out, 1));
        return out;
      }
      break;
    default:
      break;
  }
  if (is_dynamic(op, bound)) {
    if (BeforeDynamic ask = before_dynamic()) ask(op);
    return results_arg(run_dynamic(op, bound));
  }
  std::vector<TensorRef> out;
  for (const TensorType& t : infer(op, bound)) out.push_back(allocate(t));
  return run(op, bound, out);
}

void require_grad(const Arg& result) {
  for_each_result(result, [](const TensorRef& t) {
    if (is_differentiable(t->dtype)) t->set_grad_state({true, GradHistory::Computed});
  });
}

// Shows the nodes that were made for a call since `first` as one.
void show_as_call(const Op& op, std::span<const Arg> bound, const Arg& result, std::uint64_t first) {
  NodeLabel label{call_name(op, bound), first};
  if (!label.name) {
    for_each_node_since(first, result, [&](GradNode& node) {
      if (const std::string* const name = last_part_name(op, bound, node.name())) node.label.name = name;
    });
    return;
  }
  const auto add = [&](bool flows) {
    if (flows && label.operands < 64) label.flows |= std::uint64_t{1} << label.operands;
    if (label.operands < 255) ++label.operands;
  };
  for (std::size_t i = 0; i < bound.size(); ++i) {
    if (bound[i].is_none() && op.schema.params[i].type == ParamType::TensorOpt) add(false);
    for_each_tensor(bound.subspan(i, 1), [&](const TensorRef& t) {
      if (is_differentiable(t->dtype)) add(t->requires_grad);
    });
  }
  label_nodes(result, label);
}

// The parts of a composite record themselves, unless it has a derivative of its own.
Arg compute_recorded(const Op& op, std::span<const Arg> bound) {
  const bool composite = op.kind() == OpKind::Composite;
  const bool by_parts = opens_complex(op, bound) || (composite && !has_gradient(op));
  const bool asked = in_transform() && is_for_handlers(bound);
  if (asked && by_parts)
    if (std::optional<Arg> answer = answered_recorded(op, bound)) return std::move(*answer);
  if (by_parts) {
    const std::uint64_t first = next_order();
    Arg result = opened(op, bound);
    show_as_call(op, bound, result, first);
    return result;
  }
  Arg result;
  if (composite) {
    const GradMode off(false);
    result = compute(op, bound);
  } else {
    result = compute(op, bound);
  }
  if (asked) show_saved(op, result);
  if (composite) require_grad(result);
  if (op.kind() != OpKind::Create && op.kind() != OpKind::Random) record_call(op, eager_caller(), bound, result);
  return result;
}

}  // namespace

namespace {

Arg call_plainly(const Op& op, std::span<const Arg> bound) {
  return needs_record(bound) ? compute_recorded(op, bound) : compute(op, bound);
}

TensorRef write_recorded(const Op& op, std::span<const Arg> bound, const TensorRef& target);
constexpr PlainCalls kPlain{call_plainly, opened, write_recorded};

}  // namespace

static Arg call_slowly(const Op& op, std::span<const Arg> bound) {
  if (op.kind() == OpKind::View || op.kind() == OpKind::Composite || !holds_pending(bound))
    return call_in_transform(kPlain, op, bound);
  const std::vector<Arg> args = resolved(bound);
  return op.id == id::Clone ? args[0] : call_in_transform(kPlain, op, args);
}

Arg call_op(const Op& op, std::span<const Arg> bound) {
  const Observed observed([&] { return op_slot(op); }, [&] { return name_of_op(op); });
  check_enabled(op);
  return in_transform() ? call_slowly(op, bound) : call_plainly(op, bound);
}

namespace {
bool written_elsewhere(const Op& op, std::span<const Arg> bound) {
  if (is_for_handlers(bound) && answered_write(op, bound)) return true;
  if (!op_recorder()) return false;
  op_recorder()->write(op, bound);
  return true;
}

TensorRef write_unrecorded(const Op& op, std::span<const Arg> bound) {
  const TensorRef self = bound[0].get<TensorRef>();
  const Ref<Storage> written = self->storage;  // others may give `self` other memory meanwhile
  if (in_transform() && written_elsewhere(op, bound)) {
    // by a handler, or it is written down
  } else if (!involves_complex(bound) && plain_inplace(op, *self, bound))
    engine().run(op, bound, std::span<const TensorRef>(&self, 1));
  else
    write_result(op, bound);
  ++written->version;
  return self;
}

TensorRef write_recorded(const Op& op, std::span<const Arg> bound, const TensorRef& target) {
  const bool flows = is_differentiable(bound[0].get<TensorRef>()->dtype) && needs_record(bound);
  if (!flows) return write_unrecorded(op, bound);
  if (!has_gradient(op) ||
      (op.id != id::Copy && opens_complex(op, bound))) {  // its parts have, or none: what it gives is copied
    const TensorRef self = bound[0].get<TensorRef>();
    check_inplace(op, type_of(bound[0]), infer(op, bound)[0]);
    const std::uint64_t first = next_order();
    std::vector<Arg> args(bound.begin(), bound.end());
    args[0] = call_op(md::op(id::Clone), std::span<const Arg>(&bound[0], 1));  // its parts keep what it was
    const Arg copied[] = {self, call_op(op, args)};
    TensorRef written = write_recorded(md::op(id::Copy), std::span<const Arg>(copied), target);
    if (!target->base) show_as_call(op, args, written, first);
    return written;
  }
  RecordedWrite write(op, eager_caller(), bound, target);
  const TensorRef self = write_unrecorded(op, bound);
  write.finish();
  return self;
}

const bool kTapeReady = [] {
  tape_runner() = {&eager_caller(), [](const Op& op, std::span<const Arg> bound) { call_inplace(op, bound); }};
  return true;
}();
}  // namespace

static void check_writable(const TensorImpl& t) {
  if (!t.storage->inference || thread_modes.inference) return;
  throw OpError(ErrorKind::Runtime,
                "an inference tensor cannot be written in place outside of inference mode; clone() gives an ordinary "
                "tensor");
}

static TensorRef write_slowly(const Op& op, std::span<const Arg> bound, const TensorRef& target) {
  if (!holds_pending(bound)) return write_in_transform(kPlain, op, bound, target);
  const TensorRef self = bound[0].get<TensorRef>();
  std::vector<Arg> args{bound[0]};
  for (Arg& a : resolved(bound.subspan(1))) args.push_back(std::move(a));
  if (!pending_of(*self)) return write_in_transform(kPlain, op, args, target);
  const Arg value = op.id == id::Copy ? args[1] : call_op(op, args);
  if (value == bound[0]) return self;
  if (op.id == id::Copy)
    infer(op, args);
  else
    check_inplace(op, type_of(bound[0]), type_of(value));
  const TensorRef memory = as_in_memory(self);
  const Arg copied[] = {memory, turned_round(*self, value)};
  write_in_transform(kPlain, md::op(id::Copy), std::span<const Arg>(copied), memory);
  return self;
}

TensorRef call_inplace(const Op& op, std::span<const Arg> bound) {
  const Observed observed([&] { return op_slot(op); }, [&] { return name_of_op(op); });
  check_enabled(op);
  const TensorRef target = bound[0].get<TensorRef>();
  check_writable(*target);
  return in_transform() ? write_slowly(op, bound, target) : write_recorded(op, bound, target);
}

TensorRef index_tensor(const TensorRef& x, const Arg& index) {
  const Arg args[] = {x, index};
  return call_op(op(id::GetItem), args).get<TensorRef>();
}

void assign_index(const TensorRef& x, const Arg& index, const Arg& value) {
  check_writable(*x);
  EagerCaller caller;
  const Assignment a = open_assignment(caller, x, index, value);
  check_enabled(op(a.op));
  if (in_transform())
    write_slowly(op(a.op), a.args, x);
  else
    write_recorded(op(a.op), a.args, x);
}

}  // namespace md
