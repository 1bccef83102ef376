// atom and red: read, changed and written at once, also among blocks that run on several threads of the host.
#include <mutex>

#include "elementwise.h"
#include "float_ops.h"
#include "memory_access.h"
#include "small_floats.h"

namespace emulated {
namespace {

enum AtomicOp : std::uint8_t { kAdd, kMin, kMax, kAnd, kOr, kXor, kExchange, kCompare, kIncrement, kDecrement };

template <class T>
T extreme(T a, T b, bool minimum) {
  if (a != a) return b;
  if (b != b) return a;
  return (a < b) == minimum ? a : b;
}

template <class T>
std::uint64_t number_result(AtomicOp op, std::uint64_t old_bits, std::uint64_t value_bits) {
  T old, value;
  std::memcpy(&old, &old_bits, sizeof(T));
  std::memcpy(&value, &value_bits, sizeof(T));
  T made = op == kAdd ? canonical(old + value) : extreme(old, value, op == kMin);
  std::uint64_t bits = 0;
  std::memcpy(&bits, &made, sizeof(T));
  return bits;
}

template <class T>
std::uint64_t integer_result(AtomicOp op, std::uint64_t old_bits, std::uint64_t value_bits) {
  auto old = static_cast<T>(old_bits), value = static_cast<T>(value_bits);
  switch (op) {
    case kAdd:
      return old_bits + value_bits;
    case kMin:
      return static_cast<std::uint64_t>(old < value ? old : value);
    case kMax:
      return static_cast<std::uint64_t>(old > value ? old : value);
    case kIncrement:
      return old >= value ? 0 : static_cast<std::uint64_t>(old) + 1;
    case kDecrement:
      return old == 0 || old > value ? value_bits : static_cast<std::uint64_t>(old) - 1;
    default:
      return value_bits;
  }
}

std::uint64_t half_sum(Type type, std::uint64_t old, std::uint64_t value) {
  std::uint64_t result = 0;
  bool brain = type == Type::kBf16 || type == Type::kBf16x2;
  for (unsigned part = 0; part < bytes_of(type) / 2; ++part) {
    auto a = static_cast<std::uint16_t>(old >> (16 * part)), b = static_cast<std::uint16_t>(value >> (16 * part));
    std::uint16_t sum =
        brain ? brain_bits(double{brain_value(a)} + brain_value(b)) : half_bits(double{half_value(a)} + half_value(b));
    result |= std::uint64_t{sum} << (16 * part);
  }
  return result;
}

std::uint64_t result_of(const Instruction& i, std::uint64_t old, std::uint64_t value, std::uint64_t other) {
  auto op = static_cast<AtomicOp>(i.kind);
  switch (op) {
    case kAnd:
      return old & value;
    case kOr:
      return old | value;
    case kXor:
      return old ^ value;
    case kExchange:
      return value;
    case kCompare:
      return old == value ? other : old;
    default:
      break;
  }
  switch (i.type) {
    case Type::kF32:
      return number_result<float>(op, old, value);
    case Type::kF64:
      return number_result<double>(op, old, value);
    case Type::kS32:
      return integer_result<std::int32_t>(op, old, value);
    case Type::kS64:
      return integer_result<std::int64_t>(op, old, value);
    case Type::kU32:
    case Type::kB32:
      return integer_result<std::uint32_t>(op, old, value);
    case Type::kU64:
    case Type::kB64:
      return integer_result<std::uint64_t>(op, old, value);
    default:
      return half_sum(i.type, old, value);
  }
}

std::uint64_t bits_at(Warp& warp, Row row, unsigned bytes, int lane) {
  if (bytes == 8) return warp.at<std::uint64_t>(row)[lane];
  if (bytes == 4) return warp.at<std::uint32_t>(row)[lane];
  return warp.at<std::uint16_t>(row)[lane];
}

// Atomics of several host threads on the same word take turns.
std::mutex& turn_of(const void* place) {
  static std::mutex turns[64];
  return turns[(reinterpret_cast<std::uintptr_t>(place) >> 3) % 64];
}

void atomic(Warp& warp, const Instruction& i) {
  Addresses at;
  addresses_of(warp, i, at);
  std::uint64_t results[kLanes] = {};
  for_each_space(warp, i, at, [&](Space space, Addresses& own) {
    Place place;
    locate(warp, own, space, i.bytes, AccessKind::kAtomic, place);
    check_written(warp, own, place, i.bytes);
    if (space == Space::kGlobal) publish(warp, i.flags & kRelease);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane)) continue;
      if (warp.launch->checks.races) check_lane(warp, own, place, i.bytes, lane, true, true, nullptr);
      std::lock_guard lock(turn_of(place.data[lane]));
      std::memcpy(&results[lane], place.data[lane], i.bytes);
      std::uint64_t made = result_of(i, results[lane], bits_at(warp, i.b, i.bytes, lane),
                                     i.c == kNoRow ? 0 : bits_at(warp, i.c, i.bytes, lane));
      std::memcpy(place.data[lane], &made, i.bytes);
    }
  });
  if (i.to == kNoRow) return;
  if (i.bytes == 8) return put(warp, i.to, results);
  std::uint32_t words[kLanes];
  std::uint16_t halves[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    words[lane] = static_cast<std::uint32_t>(results[lane]);
    halves[lane] = static_cast<std::uint16_t>(results[lane]);
  }
  if (i.bytes == 4)
    put(warp, i.to, words);
  else
    put(warp, i.to, halves);
}

void decode_atomic(Decoder& decoder, Instruction& made, bool keeps) {
  static constexpr std::pair<std::string_view, AtomicOp> kNames[] = {
      {"add", kAdd}, {"min", kMin},       {"max", kMax},     {"and", kAnd},       {"or", kOr},
      {"xor", kXor}, {"exch", kExchange}, {"cas", kCompare}, {"inc", kIncrement}, {"dec", kDecrement}};
  if (decoder.take("release") || decoder.take("acq_rel")) made.flags |= kRelease;
  decoder.take_any({"relaxed", "acquire", "cta", "cluster", "gpu", "sys", "noftz"});
  static constexpr std::pair<std::string_view, Space> kSpaces[] = {
      {"global", Space::kGlobal}, {"shared", Space::kShared}, {"shared::cta", Space::kShared}};
  for (auto [name, space] : kSpaces)
    if (decoder.take(name)) made.space = space;
  bool known = false;
  for (auto [name, op] : kNames)
    if (decoder.take(name)) made.kind = op, known = true;
  if (!known) decoder.fail("the operation is missing");
  made.type = decoder.want_type();
  made.bytes = static_cast<std::uint8_t>(bytes_of(made.type));
  if (made.bytes < 2 || made.bytes > 8) decoder.fail("a size that no atomic operation has");
  std::size_t first = keeps ? 1 : 0;
  decoder.want(first + (made.kind == kCompare ? 3 : 2));
  if (keeps) made.to = decoder.target(0, made.bytes);
  decoder.address(decoder.operand(first), made);
  made.b = decoder.source(first + 1, made.type);
  if (made.kind == kCompare) made.c = decoder.source(first + 2, made.type);
  made.run = atomic;
}

void decode_atom(Decoder& decoder, Instruction& made) { decode_atomic(decoder, made, true); }
void decode_red(Decoder& decoder, Instruction& made) { decode_atomic(decoder, made, false); }

}  // namespace

void add_atomic_opcodes(DecodeTable& table) {
  table["atom"] = decode_atom;
  table["red"] = decode_red;
}

}  // namespace emulated
