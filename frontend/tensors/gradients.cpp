// backward(), .grad and .grad_fn: from Python's objects to the tape (ir/gradients/tape.h) and back.
#include "frontend/tensors/gradients.h"

#include <mutex>
#include <set>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/compiled_backward.h"
#include "frontend/tensors/held_objects.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/node_object.h"
#include "frontend/tensors/saved_tensor_object.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/gradients/tape.h"

namespace md {

namespace {

// --- backward() ------------------------------------------------------------------------------------------------------

TensorRef gradient_of(PyObject* o) {
  if (o == Py_None) return nullptr;
  if (!is_tensor(o)) throw_type_error("a gradient must be a Tensor or None, not %.200s", Py_TYPE(o)->tp_name);
  return tensor_impl(o);
}

// A tensor, or an edge: a tuple of a node and the number of one of its results, and perhaps more.
GradTarget target_of(PyObject* o, const char* what) {
  if (is_tensor(o)) return {tensor_impl(o), {}};
  if (!PyTuple_Check(o) || PyTuple_GET_SIZE(o) < 2 || !is_node(PyTuple_GET_ITEM(o, 0)))
    throw_type_error("%s must be a Tensor or a GradientEdge, not %.200s", what, Py_TYPE(o)->tp_name);
  const long result = PyLong_AsLong(PyTuple_GET_ITEM(o, 1));
  if (result == -1 && PyErr_Occurred()) throw PythonError{};
  return {nullptr, {Ref<GradNode>(&node_of(PyTuple_GET_ITEM(o, 0))), static_cast<int>(result)}};
}

template <class F>
auto each_of(PyObject* sequence, F&& f) {
  const PyRef items = checked(PySequence_Tuple(sequence));
  std::vector<decltype(f(items.get()))> out;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(items.get()); ++i) out.push_back(f(PyTuple_GET_ITEM(items.get(), i)));
  return out;
}

// _run_backward(roots, grads, keep_graph, create_graph, inputs, accumulate)
PyRef run_backward_function(const PassedArgs& call) {
  static const char* const names[] = {"roots", "grads", "keep_graph", "create_graph", "inputs", "accumulate"};
  PyObject* out[6];
  parse_native({"_run_backward", names, 6}, call, out);
  BackwardCall back;
  back.roots = each_of(out[0], [](PyObject* o) { return target_of(o, "an output"); });
  back.grads = each_of(out[1], gradient_of);
  if (back.grads.size() != back.roots.size())
    throw OpError(ErrorKind::Runtime,
                  fmt::format("got {} tensors and {} gradients", back.roots.size(), back.grads.size()));
  back.keep_graph = checked(PyObject_IsTrue(out[2]));
  back.create_graph = checked(PyObject_IsTrue(out[3]));
  back.inputs = each_of(out[4], [](PyObject* o) { return target_of(o, "an input"); });
  back.accumulate_into_inputs = checked(PyObject_IsTrue(out[5]));
  std::optional<GraphRecorder> recorder;
  if (PyRef compiler = autograd_compiler()) back.recorder = &recorder.emplace(std::move(compiler));
  const std::vector<TensorRef> found = run_backward(back);
  PyRef answer = checked(PyTuple_New(static_cast<Py_ssize_t>(found.size())));
  for (std::size_t i = 0; i < found.size(); ++i) {
    PyTuple_SET_ITEM(answer.get(), static_cast<Py_ssize_t>(i),
                     found[i] ? wrap_tensor(found[i]).release() : Py_NewRef(Py_None));
  }
  return answer;
}

PyRef backward_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "gradient", "retain_graph", "create_graph", "inputs"};
  PyObject* out[5];
  parse_native({"backward", names, 1}, call, out);
  PyRef module = checked(import_module("minidynamo.autograd"));
  PyRef backward = checked(PyObject_GetAttrString(module.get(), "backward"));
  const auto given = [&](int i, PyObject* otherwise) { return out[i] ? out[i] : otherwise; };
  PyRef keywords =
      checked(Py_BuildValue("{s:O,s:O,s:O,s:O}", "grad_tensors", given(1, Py_None), "retain_graph", given(2, Py_None),
                            "create_graph", given(3, Py_False), "inputs", given(4, Py_None)));
  PyRef args = checked(PyTuple_Pack(1, out[0]));
  return checked(PyObject_Call(backward.get(), args.get(), keywords.get()));
}

PyRef is_view_method(const PassedArgs& call) {
  no_arguments("_is_view", call, 1);
  return PyRef::borrow(tensor_impl(call.args[0])->base ? Py_True : Py_False);
}

// _gradient_edge(tensor): (node, result), None where it requires no grad
PyRef gradient_edge_function(const PassedArgs& call) {
  static const char* const names[] = {"tensor"};
  PyObject* out[1];
  parse_native({"_gradient_edge", names, 1}, call, out);
  if (!is_tensor(out[0])) throw_type_error("_gradient_edge() takes a Tensor, not %.200s", Py_TYPE(out[0])->tp_name);
  const GradEdge e = grad_edge(tensor_impl(out[0]));
  if (!e.node) return PyRef::borrow(Py_None);
  return checked(Py_BuildValue("(Oi)", node_object(e.node).get(), e.result));
}

PyRef node_under_way_function(const PassedArgs& call) {
  no_arguments("_current_autograd_node", call, 0);
  return node_object(Ref<GradNode>(node_under_way()));
}

// As objects of types do, names of nodes stay.
const std::string* kept_name(std::string_view name) {
  static std::mutex mutex;
  static auto& names = *new std::set<std::string, std::less<>>();
  const std::lock_guard lock(mutex);
  const auto found = names.find(name);
  return found != names.end() ? &*found : &*names.emplace(name).first;
}

