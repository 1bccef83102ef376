// co_exceptiontable, read and written: ranges of code units, their handlers and stack depths.
#include "frontend/bytecode/tables.h"

namespace md {
namespace {

// Groups of six bits, most significant first; bit 6: more follow.
int read_number(Bytes b, std::size_t& at) {
  unsigned value = 0;
  for (int groups = 0;; ++groups) {
    if (at == b.size) throw BadCode("truncated exception table");
    if (groups == 5) throw BadCode("number too long in exception table");
    const int x = b.data[at++];
    value = value << 6 | (x & 63);
    if (!(x & 64)) return static_cast<int>(value);
  }
}

// `mark` is set on the first byte of an entry: binary search looks for it.
void write_number(std::string& out, unsigned value, int mark) {
  for (int shift = 24; shift > 0; shift -= 6) {
    if (value < 1u << shift) continue;
    out.push_back(static_cast<char>((value >> shift & 63) | 64 | mark));
    mark = 0;
  }
  out.push_back(static_cast<char>((value & 63) | mark));
}

}  // namespace

std::vector<ExceptionRange> read_exceptions(Bytes table) {
  std::vector<ExceptionRange> out;
  for (std::size_t at = 0; at < table.size;) {
    if (!(table.data[at] & 0x80)) throw BadCode("misplaced entry in exception table");
    const int start = read_number(table, at), length = read_number(table, at);
    const int label = read_number(table, at), depth = read_number(table, at);
    out.push_back({start, start + length, {label, depth >> 1, (depth & 1) != 0}});
  }
  return out;
}

std::string write_exceptions(const std::vector<ExceptionRange>& ranges) {
  std::string out;
  for (const ExceptionRange& r : ranges) {
    write_number(out, r.start, 0x80);
    write_number(out, r.end - r.start, 0);
    write_number(out, r.handler.label, 0);
    write_number(out, r.handler.depth << 1 | (r.handler.lasti ? 1 : 0), 0);
  }
  return out;
}

}  // namespace md
