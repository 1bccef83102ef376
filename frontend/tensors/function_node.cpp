// Nodes of the tape whose backward calls the program's backward(ctx, ...) in Python.
#include "frontend/tensors/function_node.h"

#include <algorithm>
#include <memory>

#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/node_object.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/gradients/function_views.h"

namespace md {

namespace {

// The arguments of a call before forward() runs, which may write to them.
struct Arguments {
  std::vector<TensorRef> tensors;  // null for what is no tensor
  std::vector<GradEdge> edges;
  std::vector<TensorType> types;
};

// A call of autograd.Function.apply.
class FunctionNode final : public GradNode, public ObjectHolder, public ContextHolder {
 public:
  FunctionNode(PyRef function, PyRef context, const Arguments& arguments)
      : function_(std::move(function)), context_(std::move(context)), of_input_(arguments.types) {
    edges = arguments.edges;
  }
  std::string own_name() const override {
    const PyRef text = checked(PyObject_GetAttrString(function_.get(), "__name__"));
    return std::string(utf8_of(text.get())) + "Backward";
  }
  std::optional<TensorType> result_type(int i) const override {
    const auto k = static_cast<std::size_t>(i);
    return k < of_output.size() ? of_output[k] : std::nullopt;
  }
  PyObject* context() const override { return context_.get(); }
  void for_each_held(const std::function<void(RefCounted&)>& f) const override {
    GradNode::for_each_held(f);
    f(const_cast<FunctionNode&>(*this));
  }
  int traverse(visitproc visit, void* arg) const override {
    Py_VISIT(function_.get());
    Py_VISIT(context_.get());
    return 0;
  }
  std::vector<std::optional<TensorType>> of_output;
  std::vector<bool> is_view;  // of each output, once one shows memory of an argument

  std::vector<TensorRef> backward(std::span<const TensorRef> grads, const BackwardStep& step) override {
    PyRef given = checked(PyTuple_New(static_cast<Py_ssize_t>(grads.size() + 2)));
    PyTuple_SET_ITEM(given.get(), 0, Py_NewRef(context_.get()));
    PyTuple_SET_ITEM(given.get(), 1, Py_NewRef(step.keep ? Py_True : Py_False));
    for (std::size_t i = 0; i < grads.size(); ++i)
      PyTuple_SET_ITEM(given.get(), static_cast<Py_ssize_t>(i + 2),
                       grads[i] ? object_of_tensor(grads[i]).release() : Py_NewRef(Py_None));
    if (step.needed) tell_needed(step);
    const PyRef backward = checked(PyObject_GetAttrString(function_.get(), "backward"));
    return gradients_in(checked(PyObject_Call(backward.get(), given.get(), nullptr)).get());
  }

 private:
  // A context with `needed` (minidynamo/_aten/derivatives.py) knows which gradients this pass goes on with.
  void tell_needed(const BackwardStep& step) const {
    const PyRef asks = PyRef::steal(PyObject_GetAttrString(context_.get(), "needed"));
    clear_answer();
    if (!asks) return;
    PyRef needed = checked(PyTuple_New(static_cast<Py_ssize_t>(edges.size())));
    for (std::size_t i = 0; i < edges.size(); ++i)
      PyTuple_SET_ITEM(needed.get(), static_cast<Py_ssize_t>(i), PyBool_FromLong(edges[i].node && step.wants(i)));
    if (PyObject_SetAttrString(context_.get(), "needed", needed.get()) < 0) throw PythonError{};
  }
  std::vector<TensorRef> gradients_in(PyObject* items) const {
    const auto count = static_cast<std::size_t>(PyTuple_GET_SIZE(items));
    bool more = count > edges.size();  // further ones may be None
    for (std::size_t i = edges.size(); i < count; ++i)
      more &= PyTuple_GET_ITEM(items, static_cast<Py_ssize_t>(i)) != Py_None;
    if (count < edges.size() || more)
      throw OpError(ErrorKind::Runtime,
                    fmt::format("function {} returned an incorrect number of gradients (expected {}, got {})", name(),
                                edges.size(), count));
    std::vector<TensorRef> out;
    for (std::size_t i = 0; i < edges.size(); ++i) {
      PyObject* g = PyTuple_GET_ITEM(items, static_cast<Py_ssize_t>(i));
      out.push_back(edges[i].node && is_tensor(g) ? fitted(i, tensor_impl(g)) : TensorRef());
    }
    return out;
  }

  TensorRef fitted(std::size_t i, const TensorRef& g) const {
    const TensorType &want = of_input_[i], have = type_of(Arg(g));
    if (have.sizes == want.sizes && have.dtype == want.dtype && have.device == want.device) return g;
    TensorRef out = g;
    if (!(have.sizes == want.sizes)) {
      bool fits = have.dim() >= want.dim();
      for (int k = 1; fits && k <= want.dim(); ++k) {
        const Size s = want.sizes[static_cast<std::size_t>(want.dim() - k)];
        fits = s == have.sizes[static_cast<std::size_t>(have.dim() - k)] || s.is_const(1);
      }
      if (!fits)
        throw OpError(ErrorKind::Runtime,
                      fmt::format("Function {} returned an invalid gradient at index {} - got {} but expected shape "
                                  "compatible with {}",
                                  name(), i, sizes_text(have.sizes), sizes_text(want.sizes)));
      const Op& sum = op(id::Sum);
      const std::vector<Arg> args{g};
      out = summed_to(Expansion{{sum, args}, *tape_runner().caller, kCpu}, g, want.sizes).get<TensorRef>();
    }
    if (out->dtype != want.dtype) out = call_table("convert", {out, want.dtype}).get<TensorRef>();
    return beside(out, want.device, fmt::format("Function {}", name()), i);
  }

