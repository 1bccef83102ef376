// cvt: between all types of numbers, with all roundings.
#include <cmath>
#include <limits>

#include "elementwise.h"
#include "float_ops.h"
#include "small_floats.h"

namespace emulated {
namespace {

unsigned bits_of(Type type) { return 8 * bytes_of(type); }

// The low bits of each lane's register.
void load_bits(Warp& warp, Row row, unsigned bytes, std::int64_t (&to)[kLanes]) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (bytes == 8)
      to[lane] = static_cast<std::int64_t>(warp.at<std::uint64_t>(row)[lane]);
    else if (bytes == 4)
      to[lane] = warp.at<std::uint32_t>(row)[lane];
    else
      to[lane] = warp.at<std::uint16_t>(row)[lane];
  }
}
void store_bits(Warp& warp, Row row, unsigned bytes, const std::int64_t (&from)[kLanes]) {
  if (bytes == 8) return put(warp, row, from);
  if (bytes == 4) {
    std::uint32_t words[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) words[lane] = static_cast<std::uint32_t>(from[lane]);
    return put(warp, row, words);
  }
  std::uint16_t halves[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) halves[lane] = static_cast<std::uint16_t>(from[lane]);
  put(warp, row, halves);
}

std::int64_t extended(std::int64_t value, Type type) {
  unsigned above = 64 - bits_of(type);
  auto moved = static_cast<std::uint64_t>(value) << above;
  return is_signed(type) ? static_cast<std::int64_t>(moved) >> above : static_cast<std::int64_t>(moved >> above);
}

double number_of(std::int64_t bits, Type type) {
  switch (type) {
    case Type::kF64:
      return __builtin_bit_cast(double, bits);
    case Type::kF32:
      return __builtin_bit_cast(float, static_cast<std::uint32_t>(bits));
    case Type::kF16:
      return half_value(static_cast<std::uint16_t>(bits));
    default:
      return brain_value(static_cast<std::uint16_t>(bits));
  }
}

// Integers as doubles; what does not fit keeps in its last bit that something was cut off.
double odd_number(std::int64_t value, bool is_signed_value) {
  bool negative = is_signed_value && value < 0;
  auto size = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  int above = 11 - std::min(11, size ? __builtin_clzll(size) : 11);
  std::uint64_t kept = size >> above << above;
  if (kept != size) kept |= std::uint64_t{1} << above;
  auto result = static_cast<double>(kept);
  return negative ? -result : result;
}

double directed_double(std::int64_t value, bool is_signed_value, Rounding rounding) {
  auto exact =
      is_signed_value ? static_cast<long double>(value) : static_cast<long double>(static_cast<std::uint64_t>(value));
  double near = static_cast<double>(exact);
  bool above = static_cast<long double>(near) > exact, below = static_cast<long double>(near) < exact;
  bool down = rounding == Rounding::kDown || (rounding == Rounding::kZero && exact > 0);
  bool up = rounding == Rounding::kUp || (rounding == Rounding::kZero && exact < 0);
  if (above && down) return std::nextafter(near, -HUGE_VAL);
  if (below && up) return std::nextafter(near, HUGE_VAL);
  return near;
}

std::int64_t float_bits(double value, Type type, Rounding rounding) {
  switch (type) {
    case Type::kF64:
      return __builtin_bit_cast(std::int64_t, value);
    case Type::kF32: {
      if (value != value) return 0x7fffffff;
      if (rounding == Rounding::kNearest || rounding == Rounding::kNone)
        return __builtin_bit_cast(std::uint32_t, static_cast<float>(value));
      return static_cast<std::int64_t>(narrowed(value, 23, 8, rounding));
    }
    case Type::kTf32: {
      if (value != value) return 0x7fffffff;
      return static_cast<std::int64_t>(narrowed(value, 10, 8, rounding) << 13);
    }
    case Type::kF16:
      return half_bits(value, rounding);
    default:
      return brain_bits(value, rounding);
  }
}

double to_integral(double value, Rounding rounding) {
  switch (rounding) {
    case Rounding::kNearest:
      return std::nearbyint(value);
    case Rounding::kZero:
      return std::trunc(value);
    case Rounding::kDown:
      return std::floor(value);
    case Rounding::kUp:
      return std::ceil(value);
    default:
      return value;
  }
}

std::int64_t integer_of(double value, Type to, Type from) {
  unsigned bits = bits_of(to);
  if (value != value) {
    bool zero = from != Type::kF64 && bits < 64;
    return zero ? 0 : extended(static_cast<std::int64_t>(std::uint64_t{1} << (bits - 1)), to);
  }
  double end = std::ldexp(1.0, static_cast<int>(bits) - (is_signed(to) ? 1 : 0));
  double least = is_signed(to) ? -end : 0;
  if (value >= end) return extended(static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits + is_signed(to))), to);
  if (value <= least) return is_signed(to) ? static_cast<std::int64_t>(~std::uint64_t{0} << (bits - 1)) : 0;
  return is_signed(to) ? static_cast<std::int64_t>(value)
                       : static_cast<std::int64_t>(static_cast<std::uint64_t>(value));
}

