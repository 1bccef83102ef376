// Takes the innermost call of vmap off the operands, asks the rule (ir/batching) and puts it on the results.
#include "ir/run/batched_call.h"

#include <algorithm>
#include <optional>

#include "ir/batching/batching.h"
#include "ir/batching/levels.h"
#include "ir/core/error.h"
#include "ir/infer/complex_calls.h"
#include "ir/infer/inplace.h"
#include "ir/run/eager.h"
#include "ir/run/lazy_calls.h"
#include "ir/tensor/batched.h"

namespace md {

namespace {

// f(tensor) for all tensors, however deep.
template <class F>
void for_tensors(std::span<const Arg> args, F&& f) {
  for (const Arg& a : args) {
    if (const auto* t = a.get_if<TensorRef>()) {
      f(*t);
    } else if (const auto* l = a.get_if<ListArg>()) {
      for_tensors(l->items, f);
    }
  }
}

template <class F>
Arg map_tensors(const Arg& a, F&& f) {
  if (const auto* t = a.get_if<TensorRef>()) return f(*t);
  const auto* l = a.get_if<ListArg>();
  if (!l) return a;
  ListArg out{{}, l->tuple};
  for (const Arg& x : l->items) out.items.push_back(map_tensors(x, f));
  return out;
}

std::uint32_t innermost(std::span<const Arg> args) {
  std::uint32_t found = 0;
  for_tensors(args, [&](const TensorRef& t) {
    if (const Batch* b = batch_of(*t)) found = std::max(found, b->levels.back());
  });
  return found;
}

bool has_level(const TensorImpl& t, std::uint32_t level) {
  const Batch* b = batch_of(t);
  return b && b->levels.back() == level;
}

TensorRef without_last(const TensorRef& t) {
  const Batch& b = *batch_of(*t);
  return batched_tensor(b.all, {b.levels.begin(), b.levels.end() - 1});
}

TensorRef with_last(const TensorRef& t, std::uint32_t level) {
  const Batch* b = batch_of(*t);
  std::vector<std::uint32_t> levels = b ? b->levels : std::vector<std::uint32_t>{};
  levels.push_back(level);
  return batched_tensor(b ? b->all : t, std::move(levels));
}

Arg on_level(const Arg& result, std::uint32_t level) {
  return map_tensors(result, [&](const TensorRef& t) { return Arg(with_last(t, level)); });
}

const TransformLevel& level_of(std::uint32_t number) {
  if (const TransformLevel* l = find_level(number)) return *l;
  throw OpError(ErrorKind::Runtime,
                "a tensor that was an example inside vmap is used after that call of vmap has ended, or in another "
                "thread: return it from the function instead of storing it");
}

Expansion expansion_of(const Op& op, std::span<const Arg> args) {
  return {{op, args}, eager_caller(), device_of_call(op, args)};
}

// The arguments without the level; the tensors of a list are alike.
std::vector<Arg> taken_off(const Op& op, std::span<const Arg> bound, const TransformLevel& level,
                           std::uint64_t& batched) {
  std::vector<Arg> args(bound.begin(), bound.end());
  for (std::size_t i = 0; i < args.size(); ++i) {
    bool any = false;
    for_tensors(bound.subspan(i, 1), [&](const TensorRef& t) { any |= has_level(*t, level.number); });
    if (!any) continue;
    batched |= std::uint64_t{1} << i;
    args[i] = map_tensors(args[i], [&](const TensorRef& t) {
      if (has_level(*t, level.number)) return Arg(without_last(t));
      return repeated(expansion_of(op, bound), t, level.size);
    });
  }
  return args;
}

[[noreturn]] void refuse_sizes(const Op& op) {
  throw OpError(ErrorKind::Runtime, "vmap: the sizes of what " + op.public_name +
                                        "() gives depend on values, which differ from example to example");
}

bool makes_by_sizes(const Op& op) {
  return op.id == id::NewZeros || op.id == id::NewOnes || op.id == id::NewEmpty || op.id == id::NewFull;
}

Arg batched_call(const PlainCalls& plain, const Op& op, std::span<const Arg> bound) {
  const TransformLevel level = level_of(innermost(bound));
  if (op.kind() == OpKind::Composite && makes_by_sizes(op)) {
    // Made for a tensor that differs from example to example, it may be written for each.
    const TensorRef same = plain.opened(op, bound).get<TensorRef>();
    if (batch_of(*same)) return same;
    const Arg all = repeated(expansion_of(op, bound), same, level.size);
    return on_level(eager_caller().call(id::Clone, {all}), level.number);
  }
  if (opens_complex(op, bound)) return plain.opened(op, bound);
  std::uint64_t batched = 0;
  const std::vector<Arg> args = taken_off(op, bound, level, batched);
  const Batching b{expansion_of(op, args), bound, batched, level.size};
  if (has_sizes_by_example(b)) refuse_sizes(op);
  // Errors speak of what the program sees.
  if (op.kind() != OpKind::Composite && !op.decl->dynamic_sizes) infer(op, bound);
  const Arg made = batch(b);
  return made.is_none() ? plain.opened(op, bound) : on_level(made, level.number);
}

// --- Random numbers --------------------------------------------------------------------------------------------------

bool reads_values(const Op& op) {
  return op.id == id::Bernoulli || op.id == id::BernoulliTensor || op.id == id::Multinomial;
}

class RandomCall {
 public:
  RandomCall(const PlainCalls& plain, const Op& op) : plain_(plain), op_(op) {}

