// As which function of Tensor an operator is shown to modes and subclasses, in eager mode and in traces.
#pragma once

namespace md {

struct AskedOperator {
  const char* dunder;     // "add" of __add__, __radd__ and __iadd__
  const char* method;     // with the tensor on the left
  const char* reflected;  // with the tensor on the right, which comes first all the same
  const char* inplace;    // "": Tensor has no such operator
};
// By CPython's number of the operator.
inline constexpr AskedOperator kAskedOperators[] = {
    {"add", "add", "add", "add_"},
    {"and", "__and__", "__rand__", "bitwise_and_"},
    {"floordiv", "__floordiv__", "__rfloordiv__", "floor_divide_"},
    {"lshift", "__lshift__", "__rlshift__", "bitwise_left_shift_"},
    {"matmul", "matmul", "__rmatmul__", ""},
    {"mul", "mul", "mul", "mul_"},
    {"mod", "remainder", "__rmod__", "remainder_"},
    {"or", "__or__", "__ror__", "bitwise_or_"},
    {"pow", "pow", "__rpow__", "pow_"},
    {"rshift", "__rshift__", "__rrshift__", "bitwise_right_shift_"},
    {"sub", "sub", "__rsub__", "sub_"},
    {"truediv", "div", "__rdiv__", "div_"},
    {"xor", "__xor__", "__rxor__", "bitwise_xor_"},
};
// By Py_LT ... Py_GE.
inline constexpr const char* kAskedComparisons[] = {"lt", "le", "__eq__", "ne", "gt", "ge"};

}  // namespace md
