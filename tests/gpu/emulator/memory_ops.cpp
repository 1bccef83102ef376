// ld and st of all spaces, with vectors, and the hints about caches that do nothing here.
#include <fmt/format.h>

#include "elementwise.h"
#include "memory_access.h"

namespace emulated {
namespace {

template <class M, class R>
void load_element(Warp& warp, const Place& place, unsigned element, Row to) {
  R values[kLanes];
  if (place.contiguous && sizeof(M) == sizeof(R) && warp.full()) {
    if (place.data[1] - place.data[0] == sizeof(M)) {
      std::memcpy(values, place.data[0], sizeof values);
      std::memcpy(warp.at<R>(to), values, sizeof values);
      return;
    }
  }
  for (int lane = 0; lane < kLanes; ++lane) {
    M one{};
    if (warp.runs(lane)) std::memcpy(&one, place.data[lane] + element * sizeof(M), sizeof(M));
    values[lane] = static_cast<R>(one);
  }
  put(warp, to, values);
}

using LoadElement = void (*)(Warp&, const Place&, unsigned, Row);

template <class M>
LoadElement loader_to(unsigned register_bytes) {
  constexpr bool kSigned = std::is_signed_v<M>;
  switch (register_bytes) {
    case 2:
      return load_element<M, std::conditional_t<kSigned, std::int16_t, std::uint16_t>>;
    case 4:
      return load_element<M, std::conditional_t<kSigned, std::int32_t, std::uint32_t>>;
    default:
      return load_element<M, std::conditional_t<kSigned, std::int64_t, std::uint64_t>>;
  }
}

LoadElement loader(unsigned bytes, unsigned register_bytes, bool sign) {
  switch (bytes) {
    case 1:
      return sign ? loader_to<std::int8_t>(register_bytes) : loader_to<std::uint8_t>(register_bytes);
    case 2:
      return sign ? loader_to<std::int16_t>(register_bytes) : loader_to<std::uint16_t>(register_bytes);
    case 4:
      return sign ? loader_to<std::int32_t>(register_bytes) : loader_to<std::uint32_t>(register_bytes);
    default:
      return loader_to<std::uint64_t>(8);
  }
}

void load(Warp& warp, const Instruction& i) {
  Addresses at;
  addresses_of(warp, i, at);
  unsigned bytes = static_cast<unsigned>(i.bytes) * i.lanes;
  LoadElement element = loader(i.bytes, i.to_bytes, i.flags & kSignedValue);
  const Row* rows = &warp.launch->program.rows[i.more];
  for_each_space(warp, i, at, [&](Space space, Addresses& own) {
    Place place;
    locate(warp, own, space, bytes, AccessKind::kLoad, place);
    check_written(warp, own, place, bytes);
    if (i.flags & kStrong && space == Space::kGlobal) warp.block->acquired = true;
    if (warp.launch->checks.races) check_reads(warp, own, place, bytes, i.flags & kStrong);
    for (unsigned one = 0; one < i.lanes; ++one)
      if (rows[one] != kNoRow) element(warp, place, one, rows[one]);
  });
}

// A parameter of a kernel, the same for all.
template <class R>
void load_parameter(Warp& warp, const Instruction& i) {
  const Row* rows = &warp.launch->program.rows[i.more];
  for (unsigned one = 0; one < i.lanes; ++one) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, warp.launch->parameters.data() + i.offset + one * i.bytes, i.bytes);
    if (i.flags & kSignedValue && i.bytes < 8) {
      unsigned above = 64 - 8u * i.bytes;
      bits = static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << above) >> above);
    }
    R values[kLanes];
    for (R& value : values) value = static_cast<R>(bits);
    if (rows[one] != kNoRow) put(warp, rows[one], values);
  }
}

std::uint64_t register_bits(Warp& warp, Row row, unsigned bytes, int lane) {
  if (bytes == 8) return warp.at<std::uint64_t>(row)[lane];
  if (bytes == 4) return warp.at<std::uint32_t>(row)[lane];
  return warp.at<std::uint16_t>(row)[lane];
}

