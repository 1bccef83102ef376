// A write makes a new value of the whole storage; every view of it is computed again from there when it is next read.
#include "ir/compile/passes/storage_values.h"

#include <algorithm>
#include <iterator>

#include "ir/compile/passes/layouts.h"
#include "ir/compile/passes/stacks.h"
#include "ir/core/error.h"
#include "ir/gradients/tape.h"
#include "ir/graph/dataflow.h"
#include "ir/graph/op_ids.h"
#include "ir/infer/inplace.h"

namespace md {
namespace {

bool is_lazy(const Handle& h) { return h.view && (h.view->id == id::ConjView || h.view->id == id::NegView); }

// `h`, what it is a view of, and so on, as far as nothing is known yet. Chains may be as long as the program.
template <class H, class IsKnown>
std::vector<H*> unknown_chain(H& h, IsKnown is_known) {
  std::vector<H*> chain;
  for (H* at = &h; at && !is_known(*at); at = at->parent) chain.push_back(at);
  return chain;
}

}  // namespace

// --- Tensors and their storages ---------------------------------------------------------------------------------

Handle& StorageValues::handle(const Arg& a) const {
  const auto* n = a.get_if<Node*>();
  if (!n) throw InternalError("functionalize: " + out_.origin_name() + " needs a tensor");
  return handle(*n);
}

Handle& StorageValues::new_handle(Node* node, int storage) {
  Handle& h = handles_.emplace_back(Handle{.node = node, .storage = storage});
  by_node_[node] = &h;
  return h;
}

Node* StorageValues::of_type(TensorType type) {
  return &typed_.emplace_back(Node{.kind = NodeKind::Op, .types = {std::move(type)}});
}

Handle& StorageValues::new_base(Node* node, Node* value) {
  Handle& h = new_handle(node, static_cast<int>(storages_.size()));
  storages_.push_back({.base = &h, .value = value});
  h.value = value, h.version = 0;
  return h;
}

Handle& StorageValues::new_input(Node* placeholder) {
  Handle& h = new_base(placeholder->type(), placeholder);
  State& s = storages_.back();
  s.placeholder = placeholder;
  s.input = input_count_++;
  const int number = h.type().storage;
  if (number >= 0) {
    out_.reserve_storage(number);
    const auto [first, fresh] = input_storage_.emplace(number, h.storage);
    if (!fresh) s.shared = storages_[static_cast<std::size_t>(first->second)].shared = true;
  }
  return h;
}

Handle& StorageValues::new_constant(Node* value) {
  Handle& h = new_base(value->type(), value);
  storages_.back().constant = true;
  return h;
}

Handle& StorageValues::new_view(const Op& view, BoundArgs args) {
  Handle& parent = handle(args.at(0));
  Handle& h = new_handle(of_type(infer(view, args).at(0)), parent.storage);
  h.parent = &parent, h.view = &view;
  h.view_args = std::move(args);
  h.unrecorded = same_history_ && !grad_enabled();
  return h;
}

// --- Reading and writing ----------------------------------------------------------------------------------------

Node* StorageValues::value(Handle& h) {
  const State& s = storage(h);
  if (h.version == s.version) return h.value;
  const auto chain = unknown_chain(h, [&](const Handle& known) { return known.version == s.version; });
  const GradMode on(same_history_ || grad_enabled());  // where a view is read says nothing about its history
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    Handle& seen = **at;
    seen.value = seen.parent ? see(*seen.view, seen.view_args, seen.parent->value, seen.parent->type()) : s.value;
    if (seen.unrecorded) seen.value->types[0].requires_grad = false;
    seen.version = s.version;
  }
  return h.value;
}

// A view node; on a compact copy where the layout of `on` differs from eager's and does not allow the view.
Node* StorageValues::see(const Op& view, BoundArgs args, Node* on, const TensorType& eager) {
  if (view.id == id::AsStrided && !(same_layout(on->type(), eager) && on->type().offset == eager.offset)) {
    throw NotFunctional("functionalize: as_strided of a tensor laid out unlike eager mode's");
  }
  if (view.id == id::ConjView || view.id == id::NegView) return turned_round(view.id, on);
  if (Node* const seen = see_stacked(view, args, on)) return seen;
  args[0] = on;
  try {
    return out_.append_op(view, args);
  } catch (const OpError&) {
    args[0] = out_.append_op(op(id::Compact), {on});
    return out_.append_op(view, std::move(args));
  }
}