  // Inside the outermost `depth` transforms.
  Arg run(std::span<const Arg> bound, std::size_t depth) {
    const std::span<const TransformLevel> all = transform_levels();
    while (depth > 0 && all[depth - 1].asks_gradients()) --depth;
    if (depth == 0) return holds_batched(bound) ? escaped(bound) : plain_.call(op_, bound);
    const TransformLevel level = all[--depth];
    bool differs = false;
    for_tensors(bound, [&](const TensorRef& t) { differs |= has_level(*t, level.number); });
    switch (level.randomness) {
      case Randomness::Error:
        throw OpError(ErrorKind::Runtime,
                      "vmap: " + op_.public_name +
                          "() draws random numbers. Say vmap(..., randomness=\"different\") for other numbers in each "
                          "example, or randomness=\"same\"");
      case Randomness::Same:
        return differs ? same_for_all(bound, level, depth) : run(bound, depth);
      case Randomness::Different:
        break;
    }
    if (level.only_draws) return run(bound, depth);
    return differs || op_.operands > 0 || op_.schema.find("size") < 0 ? one_by_one(bound, level, depth)
                                                                      : by_sizes(bound, level, depth);
  }

 private:
  Arg escaped(std::span<const Arg> bound) {
    level_of(innermost(bound));
    throw InternalError("a batched tensor is left where no vmap is");
  }

  Arg same_for_all(std::span<const Arg> bound, const TransformLevel& level, std::size_t depth) {
    if (reads_values(op_))
      throw OpError(ErrorKind::Runtime, "vmap: with randomness=\"same\" " + op_.public_name +
                                            "() takes no probabilities that differ from example to example");
    // Of operands only sizes and dtype count: those of the first example do.
    std::vector<Arg> args;
    for (const Arg& a : bound)
      args.push_back(map_tensors(a, [&](const TensorRef& t) {
        if (!has_level(*t, level.number)) return Arg(t);
        return eager_caller().call(id::Select, {without_last(t), 0, 0});
      }));
    return run(args, depth);
  }

  Arg by_sizes(std::span<const Arg> bound, const TransformLevel& level, std::size_t depth) {
    std::vector<Arg> args(bound.begin(), bound.end());
    Arg& size = args[static_cast<std::size_t>(op_.schema.find("size"))];
    ListArg sizes;
    if (const auto* l = size.get_if<ListArg>())
      sizes = *l;
    else
      sizes.items.push_back(size);
    sizes.items.insert(sizes.items.begin(), Arg(level.size));
    size = sizes;
    return on_level(run(args, depth), level.number);
  }

