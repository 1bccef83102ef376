// x + y, x += y, -x, x < y, int(x): the number protocol, with a short way for exact tensors and plain numbers.
#include <array>
#include <vector>

#include "frontend/tensors/asked_operators.h"
#include "frontend/tensors/fast_call.h"
#include "frontend/tensors/overridable.h"
#include "frontend/tensors/tensor_parts.h"
#include "frontend/tensors/written_tensors.h"
#include "ir/run/eager.h"

namespace md {

namespace {

enum Operator : int {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kMatmul,
  kAnd,
  kOr,
  kXor,
  kLshift,
  kRshift,
  kLt,
  kLe,
  kEq,
  kNe,
  kGt,
  kGe,
  kNeg,
  kAbs,
  kInvert,
  kOperatorCount
};
constexpr std::array<const char*, kOperatorCount> kOpNames{"add",
                                                           "sub",
                                                           "mul",
                                                           "div",
                                                           "floor_divide",
                                                           "remainder",
                                                           "pow",
                                                           "matmul",
                                                           "bitwise_and",
                                                           "bitwise_or",
                                                           "bitwise_xor",
                                                           "bitwise_left_shift",
                                                           "bitwise_right_shift",
                                                           "lt",
                                                           "le",
                                                           "eq",
                                                           "ne",
                                                           "gt",
                                                           "ge",
                                                           "neg",
                                                           "abs",
                                                           "bitwise_not"};

// CPython's numbers of the binary ones.
constexpr std::array<std::size_t, kLt> kNumbers{0, 10, 5, 11, 2, 6, 8, 4, 1, 7, 12, 3, 9};

// What an operator needs of the table, looked up once.
struct Resolved {
  const Op* op = nullptr;      // the overload the operator means; null: the arguments decide
  const Op* known = nullptr;   // any overload; null: the operator is not supported
  PyObject* method = nullptr;  // Tensor.<name>
  PyObject* function = nullptr;
};
std::array<Resolved, kOperatorCount>* resolved = nullptr;  // filled at import, never freed

const Resolved& of(int which) { return (*resolved)[static_cast<std::size_t>(which)]; }

bool acceptable(PyObject* o) {
  if (is_tensor(o) || PyLong_Check(o) || PyFloat_Check(o) || PyComplex_Check(o) || overrides_torch_function(o))
    return true;
  const char* name = Py_TYPE(o)->tp_name;
  return std::string_view(name).starts_with("numpy.") && (PyIndex_Check(o) || PyNumber_Check(o));
}

// An ndarray operand takes part as the tensor that shares its memory.
PyRef operand_object(PyObject* o) {
  if (!is_array(o)) return PyRef::borrow(o);
  return wrap_tensor(tensor_from_array(o));
}

PyObject* general_call(PyObject* callable, std::initializer_list<PyObject*> operands) {
  std::array<PyRef, 2> held;
  std::array<PyObject*, 2> args{};
  std::size_t n = 0;
  for (PyObject* o : operands) {
    held[n] = operand_object(o);
    args[n] = held[n].get();
    ++n;
  }
  return PyObject_Vectorcall(callable, args.data(), n, nullptr);
}

// Asked here where the call that follows would ask about another function; null: nobody has an answer, or not here.
PyRef ask_about(int which, PyObject* a, PyObject* b) {
  const bool compares = which >= kLt;
  const AskedOperator& row = kAskedOperators[compares ? 0 : kNumbers[static_cast<std::size_t>(which)]];
  if (!is_tensor(a)) return is_tensor(b) && !compares ? ask_overrides(row.reflected, {b, a}) : PyRef();
  const char* const name = compares ? kAskedComparisons[which - kLt] : row.method;
  return *name == '_' ? ask_overrides(name, {a, b}) : PyRef();
}

// Where all that were asked refuse with TypeError, it is the other operand's turn, as after any operator.
PyObject* unless_refused(PyObject* a, PyObject* b, PyObject* result) {
  if (result || !PyErr_ExceptionMatches(PyExc_TypeError)) return result;
  PyObject *type = nullptr, *error = nullptr, *traceback = nullptr;
  PyErr_Fetch(&type, &error, &traceback);
  const bool asked = overrides_torch_function(a) || overrides_torch_function(b);  // a look at a class, which may fail
  PyErr_Restore(type, error, traceback);
  if (!asked) return nullptr;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

PyObject* run_binary(int which, PyObject* a, PyObject* b) {
  const Resolved& r = of(which);
  return guarded([&]() -> PyObject* {
    FastArgs args;
    PyObject* operands[] = {a, b};
    if (r.op && args.fill(*r.op, operands, 2)) {
      return wrap_tensor(call_op(*r.op, args.bound()).get<TensorRef>()).release();
    }
    if (!r.known || !acceptable(a) || !acceptable(b)) Py_RETURN_NOTIMPLEMENTED;
    return unless_refused(a, b, guarded([&]() -> PyObject* {
                            if (PyRef answer = ask_about(which, a, b)) return answer.release();
                            return general_call(is_tensor(a) ? r.method : r.function, {a, b});
                          }));
  });
}

PyObject* run_inplace(int which, PyObject* self, PyObject* other) {
  const Resolved& r = of(which);
  return guarded([&]() -> PyObject* {
    if (!r.known || !r.known->decl->inplace) return run_binary(which, self, other);
    FastArgs args;
    PyObject* operands[] = {self, other};
    if (r.op && args.fill(*r.op, operands, 2)) {
      write_inplace(*r.op, args.bound());
      return Py_NewRef(self);
    }
    if (!acceptable(other)) Py_RETURN_NOTIMPLEMENTED;
    const std::string name = std::string(kOpNames[static_cast<std::size_t>(which)]) + "_";
    PyRef method = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name.c_str()));
    return unless_refused(self, other, general_call(method.get(), {self, other}));
  });
}

PyObject* run_unary(int which, PyObject* self) {
  const Resolved& r = of(which);
  return guarded([&]() -> PyObject* {
    FastArgs args;
    if (r.op && args.fill(*r.op, &self, 1)) {
      return wrap_tensor(call_op(*r.op, args.bound()).get<TensorRef>()).release();
    }
    if (!r.known) Py_RETURN_NOTIMPLEMENTED;
    return general_call(r.method, {self});
  });
}

template <int Which>
PyObject* binary(PyObject* a, PyObject* b) {
  return run_binary(Which, a, b);
}
template <int Which>
PyObject* inplace(PyObject* a, PyObject* b) {
  return run_inplace(Which, a, b);
}
template <int Which>
PyObject* unary(PyObject* a) {
  return run_unary(Which, a);
}
PyObject* power(PyObject* a, PyObject* b, PyObject* modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED;
  return run_binary(kPow, a, b);
}
PyObject* inplace_power(PyObject* a, PyObject* b, PyObject*) { return run_inplace(kPow, a, b); }

PyObject* invert(PyObject* self) {
  if (is_differentiable(tensor_impl(self)->dtype)) {
    PyErr_SetString(PyExc_TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors");
    return nullptr;
  }
  return run_unary(kInvert, self);
}
PyObject* positive(PyObject* self) { return Py_NewRef(self); }

PyObject* compare(PyObject* a, PyObject* b, int op) {
  static_assert(Py_LT == 0 && Py_LE == 1 && Py_EQ == 2 && Py_NE == 3 && Py_GT == 4 && Py_GE == 5);
  return run_binary(kLt + op, a, b);
}

int truth(PyObject* self) {
  int value = 0;
  PyObject* ok = guarded([&]() -> PyObject* {
    const TensorImpl& t = *tensor_impl(self);
    const std::int64_t n = t.numel();
    if (n != 1) {
      throw OpError(ErrorKind::Runtime, n == 0 ? "Boolean value of Tensor with no values is ambiguous"
                                               : "Boolean value of Tensor with more than one value is ambiguous");
    }
    value = checked(PyObject_IsTrue(item(t).get()));
    return Py_None;
  });
  return ok ? value : -1;
}

PyRef single(PyObject* self) {
  if (tensor_impl(self)->numel() != 1) {
    throw OpError(ErrorKind::Value, "only one element tensors can be converted to Python scalars");
  }
  return item(*tensor_impl(self));
}
// The number as a real one.
PyRef single_real(PyObject* self, const char* type) {
  PyRef number = single(self);
  if (!PyComplex_Check(number.get())) return number;
  if (PyComplex_ImagAsDouble(number.get()) != 0)
    throw OpError(ErrorKind::Runtime, std::string("value cannot be converted to type ") + type + " without overflow");
  return checked(PyFloat_FromDouble(PyComplex_RealAsDouble(number.get())));
}
PyObject* as_int(PyObject* self) {
  return guarded([&] { return PyNumber_Long(single_real(self, "int64_t").get()); });
}
PyObject* as_float(PyObject* self) {
  return guarded([&] { return PyNumber_Float(single_real(self, "double").get()); });
}
PyObject* as_index(PyObject* self) {
  return guarded([&] {
    if (tensor_impl(self)->numel() != 1 || is_differentiable(tensor_impl(self)->dtype)) {
      throw OpError(ErrorKind::Type, "only integer tensors of a single element can be converted to an index");
    }
    return PyNumber_Index(single(self).get());
  });
}

template <class F>
constexpr PyType_Slot slot(int id, F* f) {
  return {id, reinterpret_cast<void*>(f)};
}

}  // namespace

std::span<const PyType_Slot> operator_slots() {
  static const PyType_Slot slots[] = {slot(Py_nb_add, binary<kAdd>),
                                      slot(Py_nb_subtract, binary<kSub>),
                                      slot(Py_nb_multiply, binary<kMul>),
                                      slot(Py_nb_true_divide, binary<kDiv>),
                                      slot(Py_nb_floor_divide, binary<kFloorDiv>),
                                      slot(Py_nb_remainder, binary<kMod>),
                                      slot(Py_nb_power, power),
                                      slot(Py_nb_matrix_multiply, binary<kMatmul>),
                                      slot(Py_nb_and, binary<kAnd>),
                                      slot(Py_nb_or, binary<kOr>),
                                      slot(Py_nb_xor, binary<kXor>),
                                      slot(Py_nb_lshift, binary<kLshift>),
                                      slot(Py_nb_rshift, binary<kRshift>),
                                      slot(Py_nb_inplace_add, inplace<kAdd>),
                                      slot(Py_nb_inplace_subtract, inplace<kSub>),
                                      slot(Py_nb_inplace_multiply, inplace<kMul>),
                                      slot(Py_nb_inplace_true_divide, inplace<kDiv>),
                                      slot(Py_nb_inplace_floor_divide, inplace<kFloorDiv>),
                                      slot(Py_nb_inplace_remainder, inplace<kMod>),
                                      slot(Py_nb_inplace_power, inplace_power),
                                      slot(Py_nb_inplace_and, inplace<kAnd>),
                                      slot(Py_nb_inplace_or, inplace<kOr>),
                                      slot(Py_nb_inplace_xor, inplace<kXor>),
                                      slot(Py_nb_inplace_lshift, inplace<kLshift>),
                                      slot(Py_nb_inplace_rshift, inplace<kRshift>),
                                      slot(Py_nb_negative, unary<kNeg>),
                                      slot(Py_nb_positive, asking<"positive", positive>),
                                      slot(Py_nb_absolute, unary<kAbs>),
                                      slot(Py_nb_invert, asking<"__invert__", invert>),
                                      slot(Py_nb_bool, asking_truth<"__bool__", truth>),
                                      slot(Py_nb_int, asking<"__int__", as_int>),
                                      slot(Py_nb_float, asking<"__float__", as_float>),
                                      slot(Py_nb_index, asking<"__index__", as_index>),
                                      slot(Py_tp_richcompare, compare)};
  return slots;
}

int init_operators(PyObject* module) {
  return guarded([&]() -> PyObject* {
    auto table = std::make_unique<std::array<Resolved, kOperatorCount>>();
    for (int i = 0; i < kOperatorCount; ++i) {
      const char* name = kOpNames[static_cast<std::size_t>(i)];
      Resolved& r = (*table)[static_cast<std::size_t>(i)];
      const std::span<const OpId> ids = overloads(name);
      if (ids.empty()) continue;
      r.known = &op(ids[0]);
      r.op = sole_overload(ids, i >= kNeg ? 1 : 2, false);
      r.method = checked(PyObject_GetAttrString(reinterpret_cast<PyObject*>(tensor_type), name)).release();
      r.function = checked(PyObject_GetAttrString(module, name)).release();
    }
    resolved = table.release();
    return Py_None;
  })
             ? 0
             : -1;
}

}  // namespace md
