// The words and numbers of graph text, with their places: what ir/graph/parse.cpp is made of.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "ir/core/error.h"
#include "ir/graph/arg.h"

namespace md {

// Characters with a position, and the smallest things made of them.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(const std::string& what) {
    skip_space();
    int line = 1, column = 1;
    for (char c : text_.substr(0, at_)) {
      column = c == '\n' ? 1 : column + 1;
      line += c == '\n';
    }
    throw OpError(ErrorKind::Value, fmt::format("graph text, line {}, column {}: {}", line, column, what));
  }

  bool at_end() {
    skip_space();
    return at_ == text_.size();
  }

  bool accept(std::string_view token) {
    skip_space();
    if (text_.substr(at_, token.size()) != token) return false;
    const char last = token.back();
    const char next = at_ + token.size() < text_.size() ? text_[at_ + token.size()] : ' ';
    if (is_word(last) && is_word(next)) return false;  // "in" is not the start of "input"
    at_ += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token)) fail(fmt::format("expected '{}'", token));
  }

  // Letters, digits, underscores; dots too if wanted ("max.dim").
  std::string word(const char* what, bool dots = false) {
    skip_space();
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_word(text_[at_]) || (dots && text_[at_] == '.'))) ++at_;
    if (start == at_) fail(fmt::format("expected {}", what));
    return std::string(text_.substr(start, at_ - start));
  }

  bool next_is_digit() {
    skip_space();
    return at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]));
  }

  char peek() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::int64_t integer() {
    skip_space();
    std::int64_t v = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error == std::errc::result_out_of_range) fail("the number does not fit 64 bits");
    if (error != std::errc()) fail("expected an integer");
    at_ = static_cast<std::size_t>(end - text_.data());
    return v;
  }

  int small_integer() {
    const std::int64_t v = integer();
    if (v < 0 || v > std::numeric_limits<int>::max()) fail("expected a small natural number");
    return static_cast<int>(v);
  }

  // "1", "-2.5e-07", "inf": a Size or a double.
  Arg number() {
    skip_space();
    std::size_t end = at_ + (peek() == '-');
    if (text_.substr(end, 3) == "inf" || text_.substr(end, 3) == "nan") {
      const bool negative = end != at_;
      const double v = text_[end] == 'i' ? std::numeric_limits<double>::infinity() : std::nan("");
      at_ = end + 3;
      return negative ? -v : v;
    }
    while (end < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[end])))) ++end;
    if (end == text_.size() || (text_[end] != '.' && text_[end] != 'e')) return integer();
    double v = 0;
    const auto [rest, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), v);
    if (error != std::errc()) fail("expected a number");
    at_ = static_cast<std::size_t>(rest - text_.data());
    return v;
  }

  std::string string() {
    expect("\"");
    std::string out;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] != '\\') {
        out += text_[at_];
        continue;
      }
      if (++at_ == text_.size()) break;
      if (text_[at_] == 'n') {
        out += '\n';
      } else if (text_[at_] == 'x') {
        unsigned v = 0;
        const auto end =
            std::from_chars(text_.data() + at_ + 1, text_.data() + std::min(at_ + 3, text_.size()), v, 16).ptr;
        at_ = static_cast<std::size_t>(end - text_.data()) - 1;
        out += static_cast<char>(v);
      } else {
        out += text_[at_];
      }
    }
    if (at_ == text_.size()) fail("the string does not end");
    ++at_;
    return out;
  }

 private:
  static bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }
  void skip_space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace md
