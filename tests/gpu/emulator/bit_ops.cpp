// Bits: and, or, xor, not, shifts, fields, counts, permutations of bytes, three-input tables.
#include <bit>

#include "elementwise.h"

namespace emulated {
namespace {

struct And {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct Xor {
  template <class T>
  static T run(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct Not {
  template <class T>
  static T run(T a) {
    return static_cast<T>(~a);
  }
};
struct LogicalNot {
  template <class T>
  static T run(T a) {
    return static_cast<T>(a == 0);
  }
};
// Shifts by more than there are bits give what shifting bit after bit would.
struct Shl {
  template <class T>
  static T run(T a, std::uint32_t by) {
    return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a << by);
  }
};
struct Shr {
  template <class T>
  static T run(T a, std::uint32_t by) {
    if constexpr (std::is_signed_v<T>)
      return static_cast<T>(a >> (by >= 8 * sizeof(T) ? 8 * sizeof(T) - 1 : by));
    else
      return by >= 8 * sizeof(T) ? T{0} : static_cast<T>(a >> by);
  }
};
template <class Op>
void predicate_loop(Warp& warp, const Instruction& i) {
  put_bits(warp, i.to, Op::run(*warp.at<std::uint32_t>(i.a), *warp.at<std::uint32_t>(i.b)));
}
void predicate_not(Warp& warp, const Instruction& i) { put_bits(warp, i.to, ~*warp.at<std::uint32_t>(i.a)); }

template <class Op>
void decode_logic(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  if (!is_bits(type)) decoder.fail("a type of bits expected");
  if (type == Type::kPred) {
    decoder.want(3);
    made.to = decoder.target(0, 0);
    made.a = decoder.source(1, type);
    made.b = decoder.source(2, type);
    made.run = predicate_loop<Op>;
    return;
  }
  binary_operands(decoder, made, type);
  made.run = by_integer(type, []<class T>() -> Handler { return binary_loop<Op, T>; });
}

void decode_not(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  if (type == Type::kPred) {
    decoder.want(2);
    made.to = decoder.target(0, 0);
    made.a = decoder.source(1, type);
    made.run = predicate_not;
    return;
  }
  unary_operands(decoder, made, type);
  if (is_bits(type)) made.run = by_integer(type, []<class T>() -> Handler { return unary_loop<Not, T>; });
}

void decode_cnot(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  unary_operands(decoder, made, type);
  made.run = by_integer(type, []<class T>() -> Handler { return unary_loop<LogicalNot, T>; });
}

template <class Op>
void decode_shift(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  decoder.want(3);
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, Type::kU32);
  made.run = by_integer(type, []<class T>() -> Handler { return binary_loop<Op, T, std::uint32_t>; });
}

template <bool kLeft>
struct Funnel {
  static std::uint32_t run(std::uint32_t low, std::uint32_t high, std::uint32_t by) {
    std::uint64_t both = std::uint64_t{high} << 32 | low;
    return kLeft ? static_cast<std::uint32_t>((both << by) >> 32) : static_cast<std::uint32_t>(both >> by);
  }
};
template <bool kLeft, bool kClamp>
struct FunnelBy {
  static std::uint32_t run(std::uint32_t low, std::uint32_t high, std::uint32_t by) {
    return Funnel<kLeft>::run(low, high, kClamp ? std::min(by, 32u) : by & 31);
  }
};

void decode_shf(Decoder& decoder, Instruction& made) {
  bool left = decoder.take("l");
  if (!left && !decoder.take("r")) decoder.fail(".l or .r is missing");
  bool clamp = decoder.take("clamp");
  if (!clamp && !decoder.take("wrap")) decoder.fail(".clamp or .wrap is missing");
  ternary_operands(decoder, made, decoder.want_type());
  made.run = left ? (clamp ? Handler(ternary_loop<FunnelBy<true, true>, std::uint32_t>)
                           : ternary_loop<FunnelBy<true, false>, std::uint32_t>)
                  : (clamp ? Handler(ternary_loop<FunnelBy<false, true>, std::uint32_t>)
                           : ternary_loop<FunnelBy<false, false>, std::uint32_t>);
}

template <class T>
void popc_loop(Warp& warp, const Instruction& i) {
  const T* a = warp.at<T>(i.a);
  std::uint32_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = static_cast<std::uint32_t>(std::popcount(a[lane]));
  put(warp, i.to, result);
}
template <class T>
void clz_loop(Warp& warp, const Instruction& i) {
  const T* a = warp.at<T>(i.a);
  std::uint32_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = static_cast<std::uint32_t>(std::countl_zero(a[lane]));
  put(warp, i.to, result);
}

template <bool kCountsZeros>
void decode_count(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  decoder.want(2);
  made.to = decoder.target(0, 4);
  made.a = decoder.source(1, type);
  if (type == Type::kB32)
    made.run = kCountsZeros ? Handler(clz_loop<std::uint32_t>) : popc_loop<std::uint32_t>;
  else if (type == Type::kB64)
    made.run = kCountsZeros ? Handler(clz_loop<std::uint64_t>) : popc_loop<std::uint64_t>;
}

struct Reverse {
  template <class T>
  static T run(T a) {
    T result = 0;
    for (std::size_t bit = 0; bit < 8 * sizeof(T); ++bit) result |= ((a >> bit) & 1) << (8 * sizeof(T) - 1 - bit);
    return result;
  }
};

void decode_brev(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  unary_operands(decoder, made, type);
  if (type == Type::kB32) made.run = unary_loop<Reverse, std::uint32_t>;
  if (type == Type::kB64) made.run = unary_loop<Reverse, std::uint64_t>;
}

// The place of the highest bit that differs from the sign, or how far it is to be shifted up.
template <class T, bool kShift>
void find_loop(Warp& warp, const Instruction& i) {
  using U = std::make_unsigned_t<T>;
  const T* a = warp.at<T>(i.a);
  std::uint32_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    U bits = static_cast<U>(a[lane] < 0 ? ~a[lane] : a[lane]);
    int zeros = std::countl_zero(bits);
    bool none = bits == 0;
    result[lane] =
        none ? ~0u : static_cast<std::uint32_t>(kShift ? zeros : static_cast<int>(8 * sizeof(T)) - 1 - zeros);
  }
  put(warp, i.to, result);
}

void decode_bfind(Decoder& decoder, Instruction& made) {
  bool shift = decoder.take("shiftamt");
  Type type = decoder.want_type();
  decoder.want(2);
  made.to = decoder.target(0, 4);
  made.a = decoder.source(1, type);
  made.run = by_integer(type, [=]<class T>() -> Handler {
    if constexpr (sizeof(T) < 4)
      return nullptr;
    else
      return shift ? Handler(find_loop<T, true>) : find_loop<T, false>;
  });
}

struct Field {
  template <class T>
  static T run(T a, std::uint32_t begin, std::uint32_t length) {
    constexpr std::uint32_t kBits = 8 * sizeof(T);
    begin &= 255, length &= 255;
    T sign = 0;
    if (std::is_signed_v<T> && length) sign = static_cast<T>(a >> std::min(begin + length - 1, kBits - 1)) & 1;
    std::make_unsigned_t<T> result = 0;
    for (std::uint32_t bit = 0; bit < kBits; ++bit) {
      bool inside = bit < length && begin + bit < kBits;
      std::make_unsigned_t<T> one = inside ? (a >> (begin + bit)) & 1 : static_cast<std::make_unsigned_t<T>>(sign & 1);
      result |= one << bit;
    }
    return static_cast<T>(result);
  }
};
template <class T>
void extract_loop(Warp& warp, const Instruction& i) {
  const T* a = warp.at<T>(i.a);
  const auto *b = warp.at<std::uint32_t>(i.b), *c = warp.at<std::uint32_t>(i.c);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = Field::run(a[lane], b[lane], c[lane]);
  put(warp, i.to, result);
}

void decode_bfe(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  decoder.want(4);
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, Type::kU32);
  made.c = decoder.source(3, Type::kU32);
  made.run = by_integer(type, []<class T>() -> Handler {
    if constexpr (sizeof(T) < 4)
      return nullptr;
    else
      return extract_loop<T>;
  });
}

template <class T>
void insert_loop(Warp& warp, const Instruction& i) {
  constexpr std::uint32_t kBits = 8 * sizeof(T);
  const T *a = warp.at<T>(i.a), *b = warp.at<T>(i.b);
  const auto *c = warp.at<std::uint32_t>(i.c), *d = warp.at<std::uint32_t>(i.d);
  T result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    std::uint32_t begin = c[lane] & 255, length = d[lane] & 255;
    T field = begin >= kBits ? T{0} : static_cast<T>((length >= kBits ? ~T{0} : (T{1} << length) - 1) << begin);
    T moved = begin >= kBits ? T{0} : static_cast<T>(a[lane] << begin);
    result[lane] = (b[lane] & ~field) | (moved & field);
  }
  put(warp, i.to, result);
}

