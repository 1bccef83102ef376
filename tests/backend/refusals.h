// Which pointwise and reduction calls their dtypes alone forbid: those in whose compute dtype the op has no body. A
// test that draws calls compares each refusal with this, so that an op which refuses too much, or too little, fails it.
#pragma once

#include <vector>

#include "ir/graph/op_ids.h"
#include "ir/graph/op_table.h"

namespace md {

inline bool has_body(const Op& o, DType compute) {
  switch (info(compute).category) {
    case DTypeCategory::Floating:
      return o.traits.on_floats;
    case DTypeCategory::Integral:
      return o.traits.on_ints;
    default:
      return o.traits.on_bools;
  }
}

// A Python number takes part by its category only.
inline DType with_number(DType t, const Arg& number) {
  if (number.is<double>()) return is_floating(t) ? t : default_dtype();
  return number.is<bool>() || t != DType::Bool ? t : DType::Int64;
}

// Of operands `first`, first + 1, ...: tensors, all of one rank or all of ranks above 0, and numbers after them.
inline DType common_dtype(const Op& o, const std::vector<Arg>& args, int first) {
  const auto tensor = [&](int i) {
    return args[static_cast<std::size_t>(i)].is<TensorRef>() || args[static_cast<std::size_t>(i)].is<Node*>();
  };
  DType t = DType::Bool;
  for (int i = first; i < o.operands; ++i)
    if (tensor(i)) t = promote(t, type_of(args[static_cast<std::size_t>(i)]).dtype);
  for (int i = first; i < o.operands; ++i)
    if (!tensor(i)) t = with_number(t, args[static_cast<std::size_t>(i)]);
  return t;
}

inline DType compute_dtype(const Op& o, const std::vector<Arg>& args) {
  const DType* given = o.dtype < 0 ? nullptr : args[static_cast<std::size_t>(o.dtype)].get_if<DType>();
  switch (o.decl->promote) {
    case Promote::Convert:
      return *given;
    case Promote::KeepFirst:
      return type_of(args[0]).dtype;
    case Promote::Logical:
      return DType::Bool;
    case Promote::Accumulate: {
      const DType own = type_of(args[0]).dtype;
      return given ? *given : is_floating(own) ? own : DType::Int64;
    }
    case Promote::Select:
      return common_dtype(o, args, 1);
    case Promote::IntToFloat: {
      const DType t = common_dtype(o, args, 0);
      return is_floating(t) ? t : default_dtype();
    }
    default:
      return common_dtype(o, args, 0);
  }
}

// Of operand k where the call's is `sizes`: fill takes one value.
inline DimVec operand_sizes(const Op& o, int k, const DimVec& sizes) {
  return o.id == id::Fill && k == 1 ? DimVec{} : sizes;
}

inline bool dtypes_forbid(const Op& o, const std::vector<Arg>& args) {
  if (o.operands == 0) return false;
  if (o.decl->no_bools) {
    for (int i = 0; i < o.operands; ++i) {
      const Arg& a = args[static_cast<std::size_t>(i)];
      if (a.is<bool>() || ((a.is<TensorRef>() || a.is<Node*>()) && type_of(a).dtype == DType::Bool)) return true;
    }
  }
  return !has_body(o, compute_dtype(o, args));
}

}  // namespace md
