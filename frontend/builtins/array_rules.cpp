// Where polyfills of NumPy and tensors meet: minidynamo/polyfills/bridge.py, and the library's own functions on arrays.
#include "frontend/breaks.h"
#include "frontend/builtins/families.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/values/array.h"
#include "frontend/values/constant.h"
#include "frontend/values/objects.h"
#include "frontend/values/size_value.h"

namespace md {

namespace {

ArrayValue* array_of(const CallArgs& args) { return args.positional.empty() ? nullptr : as<ArrayValue>(args[0]); }
TensorValue* tensor_of(const CallArgs& args) { return args.positional.empty() ? nullptr : as<TensorValue>(args[0]); }

bool is_number(const ValueRef& v) {
  if (v->kind == ValueKind::Size) return true;
  if (v->kind != ValueKind::Constant) return false;
  PyObject* o = v->real.get();
  return PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o);
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

// reversed_view(tensor, array, key): what array[key] is, where the tensor holds a copy of it.
ValueRef rule_reversed_view(Tracer& t, CallArgs& args) {
  auto* copy = args.size() == 3 ? as<TensorValue>(args[0]) : nullptr;
  auto* base = args.size() == 3 ? as<ArrayValue>(args[1]) : nullptr;
  PyRef key = copy && base ? args[2]->as_constant() : PyRef();
  if (!key) unmodelled("numpy.ndarray.__getitem__", "a slice that goes backward between bounds that are not known");
  auto made = make_ref<ArrayValue>(Ref<TensorValue>(copy), false, false);
  made->base = Ref<ArrayValue>(base);
  made->key = key;
  t.mirrored.insert(base->tensor->type.storage);
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
ValueRef rule_from_numpy(Tracer&, CallArgs& args) {
  auto* a = array_of(args);
  if (args.size() != 1 || !a || a->scalar || !a->writeable) return {};
  auto same = make_ref<TensorValue>(a->tensor->node, a->tensor->type);  // another object over the same memory
  same->source = a->tensor->source;
  same->real = a->tensor->real;
  return same;
}

constexpr BuiltinRow kRows[] = {{"minidynamo.polyfills.bridge", "tensor_of", rule_tensor_of},
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
                                {"minidynamo", "from_numpy", rule_from_numpy}};

}  // namespace

std::span<const BuiltinRow> array_rules() { return kRows; }

}  // namespace md
