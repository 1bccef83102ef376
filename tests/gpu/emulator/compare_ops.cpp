// Comparisons and choices: setp, set, selp, slct.
#include <cmath>

#include "elementwise.h"
#include "float_ops.h"
#include "small_floats.h"

namespace emulated {
namespace {

enum Comparison : std::uint8_t { kEq, kNe, kLt, kLe, kGt, kGe, kEqu, kNeu, kLtu, kLeu, kGtu, kGeu, kNum, kNan };
enum Combination : std::uint8_t { kAlone, kAnd, kOr, kXor };

template <Comparison kHow, class T>
bool holds(T a, T b) {
  bool unordered = a != a || b != b;
  switch (kHow) {
    case kEq:
      return a == b;
    case kNe:
      return a != b && !unordered;
    case kLt:
      return a < b;
    case kLe:
      return a <= b;
    case kGt:
      return a > b;
    case kGe:
      return a >= b;
    case kEqu:
      return a == b || unordered;
    case kNeu:
      return a != b;
    case kLtu:
      return a < b || unordered;
    case kLeu:
      return a <= b || unordered;
    case kGtu:
      return a > b || unordered;
    case kGeu:
      return a >= b || unordered;
    case kNum:
      return !unordered;
    case kNan:
      return unordered;
  }
  return false;
}

std::uint32_t combined(Warp& warp, const Instruction& i, std::uint32_t bits) {
  if (i.kind == kAlone) return bits;
  std::uint32_t other = *warp.at<std::uint32_t>(i.c);
  if (i.flags & kNegatedC) other = ~other;
  return i.kind == kAnd ? bits & other : i.kind == kOr ? bits | other : bits ^ other;
}

using Compare = std::uint32_t (*)(Warp&, const Instruction&);

template <Comparison kHow, class T>
std::uint32_t compared(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  std::uint8_t bytes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) bytes[lane] = holds<kHow, T>(a[lane], b[lane]);
  return packed(bytes);
}

template <class T>
float widened(T value, const Instruction& i) {
  if constexpr (sizeof(T) == 4)
    return flushed(__builtin_bit_cast(float, value));
  else
    return i.type == Type::kBf16 ? brain_value(value) : half_value(value);
}
// Of f16, bf16, and f32 whose denormals count as zeros.
template <Comparison kHow, class T>
std::uint32_t compared_wider(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  std::uint8_t bytes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) bytes[lane] = holds<kHow, float>(widened(a[lane], i), widened(b[lane], i));
  return packed(bytes);
}

template <Comparison kHow, class T>
void setp_loop(Warp& warp, const Instruction& i) {
  put_bits(warp, i.to, combined(warp, i, compared<kHow, T>(warp, i)));
}
template <Comparison kHow, class T>
void setp_wider_loop(Warp& warp, const Instruction& i) {
  put_bits(warp, i.to, combined(warp, i, compared_wider<kHow, T>(warp, i)));
}
// With a second result for the opposite, or with a number for one: less often used.
void general_loop(Warp& warp, const Instruction& i);

struct Found {
  Handler plain = nullptr;
  Compare compare = nullptr;
};

template <Comparison kHow>
Found of_type(Type type, bool flush) {
  switch (type) {
    case Type::kB16:
    case Type::kU16:
      return {setp_loop<kHow, std::uint16_t>, compared<kHow, std::uint16_t>};
    case Type::kS16:
      return {setp_loop<kHow, std::int16_t>, compared<kHow, std::int16_t>};
    case Type::kB32:
    case Type::kU32:
      return {setp_loop<kHow, std::uint32_t>, compared<kHow, std::uint32_t>};
    case Type::kS32:
      return {setp_loop<kHow, std::int32_t>, compared<kHow, std::int32_t>};
    case Type::kB64:
    case Type::kU64:
      return {setp_loop<kHow, std::uint64_t>, compared<kHow, std::uint64_t>};
    case Type::kS64:
      return {setp_loop<kHow, std::int64_t>, compared<kHow, std::int64_t>};
    case Type::kF64:
      return {setp_loop<kHow, double>, compared<kHow, double>};
    case Type::kF32:
      if (flush) return {setp_wider_loop<kHow, std::uint32_t>, compared_wider<kHow, std::uint32_t>};
      return {setp_loop<kHow, float>, compared<kHow, float>};
    case Type::kF16:
    case Type::kBf16:
      return {setp_wider_loop<kHow, std::uint16_t>, compared_wider<kHow, std::uint16_t>};
    default:
      return {};
  }
}

Found comparison_of(std::uint8_t how, Type type, bool flush) {
  switch (how) {
    case kEq:
      return of_type<kEq>(type, flush);
    case kNe:
      return of_type<kNe>(type, flush);
    case kLt:
      return of_type<kLt>(type, flush);
    case kLe:
      return of_type<kLe>(type, flush);
    case kGt:
      return of_type<kGt>(type, flush);
    case kGe:
      return of_type<kGe>(type, flush);
    case kEqu:
      return of_type<kEqu>(type, flush);
    case kNeu:
      return of_type<kNeu>(type, flush);
    case kLtu:
      return of_type<kLtu>(type, flush);
    case kLeu:
      return of_type<kLeu>(type, flush);
    case kGtu:
      return of_type<kGtu>(type, flush);
    case kGeu:
      return of_type<kGeu>(type, flush);
    case kNum:
      return of_type<kNum>(type, flush);
    default:
      return of_type<kNan>(type, flush);
  }
}

