// Entries per code object in co_extra: found by options and guards, in a list or an index, and dropped safely.
#include "frontend/entries/code_cache.h"

#include <algorithm>
#include <new>

#include "frontend/cpython/code_extra.h"
#include "frontend/entries/entry_index.h"
#include "frontend/guards/guard.h"

namespace md {
namespace {

// More entries than these are looked up by an index.
constexpr std::size_t kFewEntries = 4;

struct Stored : CodeState {
  Stored* previous = nullptr;
  Stored* next = nullptr;
  bool indexed = false;
  std::vector<std::pair<const CompileOptions*, EntryIndex>> indexes;
  std::size_t unscanned = 0;  // compilations since entries about dead objects were looked for

  EntryIndex* index_of(const CompileOptions* options) {
    for (auto& [of, index] : indexes)
      if (of == options) return &index;
    return nullptr;
  }

  void to_index(Entry* e) {
    EntryIndex* index = index_of(e->options);
    if (!index) index = &indexes.emplace_back(e->options, EntryIndex()).second;
    index->insert(e);
  }

  void add(const EntryRef& e) {
    if (indexed)
      entries.push_back(e);
    else
      entries.insert(e->last ? entries.end() : entries.begin(), e);
    if (entries.size() <= kFewEntries && !indexed) return;
    try {
      if (indexed) return to_index(e.get());
      indexed = true;
      std::ranges::sort(entries, {}, [](const EntryRef& e) { return e->entry_id; });
      for (const EntryRef& each : entries) to_index(each.get());
    } catch (const std::bad_alloc&) {  // they are tried one after the other until there is room for an index
      indexes.clear();
      indexed = false;
    }
  }
};

// Head of the list of everything stored, for clear_code_cache() and remove_entries_under(). Used with the GIL held.
Stored* stored_head = nullptr;

void unlink(Stored* s) {
  (s->previous ? s->previous->next : stored_head) = s->next;
  if (s->next) s->next->previous = s->previous;
}

// Entries may own Python objects whose release runs Python code, which may come back here: they are dropped only after
// the state they were in is consistent again.
using Dropped = std::vector<EntryRef>;

void release_state(void* p) {
  auto* s = static_cast<Stored*>(p);
  if (!s) return;
  unlink(s);
  for (const EntryRef& e : s->entries) e->removed = true;
  delete s;
}

template <class Predicate>
void take_entries(Stored& state, Predicate&& gone, Dropped& dropped) {
  auto kept =
      std::stable_partition(state.entries.begin(), state.entries.end(), [&](const EntryRef& e) { return !gone(*e); });
  for (auto it = kept; it != state.entries.end(); ++it) {
    (*it)->removed = true;
    if (EntryIndex* index = state.index_of((*it)->options)) index->remove(it->get());
    dropped.push_back(std::move(*it));
  }
  state.entries.erase(kept, state.entries.end());
}

Stored* stored(PyCodeObject* code) { return static_cast<Stored*>(code_extra(code)); }

}  // namespace

CodeState* code_state(PyCodeObject* code) { return stored(code); }

CodeState& ensure_code_state(PyCodeObject* code) {
  if (CodeState* known = code_state(code)) return *known;
  auto fresh = std::make_unique<Stored>();
  set_code_extra(code, fresh.get(), release_state);
  fresh->next = stored_head;
  if (stored_head) stored_head->previous = fresh.get();
  stored_head = fresh.get();
  return *fresh.release();
}

namespace {

constexpr unsigned kManyMisses = 256, kAskedAgain = 64;

template <class Passes>
[[gnu::noinline]] Entry* by_index(Stored& state, const CompileOptions* options, const FrameArgs& args,
                                  Passes&& passes) {
  EntryIndex* index = state.index_of(options);
  return index ? index->find(args, [&](const Entry& e) { return passes(*e.guards); }) : nullptr;
}

template <class Passes>
EntryRef first_passing(Stored* state, const CompileOptions* options, const FrameArgs& args, Passes&& passes) {
  if (!state) return {};
  auto& entries = state->entries;
  const bool limited = options == state->limited;
  if (limited && state->misses >= kManyMisses && ++state->misses % kAskedAgain != 0) return {};
  if (state->indexed) {
    Entry* found = by_index(*state, options, args, passes);
    state->misses = found ? 0 : state->misses + 1;
    return found ? EntryRef(found) : EntryRef();
  }
  for (auto it = entries.begin(); it != entries.end(); ++it) {
    if ((*it)->options != options || !passes(*(*it)->guards)) continue;
    state->misses = 0;
    EntryRef found = *it;
    if (it != entries.begin() && !found->last) std::rotate(entries.begin(), it, it + 1);
    return found;
  }
  ++state->misses;
  return {};
}

}  // namespace

EntryRef find_entry(PyCodeObject* code, const CompileOptions* options, const FrameArgs& args) {
  return first_passing(stored(code), options, args, [&](const CompiledGuards& p) { return check(p, args); });
}

EntryRef find_entry(CodeState& state, const CompileOptions* options, const FrameArgs& args, LoadedValues& values) {
  return first_passing(static_cast<Stored*>(&state), options, args, [&](const CompiledGuards& p) {
    values.resize(wanted_count(p));
    return check_and_load(p, args, values.data());
  });
}

EntryRef find_entry(PyCodeObject* code, const CompileOptions* options, const FrameArgs& args, LoadedValues& values) {
  CodeState* state = code_state(code);
  return state ? find_entry(*state, options, args, values) : EntryRef();
}

EntryRef insert_entry(PyCodeObject* code, Entry entry) {
  EntryRef made(new Entry(std::move(entry)));
  auto& state = static_cast<Stored&>(ensure_code_state(code));
  if (state.limited == made->options) state.misses = 0;
  state.add(made);
  return made;
}

std::vector<EntryRef> entries_of(PyCodeObject* code, const CompileOptions* options) {
  std::vector<EntryRef> out;
  if (const CodeState* state = code_state(code)) {
    for (const EntryRef& e : state->entries) {
      if (!options || e->options == options) out.push_back(e);
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const EntryRef& a, const EntryRef& b) { return a->entry_id > b->entry_id; });
  return out;
}

EntryRef newest_entry(PyCodeObject* code, const CompileOptions* options) {
  const Stored* state = stored(code);
  if (!state || state->entries.empty()) return {};
  if (state->indexed && state->entries.back()->options == options) return state->entries.back();
  const EntryRef* newest = nullptr;
  for (const EntryRef& e : state->entries)
    if (e->options == options && (!newest || e->entry_id > (*newest)->entry_id)) newest = &e;
  return newest ? *newest : EntryRef();
}

void drop_dead_entries(PyCodeObject* code) {
  Dropped dropped;
  if (Stored* state = stored(code)) {
    state->unscanned = 0;
    take_entries(*state, [](const Entry& e) { return is_dead(*e.guards); }, dropped);
  }
}

void drop_entries(PyCodeObject* code) {
  Dropped dropped;
  if (Stored* state = stored(code)) take_entries(*state, [](const Entry&) { return true; }, dropped);
}

void drop_dead_entries_in_turn(PyCodeObject* code) {
  constexpr std::size_t kEachTime = 16;
  Stored* state = stored(code);
  if (state && ++state->unscanned * kEachTime >= state->entries.size()) drop_dead_entries(code);
}

void remove_entries_under(const CompileOptions* options) {
  Dropped dropped;
  for (Stored* s = stored_head; s; s = s->next) {
    std::erase_if(s->indexes, [&](const auto& i) { return i.first == options; });
    take_entries(*s, [&](const Entry& e) { return e.options == options; }, dropped);
    if (s->limited == options) s->limited = nullptr;
    if (s->notes) s->notes->forget(options);
  }
}

void clear_code_cache() {
  Dropped dropped;
  std::vector<std::shared_ptr<CodeNotes>> notes;
  for (Stored* s = stored_head; s; s = s->next) {
    s->indexes.clear();
    s->indexed = false;
    take_entries(*s, [](const Entry&) { return true; }, dropped);
    s->limited = nullptr;
    s->misses = 0;
    if (!s->notes) continue;
    std::shared_ptr<CodeNotes> kept = s->notes->kept();
    notes.push_back(std::exchange(s->notes, std::move(kept)));
  }
}

}  // namespace md
