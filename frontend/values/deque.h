// collections.deque: made while tracing, or an argument.
#pragma once

#include <optional>

#include "frontend/trace/value.h"

namespace md {

PyTypeObject* deque_type();  // borrowed

struct DequeValue final : Value {
  static constexpr ValueKind kKind = ValueKind::Deque;
  DequeValue(std::vector<ValueRef> items, std::optional<std::int64_t> maxlen);
  std::string print() const override { return "DequeVariable()"; }
  PyTypeObject* python_type() const override { return deque_type(); }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  std::optional<std::int64_t> length(Tracer&) override { return static_cast<std::int64_t>(items.size()); }
  bool truth(Tracer&) override { return !items.empty(); }
  ValueRef iter(Tracer& t) override;
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;

  // Before the first change and after each, which a call of `method` makes of one that existed before.
  void changing();
  void changed(Tracer& t, const char* method, std::vector<ValueRef> args = {});
  // At the right end, or the left: what is too much falls out at the other.
  void push(ValueRef v, bool left);
  std::size_t position(Tracer& t, const ValueRef& key) const;  // IndexError in the traced program

  std::vector<ValueRef> items;
  std::optional<std::int64_t> maxlen;
  // How many items equal this one; with `first_only` at most one.
  std::int64_t count_equal(Tracer& t, const ValueRef& item, bool first_only = false);
  std::int64_t changes = 0;  // iterators made before end with RuntimeError
};

// deque(iterable=(), maxlen=None)
ValueRef make_deque(Tracer& t, CallArgs& args);
ValueRef wrap_deque(Tracer& t, PyObject* o, SourceRef s);

}  // namespace md
