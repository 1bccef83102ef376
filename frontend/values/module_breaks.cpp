// Listed breaks about modules of torch.nn and objects of the library.
#include "frontend/values/module_breaks.h"

#include <algorithm>

#include "frontend/cpython/library_classes.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/tensor_functions.h"

namespace md {

namespace {

constexpr const char* kListers[] = {"parameters",    "named_parameters", "buffers",
                                    "named_buffers", "modules",          "named_modules"};

bool names_lister(std::string_view name) { return std::ranges::find(kListers, name) != std::end(kListers); }

bool is_plain_class_value(PyObject* found) {
  if (PyTuple_CheckExact(found) || PyFrozenSet_CheckExact(found)) {
    const PyRef items = checked(PySequence_Tuple(found));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i)
      if (!is_plain_class_value(PyTuple_GET_ITEM(items.get(), i))) return false;
    return true;
  }
  return is_constant_object(found) || PyType_Check(found) || PySlice_Check(found);
}

// What the tracer of specialized modules takes from a class.
bool is_known_class_attr(PyObject* found) {
  for (PyTypeObject* known :
       {&PyFunction_Type, &PyProperty_Type, &PyClassMethod_Type, &PyStaticMethod_Type, &PyMethodDescr_Type,
        &PyWrapperDescr_Type, &PyClassMethodDescr_Type, &PyGetSetDescr_Type, &PyMemberDescr_Type})
    if (Py_TYPE(found) == known) return true;
  return is_plain_class_value(found) || is_tensor(found);
}

// A part of the module and an attribute of it have both been written in this trace.
bool has_pending_parts(Tracer& t, const ObjectValue& self) {
  bool parts = false, attribute = false;
  for (const SideEffect& e : t.effects.list()) {
    if (!e.target) continue;
    attribute |= e.kind == EffectKind::AttrSet && e.target.get() == &self;
    if (e.kind != EffectKind::DictSet && e.kind != EffectKind::DictDelete) continue;
    const Source* place = e.target->source;
    for (const char* dict : {"_parameters", "_buffers", "_modules"})
      parts |= place && place->base == self.source && place->key && PyUnicode_Check(place->key.get()) &&
               text_of(place->key.get()) == dict;
  }
  return parts && attribute;
}

}  // namespace

bool is_specialized(const ObjectValue& module) {
  if (!module.real || !is_library_class(module.type, LibraryClass::Module)) return false;
  PyObject** const place = _PyObject_GetDictPtr(module.real.get());
  const char* const mark = "torchdynamo_force_dynamic";
  if (PyObject* own = place && *place ? find_item(*place, mark) : nullptr) return own == Py_False;
  return type_find(module.type, checked(PyUnicode_InternFromString(mark)).get()) == Py_False;
}

void break_on_listed_attr(Tracer& t, const ObjectValue& self, PyObject* name, PyObject* found) {
  if (t.config.enable_trace_unittest) break_on_watched_warnings(found);
  if (t.config.trace_more || !self.source || !is_library_class(self.type, LibraryClass::Module)) return;
  const std::string n = text_of(name);
  if (names_lister(n) && has_pending_parts(t, self)) listed_break<GB0189>(self.print(), n, std::string("None"));
  if (!n.starts_with("__") && !is_known_class_attr(found) && is_specialized(self))
    listed_break<GB0161>(type_name(self.type), n, type_name(Py_TYPE(found)));
}

void break_on_listed_module_call(Tracer& t, const std::string& module, const std::string& name, const CallArgs& args) {
  if (!module.starts_with("minidynamo.nn") || args.positional.empty() || is_in_library(t)) return;
  const bool item = name == "__getitem__";
  if (!item && !names_lister(name) && name != "children" && name != "named_children" && name != "state_dict") return;
  const ValueRef first = t.realize(args.positional[0]);
  auto* self = as<ObjectValue>(first);
  if (!self || !is_library_class(self->type, LibraryClass::Module)) return;
  const bool specialized = is_specialized(*self) && !t.config.trace_more;
  const auto odd = [&](const ValueRef& raw) {
    const ValueRef v = t.realize(raw);
    return v->kind == ValueKind::Tensor || (specialized && !v->as_constant() && v->kind != ValueKind::Size);
  };
  const std::vector<ValueRef> rest(args.positional.begin() + 1, args.positional.end());
  const bool any = std::ranges::any_of(rest, odd) ||
                   std::ranges::any_of(args.keywords, [&](const auto& k) { return odd(k.second); });
  if (!any) return;
  if (item) graph_break<GB0153>(self->print(), print_list(rest), print_keywords(args));
  graph_break<GB0202>(self->print(), name, print_list(args.positional), print_keywords(args));
}

void break_on_listed_group(Tracer& t, const std::string& module, const std::string& name, const CallArgs& args) {
  if ((name != "_init_group" && name != "step") || !module.starts_with("minidynamo.optim") || args.positional.empty())
    return;
  const ValueRef first = t.realize(args.positional[0]);
  auto* const self = as<ObjectValue>(first);
  PyObject** const place = self && self->real ? _PyObject_GetDictPtr(self->real.get()) : nullptr;
  PyObject* const groups = place && *place ? find_item(*place, "param_groups") : nullptr;
  if (t.config.trace_more || !groups || !PyList_Check(groups)) return;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(groups); ++i) {
    PyObject *const group = PyList_GET_ITEM(groups, i), *key = nullptr, *value = nullptr;
    bool there = !PyDict_Check(group);
    for (Py_ssize_t at = 0; !there && PyDict_Next(group, &at, &key, &value);)
      there = PyUnicode_CheckExact(key) && text_of(key) == "params";
    if (!there) listed_break<GB0196>(std::string("params"));
  }
}

void break_on_listed_method(Tracer& t, const ValueRef& owner, PyObject* name) {
  auto* const o = as<ObjectValue>(owner);
  if (!o || t.config.trace_more) return;
  PyObject* const found = type_find(o->type, name);
  if (!found || (Py_TYPE(found) != &PyMethodDescr_Type && Py_TYPE(found) != &PyWrapperDescr_Type)) return;
  const std::string kind = type_name(o->type), method = text_of(name);
  if (is_library_class(o->type, LibraryClass::AutogradContext) && !o->real && method != "__setattr__")
    listed_break<GB0139>(owner->print(), method);
  if (kind != "Event" && kind != "_ImperativeEngine") return;
  PyObject* const module = own_attribute(o->type, "__module__");
  if (!module || !PyUnicode_Check(module) || !text_of(module).starts_with("minidynamo.")) return;
  if (kind == "Event") listed_break<GB0146>(method);
  listed_break<GB0165>(owner->print(), method);
}

void break_on_listed_escape(const ObjectValue& self) {
  PyObject* const module = own_attribute(self.type, "__module__");
  const std::string place = module && PyUnicode_Check(module) ? text_of(module) : "", name = type_name(self.type);
  if (!place.starts_with("minidynamo.")) return;
  if (name == "_unsafe_preserve_version_counter") graph_break<GB0209>(self.print());
  if (place.ends_with(".profiler") && name == "profile") graph_break<GB0212>(self.print());
}

}  // namespace md
