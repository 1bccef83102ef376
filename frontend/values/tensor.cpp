// Attributes, methods and items of a traced tensor: metadata without a node, ops as nodes, the rest breaks.
#include "frontend/values/tensor.h"

#include <algorithm>

#include "frontend/cpython/import_module.h"
#include "frontend/cpython/refused_names.h"
#include "frontend/cpython/type_dict.h"
#include "frontend/plan/plan.h"
#include "frontend/tensors/absent_names.h"
#include "frontend/tensors/overridable_function.h"
#include "frontend/tensors/subclass.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/array.h"
#include "frontend/values/attributes.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/functions.h"
#include "frontend/values/hook_handles.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"
#include "frontend/values/pending_views.h"
#include "frontend/values/rules.h"
#include "frontend/values/scalar_outputs.h"
#include "frontend/values/size_value.h"
#include "frontend/values/strict_backward.h"
#include "frontend/values/tensor_functions.h"
#include "frontend/values/tensor_subclass.h"
#include "frontend/values/wrong_arguments.h"
#include "ir/infer/memory_formats.h"
#include "ir/sizes/shape_env.h"

namespace md {

PyTypeObject* TensorValue::python_type() const { return real && !of_instance ? Py_TYPE(real.get()) : tensor_type; }

static std::vector<ValueRef> size_values(Tracer& t, const SizeVec& sizes) {
  std::vector<ValueRef> out;
  for (const Size& s : sizes) out.push_back(size_value(t, s));
  return out;
}

static PyTypeObject* size_class() {
  PyRef s = size_object(DimVec{});
  return Py_TYPE(s.get());
}

static Size count(const TensorType& type) {
  Size n = 1;
  for (const Size& s : type.sizes) n = n * s;
  return n;
}

// Attributes that are metadata: known while tracing, no node.
static ValueRef metadata(Tracer& t, TensorValue& v, const std::string& n) {
  const TensorType& type = v.type;
  if (n == "shape") return make_ref<TupleValue>(size_values(t, type.sizes), size_class());
  if (n == "dtype") return t.constant(dtype_object(type.dtype));
  if (n == "device") return t.constant(device_object(type.device));
  if (n == "is_meta") return t.boolean(type.device.type == DeviceType::Meta);
  if (n == "is_cuda") return t.boolean(type.device.type == DeviceType::Cuda);
  if (n == "is_cpu") return t.boolean(type.device.is_cpu());
  if (n == "ndim") return t.integer(type.dim());
  if (n == "requires_grad") return t.boolean(type.requires_grad);
  if (n == "is_leaf") return t.boolean(type.is_leaf());
  if (n == "itemsize") return t.integer(static_cast<std::int64_t>(item_size(type.dtype)));
  if (n == "real" && !is_complex(type.dtype)) return ValueRef(&v);
  if (n == "nbytes") return size_value(t, count(type) * Size(static_cast<std::int64_t>(item_size(type.dtype))));
  if (n == "layout")
    return t.constant(checked(PyObject_GetAttrString(checked(import_module("minidynamo._C")).get(), "strided")).get());
  if ((n == "retains_grad" && type.is_leaf()) || (n.starts_with("is_") && is_false_of_tensors(n)))
    return t.boolean(false);
  if (n == "grad" && !v.source && type.is_leaf()) return t.none();
  return {};
}

static ValueRef is_contiguous(Tracer& t, TensorValue& v, CallArgs& args) {
  MemoryFormat format = MemoryFormat::Contiguous;
  if (args.size() != 0) {
    const ValueRef named =
        args.positional.empty() && args.size() == 1 ? args.take_keyword("memory_format") : ValueRef();
    const PyRef constant = named ? t.realize(named)->as_constant() : PyRef();
    if (!constant || !as_memory_format(constant.get(), format)) return {};
  }
  if (format == MemoryFormat::ChannelsLast || format == MemoryFormat::ChannelsLast3d) {
    return t.boolean(has_format(v.type, format));
  }
  Size expect = 1;
  bool dense = true;
  for (std::size_t i = v.type.sizes.size(); i-- > 0;) {
    const Size s = v.type.sizes[i];
    if (guard_eq(s, Size(0))) return t.boolean(true);
    if (dense && !guard_eq(s, Size(1)) && !guard_eq(v.type.strides[i], expect)) dense = false;
    expect = expect * s;
  }
  return t.boolean(dense);
}

// Methods that answer from metadata.
static ValueRef metadata_method(Tracer& t, TensorValue& v, const std::string& n, CallArgs& args) {
  const TensorType& type = v.type;
  std::int64_t dim = 0;
  const bool asks_extent = n == "size" || n == "stride";
  if (asks_extent && args.positional.empty())
    if (ValueRef named = args.take_keyword("dim"); named && !is_true_constant(t.realize(named), Py_None))
      args.positional.push_back(named);
  const bool has_dim = asks_extent && args.size() == 1 && constant_int(t.realize(args[0]), dim);
  if (asks_extent && (args.size() == 0 || has_dim)) {
    auto all = size_values(t, n == "size" ? type.sizes : type.strides);
    if (!has_dim) return make_ref<TupleValue>(std::move(all), n == "size" ? size_class() : &PyTuple_Type);
    const auto rank = static_cast<std::int64_t>(all.size());
    if (dim < -rank || dim >= rank)
      t.raise(PyExc_IndexError, "Dimension out of range (expected to be in range of [" +
                                    std::to_string(-std::max<std::int64_t>(rank, 1)) + ", " +
                                    std::to_string(std::max<std::int64_t>(rank, 1) - 1) + "], but got " +
                                    std::to_string(dim) + ")");
    return all[static_cast<std::size_t>(dim < 0 ? dim + rank : dim)];
  }
  if (n == "is_contiguous") return is_contiguous(t, v, args);
  if (args.size() != 0) return {};
  if (n == "dim" || n == "ndimension") return t.integer(type.dim());
  if (n == "numel" || n == "nelement") {
    return size_value(t, count(type));
  }
  if (n == "is_floating_point") return t.boolean(is_floating(type.dtype));
  if (n == "is_conj" || n == "is_neg") {
    // A program's call is recorded, and breaks because of its result; resolve_conj() of the library asks, too.
    if (!t.config.trace_more && !is_in_library(t)) return {};
    const Pending p = pending_of(*v.node);
    return t.boolean(n == "is_neg" ? p.negative : p.conjugate);
  }
  if (n == "is_complex") return t.boolean(is_complex(type.dtype));
  if (n == "element_size") return t.integer(static_cast<std::int64_t>(item_size(type.dtype)));
  if (n == "get_device" && !type.device.info().numbered) return t.integer(-1);
  if (n == "get_device" && type.device.index >= 0) return t.integer(type.device.index);
  if (n == "storage_offset" && !type.offset.is_const() && !t.shapes().is_backed(type.offset)) graph_break<GB0033>(n);
  if (n == "storage_offset" && (t.config.trace_more || is_in_library(t))) return size_value(t, type.offset);
  return {};
}

// "grad" of "_grad", its other name.
static PyRef usual_name(PyObject* name) {
  return text_of(name) == "_grad" ? checked(PyUnicode_InternFromString("grad")) : PyRef::borrow(name);
}

// One of Tensor's own methods, and nothing put on this tensor in its place.
static bool is_method_in_python(const TensorValue& v, PyObject* function, const std::string& n) {
  PyObject* const own = v.real ? reinterpret_cast<TensorObject*>(v.real.get())->dict : nullptr;
  return find_item(tensor_type->tp_dict, n.c_str()) == function && !(own && find_item(own, n.c_str()));
}

ValueRef TensorValue::get_attr(Tracer& t, PyObject* given_name) {
  const PyRef usual = usual_name(given_name);
  PyObject* const name = usual.get();
  const std::string n = text_of(name);
  if (is_forbidden_in_backward(t, *this, n)) graph_break<GB0102>(print(), n);
  if (const ValueRef* kept = notes.empty() ? nullptr : note(name)) return *kept;
  if (t.overrides.asks_modes())
    if (ValueRef v = ask_about_attribute(t, ValueRef(this), name)) return v;
  if (ValueRef v = metadata(t, *this, n)) return v;
  if (n == "__class__") return t.from_object(reinterpret_cast<PyObject*>(python_type()), nullptr);
  if (n == "grad_fn" && !type.is_leaf()) graph_break<GB0104>(print());
  if (n == "grad_fn") return t.none();
  if (n == "grad" && set_grad) return set_grad;
  if (n == "grad" && real && type.is_leaf()) {
    PyRef v = checked(PyObject_GetAttr(real.get(), name));
    return t.lazy(v.get(), t.recorder.sources.child(source, SourceKind::TensorAttr, name));
  }
  if (n == "data") return call_method(t, checked(PyUnicode_FromString("detach")).get(), {});
  if (n == "retain_grad") graph_break<GB0108>(print());
  if (n == "__deepcopy__" && !t.config.trace_more) graph_break<GB0179>(print());
  if (tensor_has_method(n) || calls_for_each_element(n))
    return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  if (n == "T" || n == "mT" || n == "real" || n == "imag") {
    return t.call_attribute_op(n, CallArgs{{ValueRef(this)}, {}});
  }
  // x.__setitem__ and its like, C functions of the type.
  PyRef on_type = PyRef::steal(PyObject_GetAttr(reinterpret_cast<PyObject*>(python_type()), name));
  if (!on_type) clear_answer();
  if (on_type && (Py_TYPE(on_type.get()) == &PyWrapperDescr_Type || Py_TYPE(on_type.get()) == &PyMethodDescr_Type))
    return make_ref<BoundAttrValue>(ValueRef(this), PyRef::borrow(name));
  if (on_type && Py_TYPE(on_type.get()) == &PyProperty_Type) {
    const PyRef get = checked(PyObject_GetAttrString(on_type.get(), "fget"));
    CallArgs args;
    args.positional.push_back(ValueRef(this));
    if (PyFunction_Check(get.get())) return t.call(t.wrap(get.get(), nullptr), std::move(args));
  }
  const bool in_python = on_type && (PyFunction_Check(on_type.get()) || is_overridable_function(on_type.get()));
  if (in_python && is_method_in_python(*this, on_type.get(), n)) {
    if (real && source)
      t.guard(GuardKind::NotPresent, t.recorder.sources.child(source, SourceKind::InstanceDict, name));
    const ValueRef function = t.wrap(on_type.get(), nullptr);
    if (!function->real) function->real = on_type;
    return make_ref<MethodValue>(function, ValueRef(this));
  }
  if (real) {  // a Python attribute put on the tensor
    if (PyRef v = PyRef::steal(PyObject_GetAttr(real.get(), name)); v && !tensor_has_attr(n))
      return t.lazy(v.get(), t.recorder.sources.child(source, SourceKind::TensorAttr, name));
    clear_answer();
  }
  if (tensor_has_attr(n)) unmodelled(print() + "." + n, "tensor attribute");
  if (real) t.guard(GuardKind::NoHasattr, source, PyRef::borrow(name));  // who catches the error goes on without it
  PyObject* const known = find_item(tensor_type->tp_dict, n.c_str());    // borrowed
  if (!is_refused_name(known)) t.raise(PyExc_AttributeError, "'Tensor' object has no attribute '" + n + "'");
  set_absent(name);
  t.raise_current();
}

void TensorValue::set_grad_state(GradState s) {
  for (TensorType* t : {&type, &node->types.at(0)}) t->requires_grad = s.requires_grad, t->history = s.history;
}

bool TensorValue::has_attr(Tracer& t, PyObject* name) {
  const std::string n = text_of(name);
  if (tensor_has_method(n) || tensor_has_attr(n)) return true;
  PyObject* const known = find_item(tensor_type->tp_dict, n.c_str());
  if (known && (PyFunction_Check(known) || is_overridable_function(known))) return true;
  if (note(name)) return true;
  if (!real) return false;
  const bool there = has_attribute(real.get(), name);
  t.guard(there ? GuardKind::Hasattr : GuardKind::NoHasattr, source, PyRef::borrow(name));
  return there;
}

// None, or what an assignment to `grad` takes without a question.
static bool fits_as_grad(const TensorValue& of, const ValueRef& v) {
  if (is_true_constant(v, Py_None)) return true;
  const auto* g = as<TensorValue>(data_of(v));
  return g && g->python_type() == tensor_type && g->type.dtype == of.type.dtype && g->type.sizes == of.type.sizes &&
         g->type.device == of.type.device;
}

void TensorValue::set_attr(Tracer& t, PyObject* given_name, ValueRef v) {
  const PyRef usual = usual_name(given_name);
  PyObject* const name = usual.get();
  const std::string n = text_of(name), given = v ? v->print() : "";
  if (n == "grad" && v && real && source && type.is_leaf() && fits_as_grad(*this, v = t.realize(v))) {
    set_grad = v;
    ValueRef owner(this);
    if (of_instance) {  // the object that the source leads to, not the plain tensor of it
      owner = make_ref<TensorValue>(node, type);
      owner->source = source, owner->real = real;
    }
    SideEffect e{EffectKind::AttrSet, owner};
    e.name = PyRef::borrow(name), e.value = v;
    return t.effects.record(std::move(e));
  }
  if ((n == "real" || n == "imag") && v && t.config.trace_more) {  // a write into the view
    CallArgs args;
    args.positional.push_back(std::move(v));
    const ValueRef part = t.realize(get_attr(t, name));
    part->call_method(t, checked(PyUnicode_InternFromString("copy_")).get(), std::move(args));
    return;
  }
  if (keeps_note(t, *this, name, v)) return;
  if (n == "requires_grad") graph_break<GB0206>(print(), n, given);
  auto* data = as<TensorValue>(n == "data" && v ? v = t.realize(v) : v);
  if (n == "data" && data && data->type.dtype != type.dtype) graph_break<GB0220>(print(), n, given);
  if (n == "data" && data && takes_data(t, *this, *data)) return;
  if (n == "data") graph_break<GB0056>(print(), n, given);
  graph_break<GB0058>(print(), n, given);
}

// They change the sizes and strides of the very tensor they are called on.
bool is_inplace_view(const std::string& method) {
  for (const char* name : {"as_strided_", "detach_", "resize_", "resize_as_", "set_", "squeeze_", "swapaxes_",
                           "swapdims_", "t_", "transpose_", "unsqueeze_"})
    if (method == name) return true;
  return false;
}

// Those that only look at the same elements in another way.
static bool changes_own_view(const std::string& method) {
  return is_inplace_view(method) && !method.starts_with("res") && method != "set_" && method != "detach_";
}

// y.unsqueeze_(0) of a tensor of the graph: from here on y is that view of what it was.
static ValueRef change_own_view(Tracer& t, TensorValue& self, const std::string& method, CallArgs args) {
  const std::string view = method.substr(0, method.size() - 1);
  args.positional.insert(args.positional.begin(), ValueRef(&self));
  const ValueRef made = t.realize(t.call_op(view, Spelling::Method, args));
  auto& x = *as<TensorValue>(made);
  self.node = x.node;
  self.type = x.type;
  return ValueRef(&self);
}

// requires_grad_(flag) with the flag that the tensor has.
static bool keeps_grad_flag(Tracer& t, const TensorValue& v, CallArgs args) {
  ValueRef wanted = args.take_keyword("requires_grad");
  if (args.size() > (wanted ? 0u : 1u)) return false;
  if (!wanted && args.size() == 1) wanted = args[0];
  const PyRef flag = wanted ? t.realize(wanted)->as_constant() : PyRef::borrow(Py_True);
  return flag && flag.get() == (v.type.requires_grad ? Py_True : Py_False);
}

// Methods that break the graph by their nature.
static void breaking_method(Tracer& t, TensorValue& v, const std::string& n, const CallArgs& args) {
  if (v.source && is_inplace_view(n))
    graph_break<GB0148>(v.source->name + "." + n, "It gives an input of the graph other sizes and strides in place.");
  auto tuple = [&] {
    return "(" + print_list(args.positional).substr(1, print_list(args.positional).size() - 2) + ")";
  };
  if (n == "item") t.item_break_seen = true;
  if (n == "item") graph_break<GB0124>(v.print(), tuple(), print_keywords(args));
  if (n == "backward") graph_break<GB0123>(v.print(), tuple(), print_keywords(args));
  if (n == "is_nonzero" || n == "__bool__" || n == "equal" || n == "allclose") graph_break<GB0033>(n);
  if (n == "requires_grad_") graph_break<GB0125>(v.print());
  if (n == "resize_") graph_break<GB0126>(v.print(), tuple(), print_keywords(args));
  if (n == "resize_as_") graph_break<GB0127>(v.print(), tuple(), print_keywords(args));
  if (n == "sparse_resize_") graph_break<GB0129>(v.print(), tuple(), print_keywords(args));
  if (n == "sparse_resize_and_clear_") graph_break<GB0130>(v.print(), tuple(), print_keywords(args));
  if (n == "is_inference") graph_break<GB0045>();
  if (n == "set_" && args.positional.size() > 1) graph_break<GB0128>(v.print(), tuple(), print_keywords(args));
  for (auto& [key, value] : args.keywords)
    if (n == "uniform_" && text_of(key.get()) == "from")
      graph_break<GB0110>(n, print_list(args.positional), print_keywords(args));
  if (n == "random_") graph_break<GB0107>(n, print_list(args.positional), print_keywords(args));
  if (calls_for_each_element(n)) graph_break<GB0055>(print_list(args.positional));
  if (n == "retain_grad") graph_break<GB0108>(v.print());
  const bool lists_items = is_integral(v.type.dtype) && v.type.dtype != DType::UInt8;
  if (n == "tolist" && args.size() == 0 && lists_items) graph_break<GB0033>(n);
  if (n == "tolist" && !lists_items) graph_break<GB0109>(v.print());
}

static ValueRef to_array(Tracer& t, TensorValue& v, const CallArgs& args) {
  if (!t.config.trace_numpy) graph_break<GB0105>(v.print());
  PyRef numpy = PyRef::steal(import_module("numpy"));
  if (!numpy) {
    clear_answer();
    graph_break<GB0106>(v.print());
  }
  const DType dtype = v.type.dtype;
  if (args.size() != 0 || v.type.requires_grad || !buffer_format(dtype) || pending_of(*v.node))
    unmodelled_method(v, "numpy", args);  // refused, or given away with force=True
  return make_ref<ArrayValue>(Ref<TensorValue>(&v), false, true);
}

ValueRef TensorValue::call_method(Tracer& t, PyObject* name, CallArgs args) {
  const std::string n = text_of(name);
  const bool asks = t.overrides.asks_modes() || (t.overrides.asks_subclasses() && has_answering_argument(t, args));
  PyObject* const own = asks ? own_attribute(tensor_type, name) : nullptr;
  if (own && op_function_asks(own)) {
    args.positional.insert(args.positional.begin(), ValueRef(this));
    return t.call(t.from_object(own, nullptr), std::move(args));
  }
  if (is_forbidden_in_backward(t, *this, n))
    graph_break<GB0068>(print(), n, print_list(args.positional), print_keywords(args));
  if (!(source && is_inplace_view(n)) && !handles_arguments(n, args))
    graph_break<GB0117>(print(), n, print_list(args.positional), print_keywords(args));
  if ((n == "item" || n == "tolist") && !args.keywords.empty()) refuse_wrong_arguments(n, args);
  if (ValueRef v = metadata_method(t, *this, n, args)) return v;
  if (args.size() == 0 && (n == "item" || n == "tolist"))
    if (ValueRef v = n == "item" ? captured_item(t, *this) : captured_list(t, *this)) return v;
  if (n == "requires_grad_" && keeps_grad_flag(t, *this, args)) return ValueRef(this);
  if (n == "as_subclass") return cast_to_subclass(t, ValueRef(this), args);
  refuse_wrong_arguments(n, args);
  breaking_method(t, *this, n, args);
  if (!source && changes_own_view(n)) return change_own_view(t, *this, n, std::move(args));
  if (registers_hook(n)) return register_hook(t, *this, name, args);
  if (n == "numpy") return to_array(t, *this, args);
  if (n.rfind("__", 0) == 0) return call_dunder(t, n, std::move(args));
  if (!tensor_has_method(n)) return t.call(get_attr(t, name), std::move(args));
  if (!tensor_method_is_op(n)) {
    if (n.starts_with("is_") || n.starts_with("has_")) graph_break<GB0208>("bool", "call_method", n);
    break_on_other_answer(n);
    unmodelled_method(*this, n, args);
  }
  args.positional.insert(args.positional.begin(), ValueRef(this));
  return t.call_op(n, Spelling::Method, args);
}

ValueRef TensorValue::call_dunder(Tracer& t, const std::string& n, CallArgs args) {
  if (n == "__getitem__" && args.size() == 1) return get_item(t, args[0]);
  if (n == "__setitem__" && args.size() == 2) {
    set_item(t, args[0], args[1]);
    return t.none();
  }
  if (n == "__len__" && args.size() == 0) return length_value(t);
  if (n == "__iter__" && args.size() == 0) return iter(t);
  if (n == "__index__" && args.size() == 0) graph_break<GB0218>(print());
  if ((n == "__int__" || n == "__float__") && args.size() == 0)
    return t.call(t.from_object(reinterpret_cast<PyObject*>(n == "__int__" ? &PyLong_Type : &PyFloat_Type), nullptr),
                  CallArgs{{ValueRef(this)}, {}});
  if (n == "__setattr__" && args.size() == 2) {
    set_attr(t, attr_name(t.realize(args[0])).get(), t.realize(args[1]));
    return t.none();
  }
  static const std::pair<const char*, const char*> operators[] = {{"__add__", "add"},
                                                                  {"__sub__", "sub"},
                                                                  {"__mul__", "mul"},
                                                                  {"__truediv__", "truediv"},
                                                                  {"__floordiv__", "floordiv"},
                                                                  {"__mod__", "mod"},
                                                                  {"__pow__", "pow"},
                                                                  {"__matmul__", "matmul"},
                                                                  {"__neg__", "neg"},
                                                                  {"__eq__", "eq"},
                                                                  {"__ne__", "ne"},
                                                                  {"__lt__", "lt"},
                                                                  {"__le__", "le"},
                                                                  {"__gt__", "gt"},
                                                                  {"__ge__", "ge"},
                                                                  {"__and__", "and_"},
                                                                  {"__or__", "or_"},
                                                                  {"__xor__", "xor"},
                                                                  {"__iadd__", "iadd"},
                                                                  {"__isub__", "isub"},
                                                                  {"__imul__", "imul"},
                                                                  {"__itruediv__", "itruediv"}};
  for (auto& [dunder, op] : operators)
    if (n == dunder) {
      args.positional.insert(args.positional.begin(), ValueRef(this));
      return t.call_operator(op, args);
    }
  break_on_other_answer(n);
  unmodelled_method(*this, n, args);
}

// Ranges are positions as lists of ints are, but no other argument of an op.
static ValueRef tensor_key(Tracer& t, const ValueRef& raw) {
  const auto is_range = [&](const ValueRef& v) { return t.realize(v)->kind == ValueKind::Range; };
  const auto listed = [&](const ValueRef& v) { return is_range(v) ? ValueRef(make_ref<ListValue>(collect(t, v))) : v; };
  const ValueRef key = index_value(t, raw);
  auto* tuple = as<TupleValue>(key);
  if (!tuple || std::ranges::none_of(tuple->items, is_range)) return listed(key);
  std::vector<ValueRef> items;
  std::ranges::transform(tuple->items, std::back_inserter(items), listed);
  return make_ref<TupleValue>(std::move(items));
}

ValueRef TensorValue::get_item(Tracer& t, const ValueRef& key) {
  if (t.overrides.asks_modes()) return ask_tensor_method(t, "__getitem__", CallArgs{{ValueRef(this), key}, {}});
  CallArgs args;
  args.positional = {ValueRef(this), tensor_key(t, key)};
  return t.call_operator("getitem", args);
}

void TensorValue::set_item(Tracer& t, const ValueRef& key, ValueRef v) {
  if (!v) t.raise(PyExc_TypeError, "Tensor does not support deleting items");
  if (t.overrides.asks_modes()) {
    ask_tensor_method(t, "__setitem__", CallArgs{{ValueRef(this), key, v}, {}});
    return;
  }
  CallArgs args;
  args.positional = {ValueRef(this), tensor_key(t, key), t.realize(v)};
  t.call_operator("setitem", args);
}

std::optional<std::int64_t> TensorValue::length(Tracer& t) {
  if (type.dim() == 0) t.raise(PyExc_TypeError, "len() of a 0-d tensor");
  const std::int64_t n = hint(type.sizes[0]);
  return guard_eq(type.sizes[0], Size(n)) ? n : 0;  // assumed from here on: loops over rows are unrolled
}

ValueRef TensorValue::length_value(Tracer& t) {
  if (t.overrides.asks_modes()) return ask_tensor_method(t, "__len__", CallArgs{{ValueRef(this)}, {}});
  if (type.dim() == 0) t.raise(PyExc_TypeError, "len() of a 0-d tensor");
  return size_value(t, type.sizes[0]);
}

bool TensorValue::truth(Tracer&) { graph_break<GB0170>(print()); }

ValueRef TensorValue::iter(Tracer& t) {
  if (type.dim() == 0) t.raise(PyExc_TypeError, "iteration over a 0-d tensor");
  std::vector<ValueRef> rows;
  const std::int64_t n = *length(t);
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(get_item(t, t.integer(i)));
  return make_ref<SequenceIterator>(std::move(rows), ValueRef(this));
}

bool TensorValue::contains(Tracer& t, const ValueRef& item) {
  unmodelled_method(*this, "__contains__", CallArgs{{t.realize(item)}, {}});
}

Reg TensorValue::rebuild(PlanBuilder& b) {
  if (!source) return b.graph_output(node);
  if (!of_instance) return b.load_source(source);
  PlanStep cast{StepOp::Call};
  auto* const cls = reinterpret_cast<PyObject*>(tensor_type);
  cast.a = b.load_constant(checked(PyObject_GetAttrString(cls, "as_subclass")));
  cast.regs = {b.load_source(source), b.load_class(tensor_type)};
  return b.step(std::move(cast));
}

}  // namespace md