void general_loop(Warp& warp, const Instruction& i) {
  std::uint32_t bits =
      comparison_of(static_cast<std::uint8_t>(i.target), i.type, i.flags & kFlushDenormals).compare(warp, i);
  std::uint32_t result = combined(warp, i, bits);
  if (i.to_bytes == 0) {
    std::uint32_t opposite = combined(warp, i, ~bits);
    put_bits(warp, i.to, result);
    put_bits(warp, i.d, opposite);
    return;
  }
  std::uint32_t words[kLanes];
  bool number = i.from == Type::kF32;
  for (int lane = 0; lane < kLanes; ++lane) words[lane] = result >> lane & 1 ? (number ? 0x3f800000u : ~0u) : 0;
  if (i.to_bytes == 4) {
    put(warp, i.to, words);
    return;
  }
  std::uint16_t halves[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) halves[lane] = words[lane] ? 0xffff : 0;
  put(warp, i.to, halves);
}

// The comparison by its name: of integers lo, ls, hi, hs are those without a sign.
std::uint8_t take_comparison(Decoder& decoder) {
  static constexpr std::pair<std::string_view, Comparison> kNames[] = {
      {"eq", kEq},   {"ne", kNe},   {"lt", kLt},   {"le", kLe},   {"gt", kGt},   {"ge", kGe},
      {"equ", kEqu}, {"neu", kNeu}, {"ltu", kLtu}, {"leu", kLeu}, {"gtu", kGtu}, {"geu", kGeu},
      {"num", kNum}, {"nan", kNan}, {"lo", kLt},   {"ls", kLe},   {"hi", kGt},   {"hs", kGe}};
  for (auto [name, how] : kNames)
    if (decoder.take(name)) return how;
  decoder.fail("a comparison is missing");
}

void begin_comparison(Decoder& decoder, Instruction& made) {
  std::uint8_t how = take_comparison(decoder);
  made.kind = decoder.take("and") ? kAnd : decoder.take("or") ? kOr : decoder.take("xor") ? kXor : kAlone;
  made.flags |= decoder.take_float_flags();
  made.target = how;
}

void comparison_operands(Decoder& decoder, Instruction& made) {
  decoder.want(made.kind == kAlone ? 3 : 4);
  made.a = decoder.source(1, made.type);
  made.b = decoder.source(2, made.type);
  if (made.kind == kAlone) return;
  bool negated = false;
  made.c = decoder.predicate(decoder.operand(3), negated);
  if (negated) made.flags |= kNegatedC;
}

void decode_setp(Decoder& decoder, Instruction& made) {
  begin_comparison(decoder, made);
  made.type = decoder.want_type();
  comparison_operands(decoder, made);
  Found found = comparison_of(static_cast<std::uint8_t>(made.target), made.type, made.flags & kFlushDenormals);
  if (!found.plain) return;
  if (decoder.operand(0).kind == Operand::kPair) {
    made.to = decoder.target(decoder.operand(0).parts[0], 0);
    made.d = decoder.target(decoder.operand(0).parts[1], 0);
    made.run = general_loop;
    return;
  }
  made.to = decoder.target(0, 0);
  made.run = found.plain;
}

void decode_set(Decoder& decoder, Instruction& made) {
  begin_comparison(decoder, made);
  made.from = decoder.want_type();
  made.type = decoder.want_type();
  comparison_operands(decoder, made);
  made.to_bytes = static_cast<std::uint8_t>(bytes_of(made.from));
  made.to = decoder.target(0, made.to_bytes);
  bool known = made.to_bytes == 4 || made.from == Type::kU16 || made.from == Type::kS16;
  if (known && comparison_of(kEq, made.type, false).plain) made.run = general_loop;
}

template <class T>
void selp_loop(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  std::uint32_t chosen = *warp.at<std::uint32_t>(i.c);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = chosen >> lane & 1 ? a[lane] : b[lane];
  put(warp, i.to, result);
}
void selp_predicate(Warp& warp, const Instruction& i) {
  std::uint32_t chosen = *warp.at<std::uint32_t>(i.c);
  put_bits(warp, i.to, (*warp.at<std::uint32_t>(i.a) & chosen) | (*warp.at<std::uint32_t>(i.b) & ~chosen));
}

void decode_selp(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  decoder.want(4);
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, type);
  bool negated = false;
  made.c = decoder.predicate(decoder.operand(3), negated);
  if (negated) std::swap(made.a, made.b);
  switch (bytes_of(type)) {
    case 0:
      made.run = selp_predicate;
      break;
    case 2:
      made.run = selp_loop<std::uint16_t>;
      break;
    case 4:
      made.run = selp_loop<std::uint32_t>;
      break;
    case 8:
      made.run = selp_loop<std::uint64_t>;
      break;
  }
}

template <class T, class C>
void slct_loop(Warp& warp, const Instruction& i) {
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  const C* c = warp.at<C>(i.c);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = c[lane] >= C{0} ? a[lane] : b[lane];
  put(warp, i.to, result);
}

void decode_slct(Decoder& decoder, Instruction& made) {
  decoder.take("ftz");
  Type type = decoder.want_type(), by = decoder.want_type();
  decoder.want(4);
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, type);
  made.c = decoder.source(3, by);
  bool number = by == Type::kF32;
  if (!number && by != Type::kS32) return;
  switch (bytes_of(type)) {
    case 2:
      made.run = number ? Handler(slct_loop<std::uint16_t, float>) : slct_loop<std::uint16_t, std::int32_t>;
      break;
    case 4:
      made.run = number ? Handler(slct_loop<std::uint32_t, float>) : slct_loop<std::uint32_t, std::int32_t>;
      break;
    case 8:
      made.run = number ? Handler(slct_loop<std::uint64_t, float>) : slct_loop<std::uint64_t, std::int32_t>;
      break;
  }
}

}  // namespace

void add_compare_opcodes(DecodeTable& table) {
  table["setp"] = decode_setp;
  table["set"] = decode_set;
  table["selp"] = decode_selp;
  table["slct"] = decode_slct;
}

}  // namespace emulated
