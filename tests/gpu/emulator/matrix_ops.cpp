// mma.sync, ldmatrix, stmatrix: small products by a whole warp. Products are exact, and are added to the accumulator
// one after the other with k ascending, each sum rounded to f32 (f64, s32); hardware does not say its order.
#include <fmt/format.h>

#include "elementwise.h"
#include "exchange.h"
#include "memory_access.h"
#include "small_floats.h"

namespace emulated {
namespace {

// A fragment: lane l holds, of register r and its part j, the row l/4 + 8 * (r & 1) and the column
// (l % 4) * parts + j + 4 * parts * (r / 2) of a; b has no second half of rows.
struct Shape {
  int m, n, k;
  Type a, b, c, d;
};

int parts_of(Type type) { return type == Type::kF64 ? 1 : static_cast<int>(4 / bytes_of(type)); }

template <class T>
T number(Type type, std::uint64_t bits, int part) {
  auto half = static_cast<std::uint16_t>(bits >> (16 * part));
  switch (type) {
    case Type::kF16:
      return static_cast<T>(half_value(half));
    case Type::kBf16:
      return static_cast<T>(brain_value(half));
    case Type::kTf32:
      return static_cast<T>(__builtin_bit_cast(float, static_cast<std::uint32_t>(bits) & 0xffffe000u));
    case Type::kF32:
      return static_cast<T>(__builtin_bit_cast(float, static_cast<std::uint32_t>(bits)));
    case Type::kF64:
      return static_cast<T>(__builtin_bit_cast(double, bits));
    case Type::kS8:
      return static_cast<T>(static_cast<std::int8_t>(bits >> (8 * part)));
    case Type::kU8:
      return static_cast<T>(static_cast<std::uint8_t>(bits >> (8 * part)));
    default:
      return static_cast<T>(static_cast<std::int32_t>(bits));
  }
}

std::uint64_t lane_bits(Warp& warp, Row row, Type type, int lane) {
  return type == Type::kF64 ? warp.at<std::uint64_t>(row)[lane] : warp.at<std::uint32_t>(row)[lane];
}

float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
std::int32_t fused(std::int32_t a, std::int32_t b, std::int32_t c) {
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(a) * static_cast<std::uint32_t>(b) +
                                   static_cast<std::uint32_t>(c));
}

struct Fragments {
  const Row *d, *a, *b, *c;
};

Fragments fragments_of(Warp& warp, const Instruction& i, int& a_count, int& b_count, int& c_count) {
  const Row* rows = &warp.launch->program.rows[i.more];
  int d_count = static_cast<int>(rows[0]);
  a_count = static_cast<int>(rows[1]), b_count = static_cast<int>(rows[2]), c_count = static_cast<int>(rows[3]);
  return {rows + 4, rows + 4 + d_count, rows + 4 + d_count + a_count, rows + 4 + d_count + a_count + b_count};
}

template <class T>
void product(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes];
  for (auto& one : members) one = kAllLanes;
  if (!meet(warp, members)) return;
  if (!warp.full()) warp.fail(kLaunchFailed, "lanes missing", "lanes of the warp are gone");
  int a_count, b_count, c_count;
  Fragments rows = fragments_of(warp, i, a_count, b_count, c_count);
  auto types = warp.launch->program.rows[i.more + i.more_count - 1];
  Type a_type = static_cast<Type>(types & 255), b_type = static_cast<Type>(types >> 8 & 255);
  Type c_type = static_cast<Type>(types >> 16 & 255), d_type = static_cast<Type>(types >> 24 & 63);
  T a[16][32] = {}, b[32][8] = {}, c[16][8] = {};
  int parts = parts_of(a_type);
  bool tall = i.bytes == 16;
  for (int lane = 0; lane < kLanes; ++lane) {
    int group = lane / 4, within = lane % 4;
    for (int r = 0; r < a_count; ++r)
      for (int j = 0; j < parts; ++j)
        a[group + (tall ? 8 * (r & 1) : 0)][within * parts + j + 4 * parts * (tall ? r / 2 : r)] =
            number<T>(a_type, lane_bits(warp, rows.a[r], a_type, lane), j);
    for (int r = 0; r < b_count; ++r)
      for (int j = 0; j < parts; ++j)
        b[within * parts + j + 4 * parts * r][group] = number<T>(b_type, lane_bits(warp, rows.b[r], b_type, lane), j);
    bool packed_sums = c_type == Type::kF16;
    for (int r = 0; r < c_count; ++r)
      for (int j = 0; j < (packed_sums ? 2 : 1); ++j) {
        int place = packed_sums ? 2 * r + j : r;
        c[group + 8 * (place / 2)][within * 2 + place % 2] =
            number<T>(c_type, lane_bits(warp, rows.c[r], c_type, lane), j);
      }
  }
  for (int m = 0; m < (tall ? 16 : 8); ++m)
    for (int n = 0; n < 8; ++n)
      for (int k = 0; k < i.lanes; ++k) c[m][n] = fused(a[m][k], b[k][n], c[m][n]);
  bool packed_sums = d_type == Type::kF16;
  int d_count = static_cast<int>(warp.launch->program.rows[i.more]);
  for (int r = 0; r < d_count; ++r) {
    T values[kLanes];
    std::uint32_t words[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      int group = lane / 4, column = lane % 4 * 2;
      if (packed_sums)
        words[lane] = half_bits(static_cast<double>(c[group + 8 * r][column])) |
                      std::uint32_t{half_bits(static_cast<double>(c[group + 8 * r][column + 1]))} << 16;
      else
        values[lane] = c[group + 8 * (r / 2)][column + r % 2];
    }
    if (packed_sums)
      put(warp, rows.d[r], words);
    else
      put(warp, rows.d[r], values);
  }
}

