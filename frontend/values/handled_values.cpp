// Makes the stand-ins by __tensor_flatten__ and __tensor_unflatten__, and asks handlers about them by eager calls.
#include "frontend/values/handled_values.h"

#include <map>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/import_module.h"
#include "frontend/cpython/library_classes.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/known_values.h"
#include "frontend/tensors/untouched_memory.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/builtin_bases.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/tensor_subclass.h"
#include "ir/graph/handled_input.h"
#include "ir/run/eager.h"
#include "ir/sizes/shape_env.h"
#include "ir/tensor/device_generators.h"
#include "ir/tensor/extent.h"

namespace md {

namespace {

constexpr const char* kStandIns = "minidynamo._aten.stand_ins";

PyRef stand_in_function(const char* name) {
  return checked(PyObject_GetAttrString(checked(import_module(kStandIns)).get(), name));
}

template <class F>
void for_each_held_tensor(Tracer& t, const ValueRef& raw, F&& f) {
  const ValueRef v = t.realize(raw);
  if (auto* x = as<TensorValue>(data_of(v))) return f(*x);
  auto* list = as<ListValue>(v);
  auto* tuple = as<TupleValue>(v);
  if (!list && !tuple) return;
  for (const ValueRef& item : list ? list->items : tuple->items) for_each_held_tensor(t, item, f);
}

template <class F>
void for_each_held_tensor(Tracer& t, const CallArgs& args, F&& f) {
  for (const ValueRef& v : args.positional) for_each_held_tensor(t, v, f);
  for (const auto& [name, v] : args.keywords) for_each_held_tensor(t, v, f);
}

std::int64_t number_of(Size s) { return s.is_const() ? s.value() : hint(s); }

DimVec numbers_of(const SizeVec& sizes) {
  DimVec out;
  for (const Size s : sizes) out.push_back(number_of(s));
  return out;
}

TensorRef zeros_like_type(const TensorType& type) {
  const DimVec sizes = numbers_of(type.sizes), strides = numbers_of(type.strides);
  const std::int64_t offset = number_of(type.offset);
  const std::size_t bytes = checked_bytes(sizes, strides, offset, type.dtype);
  Ref<Storage> memory = untouched_zeros(bytes, type.device);
  auto made = make_ref<TensorImpl>(std::move(memory), type.dtype, sizes, strides, offset);
  made->set_grad_state(type.grad_state());
  return made;
}

// Operands of a call by their nodes, as the eager call of the stand-ins takes them.
class RealOperands {
 public:
  RealOperands(Tracer& t, const CallArgs& args) {
    for_each_held_tensor(t, args, [&](TensorValue& x) {
      if (x.stand_in) known_[x.node] = x.stand_in;
    });
  }
  Arg operator()(const Arg& a) {
    if (const auto* node = a.get_if<Node*>()) {
      TensorRef& made = known_[*node];
      if (!made) made = zeros_like_type((*node)->type());
      return made;
    }
    if (const auto* s = a.get_if<Size>()) return Arg(Size(number_of(*s)));
    if (const auto* s = a.get_if<SliceArg>()) {
      const std::vector<Arg>& parts = *s->parts;
      return make_slice((*this)(parts[0]), (*this)(parts[1]), (*this)(parts[2]));
    }
    const auto* l = a.get_if<ListArg>();
    if (!l) return a;
    ListArg out{{}, l->tuple};
    for (const Arg& item : l->items) out.items.push_back((*this)(item));
    return out;
  }

 private:
  std::map<const Node*, TensorRef> known_;
};

// The thread's gradient mode and the random streams as they were.
class AsTraced {
 public:
  explicit AsTraced(bool grad) : grad_(md::grad_enabled()) { set_grad_enabled(grad); }
  ~AsTraced() {
    set_grad_enabled(grad_);
    streams_.put_back();
  }
  AsTraced(const AsTraced&) = delete;
  AsTraced& operator=(const AsTraced&) = delete;