  Arg one_by_one(std::span<const Arg> bound, const TransformLevel& level, std::size_t depth) {
    ListArg made;
    for (std::int64_t k = 0; k < level.size; ++k) {
      std::vector<Arg> args;
      for (const Arg& a : bound)
        args.push_back(map_tensors(a, [&](const TensorRef& t) {
          return has_level(*t, level.number) ? eager_caller().call(id::Select, {without_last(t), 0, k}) : Arg(t);
        }));
      made.items.push_back(run(args, depth));
    }
    if (made.items.empty()) {
      throw OpError(ErrorKind::Runtime, "vmap: no random numbers can be drawn for 0 examples");
    }
    return on_level(eager_caller().call(id::Stack, {made, 0}), level.number);
  }

  const PlainCalls& plain_;
  const Op& op_;
};

bool is_vmap_under_way() {
  return std::ranges::any_of(transform_levels(), [](const TransformLevel& l) { return !l.asks_gradients(); });
}

// What was made since the innermost transform began, the function may write to. A view belongs to whoever made its
// base.
void note_making(const Op& op, std::span<const Arg> bound, const Arg& result) {
  if (transform_levels().empty()) return;  // those under way are other threads'
  std::uint32_t now = transforms_begun.load(std::memory_order_relaxed);
  if (op.kind() == OpKind::View) now = bound[0].get<TensorRef>()->made_after;
  for_tensors(std::span<const Arg>(&result, 1), [&](const TensorRef& t) {
    if (t->made_after != 0 || std::ranges::any_of(bound, [&](const Arg& a) { return a == Arg(t); })) return;
    bool shared = false;
    for_tensors(bound, [&](const TensorRef& x) {
      if (x->storage == t->storage) shared = true, t->made_after = x->made_after;
    });
    if (!shared) t->made_after = now;
  });
}

}  // namespace

bool holds_batched(std::span<const Arg> args) { return innermost(args) != 0; }

Arg call_in_transform(const PlainCalls& plain, const Op& op, std::span<const Arg> bound) {
  Arg result;
  if (op.kind() == OpKind::Random && is_vmap_under_way()) {
    result = RandomCall(plain, op).run(bound, transform_levels().size());
  } else if (holds_batched(bound)) {
    result = batched_call(plain, op, bound);
  } else if (opens(op, bound) && !op.decl->own_gradient && is_vmap_under_way()) {
    result = plain.opened(op, bound);  // its parts may draw random numbers
  } else {
    result = plain.call(op, bound);
  }
  note_making(op, bound, result);
  return result;
}

namespace {

[[noreturn]] void refuse_write(const Op& op) {
  throw OpError(ErrorKind::Runtime,
                "vmap: " + op.public_name +
                    "_() would write what differs from example to example into a tensor that is the same for all of "
                    "them: make it by x.new_zeros() or the like from a tensor that differs, or use " +
                    op.public_name + "()");
}

// `value` for a tensor with these levels in front: 1 where it is the same for all examples.
Arg fitted(const TensorRef& value, std::span<const std::uint32_t> levels, int rank, const Op& op) {
  const Batch* b = batch_of(*value);
  if (!b) return value;
  Arg out = b->all;
  for (int i = value->dim(); i < rank; ++i)
    out = eager_caller().call(id::Unsqueeze, {out, static_cast<std::int64_t>(b->levels.size())});
  std::size_t k = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    if (k < b->levels.size() && b->levels[k] == levels[i])
      ++k;
    else
      out = eager_caller().call(id::Unsqueeze, {out, static_cast<std::int64_t>(i)});
  }
  if (k < b->levels.size()) refuse_write(op);
  return out;
}

}  // namespace

