// Calls and arguments that the formulas of many composite ops are written with.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

#include "ir/infer/expansion.h"

namespace md {

inline Arg add(const Expansion& e, const Arg& a, const Arg& b) { return e.call(id::Add, {a, b}); }
inline Arg sub(const Expansion& e, const Arg& a, const Arg& b) { return e.call(id::Sub, {a, b}); }
inline Arg mul(const Expansion& e, const Arg& a, const Arg& b) { return e.call(id::Mul, {a, b}); }
inline Arg list_of(std::initializer_list<Arg> items) { return ListArg{std::vector<Arg>(items)}; }
inline Arg pair(Arg a, Arg b) { return ListArg{{std::move(a), std::move(b)}, true}; }
// A number that decides which calls there are.
inline double number(const Arg& a) {
  if (const auto* d = a.get_if<double>()) return *d;
  if (const auto* b = a.get_if<bool>()) return *b;
  return static_cast<double>(fixed_size(a.get<Size>()));
}

}  // namespace md