// _as_one_call(result, name, *operands): shows the nodes between them as one, named "<name>Backward0".
PyRef as_one_call_function(const PassedArgs& call) {
  if (call.nargs < 2 || !PyUnicode_Check(call.args[1]))
    throw_type_error("_as_one_call() takes a result, a name and operands");
  PyRef result = PyRef::borrow(call.args[0]);
  if (!is_tensor(result.get()) || tensor_impl(result.get())->is_leaf()) return result;
  NodeLabel label{kept_name(std::string(utf8_of(call.args[1])) + "Backward0"), 1};
  for (Py_ssize_t i = 2; i < call.nargs && label.operands < 64; ++i) {
    const std::uint64_t bit = std::uint64_t{1} << label.operands++;
    if (!is_tensor(call.args[i])) continue;
    const TensorRef operand = tensor_impl(call.args[i]);
    if (operand->requires_grad) label.flows |= bit;
    if (!operand->is_leaf()) label.first = std::max(label.first, grad_edge(operand).node->order);
  }
  label_nodes(Arg(TensorRef(tensor_impl(result.get()))), label);
  return result;
}

constexpr NativeRow kMethods[] = {
    {"backward", backward_method,
     "backward(gradient=None, retain_graph=None, create_graph=False, inputs=None)\n\nAdds to the grad of every leaf "
     "that this tensor was computed from. RuntimeError for a tensor of several elements without `gradient`, and a "
     "second time without retain_graph."},
    {"_is_view", is_view_method, "_is_view()\n\nWhether this tensor is a view of another one, `_base`."},
};
constexpr NativeRow kFunctions[] = {
    {"_run_backward", run_backward_function, "Gradients flow back; behind torch.autograd.backward and grad.", true},
    {"_as_one_call", as_one_call_function, "Shows what computed a result from operands as one node of that name.",
     true},
    {"_gradient_edge", gradient_edge_function, "The node a tensor's gradient goes to, and the number of its result."},
    {"_current_autograd_node", node_under_way_function, "The node whose backward is under way, or None."},
};

}  // namespace

PyObject* tensor_grad(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *tensor_impl(self);
    if (!t.is_leaf() && !t.retains_grad)
      checked(
          PyErr_WarnEx(PyExc_UserWarning,
                       "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed: it is not filled "
                       "in unless retain_grad() was called.",
                       1));
    return Py_NewRef(grad_object(t));
  });
}

PyObject* grad_object(const TensorImpl& t) {
  GradRecord* r = grad_record(t);
  if (!r || !r->grad) return Py_None;
  if (t.face) track_tensor(static_cast<PyObject*>(t.face));
  if (!r->grad_face) r->grad_face = make_ref<Held>(object_of_tensor(r->grad));
  return static_cast<Held*>(r->grad_face.get())->object.get();
}

static bool is_on(PyObject* tensor, Device d) {
  PyRef device = checked(PyObject_GetAttrString(tensor, "device"));
  return is_device(device.get()) && device_value(device.get()) == d;
}

int set_tensor_grad(PyObject* self, PyObject* value, void*) {
  PyObject* done = guarded([&]() -> PyObject* {
    TensorImpl& t = *tensor_impl(self);
    if (!value || value == Py_None) {
      if (GradRecord* r = grad_record(t)) r->grad = nullptr, r->grad_face = nullptr;
      return Py_None;
    }
    if (!is_tensor(value))
      throw_type_error("assigned grad expected to be a Tensor or None but got grad of type %.200s",
                       Py_TYPE(value)->tp_name);
    const TensorRef g = tensor_impl(value);
    if (g.get() == &t) throw OpError(ErrorKind::Runtime, "can't assign Variable as its own grad");
    if (g->dtype != t.dtype) throw OpError(ErrorKind::Runtime, "assigned grad has data of a different type");
    // A tensor made of others (a sparse one) says itself where it is.
    const bool elsewhere = is_tensor_exact(value) ? !(g->device() == t.device()) : !is_on(value, t.device());
    if (elsewhere) throw OpError(ErrorKind::Runtime, "assigned grad has data located on a different device");
    if (!(g->sizes == t.sizes)) throw OpError(ErrorKind::Runtime, "assigned grad has data of a different size");
    GradRecord& r = make_grad_record(t);
    r.grad = g;
    r.grad_face = make_ref<Held>(PyRef::borrow(value));
    track_tensor(self);
    return Py_None;
  });
  return done ? 0 : -1;
}

PyObject* tensor_grad_fn(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    TensorImpl& t = *tensor_impl(self);
    follow_base(&t);
    if (t.is_leaf()) return Py_NewRef(Py_None);
    track_tensor(self);
    return node_object(grad_edge(&t).node).release();
  });
}

PyObject* tensor_base(PyObject* self, void*) {
  return guarded([&]() -> PyObject* {
    const TensorRef base = tensor_impl(self)->base;
    return base ? object_of_tensor(base).release() : Py_NewRef(Py_None);
  });
}

PyObject* tensor_output_nr(PyObject* self, void*) {
  const GradRecord* r = grad_record(*tensor_impl(self));
  return PyLong_FromLong(r && r->node ? r->result : 0);
}

std::span<const NativeRow> gradient_methods() { return kMethods; }
std::span<const NativeRow> gradient_functions() { return kFunctions; }

int init_gradients(PyObject* module) { return init_nodes(module) < 0 ? -1 : init_saved_tensor_objects(module); }

}  // namespace md