// Where values were stacked, the value that a view selects, and views of complex values as views of both parts; else
// null. Memory that nobody reads any more is not made.
Node* StorageValues::see_stacked(const Op& view, const BoundArgs& args, Node* on) {
  if (view.id == id::ViewAsReal) return is_joined_pairs(*on) ? on->args[0].get<Node*>() : nullptr;
  if (Node* const part = selected_part(view, args, *on)) {
    if (!same_history_) return part;
    // Derivatives of the uses are added up here before they get to the part, as eager mode's do.
    ListArg order;
    for (int i = 0; i < part->type().dim(); ++i) order.items.emplace_back(i);
    return out_.append_op(op(id::Permute), {part, order});
  }
  const bool of_places = view.id == id::AsStrided || view.id == id::ViewDType;
  if (of_places || !is_joined_pairs(*on)) return nullptr;
  ListArg raised;
  for (const Arg& x : on->args[0].get<Node*>()->args[0].get<ListArg>().items) {
    Node* const part = x.get<Node*>()->args[0].get<Node*>();
    raised.items.emplace_back(out_.append_op(op(id::Unsqueeze), {see(view, args, part, part->type()), -1}));
  }
  return out_.append_op(op(id::ViewAsComplex), {out_.append_op(op(id::Cat), {raised, -1})});
}

// Of conjugates and negatives over the same memory: a value of its own, and the way back is the same.
Node* StorageValues::turned_round(OpId view, Node* on) {
  if (!is_complex(on->type().dtype)) return out_.append_op(op(id::Neg), {on});
  Node* const pairs = see(op(id::ViewAsReal), {on}, on, on->type());
  ListArg raised;
  for (const int i : {0, 1}) {
    Node* part = see(op(id::Select), {pairs, -1, i}, pairs, pairs->type());
    if (i == 1 || view == id::NegView) part = out_.append_op(op(id::Neg), {part});
    raised.items.emplace_back(out_.append_op(op(id::Unsqueeze), {part, -1}));
  }
  return out_.append_op(op(id::ViewAsComplex), {out_.append_op(op(id::Cat), {raised, -1})});
}

void StorageValues::write(Handle& self, Handle& result) {
  State& s = storage(self);
  if (s.constant) throw NotFunctional("functionalize: a constant of the graph is written to");
  if (s.shared) throw NotFunctional("functionalize: an input that shares storage with another one is written to");
  // A write through any view changes elements of the base, which a value of distinct elements cannot say.
  if (!s.overlaps) s.overlaps = overlaps_itself(s.base->type());
  if (*s.overlaps || overlaps_itself(self.type())) {
    throw NotFunctional("functionalize: a tensor whose elements overlap is written to");
  }
  if (!(result.type().sizes == self.type().sizes)) {
    throw NotFunctional("functionalize: the result of " + out_.origin_name() + " does not fit its operand");
  }
  Node* v = value(result);
  if (same_history_ && !is_recorded_write(self)) {
    Node *const base_before = s.value, *const before = value(self);
    write_value(s, self, out_.append_op(op(id::Clone), {v}));  // a value of its own, for it has another history
    const auto keep_history = [&](Node* now, Node* of) {
      now->types[0].requires_grad = of->type().requires_grad;
      same_history_->emplace(now, of);
    };
    keep_history(s.value, base_before);
    if (self.value != s.value) keep_history(self.value, before);
    return;
  }
  const GradMode on(same_history_ || grad_enabled());
  write_value(s, self, v);
}

bool StorageValues::is_recorded_write(Handle& self) const {
  if (!grad_enabled()) return false;
  const auto chain = unknown_chain(self, [](const Handle&) { return false; });
  return std::ranges::none_of(chain,
                              [](const Handle* h) { return h->unrecorded || (h->view && h->view->id == id::Detach); });
}

void StorageValues::write_value(State& s, Handle& self, Node* v) {
  const DType dtype = self.type().dtype;
  if (v->type().dtype != dtype) {
    if (info(v->type().dtype).category > info(dtype).category) {
      throw NotFunctional("functionalize: the result of " + out_.origin_name() + " cannot be cast to its operand");
    }
    v = out_.append_op(op(id::Convert), {v, dtype});
  }
  Handle* lazy = &self;
  while (lazy && !is_lazy(*lazy)) lazy = lazy->parent;
  if (lazy) {
    Node* const whole = lazy == &self ? v : write_view(*lazy, out_.compact(value(*lazy)), self, v);
    write_value(s, *lazy->parent, turned_round(lazy->view->id, whole));
    self.value = v, self.version = s.version;
    return;
  }
  s.value = self.parent ? write_view(*s.base, s.value, self, v) : out_.compact(v);
  ++s.version;
  self.value = v, self.version = s.version;
  s.base->value = s.value, s.base->version = s.version;
}

