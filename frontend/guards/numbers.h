// Expressions of floats and sizes of a frame's inputs, computed by Python's own functions of numbers: what a trace
// assumed of them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "frontend/guards/source.h"
#include "ir/sizes/shape_env.h"

namespace md {

struct NumberExpr {
  PyRef function;  // a function in C, of `operands`; null: one of the following
  std::vector<std::shared_ptr<const NumberExpr>> operands;
  int place = -1;  // of a float input
  PyRef constant;
  Size size;  // where there is nothing else
};

// `expression` equals `expected`, which has its exact type.
struct NumberTest {
  std::shared_ptr<const NumberExpr> expression;
  std::vector<SourceRef> floats;  // inputs, by place
  std::vector<Size> sizes;        // in the expression
  PyRef expected;
  std::string text;  // "L['f'] > 1.0"
};

// The float an input is, or holds as a tensor of float64 without dimensions; null: it is neither.
PyRef float_input(PyObject* o);

// The number for these inputs; null: something fails, or an input is no float. Sets no exception, runs no code of the
// program. `known`: values of symbols.
PyRef evaluate(const NumberExpr& e, std::span<PyObject* const> floats, const ShapeEnv* env,
               std::span<const std::int64_t> known);

}  // namespace md
