// Traced values to structures, and structures to values.
#include "frontend/marked_callables/shaped_values.h"

#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {

PyRef result_shape(Tracer& t, const ValueRef& raw, std::vector<ValueRef>& tensors, std::string& offender,
                   bool (*is_leaf)(const ValueRef&)) {
  ValueRef v = t.realize(raw);
  if (v->kind == ValueKind::Tensor || (is_leaf && is_leaf(v))) {
    tensors.push_back(v);
    return PyRef::borrow(shape_hole());
  }
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  if (list || (tuple && tuple->type == &PyTuple_Type)) {
    std::vector<PyRef> items;
    for (auto& item : list ? list->items : tuple->items) {
      items.push_back(result_shape(t, item, tensors, offender, is_leaf));
      if (!items.back()) return {};
    }
    return shape_sequence(tuple != nullptr, std::move(items));
  }
  if (auto* d = as<DictValue>(v); d && d->type == &PyDict_Type) {
    PyRef made = checked(PyDict_New());
    for (auto& e : d->live()) {
      PyRef key = e.key->as_constant(), item = key ? result_shape(t, e.value, tensors, offender, is_leaf) : PyRef();
      if (!item) return {};
      checked(PyDict_SetItem(made.get(), key.get(), item.get()));
    }
    return made;
  }
  if (v->kind == ValueKind::Constant) return v->as_constant();
  offender = v->python_type() ? type_name(v->python_type()) : "object";
  return {};
}

ValueRef shaped_value(Tracer& t, PyObject* shape, const std::function<ValueRef()>& next) {
  if (shape == shape_hole()) return next();
  if ((PyTuple_CheckExact(shape) || PyList_CheckExact(shape))) {
    std::vector<ValueRef> items;
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(shape); ++k)
      items.push_back(shaped_value(t, PySequence_Fast_GET_ITEM(shape, k), next));
    if (PyTuple_CheckExact(shape)) return make_ref<TupleValue>(std::move(items));
    return make_ref<ListValue>(std::move(items));
  }
  if (PyDict_CheckExact(shape)) {
    auto d = make_ref<DictValue>(&PyDict_Type);
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(shape, &pos, &k, &v);) d->put(t, t.constant(k), shaped_value(t, v, next));
    return d;
  }
  return t.constant(shape);
}

}  // namespace md
