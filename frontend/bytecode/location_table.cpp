// co_linetable, read and written: line and columns of each code unit in CPython's compressed form.
#include "frontend/bytecode/raw_opcodes.h"
#include "frontend/bytecode/tables.h"

namespace md {
namespace {

// Codes in bits 3-6 of an entry's first byte.
enum LocationCode { kOneLine0 = 10, kNoColumns = 13, kLong = 14, kNone = 15 };

class Reader {
 public:
  explicit Reader(Bytes b) : b_(b) {}
  bool done() const { return at_ == b_.size; }
  int byte() {
    if (done()) throw BadCode("truncated location table");
    return b_.data[at_++];
  }
  // Groups of six bits, least significant first; bit 6: more follow.
  int varint() {
    unsigned value = 0;
    for (int shift = 0;; shift += 6) {
      const int x = byte();
      if (shift > 24) throw BadCode("number too long in location table");
      value |= static_cast<unsigned>(x & 63) << shift;
      if (!(x & 64)) return static_cast<int>(value);
    }
  }
  int signed_varint() {
    const int v = varint();
    return v & 1 ? -(v >> 1) : v >> 1;
  }

 private:
  Bytes b_;
  std::size_t at_ = 0;
};

// Columns are stored one higher, 0 meaning absent; so absent comes out as -1.
Position read_entry(Reader& in, int code, int& line) {
  if (code < kOneLine0) {
    const int x = in.byte(), column = code << 3 | x >> 4;
    return {line, line, column, column + (x & 15)};
  }
  if (code < kNoColumns) {
    line += code - kOneLine0;
    const int column = in.byte();
    return {line, line, column, in.byte()};
  }
  if (code == kNone) return {};
  line += in.signed_varint();
  if (code == kNoColumns) return {line, line, -1, -1};
  const int end_line = line + in.varint(), column = in.varint() - 1;
  return {line, end_line, column, in.varint() - 1};
}

class Writer {
 public:
  explicit Writer(int first_line) : line_(first_line) {}
  void run(int units, const Position& pos) {
    for (; units > 8; units -= 8) entry(8, pos);
    if (units > 0) entry(units, pos);
  }
  std::string take() { return std::move(out_); }

 private:
  void byte(int x) { out_.push_back(static_cast<char>(x)); }
  void head(int code, int units) { byte(0x80 | code << 3 | (units - 1)); }
  void varint(unsigned v) {
    for (; v >= 64; v >>= 6) byte(64 | (v & 63));
    byte(static_cast<int>(v));
  }
  void signed_varint(int v) { varint(v < 0 ? static_cast<unsigned>(-v) << 1 | 1 : static_cast<unsigned>(v) << 1); }

  void entry(int units, const Position& p) {
    if (p.line < 0) return head(kNone, units);
    const int delta = p.line - line_;
    line_ = p.line;
    const bool columns = p.column >= 0 && p.end_column >= 0, one_line = p.end_line == p.line;
    if (!columns && (p.end_line < 0 || one_line)) {
      head(kNoColumns, units);
      return signed_varint(delta);
    }
    if (columns && one_line) {
      const int width = p.end_column - p.column;
      if (delta == 0 && p.column < 80 && width >= 0 && width < 16) {
        head(p.column >> 3, units);
        return byte((p.column & 7) << 4 | width);
      }
      if (delta >= 0 && delta < 3 && p.column < 128 && p.end_column < 128) {
        head(kOneLine0 + delta, units);
        byte(p.column);
        return byte(p.end_column);
      }
    }
    head(kLong, units);
    signed_varint(delta);
    varint(p.end_line < p.line ? 0 : p.end_line - p.line);
    varint(p.column + 1);
    varint(p.end_column + 1);
  }

  std::string out_;
  int line_;
};

}  // namespace

std::vector<Position> read_locations(Bytes table, int first_line, int units) {
  std::vector<Position> out;
  out.reserve(units);
  Reader in(table);
  int line = first_line;
  while (!in.done()) {
    const int first = in.byte();
    if (!(first & 0x80)) throw BadCode("misplaced entry in location table");
    const Position pos = read_entry(in, first >> 3 & 15, line);
    out.insert(out.end(), (first & 7) + 1, pos);
  }
  out.resize(units);  // shorter: the rest has no location
  return out;
}

std::string write_locations(const std::vector<LocationRun>& runs, int first_line) {
  Writer out(first_line);
  for (std::size_t i = 0; i < runs.size();) {
    int units = runs[i].units;
    std::size_t next = i + 1;
    // 3.11 writes an entry for each instruction.
    for (; kMinor > 11 && next < runs.size() && runs[next].pos == runs[i].pos; ++next) units += runs[next].units;
    out.run(units, runs[i].pos);
    i = next;
  }
  return out.take();
}

}  // namespace md
