// What the body of a pointwise op (and the combiner of a reduction) may say. A body is
//     template <class B> static auto body(B& b, typename B::V x, typename B::V y) { return b.add(x, y); }
// and runs over three builders: scalar C++ (the oracle), SIMD blocks, LLVM. Identical bits come from spelling every
// rounding step: `fma` only where written, min/max as compare + select, no reassociation.
//
// B::V value of the compute dtype, B::I signed integer lanes of the same width, B::M mask.
//   V constant(double)            nearest value of the compute dtype      I iconst(std::int64_t)
//   V add sub mul neg             (integers wrap)                         V div sqrt fma floor ceil trunc rint abs (float)
//   V idiv imod                   truncating; the body has excluded 0 and MIN/-1
//   M lt le gt ge eq ne (V, V)    false on NaN but for ne                 V select(M, V, V)   I iselect(M, I, I)
//   M mand mor mxor (M, M)        M mnot(M)                               M mconst(bool)
//   I as_bits(V)  V from_bits(I)  reinterpret                             I iadd isub imul iand ior ixor (I, I)
//   I ishl isar ishr (I, int)     arithmetic / logical shift              M ilt ieq (I, I)
//   I to_int(V)                   toward zero; |v| < 2^(width-1) by contract      V from_int(I)
// Bodies that differ for integers and floats offer `body` (float) and `body_int`. A body whose result is bool returns M.
#pragma once
