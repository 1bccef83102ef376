// Words, numbers and signs of a PTX text.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace emulated {

struct Token {
  enum Kind { kWord, kInteger, kFloat, kString, kSign, kEnd };
  Kind kind = kEnd;
  std::string_view text;
  std::uint64_t bits = 0;  // of an integer; of a float, as a double's, or those of a single
  bool single = false;     // a float written with the bits of 32
  int line = 0;
};

// What is wrong with a text, where.
struct PtxError : std::runtime_error {
  PtxError(int line, const std::string& what) : std::runtime_error(what), line(line) {}
  int line;
};

std::vector<Token> ptx_tokens(std::string_view text);

}  // namespace emulated
