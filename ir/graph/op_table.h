// The op table at run time: schemas parsed from the declarations, argument binding, inference.
#pragma once

#include <algorithm>
#include <atomic>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/core/thread_modes.h"
#include "ir/graph/arg.h"
#include "registry/op.h"

namespace md {

using OpId = std::uint16_t;
inline constexpr OpId kNoOp = 0xFFFF;

enum class ParamType : std::uint8_t {
  Tensor,
  Operand,
  TensorOpt,
  OperandOpt,
  TensorList,
  TensorRest,
  Scalar,
  ScalarOpt,
  Int,
  IntOpt,
  IntList,
  IntListOpt,
  Float,
  FloatOpt,
  Bool,
  BoolOpt,
  Str,
  StrOpt,
  DType,
  DTypeOpt,
  DeviceOpt,
  MemoryFormat,
  MemoryFormatOpt,
  Index,
  True,  // that value and no other
  False,
  Count  // of an op with dynamic sizes: None, or the symbol that stands for the size
};

struct Param {
  std::string name;
  ParamType type;
  bool has_default = false;
  bool keyword_only = false;
  Arg default_value;
};

struct Schema {
  std::vector<Param> params;
  int results = 1;                        // number of tensors returned; -1: a list whose length inference decides
  std::vector<std::string> result_names;  // of a named tuple: values, indices
  std::string text;
  int find(std::string_view param) const;  // its position, or -1
};

// What the struct of an op offers, asked at compile time (ir/graph/op_visit.h) and kept for run time.
struct OpTraits {
  bool on_floats = false, on_ints = false, on_bools = false;  // compute dtypes there is a body or combiner for
  bool needs_elements = false;                                // a reduction without identity: fails on no elements
  bool finds_position = false;                                // argmax and its kin
};

struct Op {
  OpId id;
  const OpDecl* decl;
  Schema schema;
  OpTraits traits;
  std::string public_name;                                                  // "max" of "max.dim"
  int operands = 0;                                                         // leading Tensor and Operand parameters
  int dim = -1, keepdim = -1, dtype = -1, device = -1, requires_grad = -1;  // positions of well-known parameters
  bool placed_by_default = false;  // a function that makes a tensor from no other one, on the default device
  std::string_view name() const { return decl->name; }
  OpKind kind() const { return decl->kind; }
};

// Mutation check (ir/graph/mutation.h): a disabled op fails as if its code were gone. Only files that ask know the
// macro, see ir/CMakeLists.txt.
#ifdef MINIDYNAMO_MUTATE
void check_enabled(const Op& op);
#else
inline void check_enabled(const Op&) {}
#endif

std::span<const Op> all_ops();
const Op& op(OpId id);
OpId find_op(std::string_view unique_name);                     // "max.dim"; kNoOp if there is none
std::span<const OpId> overloads(std::string_view public_name);  // "max" -> max, max.dim, max.other; takes aliases too
// f(name) for each further name of the op.
template <class F>
void for_each_alias(const Op& op, F&& f) {
  for (std::string_view rest = op.decl->also; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    f(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

// What is known of a tensor before it is computed. `storage` names the storage among the tensors of one trace
// (views share it); sizes may be symbolic.
struct TensorType {
  DType dtype = DType::Float32;
  Device device;
  SizeVec sizes, strides;
  Size offset = 0;
  int storage = -1;
  bool requires_grad = false;
  GradHistory history = GradHistory::Leaf;
  bool wrapped_number = false;
  int dim() const { return static_cast<int>(sizes.size()); }
  GradState grad_state() const { return {requires_grad, history}; }
  bool is_leaf() const { return !requires_grad || history == GradHistory::Leaf; }
};

// Positional and keyword arguments laid out in schema order with defaults filled in.
using BoundArgs = std::vector<Arg>;
using KwArgs = std::vector<std::pair<std::string, Arg>>;

// Picks the overload of `public_name` the arguments fit and binds them. Throws OpError(Type) whose text names the op
// and what it was given, in the wording the user would see from Python ("sin() takes 1 positional argument but 2 were
// given").
struct BoundCall {
  OpId op;
  BoundArgs args;
};
BoundCall bind(std::string_view public_name, std::span<const Arg> args, const KwArgs& kwargs);
// The same for overloads(public_name) already looked up.
BoundCall bind(std::span<const OpId> candidates, std::span<const Arg> args, const KwArgs& kwargs);
// As above, and takes what older programs write: add(x, 0.5, y) for add(x, y, alpha=0.5), addmm(beta, x, alpha, a, b).
BoundCall bind_any_order(std::span<const OpId> candidates, std::span<const Arg> args, const KwArgs& kwargs);
// As above for one known overload; false if it does not fit (no exception).
bool try_bind(const Op& op, std::span<const Arg> args, const KwArgs& kwargs, BoundArgs& out);
// The same where 0-d tensors given for numbers are read.
using ReadNumber = Arg(const TensorImpl&);
bool try_bind_reading(const Op& op, std::vector<Arg> args, KwArgs kwargs, BoundArgs& out, ReadNumber* read);

// Result types of a bound call whose tensor arguments are nodes (their types) or tensors. Checks shapes, dtypes,
// ranges: throws OpError with torch's exception kind and our wording. For views, `storage` is the operand's; a fresh
// result has storage -1 (the caller numbers it).
std::vector<TensorType> infer(const Op& op, std::span<const Arg> args);
// Type of a tensor argument (Node* or TensorRef).
TensorType type_of(const Arg& a);

// What a Pointwise or Reduction call computes in and returns: operands are converted to `compute` first (but see
// operand_dtype), the body runs in its working dtype, and its value is brought back into `compute`, then to `result`.
struct ComputeTypes {
  DType compute, result;
};
ComputeTypes compute_types(const Op& op, std::span<const Arg> args);
// What operand `i` of a Pointwise call is converted to first.
DType operand_dtype(const Op& op, std::span<const Arg> args, int i, DType compute);

// Process-wide: the dtype of what is made from Python's floats.
inline std::atomic<DType> default_float{DType::Float32};
inline DType default_dtype() { return default_float.load(std::memory_order_relaxed); }
inline void set_default_dtype(DType t) { default_float.store(t, std::memory_order_relaxed); }
// Whether results of differentiable operands require gradients themselves; of this thread.
inline bool grad_enabled() { return thread_modes.grad_enabled; }
inline void set_grad_enabled(bool on) { thread_modes.grad_enabled = on; }

// Whether a call of the op may name a generator (ir/tensor/generator.h).
bool takes_generator(const Op& op);

}  // namespace md
