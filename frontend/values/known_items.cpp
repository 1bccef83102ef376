// Looks at the items of containers that are given to a call made for real.
#include "frontend/values/known_items.h"

#include <algorithm>

#include "frontend/cpython/plain_object.h"
#include "frontend/tensors/constant_object.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"

namespace md {
namespace {

constexpr int kDeepestItem = 20;

// Constants down to the last item.
bool holds_constants(PyObject* o, int depth) {
  if (depth > kDeepestItem) return false;
  if (PyList_CheckExact(o) || PyTuple_CheckExact(o)) {
    PyObject** const items = PySequence_Fast_ITEMS(o);
    return std::all_of(items, items + PySequence_Fast_GET_SIZE(o),
                       [&](PyObject* item) { return holds_constants(item, depth + 1); });
  }
  if (!PyDict_CheckExact(o)) return is_constant_object(o);
  PyObject *key, *value;
  for (Py_ssize_t at = 0; PyDict_Next(o, &at, &key, &value);)
    if (!is_constant_object(key) || !holds_constants(value, depth + 1)) return false;
  return true;
}

void look_at_items(Tracer& t, ValueRef& v, int depth) {
  if (!v || depth > kDeepestItem) return;
  if (auto* lazy = as<LazyValue>(v); lazy && !lazy->realized && !holds_constants(lazy->real.get(), depth)) return;
  v = t.realize(v);
  if (auto* list = as<ListValue>(v)) {
    for (std::size_t k = 0; k < list->items.size(); ++k) look_at_items(t, list->items[k], depth + 1);
  } else if (auto* tuple = as<TupleValue>(v)) {
    for (std::size_t k = 0; k < tuple->items.size(); ++k) look_at_items(t, tuple->items[k], depth + 1);
  } else if (auto* dict = as<DictValue>(v); dict && dict->python_type() == &PyDict_Type) {
    if (dict->source && dict->real && !holds_constants(dict->real.get(), depth)) return;
    dict->observe_keys(t);
    for (auto& e : dict->entries) look_at_items(t, e.value, depth + 1);
  }
}

}  // namespace

bool all_known(Tracer& t, CallArgs& args, std::vector<PyRef>& positional, PyRef& kwargs) {
  if (all_constant(args, positional, kwargs)) return true;
  positional.clear();
  kwargs = {};
  for (auto& v : args.positional) look_at_items(t, v, 0);
  for (auto& [name, v] : args.keywords) look_at_items(t, v, 0);
  return all_constant(args, positional, kwargs);
}

}  // namespace md
