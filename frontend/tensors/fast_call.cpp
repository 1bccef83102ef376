// Chooses the one overload that fits and fills its arguments in place, without an argument list.
#include "frontend/tensors/fast_call.h"

#include "frontend/tensors/function_modes.h"

namespace md {

namespace {

bool accepts(const Op& o, std::size_t operands) {
  const std::vector<Param>& params = o.schema.params;
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (i < operands ? params[i].keyword_only : !params[i].has_default) return false;
  }
  return operands <= params.size();
}

bool fast_operand(PyObject* o, ParamType type, Arg& out) {
  const bool tensors = type == ParamType::Tensor || type == ParamType::Operand;
  if (is_tensor_exact(o)) {
    if (tensors) out.v.emplace<TensorRef>(tensor_impl(o));
    return tensors;
  }
  if (type != ParamType::Operand && type != ParamType::Scalar) return false;
  if (PyFloat_CheckExact(o)) {
    out.v.emplace<double>(PyFloat_AS_DOUBLE(o));
    return true;
  }
  if (!PyLong_CheckExact(o)) return false;
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(o, &overflow);
  if (overflow) return false;
  out.v.emplace<Size>(static_cast<std::int64_t>(v));
  return true;
}

}  // namespace

const Op* sole_overload(std::span<const OpId> ids, std::size_t operands, bool inplace) {
  const Op* found = nullptr;
  for (OpId id : ids) {
    const Op& o = op(id);
    if ((inplace && !o.decl->inplace) || !accepts(o, operands)) continue;
    if (found || o.schema.params.size() > kMaxFastParams) return nullptr;
    found = &o;
  }
  return found;
}

bool FastArgs::fill(const Op& op, PyObject* const* operands, std::size_t count) {
  if (function_modes.load(std::memory_order_relaxed) != 0) return false;
  const std::vector<Param>& params = op.schema.params;
  for (std::size_t i = 0; i < count; ++i) {
    if (!fast_operand(operands[i], params[i].type, items_[i])) return false;
  }
  for (std::size_t i = count; i < params.size(); ++i) items_[i] = params[i].default_value;
  count_ = params.size();
  return true;
}

}  // namespace md
