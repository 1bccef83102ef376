// Computes expressions of numbers.
#include "frontend/guards/numbers.h"

#include <array>

#include "frontend/tensors/tensor_element.h"
#include "ir/core/error.h"

namespace md {

namespace {

constexpr std::size_t kMostOperands = 4;

PyRef size_as_int(const NumberExpr& e, const ShapeEnv* env, std::span<const std::int64_t> known) {
  try {
    return PyRef::steal(PyLong_FromLongLong(e.size.is_const() ? e.size.value() : env->evaluate(e.size, known)));
  } catch (const OpError&) {  // overflow, or division by zero
    return {};
  }
}

}  // namespace

PyRef float_input(PyObject* o) {
  double element;
  if (o && PyFloat_CheckExact(o)) return PyRef::borrow(o);
  return o && read_element(o, DType::Float64, &element) ? PyRef::steal(PyFloat_FromDouble(element)) : PyRef();
}

PyRef evaluate(const NumberExpr& e, std::span<PyObject* const> floats, const ShapeEnv* env,
               std::span<const std::int64_t> known) {
  if (e.place >= 0) return float_input(floats[static_cast<std::size_t>(e.place)]);
  if (e.constant) return e.constant;
  if (!e.function) return size_as_int(e, env, known);
  std::array<PyRef, kMostOperands> held;
  std::array<PyObject*, kMostOperands> given;
  if (e.operands.size() > kMostOperands) return {};
  for (std::size_t k = 0; k < e.operands.size(); ++k) {
    held[k] = evaluate(*e.operands[k], floats, env, known);
    if (!held[k]) return {};
    given[k] = held[k].get();
  }
  PyRef made = PyRef::steal(PyObject_Vectorcall(e.function.get(), given.data(), e.operands.size(), nullptr));
  if (!made) PyErr_Clear();
  return made;
}

}  // namespace md
