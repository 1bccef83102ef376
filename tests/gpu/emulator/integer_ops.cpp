// Arithmetic of integers: add, sub, mul, mad, div, rem, min, max, abs, neg, sad, their wide, high and carrying forms.
#include <limits>
#include <type_traits>

#include "elementwise.h"
#include "float_ops.h"

namespace emulated {
namespace {

__extension__ typedef unsigned __int128 Unsigned128;
__extension__ typedef __int128 Signed128;

template <class T>
struct TwiceOf {
  using Type = std::conditional_t<
      sizeof(T) == 2, std::conditional_t<std::is_signed_v<T>, std::int32_t, std::uint32_t>,
      std::conditional_t<sizeof(T) == 4, std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>,
                         std::conditional_t<std::is_signed_v<T>, Signed128, Unsigned128>>>;
};
template <class T>
using Twice = typename TwiceOf<T>::Type;
template <class T>
using Unsigned = std::make_unsigned_t<T>;

template <class T>
T wrapped_product(T a, T b) {
  return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}
template <class T>
T high_product(T a, T b) {
  return static_cast<T>((static_cast<Twice<T>>(a) * static_cast<Twice<T>>(b)) >> (8 * sizeof(T)));
}
template <class T>
T wrapped_sum(T a, T b) {
  return static_cast<T>(static_cast<Unsigned<T>>(a) + static_cast<Unsigned<T>>(b));
}

struct Add {
  template <class T>
  static T run(T a, T b) {
    return wrapped_sum(a, b);
  }
};
struct Sub {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b));
  }
};
struct AddSaturated {
  static std::int32_t run(std::int32_t a, std::int32_t b) {
    std::int64_t sum = std::int64_t{a} + b;
    return static_cast<std::int32_t>(std::min<std::int64_t>(std::max<std::int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};
struct SubSaturated {
  static std::int32_t run(std::int32_t a, std::int32_t b) {
    std::int64_t sum = std::int64_t{a} - b;
    return static_cast<std::int32_t>(std::min<std::int64_t>(std::max<std::int64_t>(sum, INT32_MIN), INT32_MAX));
  }
};
struct MulLow {
  template <class T>
  static T run(T a, T b) {
    return wrapped_product(a, b);
  }
};
struct MulHigh {
  template <class T>
  static T run(T a, T b) {
    return high_product(a, b);
  }
};
struct MulWide {
  template <class T>
  static Twice<T> run(T a, T b) {
    return static_cast<Twice<T>>(a) * static_cast<Twice<T>>(b);
  }
};
struct MadLow {
  template <class T>
  static T run(T a, T b, T c) {
    return wrapped_sum(wrapped_product(a, b), c);
  }
};
struct MadHigh {
  template <class T>
  static T run(T a, T b, T c) {
    return wrapped_sum(high_product(a, b), c);
  }
};
struct MadWide {
  template <class T>
  static Twice<T> run(T a, T b, Twice<T> c) {
    return wrapped_sum<Twice<T>>(MulWide::run(a, b), c);
  }
};
// What hardware gives for a division by zero, which PTX does not say, has all bits set.
struct Div {
  template <class T>
  static T run(T a, T b) {
    if (b == 0) return static_cast<T>(~T{0});
    if (std::is_signed_v<T> && b == static_cast<T>(-1))
      return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
    return static_cast<T>(a / b);
  }
};
struct Rem {
  template <class T>
  static T run(T a, T b) {
    if (b == 0) return a;
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
    return static_cast<T>(a % b);
  }
};
struct Min {
  template <class T>
  static T run(T a, T b) {
    return a < b ? a : b;
  }
};
struct Max {
  template <class T>
  static T run(T a, T b) {
    return a > b ? a : b;
  }
};
struct Abs {
  template <class T>
  static T run(T a) {
    return a < 0 ? static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a)) : a;
  }
};
struct Neg {
  template <class T>
  static T run(T a) {
    return static_cast<T>(Unsigned<T>{0} - static_cast<Unsigned<T>>(a));
  }
};
struct Sad {
  template <class T>
  static T run(T a, T b, T c) {
    auto apart = a < b ? static_cast<Unsigned<T>>(b) - static_cast<Unsigned<T>>(a)
                       : static_cast<Unsigned<T>>(a) - static_cast<Unsigned<T>>(b);
    return static_cast<T>(static_cast<Unsigned<T>>(c) + apart);
  }
};

template <class Op>
Handler binary_of(Type type) {
  return by_integer(type, []<class T>() -> Handler { return binary_loop<Op, T>; });
}

// Divisions are slow: only for lanes that run.
template <class Op, class T>
void division_loop(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  T result[kLanes] = {};
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane)) result[lane] = Op::run(a[lane], b[lane]);
  put(warp, i.to, result);
}