  const PyRef function_, context_;
  std::vector<TensorType> of_input_;
};

// --- Recording -------------------------------------------------------------------------------------------------------

constexpr const char* kArguments = "minidynamo.autograd.Arguments";

void free_arguments(PyObject* capsule) { delete static_cast<Arguments*>(PyCapsule_GetPointer(capsule, kArguments)); }

// _function_arguments(arguments): where the gradients of a call go, asked before forward().
PyRef function_arguments(const PassedArgs& call) {
  static const char* const names[] = {"arguments"};
  PyObject* out[1];
  parse_native({"_function_arguments", names, 1}, call, out);
  auto made = std::make_unique<Arguments>();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(out[0]); ++i) {
    PyObject* const a = PyTuple_GET_ITEM(out[0], i);
    const TensorRef t = is_tensor(a) ? TensorRef(tensor_impl(a)) : TensorRef();
    made->edges.push_back(t ? grad_edge(t) : GradEdge{});
    made->types.push_back(t ? type_of(Arg(t)) : TensorType{});
    made->tensors.push_back(t);
  }
  PyRef capsule = checked(PyCapsule_New(made.get(), kArguments, free_arguments));
  made.release();
  return capsule;
}

// An argument that forward() wrote to and returned: what it shows a part of goes through the call as well.
bool record_written(const Ref<FunctionNode>& node, const Arguments& arguments, const TensorRef& t, bool only_result) {
  const auto at = std::ranges::find(arguments.tensors, t);
  if (at == arguments.tensors.end() || !t->base) return false;
  if (t->base->requires_grad && t->base->is_leaf())
    throw OpError(ErrorKind::Runtime,
                  "a view of a leaf Variable that requires grad is being used in an in-place operation.");
  if (!only_result)
    throw OpError(ErrorKind::Runtime,
                  "a Function that writes to a view can have no other result: give it a clone() of the view");
  record_write(node, static_cast<std::size_t>(at - arguments.tensors.begin()), t, t);
  return true;
}

// _record_function(function, context, arguments, outputs, dirty): outputs, a tuple, are the results of a call of
// `apply`, and dirty those of them that are arguments written to.
PyRef record_function(const PassedArgs& call) {
  static const char* const names[] = {"function", "context", "arguments", "outputs", "dirty"};
  PyObject* out[5];
  parse_native({"_record_function", names, 5}, call, out);
  const auto* arguments = static_cast<const Arguments*>(PyCapsule_GetPointer(out[2], kArguments));
  if (!arguments) throw PythonError{};
  const auto node = make_ref<FunctionNode>(PyRef::borrow(out[0]), PyRef::borrow(out[1]), *arguments);
  const Py_ssize_t count = PyTuple_GET_SIZE(out[3]);
  node->results = static_cast<int>(count);
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(out[3], i);
    node->of_output.push_back(is_tensor(o) ? std::optional(type_of(Arg(TensorRef(tensor_impl(o))))) : std::nullopt);
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* o = PyTuple_GET_ITEM(out[3], i);
    if (!is_tensor(o) || !tensor_impl(o)->requires_grad || tensor_impl(o)->is_leaf()) continue;
    const TensorRef t = tensor_impl(o);
    track_tensor(o);
    if (checked(PySequence_Contains(out[4], checked(PyLong_FromSsize_t(i)).get())) &&
        record_written(node, *arguments, t, count == 1))
      continue;
    set_history(*t, node, static_cast<int>(i));
    const auto shares = [&](const TensorRef& a) { return a && a->storage == t->storage; };
    if (t->base && std::ranges::any_of(arguments->tensors, shares)) {
      node->is_view.resize(static_cast<std::size_t>(count));
      node->is_view[static_cast<std::size_t>(i)] = true;
    }
    t->base = nullptr;  // its gradient goes through this call, not to what it shows a part of
  }
  return PyRef::borrow(Py_None);
}

bool is_view_of_function(const GradNode& node, int result) {
  const auto* const call = dynamic_cast<const FunctionNode*>(&node);
  const auto i = static_cast<std::size_t>(result);
  return call && i < call->is_view.size() && call->is_view[i];
}

constexpr NativeRow kFunctions[] = {
    {"_function_arguments", function_arguments, "The arguments of a Function, before its forward."},
    {"_record_function", record_function, "Outputs of a Function know the call; behind Function.apply."},
};

}  // namespace

std::span<const NativeRow> function_node_functions() {
  set_is_function_view(is_view_of_function);
  return kFunctions;
}

}  // namespace md
