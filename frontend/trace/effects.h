// Side effects of the traced program on objects that existed before it: recorded in program order, replayed after the
// graph has run. Objects made while tracing need none: they are rebuilt with their final contents.
#pragma once

#include <vector>

#include "frontend/trace/value.h"

namespace md {

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
  void record(SideEffect e) { list_.push_back(std::move(e)); }
  bool empty() const { return list_.empty(); }
  const std::vector<SideEffect>& list() const { return list_; }
  std::vector<SideEffect>& list() { return list_; }

 private:
  std::vector<SideEffect> list_;
};

}  // namespace md