template <class Op>
void decode_division(Decoder& decoder, Instruction& made, Type type) {
  binary_operands(decoder, made, type);
  made.run = by_integer(type, []<class T>() -> Handler { return division_loop<Op, T>; });
}

// A carry is kept for the warp, as a predicate is; the frame's first word after the row of unwanted results.
constexpr Row kCarryRow = kFrameRow | 256;

template <class T, bool kSubtract, bool kIn, bool kOut, bool kProduct, bool kHigh>
void carrying_loop(Warp& warp, const Instruction& i) {
  using U = Unsigned<T>;
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b), *c = kProduct ? warp.at<T>(i.c) : nullptr;
  std::uint32_t carries = *warp.at<std::uint32_t>(kCarryRow);
  T result[kLanes];
  std::uint8_t out[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    U first = static_cast<U>(a[lane]), second = static_cast<U>(b[lane]);
    if constexpr (kProduct) {
      first = static_cast<U>(kHigh ? high_product(a[lane], b[lane]) : wrapped_product(a[lane], b[lane]));
      second = static_cast<U>(c[lane]);
    }
    auto in = static_cast<U>(kIn ? carries >> lane & 1 : 0);
    Unsigned128 sum = kSubtract ? Unsigned128{first} - second - in : Unsigned128{first} + second + in;
    result[lane] = static_cast<T>(static_cast<U>(sum));
    out[lane] = static_cast<std::uint8_t>((sum >> (8 * sizeof(T))) & 1);
  }
  put(warp, i.to, result);
  if (kOut) put_bits(warp, kCarryRow, packed(out));
}

template <bool kSubtract, bool kProduct, bool kHigh = false>
Handler carrying(Type type, bool in, bool out) {
  return by_integer(type, [=]<class T>() -> Handler {
    if constexpr (sizeof(T) < 4)
      return nullptr;
    else if (in)
      return out ? carrying_loop<T, kSubtract, true, true, kProduct, kHigh>
                 : carrying_loop<T, kSubtract, true, false, kProduct, kHigh>;
    else
      return carrying_loop<T, kSubtract, false, true, kProduct, kHigh>;
  });
}

void decode_add_or_sub(Decoder& decoder, Instruction& made, bool subtract) {
  bool carries = decoder.take("cc");
  bool saturates =
      decoder.statement().modifiers.size() > 1 && decoder.statement().modifiers.back() == "s32" && decoder.take("sat");
  if (!carries && !saturates && decode_float_sum(decoder, made, subtract)) return;
  Type type = decoder.want_type();
  binary_operands(decoder, made, type);
  if (carries)
    made.run = subtract ? carrying<true, false>(type, false, true) : carrying<false, false>(type, false, true);
  else if (saturates)
    made.run = subtract ? Handler(binary_loop<SubSaturated, std::int32_t>) : binary_loop<AddSaturated, std::int32_t>;
  else if (!is_bits(type))
    made.run = subtract ? binary_of<Sub>(type) : binary_of<Add>(type);
}

void decode_add(Decoder& decoder, Instruction& made) { decode_add_or_sub(decoder, made, false); }
void decode_sub(Decoder& decoder, Instruction& made) { decode_add_or_sub(decoder, made, true); }

void decode_addc(Decoder& decoder, Instruction& made) {
  bool out = decoder.take("cc");
  Type type = decoder.want_type();
  binary_operands(decoder, made, type);
  made.run = carrying<false, false>(type, true, out);
}

void decode_subc(Decoder& decoder, Instruction& made) {
  bool out = decoder.take("cc");
  Type type = decoder.want_type();
  binary_operands(decoder, made, type);
  made.run = carrying<true, false>(type, true, out);
}

