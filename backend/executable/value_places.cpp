// Chains of views are walked with a list: they may be as long as the program.
#include "backend/executable/value_places.h"

#include "ir/core/error.h"
#include "ir/graph/dataflow.h"

namespace md {

Place ValuePlaces::add(Slot slot) {
  Place p{.slot = static_cast<int>(executable_.slots.size()), .type = slot.type};
  executable_.slots.push_back(std::move(slot));
  return p;
}

Place ValuePlaces::define(const Node& n, Slot slot) { return executable_.places[&n] = add(std::move(slot)); }

bool ValuePlaces::is_known(const Node* n) const {
  while (!contains(*n)) {
    if (n->kind == NodeKind::GetItem) return parts_.contains(n->args[0].get<Node*>());
    if (!is_view(*n)) return false;
    n = n->args[0].get<Node*>();
  }
  return true;
}

namespace {
// So many elements of dtype `from`, counted in those of `to`.
Size in_elements(Size count, DType from, DType to) {
  const auto have = static_cast<std::int64_t>(item_size(from)), want = static_cast<std::int64_t>(item_size(to));
  return have == want ? count : have > want ? count * (have / want) : floordiv(count, want / have);
}
}  // namespace

Place ValuePlaces::of(const Node* n) {
  std::vector<const Node*> views;  // on the way down
  while (is_view(*n) && !contains(*n)) {
    views.push_back(n);
    n = n->args[0].get<Node*>();
  }
  Place p = computed(n);
  for (; !views.empty(); n = views.back(), views.pop_back()) {
    const Node* const view = views.back();
    const DType from = n->type().dtype, to = view->type().dtype;
    p.shift = in_elements(p.shift, from, to) + (view->type().offset - in_elements(n->type().offset, from, to));
    p.type = view->type();
    set(*view, p);
  }
  return p;
}

Place ValuePlaces::computed(const Node* n) {
  if (const auto it = executable_.places.find(n); it != executable_.places.end()) return it->second;
  if (n->kind != NodeKind::GetItem) throw InternalError(n->name + " is used before it is computed");
  const auto it = parts_.find(n->args[0].get<Node*>());
  if (it == parts_.end()) throw InternalError(n->name + " takes a part of something that has none");
  return executable_.places[n] = it->second.at(static_cast<std::size_t>(n->index));
}

}  // namespace md
