// obj.__dict__: the attributes of an instance seen as a dictionary; changes of either are seen in both.
#pragma once

#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {

struct AttributeDictValue final : Value {
  static constexpr ValueKind kKind = ValueKind::AttributeDict;
  explicit AttributeDictValue(Ref<ObjectValue> object) : Value(kKind), object(std::move(object)) {}
  std::string print() const override { return "ConstDictVariable()"; }
  PyTypeObject* python_type() const override { return &PyDict_Type; }
  ValueRef get_attr(Tracer& t, PyObject* name) override;
  ValueRef call_method(Tracer& t, PyObject* name, CallArgs args) override;
  ValueRef get_item(Tracer& t, const ValueRef& key) override;
  void set_item(Tracer& t, const ValueRef& key, ValueRef v) override;
  std::optional<std::int64_t> length(Tracer& t) override { return contents(t)->length(t); }
  bool truth(Tracer& t) override { return contents(t)->truth(t); }
  ValueRef iter(Tracer& t) override { return contents(t)->iter(t); }
  bool contains(Tracer& t, const ValueRef& item) override;
  Reg rebuild(PlanBuilder& b) override;
  // Its items now; which names a real instance has is guarded.
  Ref<DictValue> contents(Tracer& t);
  ValueRef find(Tracer& t, const ValueRef& key);  // null: absent
  Ref<ObjectValue> object;
};

}  // namespace md