std::int64_t clamped(std::int64_t value, Type to, Type from) {
  __extension__ typedef __int128 Wide;
  Wide exact = is_signed(from) ? Wide{value} : static_cast<Wide>(static_cast<std::uint64_t>(value));
  Wide most = (Wide{1} << (bits_of(to) - is_signed(to))) - 1, least = is_signed(to) ? -most - 1 : 0;
  return static_cast<std::int64_t>(exact > most ? most : exact < least ? least : exact);
}

std::int64_t converted(std::int64_t bits, const Instruction& i) {
  bool from_float = is_float(i.from), to_float = is_float(i.type);
  if (!from_float) {
    std::int64_t value = extended(bits, i.from);
    if (!to_float) return extended(i.flags & kSaturate ? clamped(value, i.type, i.from) : value, i.type);
    bool sign = is_signed(i.from);
    if (i.type == Type::kF64) return float_bits(directed_double(value, sign, i.rounding), i.type, i.rounding);
    double number = odd_number(value, sign);
    if (i.flags & kSaturate) number = saturated(number);
    return float_bits(number, i.type, i.rounding);
  }
  double value = number_of(bits, i.from);
  if (i.flags & kFlushDenormals && i.from == Type::kF32) value = flushed(static_cast<float>(value));
  if (!to_float) return integer_of(to_integral(value, i.rounding), i.type, i.from);
  if (i.flags & kSignedValue) value = to_integral(value, i.rounding);  // to an integral number of the same type
  if (i.flags & kSaturate) value = saturated(value);
  Rounding rounding = i.flags & kSignedValue ? Rounding::kNearest : i.rounding;
  if (i.kind && value == value) value = value > 0 ? value : 0.0;  // relu
  std::int64_t result = float_bits(value, i.type, rounding);
  if (i.flags & kFlushDenormals && i.type == Type::kF32 && !(result & 0x7f800000)) result &= 0x80000000;
  return result;
}

void convert_loop(Warp& warp, const Instruction& i) {
  std::int64_t bits[kLanes], result[kLanes] = {};
  load_bits(warp, i.a, i.a_bytes, bits);
  for (int lane = 0; lane < kLanes; ++lane)
    if (warp.runs(lane)) result[lane] = converted(bits[lane], i);
  store_bits(warp, i.to, i.to_bytes, result);
}

// Two numbers into the halves of one register: the first operand is the high one.
void convert_pair_loop(Warp& warp, const Instruction& i) {
  std::uint32_t result[kLanes] = {};
  Instruction one = i;
  one.type = i.type == Type::kF16x2 ? Type::kF16 : Type::kBf16;
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    auto high = converted(warp.at<std::uint32_t>(i.a)[lane], one),
         low = converted(warp.at<std::uint32_t>(i.b)[lane], one);
    result[lane] = static_cast<std::uint32_t>(high << 16 | (low & 0xffff));
  }
  put(warp, i.to, result);
}

// The frequent ones, whose registers have the sizes of their types.
template <class To, class From>
struct Cast {
  static To run(From value) { return static_cast<To>(value); }
};
struct FromHalf {
  static float run(std::uint16_t bits) { return canonical(half_value(bits)); }
};
struct FromBrain {
  static float run(std::uint16_t bits) { return canonical(brain_value(bits)); }
};
struct ToHalf {
  static std::uint16_t run(float value) { return half_bits_nearest(value); }
};
struct ToBrain {
  static std::uint16_t run(float value) { return brain_bits_nearest(value); }
};
struct Narrower {
  static float run(double value) { return canonical(static_cast<float>(value)); }
};
template <Rounding kRounding>
struct Integral {
  static float run(float value) {
    if (kRounding == Rounding::kNearest) return canonical(__builtin_rintf(value));
    if (kRounding == Rounding::kZero) return canonical(__builtin_truncf(value));
    return canonical(kRounding == Rounding::kDown ? __builtin_floorf(value) : __builtin_ceilf(value));
  }
};

template <class From>
Handler cast_from(Type to) {
  switch (to) {
    case Type::kU16:
    case Type::kS16:
      return unary_loop<Cast<std::uint16_t, From>, std::uint16_t, From>;
    case Type::kU32:
    case Type::kS32:
      return unary_loop<Cast<std::uint32_t, From>, std::uint32_t, From>;
    case Type::kU64:
    case Type::kS64:
      return unary_loop<Cast<std::uint64_t, From>, std::uint64_t, From>;
    case Type::kF32:
      return unary_loop<Cast<float, From>, float, From>;
    case Type::kF64:
      return unary_loop<Cast<double, From>, double, From>;
    default:
      return nullptr;
  }
}