void decode_mul(Decoder& decoder, Instruction& made) {
  if (decode_float_product(decoder, made)) return;
  bool high = decoder.take("hi"), wide = decoder.take("wide");
  if (!high && !wide && !decoder.take("lo")) decoder.fail(".lo, .hi or .wide is missing");
  Type type = decoder.want_type();
  made.type = type;
  decoder.want(3);
  made.to = decoder.target(0, bytes_of(type) * (wide ? 2 : 1));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, type);
  if (wide)
    made.run = by_integer(type, []<class T>() -> Handler {
      if constexpr (sizeof(T) == 8)
        return nullptr;
      else
        return widening_loop<MulWide, Twice<T>, T>;
    });
  else
    made.run = high ? binary_of<MulHigh>(type) : binary_of<MulLow>(type);
}

void decode_mad(Decoder& decoder, Instruction& made) {
  if (decode_float_fma(decoder, made)) return;
  bool high = decoder.take("hi"), wide = decoder.take("wide"), carries = decoder.take("cc");
  if (!high && !wide && !decoder.take("lo")) decoder.fail(".lo, .hi or .wide is missing");
  Type type = decoder.want_type();
  if (!wide) {
    ternary_operands(decoder, made, type);
    if (carries)
      made.run = high ? carrying<false, true, true>(type, false, true) : carrying<false, true>(type, false, true);
    else if (high)
      made.run = by_integer(type, []<class T>() -> Handler { return ternary_loop<MadHigh, T>; });
    else
      made.run = by_integer(type, []<class T>() -> Handler { return ternary_loop<MadLow, T>; });
    return;
  }
  static constexpr std::pair<Type, Type> kWider[] = {
      {Type::kU16, Type::kU32}, {Type::kS16, Type::kS32}, {Type::kU32, Type::kU64}, {Type::kS32, Type::kS64}};
  decoder.want(4);
  for (auto [narrow, wider] : kWider) {
    if (narrow != type) continue;
    made.to = decoder.target(0, bytes_of(wider));
    made.a = decoder.source(1, type);
    made.b = decoder.source(2, type);
    made.c = decoder.source(3, wider);
    made.run = by_integer(type, []<class T>() -> Handler {
      if constexpr (sizeof(T) == 8)
        return nullptr;
      else
        return ternary_loop<MadWide, Twice<T>, T, Twice<T>>;
    });
  }
}

void decode_madc(Decoder& decoder, Instruction& made) {
  bool high = decoder.take("hi"), out = decoder.take("cc");
  decoder.take("lo");
  Type type = decoder.want_type();
  ternary_operands(decoder, made, type);
  made.run = high ? carrying<false, true, true>(type, true, out) : carrying<false, true>(type, true, out);
}

template <bool kSigned, bool kHigh>
struct Mul24 {
  static std::uint32_t run(std::uint32_t a, std::uint32_t b) {
    auto cut = [](std::uint32_t value) -> std::int64_t {
      return kSigned ? static_cast<std::int32_t>(value << 8) >> 8 : static_cast<std::int64_t>(value & 0xffffff);
    };
    return static_cast<std::uint32_t>((cut(a) * cut(b)) >> (kHigh ? 16 : 0));
  }
  static std::uint32_t run(std::uint32_t a, std::uint32_t b, std::uint32_t c) { return run(a, b) + c; }
};

template <bool kAddsThird>
void decode_24_bits(Decoder& decoder, Instruction& made) {
  bool high = decoder.take("hi");
  decoder.take("lo");
  Type type = decoder.want_type();
  bool is_signed_type = type == Type::kS32;
  if (!is_signed_type && type != Type::kU32) return;
  if constexpr (kAddsThird) {
    ternary_operands(decoder, made, type);
    made.run = is_signed_type ? (high ? Handler(ternary_loop<Mul24<true, true>, std::uint32_t>)
                                      : ternary_loop<Mul24<true, false>, std::uint32_t>)
                              : (high ? Handler(ternary_loop<Mul24<false, true>, std::uint32_t>)
                                      : ternary_loop<Mul24<false, false>, std::uint32_t>);
  } else {
    binary_operands(decoder, made, type);
    made.run = is_signed_type ? (high ? Handler(binary_loop<Mul24<true, true>, std::uint32_t>)
                                      : binary_loop<Mul24<true, false>, std::uint32_t>)
                              : (high ? Handler(binary_loop<Mul24<false, true>, std::uint32_t>)
                                      : binary_loop<Mul24<false, false>, std::uint32_t>);
  }
}