// Where `h` lies in a contiguous tensor with the sizes of `whole`, of which it is a view.
TensorType StorageValues::placement(const Handle& h, const Handle& whole) const {
  const auto chain = unknown_chain(h, [&](const Handle& above) { return &above == whole.parent; });
  TensorType t = chain.back()->type();
  t.strides = contiguous(t.sizes);
  t.offset = 0;
  try {
    for (auto at = std::next(chain.rbegin()); at != chain.rend(); ++at) {
      Node on{.kind = NodeKind::Op, .types = {std::move(t)}};
      BoundArgs args = (*at)->view_args;
      args[0] = &on;
      t = infer(*(*at)->view, args).at(0);
    }
  } catch (const OpError& e) {
    throw NotFunctional(std::string("functionalize: a view of a permuted tensor is written to: ") + e.what());
  }
  return t;
}

// What `whole` holds with the elements that `h` shows replaced by `v`. Complex numbers are written as their parts.
Node* StorageValues::write_view(const Handle& whole, Node* held, const Handle& h, Node* v) {
  const DType base = whole.type().dtype, seen = h.type().dtype;
  SizeVec sizes = whole.type().sizes;
  if (!is_complex(base) && !is_complex(seen)) return write_placed(held, placement(h, whole), sizes, v);
  if (to_real(base) != to_real(seen))
    throw NotFunctional("functionalize: complex numbers are written as elements of another dtype");
  TensorType at = placement(h, whole);
  const auto as_pairs = [&](Node* n) { return see(op(id::ViewAsReal), {n}, n, n->type()); };
  if (is_complex(seen)) {
    for (Size& step : at.strides) step = step * 2;
    at.offset = at.offset * 2;
    at.strides.push_back(1), at.sizes.push_back(2);
    v = as_pairs(v);
  }
  if (!is_complex(base)) return write_placed(held, at, sizes, v);
  sizes.push_back(2);
  return out_.append_op(op(id::ViewAsComplex), {write_placed(as_pairs(held), at, sizes, v)});
}

Node* StorageValues::write_placed(Node* whole, const TensorType& at, const SizeVec& base_sizes, Node* v) {
  if (element_count(at.sizes) == element_count(base_sizes) && is_dense(at)) {  // every element: the old value is dead
    ListArg order;
    bool moved = false;
    for (int d : memory_order(at)) {
      moved |= d != static_cast<int>(order.items.size());
      order.items.push_back(d);
    }
    Node* linear = out_.compact(moved ? out_.append_op(op(id::Permute), {v, order}) : v);
    return linear->type().sizes == base_sizes ? linear : out_.append_op(op(id::View), {linear, int_list(base_sizes)});
  }
  return out_.append_op(op(id::WriteView), {whole, v, int_list(at.strides), at.offset});
}

// --- The end ----------------------------------------------------------------------------------------------------

Node* StorageValues::base_alias(const Handle& base) {
  State& s = storage(base);
  if (s.placeholder) return s.placeholder;
  Node* n = out_.laid_out(s.value, base.type());
  const bool taken = !escaped_.insert(n).second;  // two tensors with one value: each its own memory
  return taken ? out_.append_op(op(id::Clone), {n}) : n;
}

Node* StorageValues::alias(Handle& h) {
  const auto chain = unknown_chain(h, [](const Handle& known) { return known.alias != nullptr; });
  for (auto at = chain.rbegin(); at != chain.rend(); ++at) {
    Handle& seen = **at;
    if (!seen.parent) {
      seen.alias = base_alias(seen);
      continue;
    }
    if (is_lazy(seen)) throw NotFunctional("functionalize: a result is a conjugate or negative view");
    BoundArgs args = seen.view_args;
    args[0] = seen.parent->alias;
    seen.alias = out_.append_op(*seen.view, std::move(args));
  }
  return h.alias;
}

std::vector<std::pair<int, Node*>> StorageValues::changed_inputs() {
  std::vector<std::pair<int, Node*>> changed;
  for (State& s : storages_) {
    if (s.placeholder && s.version > 0) changed.emplace_back(s.input, out_.own(s.value));
  }
  return changed;
}

}  // namespace md
