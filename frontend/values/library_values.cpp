// Makes and wraps objects of C classes that hold values or a dictionary and never change.
#include "frontend/values/library_values.h"

#include <algorithm>
#include <iterator>

#include "frontend/cpython/held_mapping.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/tensors/constant_object.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/op_function.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/known_items.h"

namespace md {

namespace {

// torch.Size of ints, sizes among them. Null where something else is among them: the class itself refuses it.
ValueRef new_size(Tracer& t, PyTypeObject* type, const CallArgs& args) {
  if (!args.keywords.empty() || args.size() > 1) return {};
  std::vector<ValueRef> items;
  if (args.size() == 1) items = collect(t, args[0]);
  for (auto& v : items) {
    v = t.realize(v);
    const bool is_int =
        v->kind == ValueKind::Size || (v->kind == ValueKind::Constant && PyLong_CheckExact(v->real.get()));
    if (!is_int) unmodelled(v->print(), "an item of a torch.Size");
  }
  return make_ref<TupleValue>(std::move(items), type);
}

ValueRef new_of_constants(Tracer& t, ClassValue& cls, const CallArgs& given) {
  CallArgs args = given;
  for (auto& v : args.positional) v = data_of(t.realize(v));
  for (auto& [name, v] : args.keywords) v = data_of(t.realize(v));
  std::vector<PyRef> positional;
  PyRef kwargs;
  if (!all_known(t, args, positional, kwargs)) return {};
  const PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(positional.size())));
  for (std::size_t i = 0; i < positional.size(); ++i)
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), positional[i].release());
  const PyRef made = PyRef::steal(PyObject_Call(cls.real.get(), tuple.get(), kwargs.get()));
  if (!made) t.raise_current();
  return t.constant(made);
}

}  // namespace

// torch.return_types.<name> of a sequence of as many items as the op has results.
static ValueRef new_named_result(Tracer& t, PyTypeObject* type, const Op& op, const CallArgs& args) {
  if (!args.keywords.empty() || args.size() != 1) return {};
  auto tuple = make_ref<TupleValue>(collect(t, args[0]), type);
  tuple->fields = op.schema.result_names;
  if (tuple->items.size() == tuple->fields.size()) return tuple;
  const std::string expected = std::to_string(tuple->fields.size()), given = std::to_string(tuple->items.size());
  t.raise(PyExc_TypeError,
          std::string(type->tp_name) + "() takes a " + expected + "-sequence (" + given + "-sequence given)");
}

ValueRef new_library_value(Tracer& t, ClassValue& cls, const CallArgs& args) {
  PyTypeObject* type = cls.type();
  if (const Op* op = op_of_result_type(type)) return new_named_result(t, type, *op, args);
  if (is_size_type(type)) return new_size(t, type, args);
  if (!is_c_type(type) || !cls.real) return {};
  if (is_library_value_type(type) && !t.config.trace_more)
    listed_break<GB0147>(cls.print(), print_list(args.positional), print_keywords(args));
  if (type == device_type || is_library_value_type(type)) return new_of_constants(t, cls, args);
  if (type != &PyDictProxy_Type || args.size() != 1 || args.positional.empty()) return {};
  auto* dict = as<DictValue>(t.realize(args[0]));
  if (!dict) return {};
  return make_ref<DictViewValue>(Ref<DictValue>(dict), ViewKind::Proxy);
}

// Numbers, strings and the like, and tuples of them.
static bool is_literal_key(PyObject* key) {
  if (!PyTuple_CheckExact(key)) return is_constant_object(key);
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
    if (!is_literal_key(PyTuple_GET_ITEM(key, i))) return false;
  return true;
}

// Views of a dict that were there before: by the registry their keys are literals, and what a proxy shows is not read
// once the trace has changed a dict that was there, too.
void break_on_listed_view(Tracer& t, PyObject* o) {
  const std::string_view name = Py_TYPE(o)->tp_name;
  const bool proxy = Py_TYPE(o) == &PyDictProxy_Type;
  if (t.config.trace_more || (!proxy && name != "dict_keys" && name != "odict_keys")) return;
  const auto changes_dict = [](const SideEffect& e) {
    return (e.kind == EffectKind::DictSet || e.kind == EffectKind::DictDelete || e.kind == EffectKind::DictClear) &&
           e.target && e.target->source;
  };
  if (proxy && std::ranges::any_of(t.effects.list(), changes_dict))
    listed_break<GB0198>(std::string("MappingProxyVariable()"));
  const PyRef keys = checked(PySequence_List(o));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(keys.get()); ++i) {
    PyObject* const key = PyList_GET_ITEM(keys.get(), i);
    if (is_literal_key(key)) continue;
    if (proxy) listed_break<GB0204>(repr_of(key));
    listed_break<GB0203>(repr_of(key));
  }
}

// keys(), values() or items(); null: it is none of them, or of a subclass.
static ValueRef wrap_dict_view(Tracer& t, PyObject* view, SourceRef s) {
  const PyTypeObject* const views[] = {&PyDictKeys_Type, &PyDictValues_Type, &PyDictItems_Type};
  if (std::ranges::find(views, Py_TYPE(view)) == std::end(views)) return {};
  PyObject* const held = held_mapping(view);
  if (!held || !PyDict_Check(held)) return {};
  const ViewKind which = Py_TYPE(view) == &PyDictKeys_Type     ? ViewKind::Keys
                         : Py_TYPE(view) == &PyDictValues_Type ? ViewKind::Values
                                                               : ViewKind::Items;
  t.guard(GuardKind::TypeMatch, s, PyRef::borrow(reinterpret_cast<PyObject*>(Py_TYPE(view))));
  const PyRef name = checked(PyUnicode_InternFromString("mapping"));
  const SourceRef place = t.recorder.sources.child(s, SourceKind::Field, name.get());
  // A view of an instance of a subclass looks into what the instance holds, whatever its class says.
  ValueRef shown = data_of(t.wrap(held, place));
  if (shown->kind == ValueKind::Opaque) shown = wrap_dict_items(t, held, place);
  auto* dict = as<DictValue>(shown);
  if (!dict) unmodelled(s->name, "view of a mapping that is no dictionary");
  auto v = make_ref<DictViewValue>(Ref<DictValue>(dict), which);
  v->source = s;
  return v;
}

ValueRef wrap_listed_view(Tracer& t, PyObject* proxy, SourceRef s) {
  break_on_listed_view(t, proxy);
  if (ValueRef view = wrap_dict_view(t, proxy, s)) return view;
  PyObject* const held = held_mapping(proxy);
  if (!held || !(PyDict_CheckExact(held) || PyODict_CheckExact(held)))
    unmodelled(s->name, "view of a mapping that is no dictionary");
  t.guard(GuardKind::IdMatch, s, PyRef::borrow(proxy));
  auto* dict = as<DictValue>(t.wrap(held, t.recorder.sources.constant(held, s->name + ".mapping")));
  if (!dict) unmodelled(s->name, "view of a mapping that is no dictionary");
  return make_ref<DictViewValue>(Ref<DictValue>(dict), ViewKind::Proxy);
}

}  // namespace md
