// Splits PTX into tokens.
#include "ptx_lexer.h"

#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <charconv>

namespace emulated {
namespace {

bool begins_word(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }
bool continues_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' || c == '.';
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    tokens.reserve(text_.size() / 6);
    while (skip_blank()) tokens.push_back(next());
    Token end;
    end.line = line_;
    tokens.push_back(end);
    return tokens;
  }

 private:
  char at(std::size_t ahead = 0) const { return place_ + ahead < text_.size() ? text_[place_ + ahead] : '\0'; }

  bool skip_blank() {
    while (place_ < text_.size()) {
      if (at() == '\n') {
        ++line_, ++place_;
      } else if (std::isspace(static_cast<unsigned char>(at())) || at() == '\0') {
        ++place_;
      } else if (at() == '/' && at(1) == '/') {
        while (place_ < text_.size() && at() != '\n') ++place_;
      } else if (at() == '/' && at(1) == '*') {
        skip_comment();
      } else {
        return true;
      }
    }
    return false;
  }

  void skip_comment() {
    int begun = line_;
    for (place_ += 2; !(at() == '*' && at(1) == '/'); ++place_) {
      if (place_ >= text_.size()) throw PtxError(begun, "a comment without end");
      line_ += at() == '\n';
    }
    place_ += 2;
  }

  Token made(Token::Kind kind, std::size_t begin) const {
    Token token;
    token.kind = kind;
    token.text = text_.substr(begin, place_ - begin);
    token.line = line_;
    return token;
  }

  Token next() {
    std::size_t begin = place_;
    char c = at();
    if (begins_word(c) || (c == '.' && begins_word(at(1)))) {
      ++place_;
      while (continues_word(at()) || (at() == ':' && at(1) == ':' && begins_word(at(2)))) place_ += at() == ':' ? 2 : 1;
      return made(Token::kWord, begin);
    }
    if (std::isdigit(static_cast<unsigned char>(c)) || (c == '.' && std::isdigit(static_cast<unsigned char>(at(1)))))
      return number();
    if (c == '"') return string();
    ++place_;
    return made(Token::kSign, begin);
  }

  Token string() {
    std::size_t begin = ++place_;
    while (at() != '"') {
      if (place_ >= text_.size() || at() == '\n') throw PtxError(line_, "a string without end");
      ++place_;
    }
    Token token = made(Token::kString, begin);
    ++place_;
    return token;
  }

  // Digits of a base, from `place_` on.
  std::uint64_t digits(int base, std::size_t most = 64) {
    std::size_t begin = place_;
    while (place_ - begin < most && std::isxdigit(static_cast<unsigned char>(at())) &&
           (base == 16 || (at() >= '0' && at() < '0' + base)))
      ++place_;
    std::uint64_t value = 0;
    auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + place_, value, base);
    if (error != std::errc() || begin == place_)
      throw PtxError(line_, fmt::format("\"{}\" is no number", text_.substr(begin, place_ - begin)));
    return value;
  }

  Token number() {
    std::size_t begin = place_;
    char mark = at() == '0' ? static_cast<char>(std::tolower(at(1))) : '\0';
    Token token;
    if (mark == 'f' || mark == 'd') {
      place_ += 2;
      std::uint64_t bits = digits(16, mark == 'f' ? 8 : 16);
      token = made(Token::kFloat, begin);
      token.single = mark == 'f';
      token.bits = bits;
      return token;
    }
    if (mark == 'x' || mark == 'b') {
      place_ += 2;
      std::uint64_t bits = digits(mark == 'x' ? 16 : 2);
      return integer(bits, begin);
    }
    std::size_t end = place_;
    while (std::isdigit(static_cast<unsigned char>(end < text_.size() ? text_[end] : '\0'))) ++end;
    if (end < text_.size() && (text_[end] == '.' || text_[end] == 'e' || text_[end] == 'E')) return decimal_float();
    bool octal = mark >= '0' && mark <= '7';
    return integer(digits(octal ? 8 : 10), begin);
  }

  Token integer(std::uint64_t bits, std::size_t begin) {
    if (at() == 'U') ++place_;
    Token token = made(Token::kInteger, begin);
    token.bits = bits;
    return token;
  }

  Token decimal_float() {
    double value = 0;
    auto [end, error] = std::from_chars(text_.data() + place_, text_.data() + text_.size(), value);
    if (error != std::errc()) throw PtxError(line_, "a number that cannot be read");
    std::size_t begin = place_;
    place_ = static_cast<std::size_t>(end - text_.data());
    Token token = made(Token::kFloat, begin);
    token.bits = std::bit_cast<std::uint64_t>(value);
    return token;
  }

  std::string_view text_;
  std::size_t place_ = 0;
  int line_ = 1;
};

}  // namespace

std::vector<Token> ptx_tokens(std::string_view text) { return Lexer(text).run(); }

}  // namespace emulated
