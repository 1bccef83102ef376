// Graph breaks: constructs the interpreter does not put into a graph. The table is registry/graph_breaks.toml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace md {

// One enumerator per row; GB0007_builtin is a second text of GB0007.
enum BreakId : std::uint16_t {
#define MD_BREAK(id, code, nargs) id,
#include "registry/graph_breaks.inc"
#undef MD_BREAK
};

enum class BreakClass : std::uint8_t { Fundamental, Supportable, UserError, Internal };

// Thrown while tracing, caught at one place. Code -1: a break that has a title line only, no registry row.
struct GraphBreak {
  int code = -1;
  std::string type, context, explanation;
  std::vector<std::string> hints;
  std::string_view id;          // of the row: "GB0007_builtin"
  bool looks_at_frame = false;  // the program would see that the frame runs in parts: it runs whole, as plain Python
};

// A row as text, placeholders {0}, {1}, ... not yet filled.
struct BreakRow {
  std::string_view id;  // "GB0124", "GB0007_builtin"
  int code;
  std::string_view type, context, explanation;
  std::string_view hints, args;  // separated by \x1f
  std::string_view area;
  BreakClass break_class;
};

std::span<const BreakRow> break_rows();
const BreakRow* find_break(int code);  // the first row of that code, or null
std::vector<std::string_view> split_list(std::string_view separated);
// "GB0124"
std::string break_code_name(int code);

namespace detail {
inline constexpr std::uint8_t kBreakArgs[] = {
#define MD_BREAK(id, code, nargs) nargs,
#include "registry/graph_breaks.inc"
#undef MD_BREAK
};
GraphBreak fill_break(BreakId id, std::initializer_list<std::string> args);
[[noreturn]] void throw_break(GraphBreak b);
}  // namespace detail

// The break as a value, for the places that postpone it.
template <BreakId id, class... Args>
GraphBreak make_break(Args&&... args) {
  static_assert(sizeof...(Args) == detail::kBreakArgs[id], "the row's args in graph_breaks.toml differ in number");
  return detail::fill_break(id, {std::string(std::forward<Args>(args))...});
}

template <BreakId id, class... Args>
[[noreturn]] void graph_break(Args&&... args) {
  detail::throw_break(make_break<id>(std::forward<Args>(args)...));
}

// A form of a construct that has no rule of its own: the construct's code, whose debug context says so.
template <BreakId id, class... Args>
GraphBreak make_not_modelled(Args&&... args) {
  GraphBreak b = make_break<id>(std::forward<Args>(args)...);
  b.context += b.context.empty() ? "no rule for this form" : " (no rule for this form)";
  return b;
}

template <BreakId id, class... Args>
[[noreturn]] void not_modelled(Args&&... args) {
  detail::throw_break(make_not_modelled<id>(std::forward<Args>(args)...));
}

// A construct the interpreter can trace and the registry lists all the same: where config.trace_more is off it breaks.
template <BreakId id, class... Args>
GraphBreak make_listed(Args&&... args) {
  GraphBreak b = make_break<id>(std::forward<Args>(args)...);
  b.hints.emplace_back("Set `torch._dynamo.config.trace_more = True`: then it is traced.");
  return b;
}

template <BreakId id, class... Args>
[[noreturn]] void listed_break(Args&&... args) {
  detail::throw_break(make_listed<id>(std::forward<Args>(args)...));
}

// A break without registry text: STORE_ATTR, SKIPPED INLINING, reordered logging.
[[noreturn]] inline void title_only_break(std::string title) {
  GraphBreak b;
  b.type = std::move(title);
  detail::throw_break(std::move(b));
}

#ifdef MINIDYNAMO_MUTATE
// Mutation check (ir/graph/mutation.h): every use of the functions above knows its place; a disabled one raises a break
// without a code instead.
namespace detail {
struct RaiseSite {
  const char* file;
  int line;

  GraphBreak unless_mutated(GraphBreak b) const;

  template <BreakId id, class... Args>
  GraphBreak make_break(Args&&... args) const {
    return unless_mutated(md::make_break<id>(std::forward<Args>(args)...));
  }
  template <BreakId id, class... Args>
  [[noreturn]] void graph_break(Args&&... args) const {
    throw unless_mutated(md::make_break<id>(std::forward<Args>(args)...));
  }
  template <BreakId id, class... Args>
  [[noreturn]] void not_modelled(Args&&... args) const {
    throw unless_mutated(md::make_not_modelled<id>(std::forward<Args>(args)...));
  }
  template <BreakId id, class... Args>
  [[noreturn]] void listed_break(Args&&... args) const {
    throw unless_mutated(md::make_listed<id>(std::forward<Args>(args)...));
  }
  [[noreturn]] void title_only_break(std::string title) const {
    GraphBreak b;
    b.type = std::move(title);
    throw unless_mutated(std::move(b));
  }
};
}  // namespace detail
#define MD_RAISE_SITE \
  ::md::detail::RaiseSite { __FILE__, __LINE__ }
#define make_break MD_RAISE_SITE.make_break
#define graph_break MD_RAISE_SITE.graph_break
#define not_modelled MD_RAISE_SITE.not_modelled
#define listed_break MD_RAISE_SITE.listed_break
#define title_only_break MD_RAISE_SITE.title_only_break
#endif

}  // namespace md