void decode_bfi(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  decoder.want(5);
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, type);
  made.c = decoder.source(3, Type::kU32);
  made.d = decoder.source(4, Type::kU32);
  if (type == Type::kB32) made.run = insert_loop<std::uint32_t>;
  if (type == Type::kB64) made.run = insert_loop<std::uint64_t>;
}

void decode_bmsk(Decoder& decoder, Instruction& made) {
  bool clamp = decoder.take("clamp");
  if (!clamp) decoder.take("wrap");
  binary_operands(decoder, made, decoder.want_type());
  struct Mask {
    static std::uint32_t run(std::uint32_t begin, std::uint32_t length) {
      std::uint32_t ones = length >= 32 ? ~0u : (1u << length) - 1;
      return begin >= 32 ? 0 : ones << begin;
    }
  };
  struct Wrapped {
    static std::uint32_t run(std::uint32_t begin, std::uint32_t length) { return Mask::run(begin & 31, length & 31); }
  };
  made.run = clamp ? Handler(binary_loop<Mask, std::uint32_t>) : binary_loop<Wrapped, std::uint32_t>;
}

// Bytes of two words, chosen by four numbers; the modes choose by the third operand's two low bits alone.
std::uint32_t permuted(std::uint32_t a, std::uint32_t b, std::uint32_t how) {
  std::uint64_t both = std::uint64_t{b} << 32 | a;
  std::uint32_t result = 0;
  for (int byte = 0; byte < 4; ++byte) {
    std::uint32_t chosen = how >> (4 * byte) & 15;
    auto value = static_cast<std::uint32_t>(both >> (8 * (chosen & 7)) & 255);
    if (chosen & 8) value = value & 128 ? 255 : 0;
    result |= value << (8 * byte);
  }
  return result;
}
std::uint32_t permutation(std::uint8_t mode, std::uint32_t c) {
  static constexpr std::uint16_t kForward[] = {0x3210, 0x4321, 0x5432, 0x6543};
  static constexpr std::uint16_t kBackward[] = {0x5670, 0x6701, 0x7012, 0x0123};
  static constexpr std::uint16_t kReplicate[] = {0x0000, 0x1111, 0x2222, 0x3333};
  static constexpr std::uint16_t kLeft[] = {0x3210, 0x3211, 0x3222, 0x3333};
  static constexpr std::uint16_t kRight[] = {0x0000, 0x1110, 0x2210, 0x3210};
  static constexpr std::uint16_t kHalves[] = {0x1010, 0x3232, 0x1010, 0x3232};
  static constexpr const std::uint16_t* kModes[] = {kForward, kBackward, kReplicate, kLeft, kRight, kHalves};
  return mode ? kModes[mode - 1][c & 3] : c;
}