void decode_div(Decoder& decoder, Instruction& made) {
  if (decode_float_quotient(decoder, made)) return;
  decode_division<Div>(decoder, made, decoder.want_type());
}
void decode_rem(Decoder& decoder, Instruction& made) { decode_division<Rem>(decoder, made, decoder.want_type()); }

template <class Op, bool kIsMin>
void decode_choice(Decoder& decoder, Instruction& made) {
  if (decode_float_choice(decoder, made, kIsMin)) return;
  Type type = decoder.want_type();
  binary_operands(decoder, made, type);
  if (!is_bits(type)) made.run = binary_of<Op>(type);
}

template <class Op, bool kNegates>
void decode_sign(Decoder& decoder, Instruction& made) {
  if (decode_float_sign(decoder, made, kNegates)) return;
  Type type = decoder.want_type();
  unary_operands(decoder, made, type);
  made.run = by_integer(type, []<class T>() -> Handler {
    if constexpr (std::is_signed_v<T>)
      return unary_loop<Op, T>;
    else
      return nullptr;
  });
}

void decode_sad(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  ternary_operands(decoder, made, type);
  made.run = by_integer(type, []<class T>() -> Handler { return ternary_loop<Sad, T>; });
}

// Products of bytes of a and bytes of b (or its halves, of two halves of a) added to c; the types are those of a and b.
std::int64_t part_of(std::uint32_t word, int part, int bits, bool sign) {
  auto moved = static_cast<std::int64_t>(std::uint64_t{word} << (64 - bits * (part + 1)));
  return sign ? moved >> (64 - bits) : static_cast<std::int64_t>(static_cast<std::uint64_t>(moved) >> (64 - bits));
}

void dot_loop(Warp& warp, const Instruction& i) {
  const auto *a = warp.at<std::uint32_t>(i.a), *b = warp.at<std::uint32_t>(i.b), *c = warp.at<std::uint32_t>(i.c);
  int parts = i.lanes, first = i.kind ? 2 : 0;
  std::uint32_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    auto sum = static_cast<std::int64_t>(c[lane]);
    for (int part = 0; part < parts; ++part)
      sum +=
          part_of(a[lane], part, 32 / parts, is_signed(i.type)) * part_of(b[lane], first + part, 8, is_signed(i.from));
    result[lane] = static_cast<std::uint32_t>(sum);
  }
  put(warp, i.to, result);
}

template <int kParts>
void decode_dot(Decoder& decoder, Instruction& made) {
  if (kParts == 2) made.kind = decoder.take("hi");
  if (kParts == 2) decoder.take("lo");
  Type a = decoder.want_type(), b = decoder.want_type();
  ternary_operands(decoder, made, Type::kB32);
  made.type = a, made.from = b;
  made.lanes = kParts;
  if (bytes_of(a) == 4 && bytes_of(b) == 4) made.run = dot_loop;
}

}  // namespace

void add_integer_opcodes(DecodeTable& table) {
  table["add"] = decode_add;
  table["sub"] = decode_sub;
  table["addc"] = decode_addc;
  table["subc"] = decode_subc;
  table["mul"] = decode_mul;
  table["mad"] = decode_mad;
  table["madc"] = decode_madc;
  table["mul24"] = decode_24_bits<false>;
  table["mad24"] = decode_24_bits<true>;
  table["div"] = decode_div;
  table["rem"] = decode_rem;
  table["min"] = decode_choice<Min, true>;
  table["max"] = decode_choice<Max, false>;
  table["abs"] = decode_sign<Abs, false>;
  table["neg"] = decode_sign<Neg, true>;
  table["sad"] = decode_sad;
  table["dp4a"] = decode_dot<4>;
  table["dp2a"] = decode_dot<2>;
}

}  // namespace emulated
