// Methods of collections.deque.
#include <algorithm>

#include "frontend/builtins/families.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/deque.h"
#include "frontend/values/let_go.h"
#include "frontend/values/refusals.h"

namespace md {

namespace {

DequeValue& deque_of(Value& self) { return static_cast<DequeValue&>(self); }

// One by one, as the elements come; of itself it takes those it has.
ValueRef extended(Tracer& t, Value& self, CallArgs& args, bool left) {
  expect_args(t, left ? "extendleft" : "extend", args, 1, 1);
  DequeValue& d = deque_of(self);
  const bool itself = t.realize(args[0]).get() == &d;
  ValueRef it = itself ? make_ref<TupleValue>(d.items)->iter(t) : t.realize(t.realize(args[0])->iter(t));
  d.changing();
  while (ValueRef v = it->next(t)) {
    d.push(v, left);
    d.changed(t, left ? "appendleft" : "append", {std::move(v)});
  }
  return t.none();
}

ValueRef appended(Tracer& t, Value& self, CallArgs& args, bool left) {
  expect_args(t, left ? "appendleft" : "append", args, 1, 1);
  DequeValue& d = deque_of(self);
  d.changing();
  d.push(args[0], left);
  d.changed(t, left ? "appendleft" : "append", {args[0]});
  return t.none();
}

ValueRef popped(Tracer& t, Value& self, CallArgs& args, bool left) {
  expect_args(t, left ? "popleft" : "pop", args, 0, 0);
  DequeValue& d = deque_of(self);
  if (d.items.empty()) t.raise(PyExc_IndexError, "pop from an empty deque");
  d.changing();
  ValueRef v = left ? d.items.front() : d.items.back();
  d.items.erase(left ? d.items.begin() : d.items.end() - 1);
  d.changed(t, left ? "popleft" : "pop");
  return v;
}

ValueRef method_append(Tracer& t, Value& self, CallArgs& args) { return appended(t, self, args, false); }
ValueRef method_appendleft(Tracer& t, Value& self, CallArgs& args) { return appended(t, self, args, true); }
ValueRef method_extend(Tracer& t, Value& self, CallArgs& args) { return extended(t, self, args, false); }
ValueRef method_extendleft(Tracer& t, Value& self, CallArgs& args) { return extended(t, self, args, true); }
ValueRef method_pop(Tracer& t, Value& self, CallArgs& args) { return popped(t, self, args, false); }
ValueRef method_popleft(Tracer& t, Value& self, CallArgs& args) { return popped(t, self, args, true); }

ValueRef method_clear(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "clear", args, 0, 0);
  DequeValue& d = deque_of(self);
  d.changing();
  let_go(d.items);
  d.items.clear();
  d.changed(t, "clear");
  return t.none();
}

ValueRef method_copy(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "copy", args, 0, 0);
  return make_ref<DequeValue>(deque_of(self).items, deque_of(self).maxlen);
}

ValueRef method_reverse(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "reverse", args, 0, 0);
  DequeValue& d = deque_of(self);
  d.changing();
  std::ranges::reverse(d.items);
  d.changed(t, "reverse");
  return t.none();
}

ValueRef method_rotate(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "rotate", args, 0, 1);
  std::int64_t steps = 1;
  if (args.size() && !constant_int(args[0], steps)) throw WrongArguments{};
  DequeValue& d = deque_of(self);
  const auto n = static_cast<std::int64_t>(d.items.size());
  if (n < 2) return t.none();
  d.changing();
  const std::int64_t right = ((steps % n) + n) % n;
  std::ranges::rotate(d.items, d.items.end() - right);
  d.changed(t, "rotate", {t.integer(right)});
  return t.none();
}

ValueRef method_count(Tracer& t, Value& self, CallArgs& args) {
  expect_args(t, "count", args, 1, 1);
  return t.integer(deque_of(self).count_equal(t, args[0]));
}

constexpr MethodRow kDequeMethods[] = {
    {ValueKind::Deque, "append", method_append},   {ValueKind::Deque, "appendleft", method_appendleft},
    {ValueKind::Deque, "extend", method_extend},   {ValueKind::Deque, "extendleft", method_extendleft},
    {ValueKind::Deque, "pop", method_pop},         {ValueKind::Deque, "popleft", method_popleft},
    {ValueKind::Deque, "clear", method_clear},     {ValueKind::Deque, "copy", method_copy},
    {ValueKind::Deque, "reverse", method_reverse}, {ValueKind::Deque, "rotate", method_rotate},
    {ValueKind::Deque, "count", method_count}};

}  // namespace

std::span<const MethodRow> deque_methods() { return kDequeMethods; }

}  // namespace md
