// clang-format off
// What the body of a pointwise op (and the combiner of a reduction) may say. A body is
//     template <class B> static auto body(B& b, typename B::V x, typename B::V y) { return b.add(x, y); }
// and runs over three builders: scalar C++ (the oracle), SIMD blocks, LLVM. Identical bits come from spelling every
// rounding step: `fma` only where written, min/max as compare + select, no reassociation.
//
// B::V value of the compute dtype, B::I signed integer lanes of the same width, B::M mask.
//   V constant(double)            nearest value of the compute dtype      I iconst(std::int64_t)  (truncated to the width)
//   V add sub mul neg             (integers wrap)                         V div sqrt fma floor ceil trunc rint abs (float)
//   V fmod (V, V)                 (float) exact, as C's fmod              V lowest highest ()  -inf/+inf or MIN/MAX
//   V idiv imod                   truncating; the body has excluded 0 and MIN/-1
//   M lt le gt ge eq ne (V, V)    false on NaN but for ne                 V select(M, V, V)   I iselect(M, I, I)
//   M mand mor mxor (M, M)        M mnot(M)                               M mconst(bool)
//   I as_bits(V)  V from_bits(I)  reinterpret                             I iadd isub imul iand ior ixor (I, I)
//   I ishl isar ishr (I, int)     arithmetic / logical shift, wrapping    M ilt ieq (I, I)
//   I to_int(V)                   toward zero; |v| < 2^(width-1) by contract      V from_int(I)
// `static constexpr bool kInteger` says whether V is an integer, `int width()` how many bits it has.
// Bodies that differ for integers and floats offer `body` (float) and `body_int`. Operands that are bool (compute dtype
// Bool, Promote::Logical, the first operand of Promote::Select) are masks: `body_bool` if all are. A body whose result is
// bool returns M. An op that can fail on integers offers `fails_int`: M of the lanes for which it raises `failure`.
// ir/graph/op_visit.h picks the right one (apply_body) and turns an OpId into its struct (visit_op).
//
// Floating-point builders (ops/math.h is written against these):
//   static/bool is_double()       compute dtype is float64, not float32: an ordinary `if` on it serves all builders (a
//                                 constant in C++ builders; known while the body is built in the LLVM builder)
//   V call_rare<Fn>(M rare, V x, V usual)   select(rare, Fn(x), usual), where `rare` is expected to be all false: test it
//                                 and skip the call. Fn is a struct with `static constexpr const char* kName` and
//                                 `template <class B> static float eval(float)` and `... double eval(double)`, plain scalar
//                                 C++: the LLVM builder calls it per lane through a pointer, out of line. (B keeps the
//                                 instantiations of files compiled for different CPUs apart; pass the builder's type.)
// Optional, detected with `requires`, the result must be the same bits as without it:
//   V scale(V v, V k)             v * 2^k rounded once, for integral |k| < 2^12 and 1/4 < |v| < 4 or NaN (AVX-512 vscalef)
//   V at_least(V x, V c)  V at_most(V x, V c)   select(lt(x, c), c, x), select(gt(x, c), c, x)
#pragma once