void take_shape(Decoder& decoder, Shape& shape) {
  static constexpr std::pair<std::string_view, std::array<int, 3>> kShapes[] = {
      {"m16n8k4", {16, 8, 4}},   {"m16n8k8", {16, 8, 8}}, {"m16n8k16", {16, 8, 16}},
      {"m16n8k32", {16, 8, 32}}, {"m8n8k4", {8, 8, 4}},   {"m8n8k16", {8, 8, 16}}};
  for (auto& [name, sizes] : kShapes) {
    if (!decoder.take(name)) continue;
    shape.m = sizes[0], shape.n = sizes[1], shape.k = sizes[2];
    return;
  }
  decoder.fail("this shape is not supported");
}

void decode_mma(Decoder& decoder, Instruction& made) {
  Shape shape{};
  if (!decoder.take("sync") || !decoder.take("aligned")) decoder.fail(".sync.aligned expected");
  take_shape(decoder, shape);
  if (!decoder.take("row") || !decoder.take("col")) decoder.fail("only .row.col is supported");
  shape.d = decoder.want_type();
  shape.a = decoder.want_type();
  shape.b = decoder.want_type();
  shape.c = decoder.want_type();
  decoder.want(4);
  bool integers = shape.a == Type::kS8 || shape.a == Type::kU8;
  bool wide = shape.a == Type::kF64;
  if (shape.m == 8 && !wide && !integers) decoder.fail("this shape is not supported");
  if (wide != (shape.m == 8 && shape.k == 4)) decoder.fail("this shape is not of that type");
  // Capability 7.5 has products of float16 and of bytes, of the least depth.
  bool early = (shape.a == Type::kF16 && shape.m == 16 && shape.k == 8) || (integers && shape.m == 8);
  decoder.need_capability(early ? 75 : 80);
  auto registers = [&](Type type, int elements) { return elements / kLanes / parts_of(type); };
  auto sums = [&](Type type) { return shape.m * shape.n / kLanes / (type == Type::kF16 ? 2 : 1); };
  int counts[4] = {sums(shape.d), registers(shape.a, shape.m * shape.k), registers(shape.b, shape.k * shape.n),
                   sums(shape.c)};
  std::vector<Row> rows;
  for (int count : counts) rows.push_back(static_cast<Row>(count));
  for (std::size_t operand = 0; operand < 4; ++operand) {
    const Operand& list = decoder.operand(operand);
    std::vector<Operand> alone{list};
    const std::vector<Operand>& parts = list.kind == Operand::kList ? list.parts : alone;
    if (parts.size() != static_cast<std::size_t>(counts[operand])) decoder.fail("another count of registers expected");
    for (const Operand& one : parts)
      rows.push_back(operand == 0 ? decoder.target(one, wide ? 8 : 4)
                                  : decoder.source(one, wide                                    ? Type::kF64
                                                        : operand == 3 && shape.c == Type::kF32 ? Type::kF32
                                                                                                : Type::kB32));
  }
  rows.push_back(static_cast<Row>(shape.a) | static_cast<Row>(shape.b) << 8 | static_cast<Row>(shape.c) << 16 |
                 static_cast<Row>(shape.d) << 24);
  made.more = decoder.keep(rows);
  made.more_count = static_cast<std::uint32_t>(rows.size());
  made.bytes = static_cast<std::uint8_t>(shape.m);
  made.lanes = static_cast<std::uint8_t>(shape.k);
  made.run = wide ? Handler(product<double>) : integers ? Handler(product<std::int32_t>) : product<float>;
}

