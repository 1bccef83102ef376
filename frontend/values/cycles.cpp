// Notes what a trace changes, and empties all of it at the end.
#include "frontend/values/cycles.h"

#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/functions.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

thread_local CycleBreaker* current = nullptr;

void empty_out(const ValueRef& v) {
  if (auto* o = as<ObjectValue>(v)) o->attrs.clear();
  if (auto* l = as<ListValue>(v)) l->items.clear();
  if (auto* tuple = as<TupleValue>(v)) tuple->items.clear();
  if (auto* d = as<DictValue>(v)) d->entries.clear();
  if (auto* d = as<DequeValue>(v)) d->items.clear();
  if (auto* c = as<CellValue>(v)) c->content = ValueRef();
}

}  // namespace

CycleBreaker::CycleBreaker(Tracer& t) : tracer_(t), outer_(current) { current = this; }

CycleBreaker::~CycleBreaker() {
  current = outer_;
  for (auto& [object, v] : tracer_.objects.known) empty_out(v);
  for (auto& v : changed_) empty_out(v);
}

void CycleBreaker::note(Value* v) {
  if (changed_.empty() || changed_.back().get() != v)
    if (known_.insert(v).second) changed_.push_back(ValueRef(v));
}

void note_part_stored(Value* v) {
  if (current) current->note(v);
}

}  // namespace md
