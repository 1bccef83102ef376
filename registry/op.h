// The declaration of a tensor op. Each op is one struct in registry/ops/<kind>.h with a `static constexpr OpDecl decl`
// and, by kind, a body (see ops/builder.h) or nothing more. CMake collects the structs into ops.inc (one MD_OP(Struct)
// line each, in file order), from which OpId, the op table, eager, inference, folding, LLVM, docs and tests derive.
#pragma once

#include <cstdint>
#include <string_view>

namespace md {

enum class OpKind : std::uint8_t {
  Pointwise,  // out[i] = body(in0[i], in1[i], ...) after promotion and broadcasting
  Reduction,  // an axis set is folded with an associative combiner, in the defined order
  View,       // same storage, other sizes/strides/offset
  Create,     // no tensor operand decides the values: zeros, full, arange, eye, ...
  Random,     // as Create, values from the Philox generator
  Kernel,     // a named kernel: matmul, cat, ...
  Composite,  // written in terms of other ops; opened by the `decompose` pass
};

// How operand dtypes decide the compute dtype and the result dtype.
enum class Promote : std::uint8_t {
  None,        // not pointwise, or dtype decided by the op's own rule
  Arithmetic,  // result = compute = promotion of all operands (torch's tensor / 0-d tensor / number priorities)
  IntToFloat,  // as Arithmetic, but integral and bool compute in the default float dtype
  Compare,     // computes in the promoted dtype, result bool
  Logical,     // operands converted to bool (x != 0), result bool
  Bitwise,     // Arithmetic restricted to bool and integers
  KeepFirst,   // compute and result dtype = dtype of the first operand
  Select,      // the first operand is a bool mask; the others as Arithmetic
  Convert,     // compute and result dtype = the `dtype` parameter
  Accumulate,  // as the `dtype` parameter if given, else bool and integers accumulate in int64, floats in themselves
};

struct OpDecl {
  // Unique name; text before the first '.' is the public one ("max.dim" is an overload of "max").
  std::string_view name;
  // Types: Tensor, Operand (Tensor or number), Tensor?, Operand?, Tensor[], Scalar, Scalar?, int, int?, int[], int[]?,
  // float, float?, bool, bool?, str, str?, dtype, dtype?, device?, memory_format, memory_format?, Index (what may stand
  // in x[...]), True and False (that value alone: for options that decide what comes back), Count (never given by
  // users: see dynamic_sizes). `int[]` also binds varargs when it is the last positional parameter ("x.view(2, 3)"),
  // and a lone int. Defaults as in torch's schemas: "add(Operand self, Operand other, *, Scalar alpha=1) -> Tensor".
  // Results: "Tensor", "(Tensor values, Tensor indices)", "Tensor[]" (length decided by inference) or "bool".
  std::string_view signature;
  OpKind kind;
  Promote promote = Promote::None;
  bool function = true;        // minidynamo.<name>
  bool method = true;          // Tensor.<name>
  bool inplace = false;        // also Tensor.<name>_
  bool can_fail = false;       // may raise at run time, when sizes and dtypes are already known to fit
  bool property = false;       // Tensor.<name> is an attribute, not a method
  bool no_bools = false;       // refuses bool operands even where the others decide the dtype
  bool floats_only = false;    // a body for floats is not one for integers too
  bool row_major = false;      // the result is contiguous whatever the operands' strides
  bool number_fits = false;    // refuses a number the compute dtype cannot hold
  bool exact_number = false;   // halves: a second operand that is a number or 0-d keeps the digits of float32
  bool writes_self = false;    // the kernel may be given its first operand as the result: in place nothing is copied
  bool dynamic_sizes = false;  // sizes of the result may depend on values: the parameter `count` holds the symbol
  bool default_device = true;  // where it makes a tensor from no other: on the default device, unless told a device
  bool rounds_once = false;    // a composite that computes halves in float32 throughout and rounds its result
  bool no_gradient = false;    // computes floats from floats, but not differentiably: backward() through it raises
  bool own_gradient = false;   // a composite with a derivative of its own, not that of its parts
  // More names, apart by spaces: "multiply" is a function and method like the op itself, "special.expit" a function of
  // the namespace minidynamo.special, "Tensor.where" what the method of that name means.
  std::string_view also;
  std::string_view doc;  // one or two sentences: shapes, dtypes, errors; source of the formula where there is one
};

constexpr OpDecl no_gradient(OpDecl d) {
  d.no_gradient = true;
  return d;
}
constexpr OpDecl own_gradient(OpDecl d) {
  d.own_gradient = true;
  return d;
}
constexpr OpDecl also(OpDecl d, std::string_view names) {
  d.also = names;
  return d;
}

}  // namespace md
