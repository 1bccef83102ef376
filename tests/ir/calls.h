// Shorthands of the op tests: build tensors, call ops by public name, read results.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "ir/core/error.h"
#include "ir/graph/op_ids.h"
#include "ir/run/eager.h"

namespace md::testing {

template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::Bool;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::Int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::Int64;
  if constexpr (std::is_same_v<T, double>) return DType::Float64;
  return DType::Float32;
}

template <class T>
TensorRef tensor(std::initializer_list<T> values, DimVec sizes) {
  TensorRef t = empty_tensor(sizes, dtype_of<T>());
  std::copy(values.begin(), values.end(), t->as<T>());
  return t;
}
template <class T>
TensorRef vec(std::initializer_list<T> values) {
  return tensor<T>(values, {static_cast<std::int64_t>(values.size())});
}

inline Arg list(std::initializer_list<Arg> items) { return ListArg{std::vector<Arg>(items)}; }
inline Arg tuple(std::initializer_list<Arg> items) { return ListArg{std::vector<Arg>(items), true}; }

inline Arg call(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  const std::vector<Arg> a(args);
  const BoundCall c = md::bind(name, a, kwargs);
  return call_op(op(c.op), c.args);
}
inline TensorRef run(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  return call(name, args, kwargs).get<TensorRef>();
}
inline TensorRef inplace(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  const std::vector<Arg> a(args);
  const BoundCall c = md::bind(name, a, kwargs);
  return call_inplace(op(c.op), c.args);
}

// Elements in row-major order, as T (which must be the dtype).
template <class T>
std::vector<T> values(const TensorRef& t) {
  EXPECT_EQ(t->dtype, dtype_of<T>());
  const Arg args[] = {t};
  const TensorRef flat = call_op(op(id::Compact), args).get<TensorRef>();
  return std::vector<T>(flat->as<T>(), flat->as<T>() + flat->numel());
}

// Kind and text of the error a call raises.
struct Raised {
  ErrorKind kind;
  std::string text;
};
template <class F>
Raised raised(F&& f) {
  try {
    f();
  } catch (const OpError& e) {
    return {e.kind, e.what()};
  }
  ADD_FAILURE() << "no error was raised";
  return {ErrorKind::Assertion, ""};
}

}  // namespace md::testing
