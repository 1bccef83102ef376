// The table of codes compiled in, and exceptions made from its templates.
#include "frontend/report/graph_break.h"

#include <cctype>

#include "frontend/report/plain_words.h"
#include "ir/graph/mutation.h"

namespace md {
namespace {

constexpr int kCodes[] = {
#define MD_BREAK(id, code, nargs) code,
#include "registry/graph_breaks.inc"
#undef MD_BREAK
};

constexpr BreakRow kRows[] = {
#define MD_BREAK_TEXT(id, type, context, explanation, hints, args, area, cls) \
  {#id, kCodes[id], type, context, explanation, hints, args, area, BreakClass::cls},
#include "registry/graph_break_texts.inc"
#undef MD_BREAK_TEXT
};

// Templates were checked when the table was generated: every {n} is in range, braces are balanced.
template <class Put>
void fill(std::string_view text, std::string& out, Put&& put) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c != '{' && c != '}') {
      out += c;
    } else if (text[i + 1] == c) {
      out += text[++i];
    } else {
      std::size_t n = 0;
      while (text[++i] != '}') n = n * 10 + static_cast<std::size_t>(text[i] - '0');
      i += put(n, text.substr(i + 1));
    }
  }
}

std::string context_of(std::string_view text, std::initializer_list<std::string> args) {
  std::string out;
  fill(text, out, [&](std::size_t n, std::string_view) {
    out += args.begin()[n];
    return std::size_t{0};
  });
  return out;
}

// For readers. Names stand in backquotes, words do not; a sentence begins with a capital.
std::string sentence(std::string_view text, std::initializer_list<std::string> args) {
  std::string out;
  fill(text, out, [&](std::size_t n, std::string_view rest) {
    std::string words = plain_words(args.begin()[n]);
    const bool changed = words != args.begin()[n], quoted = changed && out.ends_with('`') && rest.starts_with('`');
    if (quoted) out.pop_back();
    if (changed && out.empty() && std::islower(static_cast<unsigned char>(words[0])))
      words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
    out += words;
    return std::size_t{quoted};
  });
  return out;
}

}  // namespace

std::span<const BreakRow> break_rows() { return kRows; }

const BreakRow* find_break(int code) {
  for (const BreakRow& row : kRows)
    if (row.code == code) return &row;
  return nullptr;
}

std::vector<std::string_view> split_list(std::string_view separated) {
  std::vector<std::string_view> out;
  while (!separated.empty()) {
    const std::size_t end = separated.find('\x1f');
    out.push_back(separated.substr(0, end));
    separated = end == std::string_view::npos ? std::string_view() : separated.substr(end + 1);
  }
  return out;
}

std::string break_code_name(int code) {
  std::string digits = std::to_string(code);
  return "GB" + std::string(digits.size() < 4 ? 4 - digits.size() : 0, '0') + digits;
}

GraphBreak detail::fill_break(BreakId id, std::initializer_list<std::string> args) {
  const BreakRow& row = kRows[id];
  GraphBreak b{row.code, std::string(row.type), context_of(row.context, args), sentence(row.explanation, args), {},
               row.id};
  for (std::string_view hint : split_list(row.hints)) b.hints.push_back(sentence(hint, args));
  return b;
}

void detail::throw_break(GraphBreak b) { throw b; }

GraphBreak detail::as_not_modelled(GraphBreak b) {
  b.context += b.context.empty() ? "no rule for this form" : " (no rule for this form)";
  return b;
}

GraphBreak detail::as_listed(GraphBreak b) {
  b.hints.emplace_back("Set `torch._dynamo.config.trace_more = True`: then it is traced.");
  return b;
}

#ifdef MINIDYNAMO_MUTATE
GraphBreak detail::unless_mutated(RaiseSite site, GraphBreak b) {
  const std::string_view path = site.file;
  const std::string place(path.substr(path.rfind("frontend/")));
  if (!is_mutated("break", place + ":" + std::to_string(site.line))) return b;
  GraphBreak other;
  other.type = "a break without a code";
  return other;
}
#endif

}  // namespace md