TensorRef write_in_transform(const PlainCalls& plain, const Op& op, std::span<const Arg> bound,
                             const TensorRef& target) {
  const TensorRef self = bound[0].get<TensorRef>();
  check_captured_write(target->made_after, op.public_name);
  const bool may_draw = op.kind() == OpKind::Random || op.kind() == OpKind::Composite;
  if (!holds_batched(bound) && !(may_draw && is_vmap_under_way())) return plain.write(op, bound, target);
  const Arg value = op.id == id::Copy ? bound[1] : call_op(op, bound);
  if (value == Arg(self)) return self;
  const TensorRef from = value.is<TensorRef>() ? value.get<TensorRef>() : TensorRef();
  if (!from) throw InternalError("a write in place of what is no tensor");
  if (op.id == id::Copy)
    infer(op, bound);
  else
    check_inplace(op, type_of(Arg(self)), type_of(value));
  const Batch* b = batch_of(*self);
  if (from->dim() > self->dim()) refuse_write(op);
  const TensorRef into = b ? b->all : self;
  const Arg source =
      fitted(from, b ? std::span<const std::uint32_t>(b->levels) : std::span<const std::uint32_t>(), self->dim(), op);
  const Batch* whole = batch_of(*target);
  const Arg args[] = {into, source};
  plain.write(md::op(id::Copy), std::span<const Arg>(args), target == self ? into : whole ? whole->all : target);
  renew_grad_state(*self);
  renew_grad_state(*target);
  return self;
}

// --- Between levels --------------------------------------------------------------------------------------------------

namespace {

// The dimensions of `all`, whose first ones have the levels `have`, with the levels in the order `wanted`.
TensorRef reordered(const TensorRef& all, std::span<const std::uint32_t> have, std::span<const std::uint32_t> wanted) {
  if (std::ranges::equal(have, wanted)) return all;
  ListArg dims;
  for (const std::uint32_t l : wanted)
    dims.items.emplace_back(static_cast<std::int64_t>(std::ranges::find(have, l) - have.begin()));
  for (std::size_t i = have.size(); i < all->sizes.size(); ++i) dims.items.emplace_back(static_cast<std::int64_t>(i));
  return eager_caller().call(id::Permute, {all, dims}).get<TensorRef>();
}

}  // namespace

TensorRef without_levels(const TensorRef& x, std::span<const std::uint32_t> levels) {
  if (levels.empty()) return x;
  const Batch* b = batch_of(*x);
  TensorRef all = b ? b->all : x;
  std::vector<std::uint32_t> have = b ? b->levels : std::vector<std::uint32_t>{};
  for (const std::uint32_t l : levels) {
    if (std::ranges::find(have, l) != have.end()) continue;
    SizeVec sizes{level_of(l).size};
    for (const std::int64_t s : all->sizes) sizes.push_back(s);
    all = eager_caller().call(id::Expand, {all, sizes_arg(sizes)}).get<TensorRef>();
    have.insert(have.begin(), l);
  }
  std::vector<std::uint32_t> rest;
  for (const std::uint32_t l : have)
    if (std::ranges::find(levels, l) == levels.end()) rest.push_back(l);
  std::ranges::sort(rest);
  std::vector<std::uint32_t> order = rest;
  order.insert(order.end(), levels.begin(), levels.end());
  TensorRef moved = reordered(all, have, order);
  return batched_tensor(std::move(moved), std::move(rest));
}

TensorRef with_levels(const TensorRef& given, std::span<const std::uint32_t> levels) {
  if (levels.empty()) return given;
  const TensorRef x = resolved(given);
  const Batch* b = batch_of(*x);
  std::vector<std::uint32_t> have = b ? b->levels : std::vector<std::uint32_t>{};
  have.insert(have.end(), levels.begin(), levels.end());
  std::vector<std::uint32_t> order = have;
  std::ranges::sort(order);
  TensorRef moved = reordered(b ? b->all : x, have, order);
  return batched_tensor(std::move(moved), std::move(order));
}

}  // namespace md
