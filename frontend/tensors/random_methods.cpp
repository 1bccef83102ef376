// Filling a tensor with random numbers in place: uniform_, normal_, random_. Drawn from the default generator in
// row-major order, as rand, randn and randint draw.
#include <cmath>

#include "frontend/tensors/tensor_parts.h"
#include "ir/eager.h"

namespace md {

namespace {

double float_or(PyObject* o, double otherwise, const char* function) {
  if (!o) return otherwise;
  if (!PyFloat_Check(o) && !PyLong_Check(o)) {
    throw_type_error("%s(): bounds must be numbers, not %.200s", function, Py_TYPE(o)->tp_name);
  }
  const double v = PyFloat_AsDouble(o);
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return v;
}

Arg sizes_of(const TensorImpl& t) {
  ListArg list;
  for (std::int64_t s : t.sizes) list.items.emplace_back(s);
  return Arg(std::move(list));
}

// Writes `values` into the tensor; like every in-place call it refuses memory that overlaps itself.
PyRef written(PyObject* self, const Arg& values) {
  static const OpId copy = find_op("copy");
  const Arg args[] = {Arg(TensorRef(tensor_impl(self))), values};
  call_inplace(op(copy), args);
  return PyRef::borrow(self);
}

void require_floating(const TensorImpl& t, const char* function) {
  if (is_floating(t.dtype)) return;
  throw OpError(ErrorKind::NotImplemented,
                std::string(function) + "() needs a floating-point tensor, not " + std::string(info(t.dtype).name));
}

// spread * draw + shift, drawn in the tensor's dtype.
PyRef scaled(PyObject* self, std::string_view draw, double spread, double shift) {
  const TensorImpl& t = *tensor_impl(self);
  const Arg raw = call_table(draw, {sizes_of(t), Arg(t.dtype)});
  return written(self, call_table("add", {call_table("mul", {raw, Arg(spread)}), Arg(shift)}));
}

PyRef uniform_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "from", "to"};
  PyObject* out[3];
  parse_native({"uniform_", names, 1}, call, out);
  require_floating(*tensor_impl(out[0]), "uniform_");
  const double from = float_or(out[1], 0, "uniform_"), to = float_or(out[2], 1, "uniform_");
  if (!(from <= to)) throw OpError(ErrorKind::Runtime, "uniform_() draws from [from, to), but from is greater than to");
  return scaled(out[0], "rand", to - from, from);
}

PyRef normal_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "mean", "std"};
  PyObject* out[3];
  parse_native({"normal_", names, 1}, call, out);
  require_floating(*tensor_impl(out[0]), "normal_");
  const double mean = float_or(out[1], 0, "normal_"), std = float_or(out[2], 1, "normal_");
  if (!(std >= 0)) throw OpError(ErrorKind::Runtime, "normal_() needs a standard deviation that is not negative");
  return scaled(out[0], "randn", std, mean);
}

// One more than the largest integer random_() draws: what the dtype holds exactly.
std::int64_t exact_limit(DType t) {
  if (t == DType::Bool) return 2;
  if (t == DType::Int64) return INT64_MAX;
  if (is_integral(t)) return integer_max(t) + (t == DType::Int32 ? 0 : 1);
  const int digits = t == DType::BFloat16 ? 8 : t == DType::Float16 ? 11 : t == DType::Float32 ? 24 : 53;
  return (std::int64_t{1} << digits) + (is_half(t) ? 1 : 0);
}

std::int64_t integer(PyObject* o) {
  const long long v = PyLong_AsLongLong(checked(PyNumber_Index(o)).get());
  if (v == -1 && PyErr_Occurred()) throw PythonError{};
  return v;
}

// random_(), random_(to), random_(from, to)
PyRef random_method(const PassedArgs& call) {
  static const char* const names[] = {"self", "from", "to"};
  PyObject* out[3];
  parse_native({"random_", names, 1}, call, out);
  if (out[1] && !out[2]) std::swap(out[1], out[2]);
  const TensorImpl& t = *tensor_impl(out[0]);
  const std::int64_t from = out[1] ? integer(out[1]) : 0, to = out[2] ? integer(out[2]) : exact_limit(t.dtype);
  if (from >= to) throw OpError(ErrorKind::Runtime, "random_() draws from [from, to), but from is not less than to");
  return written(out[0], call_table("randint.low", {Arg(from), Arg(to), sizes_of(t), Arg(DType::Int64)}));
}

constexpr NativeRow kMethods[] = {
    {"uniform_", uniform_method, "uniform_(from=0, to=1)\n\nFills the tensor with numbers from [from, to)."},
    {"normal_", normal_method, "normal_(mean=0, std=1)\n\nFills the tensor with normally distributed numbers."},
    {"random_", random_method,
     "random_(from=0, to=None)\n\nFills the tensor with integers from [from, to), by default all the dtype holds "
     "exactly."},
};

}  // namespace

std::span<const NativeRow> random_methods() { return kMethods; }

}  // namespace md