// Lane after lane, so that two that write to the same place are seen.
void store_lanes(Warp& warp, const Instruction& i, const Addresses& at, const Place& place, unsigned bytes) {
  const Row* rows = &warp.launch->program.rows[i.more];
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    std::byte value[32];
    for (unsigned one = 0; one < i.lanes; ++one) {
      std::uint64_t bits = register_bits(warp, rows[one], i.a_bytes, lane);
      std::memcpy(value + one * i.bytes, &bits, i.bytes);
    }
    if (warp.launch->checks.races) check_lane(warp, at, place, bytes, lane, true, i.flags & kStrong, value);
    std::memcpy(place.data[lane], value, bytes);
    std::memset(place.written[lane], 1, bytes);
  }
}

void store(Warp& warp, const Instruction& i) {
  Addresses at;
  std::int64_t offset = i.offset;
  if (i.flags & kOfFrame) offset += warp.frames[static_cast<std::size_t>(warp.frame)].local_base;
  addresses_in(warp, i.a, i.flags & kNarrowAddress, offset, at);
  unsigned bytes = static_cast<unsigned>(i.bytes) * i.lanes;
  for_each_space(warp, i, at, [&](Space space, Addresses& own) {
    Place place;
    locate(warp, own, space, bytes, AccessKind::kStore, place);
    if (i.flags & kStrong && space == Space::kGlobal) publish(warp, i.flags & kRelease);
    if (place.contiguous && i.lanes == 1 && i.bytes == i.a_bytes && !(i.flags & kStrong) &&
        (!warp.launch->checks.races || check_row_of_writes(warp, own, place, bytes))) {
      std::memcpy(place.data[0], warp.at<std::byte>(warp.launch->program.rows[i.more]), std::size_t{kLanes} * bytes);
      std::memset(place.written[0], 1, std::size_t{kLanes} * bytes);
      return;
    }
    store_lanes(warp, i, own, place, bytes);
  });
}

// Modifiers of ld and st that say how strong or how cached an access is.
void take_strength(Decoder& decoder, Instruction& made) {
  for (std::string_view name : {"volatile", "relaxed", "acquire", "release", "mmio"})
    if (decoder.take(name)) made.flags |= name == "release" ? kStrong | kRelease : kStrong;
  decoder.take("weak");
  decoder.take_any({"cta",
                    "cluster",
                    "gpu",
                    "sys",
                    "nc",
                    "ca",
                    "cg",
                    "cs",
                    "lu",
                    "cv",
                    "wb",
                    "wt",
                    "L1::evict_last",
                    "L1::evict_normal",
                    "L1::evict_first",
                    "L1::no_allocate",
                    "L1::evict_unchanged",
                    "L2::64B",
                    "L2::128B",
                    "L2::256B",
                    "L2::cache_hint",
                    "L2::evict_last",
                    "L2::evict_first",
                    "L2::evict_normal"});
}

Space take_space_or_generic(Decoder& decoder) {
  static constexpr std::pair<std::string_view, Space> kNames[] = {
      {"global", Space::kGlobal},      {"shared", Space::kShared},    {"shared::cta", Space::kShared},
      {"local", Space::kLocal},        {"const", Space::kConst},      {"param", Space::kParam},
      {"param::entry", Space::kParam}, {"param::func", Space::kParam}};
  for (auto [name, space] : kNames)
    if (decoder.take(name)) return space;
  return Space::kGeneric;
}

void begin_access(Decoder& decoder, Instruction& made, std::size_t address_operand) {
  take_strength(decoder, made);
  made.space = take_space_or_generic(decoder);
  made.lanes = decoder.take("v2") ? 2 : decoder.take("v4") ? 4 : decoder.take("v8") ? 8 : 1;
  made.type = decoder.want_type();
  made.bytes = static_cast<std::uint8_t>(bytes_of(made.type));
  if (!made.bytes || made.bytes > 8 || made.bytes * made.lanes > 32) decoder.fail("a size that no access has");
  const Operand& operand = decoder.operand(address_operand);
  decoder.address(operand, made);
  auto variable = decoder.is_register(operand) ? std::nullopt : decoder.variable_at(operand);
  if (variable && variable->space == Space::kLocal) {
    made.flags |= kOfFrame;
    made.space = Space::kLocal;
  } else if (made.space == Space::kParam && !decoder.own().is_entry) {
    made.space = Space::kLocal;
  } else if (made.space == Space::kGeneric && variable && variable->space != Space::kConst) {
    made.space = variable->space;
  }
}

