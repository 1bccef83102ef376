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
};

enum class BreakClass : std::uint8_t { Fundamental, Supportable, UserError, Internal };

// Thrown while tracing, caught at one place. Code -1: a break that has a title line only, no registry row.
struct GraphBreak {
  int code = -1;
  std::string type, context, explanation;
  std::vector<std::string> hints;
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
};
GraphBreak fill_break(BreakId id, std::initializer_list<std::string> args);
[[noreturn]] void throw_break(GraphBreak b, BreakId id);
}  // namespace detail

// The break as a value, for the places that postpone it.
template <BreakId id, class... Args>
GraphBreak make_break(Args&&... args) {
  static_assert(sizeof...(Args) == detail::kBreakArgs[id], "the row's args in graph_breaks.toml differ in number");
  return detail::fill_break(id, {std::string(std::forward<Args>(args))...});
}

template <BreakId id, class... Args>
[[noreturn]] void graph_break(Args&&... args) {
  detail::throw_break(make_break<id>(std::forward<Args>(args)...), id);
}

// A construct the interpreter could model but does not yet: a "no handler" code whose debug context says so.
template <BreakId id, class... Args>
[[noreturn]] void not_modelled(Args&&... args) {
  GraphBreak b = make_break<id>(std::forward<Args>(args)...);
  b.context += b.context.empty() ? "not modelled yet" : " (not modelled yet)";
  detail::throw_break(std::move(b), id);
}

// A break without registry text: STORE_ATTR, SKIPPED INLINING, reordered logging.
[[noreturn]] void title_only_break(std::string title);

}  // namespace md