// Matrices of 8 rows of 16 bytes, whose addresses the lanes give, eight after eight.
void load_matrix(Warp& warp, const Instruction& i) {
  std::uint32_t members[kLanes];
  for (auto& one : members) one = kAllLanes;
  if (!meet(warp, members)) return;
  Addresses at;
  addresses_of(warp, i, at);
  if (i.space == Space::kGeneric)
    for (Address& one : at) one -= kSharedWindow;
  const Row* rows = &warp.launch->program.rows[i.more];
  std::uint32_t all = warp.mask;
  for (unsigned matrix = 0; matrix < i.more_count; ++matrix) {
    warp.mask = 0xffu << (8 * matrix);
    Place place;
    locate(warp, at, Space::kShared, 16, i.kind ? AccessKind::kStore : AccessKind::kLoad, place);
    std::byte stored[8][16];
    for (int lane = 0; lane < kLanes && i.kind; ++lane) {
      std::uint32_t word = warp.at<std::uint32_t>(rows[matrix])[lane];
      for (int part = 0; part < 2; ++part) {
        int row = i.flags & kSignedValue ? lane % 4 * 2 + part : lane / 4;
        int column = i.flags & kSignedValue ? lane / 4 : lane % 4 * 2 + part;
        auto half = static_cast<std::uint16_t>(word >> (16 * part));
        std::memcpy(&stored[row][2 * column], &half, 2);
      }
    }
    if (!i.kind) check_written(warp, at, place, 16);
    for (int lane = 0; lane < kLanes; ++lane) {
      if (!warp.runs(lane)) continue;
      const std::byte* value = i.kind ? stored[lane % 8] : nullptr;
      if (warp.launch->checks.races) check_lane(warp, at, place, 16, lane, i.kind, false, value);
      if (!value) continue;
      std::memcpy(place.data[lane], value, 16);
      std::memset(place.written[lane], 1, 16);
    }
    warp.mask = all;
    if (i.kind) continue;
    std::uint32_t words[kLanes];
    for (int lane = 0; lane < kLanes; ++lane) {
      std::uint16_t halves[2];
      for (int part = 0; part < 2; ++part) {
        int row = i.flags & kSignedValue ? lane % 4 * 2 + part : lane / 4;
        int column = i.flags & kSignedValue ? lane / 4 : lane % 4 * 2 + part;
        std::memcpy(&halves[part], place.data[8 * matrix + static_cast<unsigned>(row)] + 2 * column, 2);
      }
      words[lane] = halves[0] | std::uint32_t{halves[1]} << 16;
    }
    put(warp, rows[matrix], words);
  }
}

void decode_matrix_access(Decoder& decoder, Instruction& made, bool stores) {
  decoder.take_any({"sync", "aligned"});
  if (!decoder.take("m8n8")) decoder.fail("only .m8n8 is supported");
  std::size_t count = decoder.take("x1") ? 1 : decoder.take("x2") ? 2 : decoder.take("x4") ? 4 : 0;
  if (decoder.take("trans")) made.flags |= kSignedValue;
  if (decoder.take("shared") || decoder.take("shared::cta")) made.space = Space::kShared;
  if (decoder.want_type() != Type::kB16) decoder.fail("only .b16 is supported");
  decoder.want(2);
  decoder.address(decoder.operand(stores ? 0 : 1), made);
  std::vector<Row> rows;
  for (const Operand& one : decoder.operand(stores ? 1 : 0).parts)
    rows.push_back(stores ? decoder.source(one, Type::kB32) : decoder.target(one, 4));
  if (!count || rows.size() != count) decoder.fail("another count of registers expected");
  made.kind = stores;
  made.more = decoder.keep(rows);
  made.more_count = static_cast<std::uint32_t>(count);
  made.run = load_matrix;
}

void decode_ldmatrix(Decoder& decoder, Instruction& made) { decode_matrix_access(decoder, made, false); }
void decode_stmatrix(Decoder& decoder, Instruction& made) { decode_matrix_access(decoder, made, true); }

}  // namespace

void add_matrix_opcodes(DecodeTable& table) {
  table["mma"] = decode_mma;
  table["ldmatrix"] = decode_ldmatrix;
  table["stmatrix"] = decode_stmatrix;
}

}  // namespace emulated
