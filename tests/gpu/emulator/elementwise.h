// Instructions that do the same to each lane: their loops, and the choice of a loop by type.
#pragma once

#include "decode.h"

namespace emulated {

// All lanes are computed and those that run are kept: operations must not fail for any values.
template <class Op, class To, class From = To>
void unary_loop(Warp& warp, const Instruction& i) {
  const From* a = warp.at<From>(i.a);
  To result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = Op::run(a[lane]);
  put(warp, i.to, result);
}

template <class Op, class T, class B = T>
void binary_loop(Warp& warp, const Instruction& i) {
  const T* a = warp.at<T>(i.a);
  const B* b = warp.at<B>(i.b);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = Op::run(a[lane], b[lane]);
  put(warp, i.to, result);
}

// A result of another type than the operands, as of wide products.
template <class Op, class To, class T>
void widening_loop(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  To result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = Op::run(a[lane], b[lane]);
  put(warp, i.to, result);
}

template <class Op, class To, class T = To, class C = To>
void ternary_loop(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  const C* c = warp.at<C>(i.c);
  To result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = Op::run(a[lane], b[lane], c[lane]);
  put(warp, i.to, result);
}

// choose.template operator()<T>() for the C++ type of an integer type; null for others.
template <class Choose>
Handler by_integer(Type type, Choose choose) {
  switch (type) {
    case Type::kU16:
      return choose.template operator()<std::uint16_t>();
    case Type::kB16:
      return choose.template operator()<std::uint16_t>();
    case Type::kS16:
      return choose.template operator()<std::int16_t>();
    case Type::kU32:
      return choose.template operator()<std::uint32_t>();
    case Type::kB32:
      return choose.template operator()<std::uint32_t>();
    case Type::kS32:
      return choose.template operator()<std::int32_t>();
    case Type::kU64:
      return choose.template operator()<std::uint64_t>();
    case Type::kB64:
      return choose.template operator()<std::uint64_t>();
    case Type::kS64:
      return choose.template operator()<std::int64_t>();
    default:
      return nullptr;
  }
}

inline bool is_bits(Type type) {
  return type == Type::kB16 || type == Type::kB32 || type == Type::kB64 || type == Type::kPred;
}

// to, a, b of one type.
inline void binary_operands(Decoder& decoder, Instruction& made, Type type) {
  decoder.want(3);
  made.type = type;
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, type);
}

inline void unary_operands(Decoder& decoder, Instruction& made, Type type) {
  decoder.want(2);
  made.type = type;
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
}

inline void ternary_operands(Decoder& decoder, Instruction& made, Type type) {
  decoder.want(4);
  made.type = type;
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, type);
  made.c = decoder.source(3, type);
}

}  // namespace emulated