 private:
  bool grad_;
  const DefaultStreams streams_;
};

void collect_results(const Arg& result, std::vector<TensorRef>& out) {
  if (const auto* t = result.get_if<TensorRef>()) out.push_back(*t);
  if (const auto* l = result.get_if<ListArg>())
    for (const Arg& a : l->items) collect_results(a, out);
}

// What the handler makes is what the graph gets, whatever the op's rule says.
void correct_types(Node& n, const std::vector<TensorRef>& made) {
  if (made.size() != n.types.size()) return;
  for (std::size_t i = 0; i < made.size(); ++i) {
    TensorType& type = n.types[i];
    if (made[i]->dtype == type.dtype && made[i]->sizes == numbers_of(type.sizes)) continue;
    const int storage = type.storage;
    type = type_of(Arg(made[i]));
    type.storage = storage;
  }
}

// A handler that needs elements, or has no answer, is asked outside of graphs.
void break_at_handler(const std::string& asked, PyObject* error) {
  const PyRef module = checked(import_module("minidynamo._dynamo.marked_callables"));
  const auto is = [&](const char* name) {
    return PyObject_IsInstance(error, checked(PyObject_GetAttrString(module.get(), name)).get()) == 1;
  };
  if (is("DynamicShape")) graph_break<GB0036>(asked);
  if (is("DataDependentValue")) graph_break<GB0033>(asked);
  if (PyErr_GivenExceptionMatches(error, PyExc_NotImplementedError)) graph_break<GB0087>(asked, text_of(error));
}

bool is_plain_constant(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         Py_TYPE(o) == Py_TYPE(dtype_object(DType::Float32)) || is_device(o);
}

}  // namespace

void take_stand_in(Tracer& t, ObjectValue& instance, PyObject* real) {
  auto& tensor = static_cast<TensorValue&>(*instance.payload);
  mark_handled(*tensor.node);
  const PyRef parts = checked(PyObject_CallOneArg(stand_in_function("inner_tensors").get(), real));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parts.get()); ++i)
    if (is_library_class(Py_TYPE(PyList_GET_ITEM(parts.get(), i)), LibraryClass::NestedTensor)) graph_break<GB0044>();
  const PyRef made = checked(PyObject_CallOneArg(stand_in_function("stand_in").get(), real));
  if (made.get() == Py_None) return;
  tensor.stand_in = TensorRef(tensor_impl(made.get()));
  tensor.stand_in->set_grad_state(tensor.type.grad_state());
  const PyRef names = checked(PyObject_CallOneArg(stand_in_function("guarded_attributes").get(), real));
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(names.get()); ++i)
    (void)t.realize(instance.get_attr(t, PyList_GET_ITEM(names.get(), i)));
}

ValueRef with_stand_in(Tracer& t, const ValueRef& tensor, const TensorRef& made) {
  PyObject* const face = made ? face_of_handled(*made) : nullptr;
  auto* x = as<TensorValue>(tensor);
  if (!face || !x) return tensor;
  x->stand_in = made;
  return as_tensor_subclass(t, tensor, Py_TYPE(face));
}

bool holds_handled(Tracer& t, const CallArgs& args) {
  bool found = false;
  for_each_held_tensor(t, args, [&](TensorValue& x) {
    const bool from_outside = x.real && is_tensor(x.real.get()) && handled_of(*tensor_impl(x.real.get()));
    if (from_outside && !x.stand_in)
      unmodelled(x.print(), "tensor of a class with __torch_dispatch__ and without __tensor_flatten__");
    found |= static_cast<bool>(x.stand_in);
  });
  return found;
}

std::vector<TensorRef> call_stand_ins(Tracer& t, const CallArgs& args, Node& n, const BoundCall& call, bool inplace) {
  RealOperands real(t, args);
  std::vector<Arg> bound;
  for (const Arg& a : call.args) bound.push_back(real(a));
  std::vector<TensorRef> made;
  try {
    const AsTraced ambient(t.grad_enabled);
    const UnknownValues zeros;
    if (inplace)
      call_inplace(op(call.op), bound);
    else
      collect_results(call_op(op(call.op), bound), made);
  } catch (const PythonError&) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw;
    const PyRef error = take_exception();
    break_at_handler(op(call.op).public_name, error.get());
    throw OpError(ErrorKind::Runtime,
                  "__torch_dispatch__ raised " + type_name(Py_TYPE(error.get())) + ": " + text_of(error.get()));
  }
  if (!inplace) correct_types(n, made);
  return made;
}

ValueRef make_handled(Tracer& t, const ClassValue& cls, CallArgs args) {
  for (ValueRef& v : args.positional) v = data_of(t.realize(v));
  for (auto& [name, v] : args.keywords) v = data_of(t.realize(v));
  const PyRef maker = checked(PyObject_CallOneArg(stand_in_function("maker").get(), cls.real.get()));
  return t.call(t.from_object(maker.get(), nullptr), std::move(args));
}

bool is_inner_tensor(ObjectValue& self, PyObject* name) {
  auto* tensor = as<TensorValue>(self.payload);
  if (!tensor || !tensor->stand_in || !self.real) return false;
  const PyRef found =
      checked(PyObject_CallFunctionObjArgs(stand_in_function("is_inner").get(), self.real.get(), name, nullptr));
  return found.get() == Py_True;
}

ValueRef handled_attr(Tracer& t, ObjectValue& self, PyObject* name) {
  auto* tensor = as<TensorValue>(self.payload);
  PyObject* const face = tensor && tensor->stand_in ? face_of_handled(*tensor->stand_in) : nullptr;
  if (!face || self.source) return {};
  const PyRef holds = checked(PyObject_CallFunctionObjArgs(stand_in_function("holds").get(), face, name, nullptr));
  if (holds.get() != Py_True) return {};
  const PyRef value = checked(PyObject_GetAttr(face, name));
  if (is_tensor(value.get())) {
    const ValueRef part = t.from_object(stand_in_function("part").get(), nullptr);
    return t.call(part, CallArgs{{self.payload, t.constant(name)}, {}});
  }
  if (!is_plain_constant(value.get()))
    unmodelled(self.print() + "." + text_of(name), "what a __torch_dispatch__ has put into an attribute");
  return t.constant(value);
}

}  // namespace md
