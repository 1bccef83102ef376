// Counts the references values have to a waiting generator.
#include "frontend/interpreter/abandoned_generators.h"

#include <algorithm>

#include "frontend/trace/breaks.h"
#include "frontend/values/iterators.h"

namespace md {
namespace {

void close_one(Tracer& t, GeneratorValue& g) {
  try {
    g.close(t);
  } catch (const TracedRaise&) {  // Python prints it and goes on
    unmodelled(g.print(), "exception in the cleanup of a generator that was left");
  }
}

}  // namespace

void close_abandoned(Tracer& t) {
  auto& waiting = t.stack.cleanups;
  for (std::size_t k = 0; k < waiting.size(); ++k) {
    if (waiting[k]->use_count() != 1) continue;
    const ValueRef left = std::move(waiting[k]);
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(k--));
    auto* g = as<GeneratorValue>(left);
    if (g && !g->running && g->has_cleanup()) return close_one(t, *g);  // the list may have changed
  }
}

void close_at_return(Tracer& t) {
  for (ValueRef& slot : t.frame().slots)
    if (slot && std::ranges::find(t.stack.cleanups, slot.get(), &ValueRef::get) != t.stack.cleanups.end()) slot = {};
  for (std::size_t before = t.stack.cleanups.size() + 1; before > t.stack.cleanups.size();) {
    before = t.stack.cleanups.size();
    close_abandoned(t);
  }
}

void keep_open(Tracer& t) {
  auto& pinned = t.objects.data_owners;
  pinned.insert(pinned.end(), t.stack.cleanups.begin(), t.stack.cleanups.end());
}

}  // namespace md
