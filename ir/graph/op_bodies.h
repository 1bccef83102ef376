// What the struct of an op offers at compile time, and the structs with bodies: they come first in ops.inc and alone in
// bodies.inc, so that the block kernels are not compiled again for an op without one.
#pragma once

#include <cstdint>
#include <string_view>

#include "registry/dtype.h"
#include "registry/ops/elementary.h"
#include "registry/ops/pointwise.h"
#include "registry/ops/reductions.h"

namespace md {

// A builder that does nothing: says at compile time which bodies a struct has.
struct ProbeBuilder {
  struct V {};
  struct I {};
  struct M {};
  static constexpr bool kInteger = false;
  int width();
  bool is_double();
  template <class Fn>
  V call_rare(M, V, V);
  V constant(double);
  V lowest();
  V highest();
  I iconst(std::int64_t);
  V add(V, V), sub(V, V), mul(V, V), div(V, V), fmod(V, V), idiv(V, V), imod(V, V), fma(V, V, V);
  V neg(V), sqrt(V), floor(V), ceil(V), trunc(V), rint(V), abs(V);
  M lt(V, V), le(V, V), gt(V, V), ge(V, V), eq(V, V), ne(V, V);
  V select(M, V, V);
  I iselect(M, I, I);
  M mand(M, M), mor(M, M), mxor(M, M), mnot(M), mconst(bool);
  I as_bits(V);
  V from_bits(I);
  I iadd(I, I), isub(I, I), imul(I, I), iand(I, I), ior(I, I), ixor(I, I), ishl(I, int), isar(I, int), ishr(I, int);
  M ilt(I, I), ieq(I, I);
  I to_int(V);
  V from_int(I);
};

namespace probe {
using P = ProbeBuilder;
template <class O>
concept Float = requires(P& b, P::V v) { O::body(b, v); } || requires(P& b, P::V v) { O::body(b, v, v); } ||
                requires(P& b, P::V v, P::M m) { O::body(b, m, v, v); };
template <class O>
concept Int = requires(P& b, P::V v) { O::body_int(b, v); } || requires(P& b, P::V v) { O::body_int(b, v, v); };
template <class O>
concept Bool = requires(P& b, P::M m) { O::body_bool(b, m); } || requires(P& b, P::M m) { O::body_bool(b, m, m); } ||
               requires(P& b, P::M m) { O::body_bool(b, m, m, m); };
template <class O>
concept Combines = requires(P& b, P::V v) { O::combine(b, v, v); };
template <class O>
concept CombinesBool = requires(P& b, P::M m) { O::combine_bool(b, m, m); };
template <class O>
concept Wins = requires(P& b, P::V v) { O::wins(b, v, v); };
template <class O>
concept WinsBool = requires(P& b, P::M m) { O::wins_bool(b, m, m); };
}  // namespace probe

// Whether the op computes in dtypes of this category; exactly then its body may be instantiated for them.
template <class O>
constexpr bool computes_in(DTypeCategory c) {
  constexpr Promote p = O::decl.promote;
  if constexpr (O::decl.kind == OpKind::Reduction) {
    return c == DTypeCategory::Bool ? probe::CombinesBool<O> || probe::WinsBool<O>
                                    : probe::Combines<O> || probe::Wins<O>;
  } else {
    switch (c) {
      case DTypeCategory::Floating:
        return probe::Float<O>;
      case DTypeCategory::Integral:
        return p != Promote::IntToFloat && !O::decl.floats_only && (probe::Int<O> || probe::Float<O>);
      case DTypeCategory::Bool:
        return p != Promote::IntToFloat && probe::Bool<O>;
      case DTypeCategory::Complex:  // an op that computes in complex numbers will have a body of its own for them
        return false;
    }
    return false;
  }
}

template <class O>
concept CanFail = requires { O::failure; };
template <class O>
concept NeedsElements = requires { O::needs_elements; };

// "-> (Tensor values, Tensor indices)"
constexpr bool has_named_results(std::string_view signature) { return signature.find(") -> (") != signature.npos; }

// Number of leading Tensor and Operand parameters: what a pointwise body takes.
constexpr int operand_count(std::string_view signature) {
  int n = 0;
  std::size_t at = signature.find('(') + 1;
  while (signature.substr(at, 7) == "Tensor " || signature.substr(at, 8) == "Operand ") {
    ++n;
    at = signature.find(',', at);
    if (at == std::string_view::npos) break;
    at += 2;
  }
  return n;
}
template <class O>
inline constexpr int arity = operand_count(O::decl.signature);

// Runs the body that fits: masks in (compute dtype Bool, Promote::Logical), integers, or floats.
template <class O, bool kMasks, class B, class... X>
auto apply_body(B& b, X... x) {
  if constexpr (kMasks) {
    return O::body_bool(b, x...);
  } else if constexpr (B::kInteger && probe::Int<O>) {
    return O::body_int(b, x...);
  } else {
    return O::body(b, x...);
  }
}

}  // namespace md