Handler frequent_float(const Instruction& i) {
  bool nearest = i.rounding == Rounding::kNearest, none = i.rounding == Rounding::kNone;
  if (i.flags & kSignedValue) {
    if (i.from != Type::kF32 || i.type != Type::kF32) return nullptr;
    switch (i.rounding) {
      case Rounding::kNearest:
        return unary_loop<Integral<Rounding::kNearest>, float>;
      case Rounding::kZero:
        return unary_loop<Integral<Rounding::kZero>, float>;
      case Rounding::kDown:
        return unary_loop<Integral<Rounding::kDown>, float>;
      default:
        return unary_loop<Integral<Rounding::kUp>, float>;
    }
  }
  if (i.from == Type::kF16 && i.type == Type::kF32 && none) return unary_loop<FromHalf, float, std::uint16_t>;
  if (i.from == Type::kBf16 && i.type == Type::kF32 && none) return unary_loop<FromBrain, float, std::uint16_t>;
  if (i.from == Type::kF32 && i.type == Type::kF16 && nearest) return unary_loop<ToHalf, std::uint16_t, float>;
  if (i.from == Type::kF32 && i.type == Type::kBf16 && nearest) return unary_loop<ToBrain, std::uint16_t, float>;
  if (i.from == Type::kF32 && i.type == Type::kF64 && none) return unary_loop<Cast<double, float>, double, float>;
  if (i.from == Type::kF64 && i.type == Type::kF32 && nearest) return unary_loop<Narrower, float, double>;
  return nullptr;
}

Handler frequent(const Instruction& i) {
  if (i.flags & ~kSignedValue || i.kind || i.to_bytes != bytes_of(i.type) || i.a_bytes != bytes_of(i.from))
    return nullptr;
  if (is_float(i.from)) return frequent_float(i);
  if (is_float(i.type) && i.rounding != Rounding::kNearest) return nullptr;
  switch (i.from) {
    case Type::kU16:
      return cast_from<std::uint16_t>(i.type);
    case Type::kS16:
      return cast_from<std::int16_t>(i.type);
    case Type::kU32:
      return cast_from<std::uint32_t>(i.type);
    case Type::kS32:
      return cast_from<std::int32_t>(i.type);
    case Type::kU64:
      return cast_from<std::uint64_t>(i.type);
    case Type::kS64:
      return cast_from<std::int64_t>(i.type);
    default:
      return nullptr;
  }
}

Row source_of_any_size(Decoder& decoder, Instruction& made) {
  const Operand& operand = decoder.operand(1);
  if (decoder.is_register(operand)) return decoder.any_register(operand, made.a_bytes);
  bool word = operand.kind == Operand::kName;  // a special register
  made.a_bytes = static_cast<std::uint8_t>(word ? 4 : std::max(bytes_of(made.from), 2u));
  return decoder.source(operand, word ? Type::kU32 : made.from);
}

void decode_cvt(Decoder& decoder, Instruction& made) {
  static constexpr std::pair<std::string_view, Rounding> kIntegral[] = {
      {"rni", Rounding::kNearest}, {"rzi", Rounding::kZero}, {"rmi", Rounding::kDown}, {"rpi", Rounding::kUp}};
  made.rounding = decoder.take_rounding();
  bool integral = false;
  for (auto [name, rounding] : kIntegral)
    if (decoder.take(name)) made.rounding = rounding, integral = true;
  made.flags |= decoder.take_float_flags();
  made.kind = decoder.take("relu");
  decoder.take("satfinite");
  made.type = decoder.want_type();
  made.from = decoder.want_type();
  if (made.type == Type::kF16x2 || made.type == Type::kBf16x2) {
    decoder.want(3);
    made.to = decoder.target(0, 4);
    made.a = decoder.source(1, Type::kF32);
    made.b = decoder.source(2, Type::kF32);
    if (made.from == Type::kF32) made.run = convert_pair_loop;
    return;
  }
  decoder.want(2);
  made.to = decoder.any_register(decoder.operand(0), made.to_bytes);
  made.a = source_of_any_size(decoder, made);
  if (!made.to_bytes || made.to_bytes < bytes_of(made.type) || made.a_bytes < bytes_of(made.from))
    decoder.fail("a register of another size");
  bool from_float = is_float(made.from), to_float = is_float(made.type);
  if (from_float && !to_float && made.rounding == Rounding::kNone) decoder.fail("a rounding is missing");
  if (!from_float && to_float && made.rounding == Rounding::kNone) decoder.fail("a rounding is missing");
  if (integral && to_float) made.flags |= kSignedValue;
  made.run = frequent(made);
  if (!made.run) made.run = convert_loop;
}

}  // namespace

void add_convert_opcodes(DecodeTable& table) { table["cvt"] = decode_cvt; }

}  // namespace emulated
