// Classes registered as trees, on traced values.
#include "frontend/marked_callables/trees.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"

namespace md {

namespace {

PyRef part_of(PyObject* o, const char* name) { return checked(PyObject_GetAttrString(o, name)); }

PyRef marked_callables(const char* name) {
  return part_of(checked(import_module("minidynamo._dynamo.marked_callables")).get(), name);
}

// What the class of an object was registered with; null for others.
PyRef registered(const ValueRef& v) {
  auto* object = as<ObjectValue>(v);
  if (!object || !object->type) return {};
  const PyRef found = checked(
      PyObject_CallOneArg(marked_callables("_tree_functions").get(), reinterpret_cast<PyObject*>(object->type)));
  return found.get() == Py_None ? PyRef() : found;
}

const std::vector<ValueRef>* items_of(const ValueRef& v) {
  if (auto* list = as<ListValue>(v)) return &list->items;
  if (auto* tuple = as<TupleValue>(v)) return &tuple->items;
  return nullptr;
}

PyRef shapes_of(Tracer& t, const std::vector<ValueRef>& items, bool tuple, std::vector<ValueRef>& tensors) {
  std::vector<PyRef> made;
  for (const ValueRef& item : items) {
    made.push_back(tree_shape(t, item, tensors));
    if (!made.back()) return {};
  }
  return shape_sequence(tuple, std::move(made));
}

}  // namespace

bool has_tree_classes() {
  return PyObject_IsTrue(checked(PyObject_CallNoArgs(marked_callables("_has_tree_classes").get())).get()) == 1;
}

bool holds_tree(Tracer& t, const ValueRef& raw) {
  const ValueRef v = t.realize(raw);
  const auto inside = [&](const ValueRef& item) { return holds_tree(t, item); };
  if (const auto* items = items_of(v)) return std::ranges::any_of(*items, inside);
  if (auto* d = as<DictValue>(v)) return std::ranges::any_of(d->live(), [&](auto& e) { return inside(e.value); });
  return static_cast<bool>(registered(v));
}

PyRef tree_shape(Tracer& t, const ValueRef& raw, std::vector<ValueRef>& tensors) {
  const ValueRef v = t.realize(raw);
  if (const PyRef functions = registered(v)) {
    const ValueRef flatten = t.from_object(PyTuple_GET_ITEM(functions.get(), 0), nullptr);
    const ValueRef apart = t.realize(t.call(flatten, {{v}, {}}));
    const auto* both = items_of(apart);
    const ValueRef parts = both && both->size() == 2 ? t.realize((*both)[0]) : ValueRef();
    const PyRef context = parts ? t.realize((*both)[1])->as_constant() : PyRef();
    const auto* items = parts ? items_of(parts) : nullptr;
    if (!context || !items) return {};
    const PyRef shapes = shapes_of(t, *items, false, tensors);
    if (!shapes) return {};
    return checked(PyObject_CallFunctionObjArgs(marked_callables("_Tree").get(),
                                                reinterpret_cast<PyObject*>(v->python_type()), context.get(),
                                                shapes.get(), nullptr));
  }
  if (!holds_tree(t, v)) {
    std::string offender;
    return result_shape(t, v->kind == ValueKind::Size ? t.constant(v->as_constant()) : v, tensors, offender);
  }
  if (const auto* items = items_of(v)) return shapes_of(t, *items, as<TupleValue>(v) != nullptr, tensors);
  auto* d = as<DictValue>(v);
  const PyRef made = checked(PyDict_New());
  for (auto& e : d->live()) {
    const PyRef key = e.key->as_constant(), item = key ? tree_shape(t, e.value, tensors) : PyRef();
    if (!item) return {};
    checked(PyDict_SetItem(made.get(), key.get(), item.get()));
  }
  return made;
}

namespace {

ValueRef built(Tracer& t, PyObject* shape, const std::function<ValueRef()>& next) {
  if (shape == shape_hole()) return next();
  const PyRef tree = marked_callables("_Tree");
  if (PyObject_IsInstance(shape, tree.get()) == 1) {
    const PyRef unflatten = part_of(shape, "unflatten"), context = part_of(shape, "context");
    const ValueRef parts = built(t, part_of(shape, "parts").get(), next);
    return t.call(t.from_object(unflatten.get(), nullptr), {{parts, t.constant(context)}, {}});
  }
  if (PyDict_Check(shape)) {
    auto d = make_ref<DictValue>(Py_TYPE(shape));
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(shape, &pos, &k, &v);) d->put(t, t.constant(k), built(t, v, next));
    return d;
  }
  std::vector<ValueRef> items;
  if (!for_each_part(shape, [&](PyObject* part) { items.push_back(built(t, part, next)); })) return t.constant(shape);
  if (PyTuple_Check(shape)) return make_ref<TupleValue>(std::move(items), Py_TYPE(shape));
  return make_ref<ListValue>(std::move(items));
}

}  // namespace

ValueRef tree_value(Tracer& t, PyObject* shape, const ValueRef& tensors) {
  const ValueRef all = t.realize(tensors);
  const auto* items = items_of(all);
  std::size_t at = 0;
  return built(t, shape, [&] { return items->at(at++); });
}

}  // namespace md
