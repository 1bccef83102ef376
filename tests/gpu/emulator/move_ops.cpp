// mov in all its forms, and what tells addresses of one space from those of another: cvta, isspacep.
#include <fmt/format.h>

#include <chrono>

#include "elementwise.h"

namespace emulated {
namespace {

template <class T>
void move_loop(Warp& warp, const Instruction& i) {
  T values[kLanes];
  std::memcpy(values, warp.at<T>(i.a), sizeof values);
  put(warp, i.to, values);
}
void move_predicate(Warp& warp, const Instruction& i) { put_bits(warp, i.to, *warp.at<std::uint32_t>(i.a)); }

// The address of a local variable of the call that runs.
template <class T>
void move_local(Warp& warp, const Instruction& i) {
  T values[kLanes];
  auto address = static_cast<T>(warp.frames[static_cast<std::size_t>(warp.frame)].local_base + i.offset);
  for (T& value : values) value = address;
  put(warp, i.to, values);
}

enum Clock : std::uint8_t { kClock, kClockHigh, kClock64, kNanoseconds, kNanosecondsLow, kNanosecondsHigh, kActive };

void move_clock(Warp& warp, const Instruction& i) {
  auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  std::uint64_t value = 0;
  switch (i.kind) {
    case kClock:
      value = static_cast<std::uint32_t>(now);
      break;
    case kClockHigh:
    case kNanosecondsHigh:
      value = now >> 32;
      break;
    case kNanosecondsLow:
      value = static_cast<std::uint32_t>(now);
      break;
    case kActive:
      value = warp.mask;
      break;
    default:
      value = now;
  }
  if (i.to_bytes == 8) {
    std::uint64_t values[kLanes];
    for (auto& one : values) one = value;
    return put(warp, i.to, values);
  }
  std::uint32_t values[kLanes];
  for (auto& one : values) one = static_cast<std::uint32_t>(value);
  put(warp, i.to, values);
}

// Parts of one register each, the first the lowest.
void pack_loop(Warp& warp, const Instruction& i) {
  std::uint64_t values[kLanes] = {};
  const Row* parts = &warp.launch->program.rows[i.more];
  for (unsigned part = 0; part < i.more_count; ++part)
    for (int lane = 0; lane < kLanes; ++lane) {
      std::uint64_t one = i.bytes == 4 ? warp.at<std::uint32_t>(parts[part])[lane]
                                       : std::uint64_t{warp.at<std::uint16_t>(parts[part])[lane]};
      values[lane] |= one << (8 * i.bytes * part);
    }
  if (i.to_bytes == 8) return put(warp, i.to, values);
  std::uint32_t words[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) words[lane] = static_cast<std::uint32_t>(values[lane]);
  put(warp, i.to, words);
}

void unpack_loop(Warp& warp, const Instruction& i) {
  std::uint64_t values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane)
    values[lane] = i.a_bytes == 8 ? warp.at<std::uint64_t>(i.a)[lane] : warp.at<std::uint32_t>(i.a)[lane];
  const Row* parts = &warp.launch->program.rows[i.more];
  for (unsigned part = 0; part < i.more_count; ++part) {
    if (parts[part] == kNoRow) continue;
    std::uint32_t words[kLanes];
    std::uint16_t halves[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      words[lane] = static_cast<std::uint32_t>(values[lane] >> (8 * i.bytes * part));
      halves[lane] = static_cast<std::uint16_t>(words[lane]);
    }
    if (i.bytes == 4)
      put(warp, parts[part], words);
    else
      put(warp, parts[part], halves);
  }
}

void decode_pack(Decoder& decoder, Instruction& made, Type type, bool packs) {
  const Operand& list = decoder.operand(packs ? 1 : 0);
  std::size_t parts = list.parts.size();
  if (!parts || bytes_of(type) % parts) decoder.fail("a list of another size");
  made.bytes = static_cast<std::uint8_t>(bytes_of(type) / parts);
  if (made.bytes != 2 && made.bytes != 4) decoder.fail("parts of 16 or 32 bits expected");
  std::vector<Row> rows;
  for (const Operand& part : list.parts)
    rows.push_back(packs ? decoder.source(part, made.bytes == 4 ? Type::kB32 : Type::kB16)
                         : decoder.target(part, made.bytes));
  made.more = decoder.keep(rows);
  made.more_count = static_cast<std::uint32_t>(parts);
  if (packs) {
    made.to_bytes = static_cast<std::uint8_t>(bytes_of(type));
    made.to = decoder.target(0, bytes_of(type));
    made.run = pack_loop;
  } else {
    made.a_bytes = static_cast<std::uint8_t>(bytes_of(type));
    made.a = decoder.source(1, type);
    made.run = unpack_loop;
  }
}

bool decode_clock(Decoder& decoder, Instruction& made) {
  static constexpr std::pair<std::string_view, Clock> kNames[] = {{"%clock", kClock},
                                                                  {"%clock_hi", kClockHigh},
                                                                  {"%clock64", kClock64},
                                                                  {"%globaltimer", kNanoseconds},
                                                                  {"%globaltimer_lo", kNanosecondsLow},
                                                                  {"%globaltimer_hi", kNanosecondsHigh}};
  for (auto [name, clock] : kNames) {
    if (decoder.operand(1).name != name) continue;
    made.kind = clock;
    made.to = decoder.any_register(decoder.operand(0), made.to_bytes);
    made.run = move_clock;
    return true;
  }
  return false;
}

void decode_activemask(Decoder& decoder, Instruction& made) {
  decoder.want_type();
  made.kind = kActive;
  made.to_bytes = 4;
  made.to = decoder.target(0, 4);
  made.run = move_clock;
}

// The address of a variable or a function.
bool decode_symbol(Decoder& decoder, Instruction& made, Type type) {
  const Operand& operand = decoder.operand(1);
  if (operand.kind != Operand::kName && operand.kind != Operand::kAddress) return false;
  if (decoder.is_register(operand)) return false;
  const Symbol* symbol = decoder.symbol(operand.name);
  unsigned bytes = bytes_of(type);
  if (!symbol && decoder.has_function(operand.name)) {
    made.a = decoder.constant(8, kFunctionWindow + decoder.function(operand.name));
  } else if (!symbol) {
    return false;
  } else if (symbol->space == Space::kLocal) {
    made.offset = static_cast<std::int64_t>(symbol->address) + operand.offset;
    made.to = decoder.target(0, bytes);
    made.run = bytes == 8 ? Handler(move_local<std::uint64_t>) : move_local<std::uint32_t>;
    return true;
  } else {
    made.a = decoder.constant(bytes, symbol->address + static_cast<std::uint64_t>(operand.offset));
  }
  made.to = decoder.target(0, bytes);
  made.run = bytes == 8 ? Handler(move_loop<std::uint64_t>) : move_loop<std::uint32_t>;
  return true;
}

void decode_mov(Decoder& decoder, Instruction& made) {
  Type type = decoder.want_type();
  decoder.want(2);
  if (decoder.operand(1).kind == Operand::kList) return decode_pack(decoder, made, type, true);
  if (decoder.operand(0).kind == Operand::kList) return decode_pack(decoder, made, type, false);
  if (decode_clock(decoder, made) || decode_symbol(decoder, made, type)) return;
  made.to = decoder.target(0, bytes_of(type));
  made.a = decoder.source(1, type);
  switch (bytes_of(type)) {
    case 0:
      made.run = move_predicate;
      break;
    case 1:
    case 2:
      made.run = move_loop<std::uint16_t>;
      break;
    case 4:
      made.run = move_loop<std::uint32_t>;
      break;
    case 8:
      made.run = move_loop<std::uint64_t>;
      break;
  }
}

Address window_of(Space space) {
  switch (space) {
    case Space::kShared:
      return kSharedWindow;
    case Space::kLocal:
      return kLocalWindow;
    case Space::kParam:
      return kParameterWindow;
    default:
      return 0;
  }
}

Space take_space(Decoder& decoder) {
  static constexpr std::pair<std::string_view, Space> kNames[] = {
      {"global", Space::kGlobal}, {"shared", Space::kShared}, {"shared::cta", Space::kShared}, {"local", Space::kLocal},
      {"const", Space::kConst},   {"param", Space::kParam},   {"param::entry", Space::kParam}};
  for (auto [name, space] : kNames)
    if (decoder.take(name)) return space;
  decoder.fail("a space is missing");
}

template <class T>
void window_loop(Warp& warp, const Instruction& i) {
  const T* a = warp.at<T>(i.a);
  T values[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) values[lane] = a[lane] + static_cast<T>(i.offset);
  put(warp, i.to, values);
}

void decode_cvta(Decoder& decoder, Instruction& made) {
  bool to = decoder.take("to");
  Space space = take_space(decoder);
  Type type = decoder.want_type();
  if (bytes_of(type) != 8) decoder.fail("generic addresses have 64 bits");
  auto moved = static_cast<std::int64_t>(window_of(space));
  made.offset = to ? -moved : moved;
  if (const Operand& operand = decoder.operand(1); !to && !decoder.is_register(operand)) {
    if (!decode_symbol(decoder, made, type)) decoder.fail("a variable expected");
    if (made.run == Handler(move_local<std::uint64_t>))
      made.offset += moved;
    else
      made.a = decoder.constant(
          8, decoder.symbol(operand.name)->address + static_cast<std::uint64_t>(moved + operand.offset));
    return;
  }
  unary_operands(decoder, made, type);
  made.run = window_loop<std::uint64_t>;
}

void space_test(Warp& warp, const Instruction& i) {
  const auto* a = warp.at<std::uint64_t>(i.a);
  std::uint8_t bytes[kLanes];
  for (int lane = 0; lane < kLanes; ++lane) {
    Address window = window_of(i.space);
    bytes[lane] = window ? a[lane] >= window && a[lane] < window + kWindowBytes
                         : a[lane] >= kDeviceBase || a[lane] < kSharedWindow;
  }
  put_bits(warp, i.to, packed(bytes));
}

void decode_isspacep(Decoder& decoder, Instruction& made) {
  made.space = take_space(decoder);
  decoder.want(2);
  made.to = decoder.target(0, 0);
  made.a = decoder.source(1, Type::kU64);
  made.run = space_test;
}

}  // namespace

void add_move_opcodes(DecodeTable& table) {
  table["mov"] = decode_mov;
  table["cvta"] = decode_cvta;
  table["isspacep"] = decode_isspacep;
  table["activemask"] = decode_activemask;
}

}  // namespace emulated
