// Functions of the namespace that are not ops: defaults, modes, questions about dtypes.
#include "frontend/tensors/generator_object.h"
#include "frontend/tensors/handlers.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/promoted_dtype.h"
#include "frontend/tensors/tensor_parts.h"
#include "ir/core/threads.h"
#include "ir/infer/complex_calls.h"
#include "ir/infer/promotion.h"
#include "ir/reference/product_order.h"
#include "ir/reference/uninitialised.h"
#include "ir/run/eager.h"
#include "ir/run/observed_parts.h"
#include "ir/tensor/device_generators.h"

namespace md {

namespace {

PyRef none_ref() { return PyRef::borrow(Py_None); }
PyRef bool_ref(bool b) { return PyRef::borrow(b ? Py_True : Py_False); }

template <std::size_t N>
std::array<PyObject*, N> arguments(const char* function, const char* const (&names)[N], const PassedArgs& call) {
  std::array<PyObject*, N> out;
  parse_native({function, names, static_cast<int>(N)}, call, out);
  return out;
}

const TensorImpl& tensor_argument(const char* function, PyObject* o) {
  if (!is_tensor(o)) {
    throw_type_error("%s(): argument 'input' (position 1) must be Tensor, not %.200s", function, Py_TYPE(o)->tp_name);
  }
  return *tensor_impl(o);
}

// --- Random numbers -------------------------------------------------------------------------------------------------

PyRef manual_seed(const PassedArgs& call) {
  const auto [seed] = arguments("manual_seed", {"seed"}, call);
  const std::uint64_t number = seed_argument(seed, "manual_seed");
  set_state(default_generator(), {number, 0});
  seed_devices(number);
  return default_generator_object();
}
PyRef initial_seed(const PassedArgs& call) {
  no_arguments("initial_seed", call, 0);
  return checked(PyLong_FromUnsignedLongLong(state_of(default_generator()).seed));
}

// --- Defaults and modes ---------------------------------------------------------------------------------------------

PyRef set_default(const PassedArgs& call) {
  const auto [d] = arguments("set_default_dtype", {"d"}, call);
  DType t;
  if (!as_dtype(d, t) || !is_floating(t) || is_float8(t)) {
    throw_type_error("only floating-point types are supported as the default type");
  }
  set_default_dtype(tensor_dtype(d));
  return none_ref();
}
PyRef get_default(const PassedArgs& call) {
  no_arguments("get_default_dtype", call, 0);
  return PyRef::borrow(dtype_object(default_dtype()));
}
PyRef set_default_place(const PassedArgs& call) {
  const auto [device] = arguments("set_default_device", {"device"}, call);
  set_default_device(device_argument(device).value_or(kCpu));
  return none_ref();
}
PyRef get_default_place(const PassedArgs& call) {
  no_arguments("get_default_device", call, 0);
  return device_object(default_device());
}
PyRef is_grad_enabled_function(const PassedArgs& call) {
  no_arguments("is_grad_enabled", call, 0);
  return bool_ref(grad_enabled());
}
PyRef mark_computed(const PassedArgs& call) {
  const auto [x] = arguments("_mark_computed", {"input"}, call);
  tensor_argument("_mark_computed", x);
  tensor_impl(x)->set_grad_state({true, GradHistory::Computed});
  return none_ref();
}
PyRef set_version(const PassedArgs& call) {
  const auto [x, version] = arguments("_set_version", {"input", "version"}, call);
  tensor_argument("_set_version", x);
  const unsigned long v = PyLong_AsUnsignedLong(version);
  if (PyErr_Occurred()) throw PythonError{};
  tensor_impl(x)->storage->version = static_cast<decltype(tensor_impl(x)->storage->version)>(v);
  return none_ref();
}
PyRef set_grad_enabled_function(const PassedArgs& call) {
  const auto [on] = arguments("_set_grad_enabled", {"enabled"}, call);
  md::set_grad_enabled(checked(PyObject_IsTrue(on)));
  return none_ref();
}
PyRef is_inference_mode_enabled(const PassedArgs& call) {
  no_arguments("is_inference_mode_enabled", call, 0);
  return bool_ref(thread_modes.inference);
}
PyRef set_inference_mode_function(const PassedArgs& call) {
  const auto [on] = arguments("_set_inference_mode", {"enabled"}, call);
  thread_modes.inference = checked(PyObject_IsTrue(on));
  return none_ref();
}
PyRef switch_inference_function(const PassedArgs& call) {
  const auto [inference, grad] = arguments("_switch_inference", {"inference", "grad"}, call);
  thread_modes.inference = checked(PyObject_IsTrue(inference));
  md::set_grad_enabled(checked(PyObject_IsTrue(grad)));
  return none_ref();
}
PyRef get_threads(const PassedArgs& call) {
  no_arguments("get_num_threads", call, 0);
  return checked(PyLong_FromLong(num_threads()));
}
PyRef set_threads(const PassedArgs& call) {
  const auto [n] = arguments("set_num_threads", {"num_threads"}, call);
  if (!PyLong_Check(n) || PyBool_Check(n)) {
    throw_type_error("set_num_threads expects an int, but got %.200s", Py_TYPE(n)->tp_name);
  }
  const long count = PyLong_AsLong(n);
  if (count == -1 && PyErr_Occurred()) throw PythonError{};
  if (count < 1 || count > 4096)
    throw OpError(ErrorKind::Runtime, "set_num_threads expects a positive number of threads");
  set_num_threads(static_cast<int>(count));
  return none_ref();
}

// --- Questions ------------------------------------------------------------------------------------------------------

PyRef is_tensor_function(const PassedArgs& call) {
  const auto [obj] = arguments("is_tensor", {"obj"}, call);
  return bool_ref(is_tensor(obj));
}
PyRef is_floating_point(const PassedArgs& call) {
  const auto [input] = arguments("is_floating_point", {"input"}, call);
  return bool_ref(is_floating(tensor_argument("is_floating_point", input).dtype));
}
PyRef is_complex_function(const PassedArgs& call) {
  const auto [input] = arguments("is_complex", {"input"}, call);
  return bool_ref(md::is_complex(tensor_argument("is_complex", input).dtype));
}
PyRef numel(const PassedArgs& call) {
  const auto [input] = arguments("numel", {"input"}, call);
  return checked(PyLong_FromLongLong(tensor_argument("numel", input).numel()));
}

DType dtype_argument(const char* function, const char* name, PyObject* o) {
  DType t;
  if (as_dtype(o, t)) return t;
  if (Py_TYPE(o) == dtype_type) tensor_dtype(o);  // throws: recognised, but out of the lattice
  throw_type_error("%s(): argument '%s' must be torch.dtype, not %.200s", function, name, Py_TYPE(o)->tp_name);
}
PyRef promote_types(const PassedArgs& call) {
  const auto [a, b] = arguments("promote_types", {"type1", "type2"}, call);
  return PyRef::borrow(
      dtype_object(promoted(dtype_argument("promote_types", "type1", a), dtype_argument("promote_types", "type2", b))));
}

// Whether a result of `from_` may be stored in a tensor of `to`: never from a higher category into a lower one.
PyRef can_cast(const PassedArgs& call) {
  const auto [a, b] = arguments("can_cast", {"from_", "to"}, call);
  const DType from = dtype_argument("can_cast", "from_", a), to = dtype_argument("can_cast", "to", b);
  return bool_ref(info(from).category <= info(to).category);
}

Arg promotion_operand(PyObject* o) {
  Arg a = to_arg(o);
  if (!a.is<TensorRef>() && !a.is_number()) {
    throw_type_error("result_type(): arguments must be Tensors or numbers, not %.200s", Py_TYPE(o)->tp_name);
  }
  return a;
}
PyRef result_type(const PassedArgs& call) {
  const auto [x, y] = arguments("result_type", {"tensor1", "tensor2"}, call);
  const Arg a = promotion_operand(x), b = promotion_operand(y);
  return PyRef::borrow(dtype_object(promoted_dtype(a, b)));
}

// --- Answers that look at the elements -------------------------------------------------------------------------------

const TensorRef second_tensor(const char* function, PyObject* o) {
  if (!is_tensor(o)) {
    throw_type_error("%s(): argument 'other' must be Tensor, not %.200s", function, Py_TYPE(o)->tp_name);
  }
  return TensorRef(tensor_impl(o));
}

bool all_true(Arg mask) { return checked(PyObject_IsTrue(item(*call_table("all", {mask}).get<TensorRef>()).get())); }

PyRef equal(const PassedArgs& call) {
  const auto [input, other] = arguments("equal", {"input", "other"}, call);
  tensor_argument("equal", input);
  const TensorRef a(tensor_impl(input)), b = second_tensor("equal", other);
  if (PyRef answer = handled_answer("equal", {a, b})) return answer;
  expect_elements(*a, "torch.equal()"), expect_elements(*b, "torch.equal()");
  if (!(a->sizes == b->sizes)) return bool_ref(false);
  return bool_ref(all_true(call_table("eq", {Arg(a), Arg(b)})));
}

double float_argument(const char* name, PyObject* o, double otherwise) {
  if (!o) return otherwise;
  if (!PyFloat_Check(o) && !PyLong_Check(o)) {
    throw_type_error("allclose(): argument '%s' must be float, not %.200s", name, Py_TYPE(o)->tp_name);
  }
  const double v = PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return v;
}

PyRef allclose(const PassedArgs& call) {
  static const char* const names[] = {"input", "other", "rtol", "atol", "equal_nan"};
  PyObject* out[5];
  parse_native({"allclose", names, 2}, call, out);
  tensor_argument("allclose", out[0]);
  const TensorRef other = second_tensor("allclose", out[1]);
  const bool equal_nan = out[4] && checked(PyObject_IsTrue(out[4]));
  const TensorRef input(tensor_impl(out[0]));
  const bool usual = !out[2] && !out[3] && !equal_nan;
  if (PyRef answer = usual ? handled_answer("allclose", {input, other}) : PyRef()) return answer;
  return bool_ref(all_true(call_table("isclose", {Arg(input), Arg(other), Arg(float_argument("rtol", out[2], 1e-5)),
                                                  Arg(float_argument("atol", out[3], 1e-8)), Arg(equal_nan)})));
}

constexpr NativeRow kElementQuestions[] = {
    {"equal", equal, "equal(input, other)\n\nWhether sizes and all elements are equal, as a Python bool."},
    {"allclose", allclose,
     "allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)\n\nWhether all elements are close (isclose), as "
     "a Python bool."},
};

// --- Profiles -------------------------------------------------------------------------------------------------------

PyRef observe_parts_function(const PassedArgs& call) {
  const auto [on] = arguments("_observe_parts", {"on"}, call);
  observe_parts(kForProfile, checked(PyObject_IsTrue(on)));
  return none_ref();
}
PyRef take_observed_parts_function(const PassedArgs& call) {
  no_arguments("_take_observed_parts", call, 0);
  PyRef list = checked(PyList_New(0));
  constexpr const char* kKinds[] = {"op", "region", "kernel", "break", "machine_code"};
  for (const ObservedPart& o : take_observed_parts()) {
    const PartName& about = o.site->about;
    const std::string& name = about.kind == PartKind::Region ? about.compile_id : about.name;
    PyRef row = checked(Py_BuildValue("(ssLLK)", kKinds[static_cast<int>(about.kind)], name.c_str(),
                                      static_cast<long long>(o.start), static_cast<long long>(o.end),
                                      static_cast<unsigned long long>(o.thread)));
    checked(PyList_Append(list.get(), row.get()));
  }
  return list;
}
PyRef deterministic_fill_function(const PassedArgs& call) {
  const auto [on] = arguments("_set_deterministic_fill", {"on"}, call);
  fills_uninitialised = checked(PyObject_IsTrue(on));
  return none_ref();
}
PyRef product_freedom_function(const PassedArgs& call) {
  const auto [any_order, tf32, convolutions] =
      arguments("_set_product_freedom", {"any_order", "tf32", "tf32_convolutions"}, call);
  set_product_freedom(checked(PyObject_IsTrue(any_order)), checked(PyObject_IsTrue(tf32)),
                      checked(PyObject_IsTrue(convolutions)));
  return none_ref();
}

constexpr NativeRow kFunctions[] = {
    {"_observe_parts", observe_parts_function, "Whether ops, regions, kernels and breaks are noted for a profile."},
    {"_take_observed_parts", take_observed_parts_function, "Those noted so far: (kind, name, start, end, thread)."},
    {"_set_deterministic_fill", deterministic_fill_function, "Whether new tensors get values that stand out."},
    {"_set_product_freedom", product_freedom_function,
     "What products on GPUs may do beside the defined order of sums."},
    {"manual_seed", manual_seed,
     "manual_seed(seed)\n\nStarts the default random stream anew from `seed` and gives its generator.", true},
    {"initial_seed", initial_seed, "initial_seed()\n\nThe seed the default random stream started from.", true},
    {"set_default_dtype", set_default, "set_default_dtype(d)\n\nThe dtype of tensors made from Python floats.", true},
    {"get_default_dtype", get_default, "get_default_dtype()\n\nThe dtype of tensors made from Python floats.", true},
    {"set_default_device", set_default_place,
     "set_default_device(device)\n\nWhere this thread's functions make tensors unless told; None: on the CPU."},
    {"get_default_device", get_default_place,
     "get_default_device()\n\nWhere this thread's functions make tensors unless told."},
    {"is_grad_enabled", is_grad_enabled_function, "is_grad_enabled()\n\nWhether grad mode is on in this thread.", true},
    {"_set_version", set_version, "The tensor's count of writes is this from now on."},
    {"_mark_computed", mark_computed, "The tensor requires grad, as the result of an operation."},
    {"_set_grad_enabled", set_grad_enabled_function, "Switches grad mode of this thread."},
    {"is_inference_mode_enabled", is_inference_mode_enabled,
     "is_inference_mode_enabled()\n\nWhether inference mode is on in this thread."},
    {"_set_inference_mode", set_inference_mode_function, "Switches inference mode of this thread."},
    {"_switch_inference", switch_inference_function, "Switches inference mode and grad mode of this thread."},
    {"get_num_threads", get_threads, "get_num_threads()\n\nThreads one kernel may use."},
    {"set_num_threads", set_threads, "set_num_threads(n)\n\nThreads one kernel may use."},
    {"is_tensor", is_tensor_function, "is_tensor(obj)\n\nWhether `obj` is a Tensor.", true},
    {"is_floating_point", is_floating_point, "is_floating_point(input)\n\nWhether the dtype is a floating one."},
    {"is_complex", is_complex_function, "is_complex(input)\n\nWhether the dtype is complex."},
    {"numel", numel, "numel(input)\n\nNumber of elements."},
    {"can_cast", can_cast, "can_cast(from_, to)\n\nWhether promotion lets a `from_` be stored as `to`."},
    {"promote_types", promote_types, "promote_types(type1, type2)\n\nThe smallest dtype both convert to."},
    {"result_type", result_type, "result_type(tensor1, tensor2)\n\nThe dtype arithmetic on both would have."},
};

}  // namespace

DType promoted_dtype(const Arg& a, const Arg& b) {
  if (a.is_number() && b.is_number()) return promote(number_dtype(a), number_dtype(b));
  const Arg operands[] = {a, b};
  return promoted_dtype(std::span<const Arg>(operands));
}

std::span<const NativeRow> namespace_functions() { return kFunctions; }
std::span<const NativeRow> element_questions() { return kElementQuestions; }

}  // namespace md
