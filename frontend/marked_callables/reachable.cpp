// Compares what values hold before and after a call, by identity.
#include "frontend/marked_callables/reachable.h"

#include <set>

#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/functions.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"

namespace md {

// What `v` holds, by identity; the values among it go to `inside`.
std::vector<const void*> ReachableState::parts_of(const ValueRef& v, std::vector<ValueRef>* inside) {
  std::vector<const void*> parts;
  const auto add = [&](const ValueRef& part) {
    parts.push_back(part.get());
    if (inside && part) inside->push_back(part);
  };
  if (auto* cell = as<CellValue>(v)) {
    if (cell->looked) add(cell->content);
  } else if (auto* list = as<ListValue>(v)) {
    for (auto& item : list->items) add(item);
  } else if (auto* tuple = as<TupleValue>(v)) {
    for (auto& item : tuple->items) add(item);
  } else if (auto* dict = as<DictValue>(v)) {
    for (auto& e : dict->entries) add(e.value);
  } else if (auto* set = as<SetValue>(v)) {
    for (auto& item : set->held) add(item);
    parts.push_back(reinterpret_cast<const void*>(PySet_GET_SIZE(set->members.get())));
  } else if (auto* object = as<ObjectValue>(v)) {
    for (auto& a : object->attrs) add(a.value);
  } else if (auto* method = as<MethodValue>(v)) {
    add(method->function), add(method->self);
  } else if (auto* deque = as<DequeValue>(v)) {
    for (auto& item : deque->items) add(item);
  } else if (auto* partial = as<PartialValue>(v)) {
    add(partial->function);
    for (auto& a : partial->args.positional) add(a);
    for (auto& [key, a] : partial->args.keywords) add(a);
  } else if (auto* bound = as<BoundAttrValue>(v)) {
    add(bound->self);
  } else if (auto* sequence = as<SequenceIterator>(v)) {
    parts.push_back(reinterpret_cast<const void*>(sequence->index));
    add(sequence->base);
  } else if (auto* steps = as<FunctionIterator>(v)) {
    parts.push_back(reinterpret_cast<const void*>(steps->count));
    for (auto& inner : steps->inner) add(inner);
  } else if (auto* generator = as<GeneratorValue>(v)) {
    parts.push_back(
        reinterpret_cast<const void*>(static_cast<std::intptr_t>(generator->frame ? generator->frame->pc : -1)));
  } else if (auto* f = as<FunctionValue>(v)) {
    for (auto& c : f->closure) add(ValueRef(c));
    for (auto& d : f->defaults) add(d);
  } else if (auto* lazy = as<LazyValue>(v); lazy && lazy->realized) {
    if (inside) inside->push_back(lazy->realized);
  }
  return parts;
}

ReachableState::ReachableState(Tracer& t, std::vector<ValueRef> from) {
  std::set<const Value*> known;
  std::vector<ValueRef> pending;
  for (auto& v : from) pending.push_back(t.realize(v));
  while (!pending.empty()) {
    ValueRef v = pending.back();
    pending.pop_back();
    if (!known.insert(v.get()).second) continue;
    // Looked at for the first time by the call itself is no change.
    if (auto* cell = as<CellValue>(v)) (void)cell->get(t);
    auto parts = parts_of(v, &pending);
    seen_.push_back({v, std::move(parts)});
  }
}

bool ReachableState::has_changed() const {
  for (const Seen& s : seen_)
    if (parts_of(s.value, nullptr) != s.parts) return true;
  return false;
}

}  // namespace md