void decode_ld(Decoder& decoder, Instruction& made) {
  decoder.want(2);
  begin_access(decoder, made, 1);
  const Operand& result = decoder.operand(0);
  std::vector<Row> rows;
  std::uint8_t bytes = 0;
  auto add = [&](const Operand& one) {
    rows.push_back(decoder.any_register(one, bytes));
    if (bytes) made.to_bytes = bytes;
  };
  if (result.kind == Operand::kList)
    for (const Operand& one : result.parts) add(one);
  else
    add(result);
  if (rows.size() != made.lanes) decoder.fail("another count of registers than the vector has");
  if (!made.to_bytes) made.to_bytes = std::max<std::uint8_t>(made.bytes, 2);
  if (made.to_bytes < made.bytes) decoder.fail("a register that is too small");
  made.more = decoder.keep(rows);
  if (is_signed(made.type)) made.flags |= kSignedValue;
  made.run = load;
  auto variable = decoder.variable_at(decoder.operand(1));
  if (made.space != Space::kParam || !variable || !variable->of_entry) return;
  made.offset += static_cast<std::int64_t>(variable->address);
  std::int64_t end = made.offset + made.bytes * made.lanes;
  const Placed& last = decoder.own().parameters.back();
  if (made.offset < 0 || end > last.offset + last.bytes) decoder.fail("behind the end of the parameters");
  made.run = made.to_bytes == 8   ? Handler(load_parameter<std::uint64_t>)
             : made.to_bytes == 4 ? Handler(load_parameter<std::uint32_t>)
                                  : Handler(load_parameter<std::uint16_t>);
}

void decode_st(Decoder& decoder, Instruction& made) {
  decoder.want(2);
  begin_access(decoder, made, 0);
  const Operand& value = decoder.operand(1);
  std::vector<Row> rows;
  auto add = [&](const Operand& one) {
    made.a_bytes = std::max<std::uint8_t>(made.bytes, 2);
    if (decoder.is_register(one)) {
      rows.push_back(decoder.any_register(one, made.a_bytes));
    } else {
      bool number = one.kind == Operand::kFloat || one.kind == Operand::kInteger;
      rows.push_back(decoder.source(one, number ? made.type : made.bytes == 8 ? Type::kB64 : Type::kB32));
    }
    if (made.a_bytes < made.bytes) decoder.fail("a register that is too small");
  };
  // The address has used a_bytes for itself, which its flag tells as well.
  if (value.kind == Operand::kList)
    for (const Operand& one : value.parts) add(one);
  else
    add(value);
  if (rows.size() != made.lanes) decoder.fail("another count of registers than the vector has");
  made.more = decoder.keep(rows);
  made.run = store;
}

void do_nothing(Warp&, const Instruction&) {}

// Hints about caches.
void decode_hint(Decoder& decoder, Instruction& made) {
  while (!decoder.take_next().empty()) {
  }
  made.run = do_nothing;
}

// Fences order what a block has written before what it tells others afterwards.
void fence(Warp& warp, const Instruction&) { warp.block->fenced = true; }

void decode_fence(Decoder& decoder, Instruction& made) {
  while (!decoder.take_next().empty()) {
  }
  made.run = fence;
}

}  // namespace

void add_memory_opcodes(DecodeTable& table) {
  table["ld"] = decode_ld;
  table["ldu"] = decode_ld;
  table["st"] = decode_st;
  table["prefetch"] = decode_hint;
  table["prefetchu"] = decode_hint;
  table["applypriority"] = decode_hint;
  table["discard"] = decode_hint;
  table["createpolicy"] = decode_hint;
  table["membar"] = decode_fence;
  table["fence"] = decode_fence;
}

}  // namespace emulated