void permute_loop(Warp& warp, const Instruction& i) {
  const auto *a = warp.at<std::uint32_t>(i.a), *b = warp.at<std::uint32_t>(i.b), *c = warp.at<std::uint32_t>(i.c);
  std::uint32_t result[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) result[lane] = permuted(a[lane], b[lane], permutation(i.kind, c[lane]));
  put(warp, i.to, result);
}

void decode_prmt(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  ternary_operands(decoder, made, type);
  std::uint8_t mode = 0;
  for (std::string_view name : {"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}) {
    ++mode;
    if (decoder.take(name)) made.kind = mode;
  }
  if (type == Type::kB32) made.run = permute_loop;
}

// Each bit of the table is the result for one of the eight combinations of bits.
void table_loop(Warp& warp, const Instruction& i) {
  const auto *a = warp.at<std::uint32_t>(i.a), *b = warp.at<std::uint32_t>(i.b), *c = warp.at<std::uint32_t>(i.c);
  std::uint32_t result[kLanes] = {};
  for (unsigned entry = 0; entry < 8; ++entry) {
    if (!(i.kind >> entry & 1)) continue;
    for (int lane = 0; lane < kLanes; ++lane)
      result[lane] |=
          (entry & 4 ? a[lane] : ~a[lane]) & (entry & 2 ? b[lane] : ~b[lane]) & (entry & 1 ? c[lane] : ~c[lane]);
  }
  put(warp, i.to, result);
}

void decode_lop3(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  decoder.want(5);
  made.to = decoder.target(0, 4);
  made.a = decoder.source(1, type);
  made.b = decoder.source(2, type);
  made.c = decoder.source(3, type);
  made.kind = static_cast<std::uint8_t>(decoder.number(4));
  if (type == Type::kB32) made.run = table_loop;
}

}  // namespace

void add_bit_opcodes(DecodeTable& table) {
  table["and"] = decode_logic<And>;
  table["or"] = decode_logic<Or>;
  table["xor"] = decode_logic<Xor>;
  table["not"] = decode_not;
  table["cnot"] = decode_cnot;
  table["shl"] = decode_shift<Shl>;
  table["shr"] = decode_shift<Shr>;
  table["shf"] = decode_shf;
  table["popc"] = decode_count<false>;
  table["clz"] = decode_count<true>;
  table["brev"] = decode_brev;
  table["bfind"] = decode_bfind;
  table["bfe"] = decode_bfe;
  table["bfi"] = decode_bfi;
  table["bmsk"] = decode_bmsk;
  table["prmt"] = decode_prmt;
  table["lop3"] = decode_lop3;
}

}  // namespace emulated
