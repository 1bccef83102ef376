// Composite ops: written in terms of other ops by ir/composite*.cpp, once for eager calls, inference and `decompose`.
#pragma once

#include "registry/op.h"

namespace md::ops {

constexpr OpDecl composite(std::string_view name, std::string_view signature, std::string_view doc) {
  return {.name = name, .signature = signature, .kind = OpKind::Composite, .doc = doc};
}
constexpr OpDecl inplace_too(OpDecl d) {
  d.inplace = true;
  return d;
}
constexpr OpDecl rounds_once(OpDecl d) {
  d.rounds_once = true;
  return d;
}
constexpr OpDecl method_only(OpDecl d) {
  d.function = false;
  return d;
}
constexpr OpDecl function_only(OpDecl d) {
  d.method = false;
  return d;
}
// x.name_(...) and nothing else.
constexpr OpDecl only_in_place(OpDecl d) {
  d.function = d.method = false;
  d.inplace = true;
  return d;
}
constexpr OpDecl operator_only(OpDecl d) { return function_only(method_only(d)); }

// --- Arithmetic
// ------------------------------------------------------------------------------------------------------------

struct AddAlpha {
  static constexpr OpDecl decl = rounds_once(inplace_too(
      composite("add.alpha", "add(Operand self, Operand other, *, Scalar alpha) -> Tensor", "self + alpha * other.")));
};

struct SubAlpha {
  static constexpr OpDecl decl = rounds_once(inplace_too(
      composite("sub.alpha", "sub(Operand self, Operand other, *, Scalar alpha) -> Tensor", "self - alpha * other.")));
};

struct Rsub {
  static constexpr OpDecl decl = rounds_once(function_only(
      composite("rsub", "rsub(Operand self, Operand other, *, Scalar alpha=1) -> Tensor", "other - alpha * self.")));
};

struct DivMode {
  static constexpr OpDecl decl = own_gradient(
      inplace_too(composite("div.mode", "div(Operand self, Operand other, *, str? rounding_mode) -> Tensor",
                            "Division rounded by `rounding_mode`: None (true division), 'trunc' or 'floor'.")));
};

struct PowScalar {
  static constexpr OpDecl decl = inplace_too(
      composite("pow.scalar", "pow(Tensor self, Scalar exponent) -> Tensor",
                "Power of a number: products for small whole exponents, roots for halves, else the general power."));
};

struct Square {
  static constexpr OpDecl decl =
      inplace_too(composite("square", "square(Tensor self) -> Tensor", "x * x; bool gives int64."));
};

struct Clamp {
  static constexpr OpDecl decl = also(
      inplace_too(composite("clamp", "clamp(Tensor self, Operand? min=None, Operand? max=None) -> Tensor",
                            "Values limited to [min, max]; `max` wins where the bounds cross. One bound may be None.")),
      "clip");
};

struct RoundDecimals {
  static constexpr OpDecl decl =
      rounds_once(inplace_too(composite("round.decimals", "round(Tensor self, *, int decimals) -> Tensor",
                                        "Rounded to `decimals` decimal places, halves to even; floats only.")));
};

struct MaskedFill {
  static constexpr OpDecl decl =
      inplace_too(composite("masked_fill", "masked_fill(Tensor self, Tensor mask, Operand value) -> Tensor",
                            "`value` where the bool tensor `mask` holds, in the dtype of `self`."));
};

// --- Creation
// ----------------------------------------------------------------------------------------------------------------

struct ZerosLike {
  static constexpr OpDecl decl =
      function_only(composite("zeros_like",
                              "zeros_like(Tensor self, *, dtype? dtype=None, device? device=None, bool "
                              "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                              "Zeros with the sizes and dtype of `self`."));
};

struct OnesLike {
  static constexpr OpDecl decl =
      function_only(composite("ones_like",
                              "ones_like(Tensor self, *, dtype? dtype=None, device? device=None, bool "
                              "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                              "Ones with the sizes and dtype of `self`."));
};

struct RandLike {
  static constexpr OpDecl decl =
      function_only(composite("rand_like",
                              "rand_like(Tensor self, *, dtype? dtype=None, device? device=None, bool "
                              "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                              "As rand, with the sizes and dtype of `self`."));
};

struct RandnLike {
  static constexpr OpDecl decl =
      function_only(composite("randn_like",
                              "randn_like(Tensor self, *, dtype? dtype=None, device? device=None, bool "
                              "requires_grad=False, memory_format? memory_format=None) -> Tensor",
                              "As randn, with the sizes and dtype of `self`."));
};

struct NewZeros {
  static constexpr OpDecl decl =
      method_only(composite("new_zeros",
                            "new_zeros(Tensor self, int[] size, *, dtype? dtype=None, device? "
                            "device=None, bool requires_grad=False) -> Tensor",
                            "As zeros, with the dtype of `self`."));
};

struct NewOnes {
  static constexpr OpDecl decl =
      method_only(composite("new_ones",
                            "new_ones(Tensor self, int[] size, *, dtype? dtype=None, device? "
                            "device=None, bool requires_grad=False) -> Tensor",
                            "As ones, with the dtype of `self`."));
};

struct NewEmpty {
  static constexpr OpDecl decl =
      method_only(composite("new_empty",
                            "new_empty(Tensor self, int[] size, *, dtype? dtype=None, device? "
                            "device=None, bool requires_grad=False) -> Tensor",
                            "As empty, with the dtype of `self`."));
};

struct NewFull {
  static constexpr OpDecl decl = method_only(
      composite("new_full",
                "new_full(Tensor self, int[] size, Scalar fill_value, *, dtype? dtype=None, device? device=None, bool "
                "requires_grad=False) -> Tensor",
                "As full, with the dtype of `self`."));
};

struct ArangeEnd {
  static constexpr OpDecl decl = function_only(composite(
      "arange", "arange(Scalar end, *, dtype? dtype=None, device? device=None, bool requires_grad=False) -> Tensor",
      "0, 1, ... below `end`."));
};

struct ArangeStart {
  static constexpr OpDecl decl = function_only(
      composite("arange.start",
                "arange(Scalar start, Scalar end, *, dtype? dtype=None, device? device=None, bool requires_grad=False) "
                "-> Tensor",
                "start, start + 1, ... below `end`."));
};

struct RandintHigh {
  static constexpr OpDecl decl = function_only(composite(
      "randint",
      "randint(int high, int[] size, *, dtype? dtype=None, device? device=None, bool requires_grad=False, Generator? "
      "generator=None) -> Tensor",
      "Uniform integers of 0 <= i < high."));
};

// --- Reductions
// --------------------------------------------------------------------------------------------------------------

struct Mean {
  static constexpr OpDecl decl = rounds_once(
      composite("mean", "mean(Tensor self, int[]? dim=None, bool keepdim=False, *, dtype? dtype=None) -> Tensor",
                "Sum divided by the number of elements; floats only unless `dtype` is given."));
};

struct MaxAll {
  static constexpr OpDecl decl = composite("max", "max(Tensor self) -> Tensor", "The largest of all values.");
};

struct MinAll {
  static constexpr OpDecl decl = composite("min", "min(Tensor self) -> Tensor", "The smallest of all values.");
};

struct MaxOther {
  static constexpr OpDecl decl =
      composite("max.other", "max(Tensor self, Tensor other) -> Tensor", "As maximum(self, other).");
};

struct MinOther {
  static constexpr OpDecl decl =
      composite("min.other", "min(Tensor self, Tensor other) -> Tensor", "As minimum(self, other).");
};

struct Var {
  static constexpr OpDecl decl = rounds_once(
      composite("var", "var(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
                "Mean squared distance from the mean, divided by n - correction (1 by default). Two passes."));
};

struct VarUnbiased {
  static constexpr OpDecl decl = rounds_once(
      composite("var.unbiased", "var(Tensor self, bool unbiased) -> Tensor", "var with correction 1 (True) or 0."));
};

struct VarUnbiasedDim {
  static constexpr OpDecl decl = rounds_once(
      composite("var.unbiased_dim", "var(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
                "var with correction 1 (True) or 0."));
};

struct Std {
  static constexpr OpDecl decl = own_gradient(rounds_once(
      composite("std", "std(Tensor self, int[]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
                "Square root of var.")));
};

struct StdUnbiased {
  static constexpr OpDecl decl = rounds_once(
      composite("std.unbiased", "std(Tensor self, bool unbiased) -> Tensor", "std with correction 1 (True) or 0."));
};

struct StdUnbiasedDim {
  static constexpr OpDecl decl = rounds_once(
      composite("std.unbiased_dim", "std(Tensor self, int[]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
                "std with correction 1 (True) or 0."));
};

// --- Shapes, indexing
// ----------------------------------------------------------------------------------------------------------

struct Reshape {
  static constexpr OpDecl decl =
      composite("reshape", "reshape(Tensor self, int[] shape) -> Tensor",
                "The elements in row-major order under other sizes: a view where the strides "
                "allow one, else a copy. One size may be -1.");
};

struct ViewAs {
  static constexpr OpDecl decl = method_only(
      composite("view_as", "view_as(Tensor self, Tensor other) -> Tensor", "view with the sizes of `other`."));
};

struct ExpandAs {
  static constexpr OpDecl decl = method_only(
      composite("expand_as", "expand_as(Tensor self, Tensor other) -> Tensor", "expand to the sizes of `other`."));
};

struct Flatten {
  static constexpr OpDecl decl =
      composite("flatten", "flatten(Tensor self, int start_dim=0, int end_dim=-1) -> Tensor",
                "Dimensions start_dim..end_dim joined into one; a view where the strides allow one.");
};

struct Split {
  static constexpr OpDecl decl = composite("split", "split(Tensor self, int split_size, int dim=0) -> Tensor[]",
                                           "Views of `split_size` positions each; the last may be shorter.");
};

struct SplitSizes {
  static constexpr OpDecl decl = composite("split.sizes", "split(Tensor self, int[] split_size, int dim=0) -> Tensor[]",
                                           "Views of the given lengths, which add up to the dimension.");
};

struct Chunk {
  static constexpr OpDecl decl = composite("chunk", "chunk(Tensor self, int chunks, int dim=0) -> Tensor[]",
                                           "At most `chunks` views of equal length; the last may be shorter.");
};

struct Unbind {
  static constexpr OpDecl decl =
      composite("unbind", "unbind(Tensor self, int dim=0) -> Tensor[]", "One view for each position of `dim`.");
};

struct Stack {
  static constexpr OpDecl decl = function_only(composite("stack", "stack(Tensor[] tensors, int dim=0) -> Tensor",
                                                         "Tensors of equal sizes joined along a new dimension."));
};

struct GetItem {
  static constexpr OpDecl decl = operator_only(
      composite("getitem", "getitem(Tensor self, Index index) -> Tensor",
                "x[index]. Ints, slices, None and ... give a view; tensors and lists of positions and masks a copy."));
};

// --- Products
// ------------------------------------------------------------------------------------------------------------------

struct Matmul {
  static constexpr OpDecl decl =
      also(composite("matmul", "matmul(Tensor self, Tensor other) -> Tensor",
                     "Matrix product; vectors gain a dimension for the product, batch dimensions broadcast."),
           "linalg.matmul");
};

struct Mv {
  static constexpr OpDecl decl = composite("mv", "mv(Tensor self, Tensor vec) -> Tensor", "Matrix times vector.");
};

struct Dot {
  static constexpr OpDecl decl =
      composite("dot", "dot(Tensor self, Tensor tensor) -> Tensor", "Inner product of two vectors.");
};

// --- Conversions, copies
// ---------------------------------------------------------------------------------------------------------

struct ToDtype {
  static constexpr OpDecl decl =
      method_only(composite("to",
                            "to(Tensor self, dtype dtype, bool non_blocking=False, bool copy=False, *, memory_format? "
                            "memory_format=None) -> Tensor",
                            "In another dtype; the tensor itself if it has it already and no copy is asked for."));
};

struct ToDevice {
  static constexpr OpDecl decl = method_only(composite(
      "to.device",
      "to(Tensor self, device? device=None, dtype? dtype=None, bool non_blocking=False, bool copy=False, *, "
      "memory_format? memory_format=None) -> Tensor",
      "On a device ('cpu', or 'meta' for sizes without elements) and perhaps in another dtype; itself if it is "
      "that already."));
};

struct ToOther {
  static constexpr OpDecl decl = method_only(composite("to.other",
                                                       "to(Tensor self, Tensor other, bool non_blocking=False, bool "
                                                       "copy=False, *, memory_format? memory_format=None) -> Tensor",
                                                       "With the dtype of `other`, on its device."));
};

struct TypeAs {
  static constexpr OpDecl decl =
      method_only(composite("type_as", "type_as(Tensor self, Tensor other) -> Tensor", "With the dtype of `other`."));
};

struct ToFloat {
  static constexpr OpDecl decl =
      method_only(composite("float", "float(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As float32; itself if it is that already."));
};

struct ToDouble {
  static constexpr OpDecl decl =
      method_only(composite("double", "double(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As float64; itself if it is that already."));
};

struct ToInt {
  static constexpr OpDecl decl =
      method_only(composite("int", "int(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As int32; itself if it is that already."));
};

struct ToLong {
  static constexpr OpDecl decl =
      method_only(composite("long", "long(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As int64; itself if it is that already."));
};

struct ToHalf {
  static constexpr OpDecl decl =
      method_only(composite("half", "half(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As float16; itself if it is that already."));
};

struct ToBFloat16 {
  static constexpr OpDecl decl =
      method_only(composite("bfloat16", "bfloat16(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As bfloat16; itself if it is that already."));
};

struct ToChar {
  static constexpr OpDecl decl =
      method_only(composite("char", "char(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As int8; itself if it is that already."));
};

struct ToShort {
  static constexpr OpDecl decl =
      method_only(composite("short", "short(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As int16; itself if it is that already."));
};

struct ToByte {
  static constexpr OpDecl decl =
      method_only(composite("byte", "byte(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "As uint8; itself if it is that already."));
};

struct ToBool {
  static constexpr OpDecl decl =
      method_only(composite("bool", "bool(Tensor self, *, memory_format? memory_format=None) -> Tensor",
                            "x != 0; itself if it is bool already."));
};

struct CopyFrom {
  static constexpr OpDecl decl = operator_only(
      inplace_too(composite("copy.number", "copy(Tensor self, Operand other, bool non_blocking=False) -> Tensor",
                            "As copy, from a number too, which is converted as a 0-d tensor would be.")));
};

struct Cpu {
  static constexpr OpDecl decl = method_only(
      composite("cpu", "cpu(Tensor self, *, memory_format? memory_format=None) -> Tensor", "The tensor itself."));
};

struct CloneFormat {
  static constexpr OpDecl decl =
      composite("clone.format", "clone(Tensor self, *, memory_format? memory_format) -> Tensor",
                "A copy with storage of its own, in the format; a dense layout is kept by preserve_format and None.");
};

struct Contiguous {
  static constexpr OpDecl decl = method_only(
      composite("contiguous", "contiguous(Tensor self, *, memory_format memory_format=contiguous_format) -> Tensor",
                "The tensor itself if it is contiguous in the format, else a copy that is."));
};

// --- Comparisons of whole tensors
// --------------------------------------------------------------------------------------------------

struct IsClose {
  static constexpr OpDecl decl = composite(
      "isclose",
      "isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
      "|self - other| <= atol + rtol * |other|, elementwise; infinities of one sign are close.");
};

}  // namespace md::ops
