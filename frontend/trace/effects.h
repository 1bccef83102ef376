// Side effects of the traced program on objects that existed before it: recorded in program order, replayed after the
// graph has run. Objects made while tracing need none: they are rebuilt with their final contents.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/trace/value.h"

namespace md {

struct StreamFacts;

enum class EffectKind : std::uint8_t {
  ListAppend,  // value
  ListAssign,  // from place `first` on, `removed` elements (-1: all) make room for items
  DequeCall,   // its method `name`, called with items
  DictSet,     // key, value
  DictDelete,  // key
  DictClear,
  SetAdd,
  SetDiscard,  // key
  SetClear,
  AttrSet,     // name, value; plain instance attribute
  AttrDelete,  // name
  CellSet,     // value (null: emptied)
  GlobalSet,   // name, value
  Call,        // value is called with items, the last of them named by name, a tuple of str (or null)
};

struct SideEffect {
  EffectKind kind;
  ValueRef target;  // null for globals
  PyRef name;
  ValueRef key, value;
  std::vector<ValueRef> items;
  std::int64_t first = 0, removed = -1;
};

class Effects {
 public:
  void record(SideEffect e) {
    list_.push_back(std::move(e));
    if (noticed) noticed();
  }
  bool empty() const { return list_.empty(); }
  const std::vector<SideEffect>& list() const { return list_; }
  std::vector<SideEffect>& list() { return list_; }

  std::function<void()> noticed;                             // called after each
  std::unordered_map<std::string, ValueRef> stored_globals;  // the root module's globals written so far
  std::vector<ValueRef> deferred;  // calls whose results only a run knows, in program order (values/deferred_calls.h)
  std::shared_ptr<StreamFacts> stream;  // of the one whose place is followed

 private:
  std::vector<SideEffect> list_;
};

// The real objects a trace has met.
struct MetObjects {
  std::unordered_map<PyObject*, ValueRef> known;  // those wrapped, by identity
  std::vector<PyRef> keep_alive;                  // the keys of `known`
  std::vector<ValueRef> data_owners;              // what Value::owner points to
};

}  // namespace md
