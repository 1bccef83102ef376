// Traced values to structures, and structures to values.
#include "frontend/marked_callables/shaped_values.h"

#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {

namespace {

// An instance of a class of named tuples, without calling it.
PyRef named_tuple(PyTypeObject* type, const PyRef& items) {
  PyRef args = checked(PyTuple_Pack(1, items.get()));
  return checked(PyTuple_Type.tp_new(type, args.get(), nullptr));
}

bool is_dict(const DictValue& d, bool more) { return d.type == &PyDict_Type || (more && d.type == &PyODict_Type); }

}  // namespace

PyRef result_shape(Tracer& t, const ValueRef& raw, std::vector<ValueRef>& tensors, std::string& offender,
                   bool (*is_leaf)(const ValueRef&)) {
  ValueRef v = t.realize(raw);
  if (v->kind == ValueKind::Tensor || (is_leaf && is_leaf(v))) {
    tensors.push_back(v);
    return PyRef::borrow(shape_hole());
  }
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  const bool named = tuple && is_leaf && tuple->is_namedtuple();
  if (list || (tuple && (tuple->type == &PyTuple_Type || named))) {
    std::vector<PyRef> items;
    for (auto& item : list ? list->items : tuple->items) {
      items.push_back(result_shape(t, item, tensors, offender, is_leaf));
      if (!items.back()) return {};
    }
    PyRef made = shape_sequence(tuple != nullptr, std::move(items));
    return named ? named_tuple(tuple->type, made) : made;
  }
  if (auto* d = as<DictValue>(v); d && is_dict(*d, is_leaf)) {
    PyRef made = checked(PyObject_CallNoArgs(reinterpret_cast<PyObject*>(d->type)));
    for (auto& e : d->live()) {
      PyRef key = e.key->as_constant(), item = key ? result_shape(t, e.value, tensors, offender, is_leaf) : PyRef();
      if (!item) return {};
      checked(PyObject_SetItem(made.get(), key.get(), item.get()));
    }
    return made;
  }
  if (v->kind == ValueKind::Constant) return v->as_constant();
  offender = v->python_type() ? type_name(v->python_type()) : "object";
  return {};
}

bool for_each_part(PyObject* shape, const std::function<void(PyObject*)>& f) {
  if (shape != shape_hole() && (PyTuple_Check(shape) || PyList_CheckExact(shape))) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(shape); ++k) f(PySequence_Fast_GET_ITEM(shape, k));
    return true;
  }
  if (!PyDict_Check(shape)) return false;
  PyObject *key, *item;
  for (Py_ssize_t at = 0; PyDict_Next(shape, &at, &key, &item);) f(item);
  return true;
}

ValueRef shaped_value(Tracer& t, PyObject* shape, const std::function<ValueRef()>& next) {
  if (shape == shape_hole()) return next();
  if (PyDict_Check(shape)) {
    auto d = make_ref<DictValue>(Py_TYPE(shape));
    PyObject *k, *v;
    for (Py_ssize_t pos = 0; PyDict_Next(shape, &pos, &k, &v);) d->put(t, t.constant(k), shaped_value(t, v, next));
    return d;
  }
  std::vector<ValueRef> items;
  if (!for_each_part(shape, [&](PyObject* part) { items.push_back(shaped_value(t, part, next)); }))
    return t.constant(shape);
  if (PyTuple_Check(shape)) return make_ref<TupleValue>(std::move(items), Py_TYPE(shape));
  return make_ref<ListValue>(std::move(items));
}

}  // namespace md
