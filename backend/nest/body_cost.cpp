// A builder of op bodies that counts instructions and latency.
#include "backend/nest/body_cost.h"

#include <algorithm>

#include "ir/graph/op_visit.h"

namespace md {
namespace {

// Values are the cycle at which they are ready.
template <bool kInt, bool kDouble>
class CountingBuilder {
 public:
  struct V {
    int at = 0;
  };
  struct I {
    int at = 0;
  };
  struct M {
    int at = 0;
  };
  static constexpr bool kInteger = kInt;
  static constexpr int width() { return kDouble ? 64 : 32; }
  static constexpr bool is_double() { return kDouble && !kInt; }
  int instructions = 0;

  V constant(double) { return {}; }
  V lowest() { return {}; }
  V highest() { return {}; }
  I iconst(std::int64_t) { return {}; }
  M mconst(bool) { return {}; }
  V add(V a, V b) { return op<V>(kAdd, a, b); }
  V sub(V a, V b) { return op<V>(kAdd, a, b); }
  V mul(V a, V b) { return op<V>(kAdd, a, b); }
  V neg(V a) { return op<V>(1, a); }
  V abs(V a) { return op<V>(1, a); }
  V fma(V a, V b, V c) { return op<V>(kAdd, V{std::max(a.at, b.at)}, c); }
  V div(V a, V b) { return slow(4, 14, a, b); }
  V sqrt(V a) { return slow(6, 20, a, a); }
  V fmod(V a, V b) { return slow(400, 400, a, b); }
  V idiv(V a, V b) { return slow(100, 40, a, b); }
  V imod(V a, V b) { return slow(100, 40, a, b); }
  V floor(V a) { return op<V>(kAdd, a); }
  V ceil(V a) { return op<V>(kAdd, a); }
  V trunc(V a) { return op<V>(kAdd, a); }
  V rint(V a) { return op<V>(kAdd, a); }
  V scale(V a, V b) { return op<V>(kAdd, a, b); }
  template <class Fn>
  V call_rare(M rare, V, V usual) {
    instructions += 2;
    return {usual.at + (rare.at > usual.at ? 1 : 0)};
  }
  M lt(V a, V b) { return op<M>(kAdd, a, b); }
  M le(V a, V b) { return op<M>(kAdd, a, b); }
  M gt(V a, V b) { return op<M>(kAdd, a, b); }
  M ge(V a, V b) { return op<M>(kAdd, a, b); }
  M eq(V a, V b) { return op<M>(kAdd, a, b); }
  M ne(V a, V b) { return op<M>(kAdd, a, b); }
  V select(M m, V a, V b) { return op<V>(1, V{std::max(m.at, a.at)}, b); }
  I iselect(M m, I a, I b) { return op<I>(1, I{std::max(m.at, a.at)}, b); }
  M mand(M a, M b) { return op<M>(1, a, b); }
  M mor(M a, M b) { return op<M>(1, a, b); }
  M mxor(M a, M b) { return op<M>(1, a, b); }
  M mnot(M a) { return op<M>(1, a); }
  I as_bits(V a) { return {a.at}; }
  V from_bits(I a) { return {a.at}; }
  I iadd(I a, I b) { return op<I>(1, a, b); }
  I isub(I a, I b) { return op<I>(1, a, b); }
  I imul(I a, I b) { return op<I>(kAdd, a, b); }
  I iand(I a, I b) { return op<I>(1, a, b); }
  I ior(I a, I b) { return op<I>(1, a, b); }
  I ixor(I a, I b) { return op<I>(1, a, b); }
  I ishl(I a, int) { return op<I>(1, a); }
  I isar(I a, int) { return op<I>(1, a); }
  I ishr(I a, int) { return op<I>(1, a); }
  M ilt(I a, I b) { return op<M>(1, a, b); }
  M ieq(I a, I b) { return op<M>(1, a, b); }
  I to_int(V a) { return op<I>(kAdd, a); }
  V from_int(I a) { return op<V>(kAdd, a); }

 private:
  static constexpr int kAdd = kInt ? 1 : 4;  // cycles
  template <class R, class A>
  R op(int latency, A a) {
    ++instructions;
    return {a.at + latency};
  }
  template <class R, class A>
  R op(int latency, A a, A b) {
    ++instructions;
    return {std::max(a.at, b.at) + latency};
  }
  V slow(int throughput, int latency, V a, V b) {
    instructions += throughput;
    return {std::max(a.at, b.at) + latency};
  }
};

template <class O, bool kMasks, class B>
BodyCost count() {
  B b;
  constexpr bool kSelect = O::decl.promote == Promote::Select;
  const auto operand = [](auto index) {
    if constexpr (kMasks || (kSelect && index.value == 0))
      return typename B::M{};
    else
      return typename B::V{};
  };
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    const auto result = apply_body<O, kMasks>(b, operand(std::integral_constant<std::size_t, i>{})...);
    return BodyCost{b.instructions, result.at};
  }(std::make_index_sequence<arity<O>>{});
}

template <class O>
BodyCost cost_of(DType t) {
  constexpr bool ints = computes_in<O>(DTypeCategory::Integral), floats = computes_in<O>(DTypeCategory::Floating);
  if (t == DType::Bool) {
    if constexpr (computes_in<O>(DTypeCategory::Bool)) return count<O, true, CountingBuilder<true, false>>();
  } else if (is_integral(t)) {
    if constexpr (ints)
      return item_size(t) == 8 ? count<O, false, CountingBuilder<true, true>>()
                               : count<O, false, CountingBuilder<true, false>>();
  } else if constexpr (floats) {
    return t == DType::Float64 ? count<O, false, CountingBuilder<false, true>>()
                               : count<O, false, CountingBuilder<false, false>>();
  }
  return {1, 4};
}

}  // namespace

BodyCost body_cost(const NestValue& v) {
  if (v.kind == NestValue::Kind::Convert) return {2, 8};
  if (v.kind != NestValue::Kind::Compute) return {};
  return visit_op(v.op, [&]<class O>(O) -> BodyCost {
    if constexpr (O::decl.kind == OpKind::Pointwise)
      return cost_of<O>(v.compute);
    else
      return {};
  });
}

}  // namespace md
