// Operators and comparisons where an operand is an object of a class of the program: Python's order of attempts.
#pragma once

#include "frontend/trace/tracer.h"

namespace md {

// __add__, __iadd__, __radd__ ...; null: neither side knows the other, which is a TypeError. Breaks where a method of
// the class is not written in Python, or a builtin type may know what to do with the object.
ValueRef object_op(Tracer& t, const ValueRef& a, const ValueRef& b, const std::string& dunder, bool inplace);

// What a comparison gives where a side is such an object; null: both gave NotImplemented.
ValueRef object_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op);

// After that == and != say whether both are one object. Breaks for values that Python compares in another way.
ValueRef identity_compare(Tracer& t, const ValueRef& a, const ValueRef& b, int op);

// The keys or the items of a dict, which are compared and joined like sets.
bool is_set_view(const ValueRef& v);
// A NumPy number beside a floating tensor counts as a number: it leaves the dtype as it is. The tensor that stands for
// the number; null: another pair.
ValueRef number_beside(const ValueRef& number, const ValueRef& tensor);
// The type of an operand as TypeErrors name it.
std::string operand_type(const ValueRef& v);

}  // namespace md
