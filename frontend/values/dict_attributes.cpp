// Attributes of an OrderedDict: kept with the stores to globals and classes, replayed as those of other objects.
#include "frontend/values/dict_attributes.h"

#include "frontend/cpython/object_attr.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/let_go.h"

namespace md {
namespace {

std::string dict_store_key(const Value& dict, PyObject* name) {
  return std::to_string(reinterpret_cast<std::uintptr_t>(&dict)) + ":" + text_of(name);
}

bool has_attributes(const Value& v) { return v.kind == ValueKind::Dict && v.python_type() == &PyODict_Type; }

}  // namespace

// What a defaultdict makes missing values with. False: it is another attribute.
static bool store_factory(Tracer& t, Value& self, PyObject* name, const ValueRef& v) {
  if (self.kind != ValueKind::Dict || text_of(name) != "default_factory" || !t.graphs.outer.empty()) return false;
  auto& dict = static_cast<DictValue&>(self);
  PyObject* const found = dict.type == &PyDict_Type ? nullptr : type_find(dict.type, name);
  if (!found || Py_TYPE(found) != &PyMemberDescr_Type) return false;
  let_go(dict.default_factory);
  const ValueRef made = v ? t.realize(v) : t.none();
  dict.default_factory = is_true_constant(made, Py_None) ? ValueRef() : made;
  if (!dict.source) return true;
  SideEffect e{EffectKind::AttrSet, ValueRef(&self)};
  e.name = PyRef::borrow(name);
  e.value = made;
  t.effects.record(std::move(e));
  return true;
}

bool store_on_dict(Tracer& t, Value& self, PyObject* name, const ValueRef& v) {
  if (store_factory(t, self, name, v)) return true;
  if (!has_attributes(self) || !v || type_find(&PyODict_Type, name) || !t.graphs.outer.empty()) return false;
  const auto [place, fresh] = t.effects.stored_globals.try_emplace(dict_store_key(self, name));
  if (fresh) t.objects.data_owners.push_back(ValueRef(&self));  // its address is its own
  if (fresh && self.real)
    if (const Attr old = find_attr(self.real.get(), name); old.where == AttrWhere::Instance)
      let_go_of_object(old.value.get());
  place->second = v;
  SideEffect e{EffectKind::AttrSet, ValueRef(&self)};
  e.name = PyRef::borrow(name);
  e.value = v;
  t.effects.record(std::move(e));
  return true;
}

ValueRef attribute_of_dict(Tracer& t, Value& self, PyObject* name) {
  if (!has_attributes(self) || type_find(&PyODict_Type, name)) return {};
  const auto stored = t.effects.stored_globals.find(dict_store_key(self, name));
  if (stored != t.effects.stored_globals.end()) return stored->second;
  if (!self.real || !self.source) return {};
  const SourceRef place = t.recorder.sources.child(self.source, SourceKind::InstanceDict, name);
  if (const Attr own = find_attr(self.real.get(), name); own.where == AttrWhere::Instance)
    return t.lazy(own.value.get(), place);
  t.guard(GuardKind::NotPresent, place);
  return {};
}

}  // namespace md
