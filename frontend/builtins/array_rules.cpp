// Where polyfills of NumPy and tensors meet: minidynamo/polyfills/bridge.py, and the library's own functions on arrays.
#include "frontend/builtins/families.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/array.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"

namespace md {

namespace {

ArrayValue* array_of(const CallArgs& args) { return args.positional.empty() ? nullptr : as<ArrayValue>(args[0]); }
TensorValue* tensor_of(const CallArgs& args) { return args.positional.empty() ? nullptr : as<TensorValue>(args[0]); }

bool is_number(const ValueRef& v) {
  if (v->kind == ValueKind::Size) return true;
  if (v->kind != ValueKind::Constant) return false;
  PyObject* o = v->real.get();
  return PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o);
}

ValueRef rule_tensor_of(Tracer&, CallArgs& args) {
  auto* a = array_of(args);
  return a ? ValueRef(a->tensor) : ValueRef();
}

ValueRef rule_is_writeable(Tracer& t, CallArgs& args) {
  auto* a = array_of(args);
  return a ? t.boolean(a->writeable && !a->scalar) : ValueRef();
}

template <bool scalar, bool writeable>
ValueRef rule_made_of(Tracer&, CallArgs& args) {
  auto* x = tensor_of(args);
  return x ? ValueRef(make_ref<ArrayValue>(Ref<TensorValue>(x), scalar, writeable)) : ValueRef();
}

// A key of ints and slices, looked at part by part; null: something in it is no constant.
PyRef constant_key(Tracer& t, const ValueRef& raw) {
  ValueRef v = t.realize(raw);
  if (auto* s = as<SliceValue>(v)) {
    PyRef start = constant_key(t, s->start), stop = constant_key(t, s->stop), step = constant_key(t, s->step);
    return start && stop && step ? checked(PySlice_New(start.get(), stop.get(), step.get())) : PyRef();
  }
  auto* parts = as<TupleValue>(v);
  if (!parts) return v->as_constant();
  PyRef tuple = checked(PyTuple_New(static_cast<Py_ssize_t>(parts->items.size())));
  for (std::size_t i = 0; i < parts->items.size(); ++i) {
    PyRef part = constant_key(t, parts->items[i]);
    if (!part) return {};
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), part.release());
  }
  return tuple;
}

// reversed_view(tensor, array, key): what array[key] is, where the tensor holds a copy of it.
ValueRef rule_reversed_view(Tracer& t, CallArgs& args) {
  auto* copy = args.size() == 3 ? as<TensorValue>(args[0]) : nullptr;
  auto* base = args.size() == 3 ? as<ArrayValue>(args[1]) : nullptr;
  PyRef key = copy && base ? constant_key(t, args[2]) : PyRef();
  if (!key) unmodelled("numpy.ndarray.__getitem__", "a slice that goes backward between bounds that are not known");
  auto made = make_ref<ArrayValue>(Ref<TensorValue>(copy), false, false);
  made->base = Ref<ArrayValue>(base);
  made->key = key;
  t.graphs.mirrored.insert(base->tensor->type.storage);
  return made;
}

ValueRef rule_is_reversed(Tracer& t, CallArgs& args) {
  auto* a = array_of(args);
  return t.boolean(a && a->base);
}

ValueRef rule_is_array(Tracer& t, CallArgs& args) { return t.boolean(array_of(args) != nullptr); }

ValueRef rule_is_scalar(Tracer& t, CallArgs& args) {
  auto* a = array_of(args);
  return t.boolean(a && a->scalar);
}

ValueRef rule_is_number(Tracer& t, CallArgs& args) { return t.boolean(args.size() == 1 && is_number(args[0])); }

// The dtype of an array, the type of a number.
ValueRef rule_kind_of(Tracer& t, CallArgs& args) {
  if (auto* a = array_of(args)) return t.constant(dtype_object(a->tensor->type.dtype));
  if (args.size() != 1 || !is_number(args[0])) return {};
  return t.from_object(reinterpret_cast<PyObject*>(args[0]->python_type()), nullptr);
}

// torch.from_numpy(array): the tensor over its memory.
ValueRef rule_from_numpy(Tracer& t, CallArgs& args) {
  return args.keywords.empty() ? tensor_of_array(t, args, false) : ValueRef();
}

constexpr BuiltinRow kArrayRules[] = {{"minidynamo.polyfills.bridge", "tensor_of", rule_tensor_of},
                                      {"minidynamo.polyfills.bridge", "is_writeable", rule_is_writeable},
                                      {"minidynamo.polyfills.bridge", "array_of", rule_made_of<false, true>},
                                      {"minidynamo.polyfills.bridge", "read_only_array_of", rule_made_of<false, false>},
                                      {"minidynamo.polyfills.bridge", "scalar_of", rule_made_of<true, false>},
                                      {"minidynamo.polyfills.bridge", "reversed_view", rule_reversed_view},
                                      {"minidynamo.polyfills.bridge", "is_reversed", rule_is_reversed},
                                      {"minidynamo.polyfills.bridge", "is_array", rule_is_array},
                                      {"minidynamo.polyfills.bridge", "is_scalar", rule_is_scalar},
                                      {"minidynamo.polyfills.bridge", "is_number", rule_is_number},
                                      {"minidynamo.polyfills.bridge", "kind_of", rule_kind_of},
                                      {"minidynamo", "from_numpy", rule_from_numpy},
                                      {"minidynamo", "asarray", rule_from_numpy}};

}  // namespace

std::span<const BuiltinRow> array_rules() { return kArrayRules; }

}  // namespace md
