// Graph breaks: constructs the interpreter does not put into a graph. The table is registry/graph_breaks.toml.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
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

struct PlacedFrame;

// Thrown while tracing, caught at one place. Code -1: a break that has a title line only, no registry row.
struct GraphBreak {
  int code = -1;
  std::string type, context, explanation;
  std::vector<std::string> hints;
  std::string_view id;          // of the row: "GB0007_builtin"
  bool looks_at_frame = false;  // the program would see that the frame runs in parts: it runs whole, as plain Python
  std::shared_ptr<const std::vector<PlacedFrame>> happened_at;  // null: where the trace is when it is caught
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

// Where in the source a break is raised: what mutation builds name it by (ir/graph/mutation.h), and nothing in others.
#ifdef MINIDYNAMO_MUTATE
struct RaiseSite {
  const char* file;
  int line;
};
#define MD_RAISE_SITE \
  ::md::detail::RaiseSite { __builtin_FILE(), __builtin_LINE() }
#else
struct RaiseSite {};
#define MD_RAISE_SITE \
  ::md::detail::RaiseSite {}
#endif

// The first argument of a break: converting it notes the caller's place, which a default argument after a pack cannot.
struct FirstArg {
  std::string text;
  RaiseSite site;

  template <class T>
    requires(!std::is_same_v<std::remove_cvref_t<T>, FirstArg>)
  FirstArg(T&& text, RaiseSite site = MD_RAISE_SITE) : text(std::forward<T>(text)), site(site) {}  // NOLINT
};

GraphBreak fill_break(BreakId id, std::initializer_list<std::string> args);
[[noreturn]] void throw_break(GraphBreak b);
#ifdef MINIDYNAMO_MUTATE
GraphBreak unless_mutated(RaiseSite site, GraphBreak b);
#else
inline GraphBreak unless_mutated(RaiseSite, GraphBreak b) { return b; }
#endif
GraphBreak as_not_modelled(GraphBreak b);
GraphBreak as_listed(GraphBreak b);
}  // namespace detail

// The break as a value, for the places that postpone it.
template <BreakId id, class... Args>
GraphBreak make_break(detail::FirstArg first, Args&&... args) {
  static_assert(1 + sizeof...(Args) == detail::kBreakArgs[id], "the row's args in graph_breaks.toml differ in number");
  return detail::unless_mutated(
      first.site, detail::fill_break(id, {std::move(first.text), std::string(std::forward<Args>(args))...}));
}
template <BreakId id>
GraphBreak make_break(detail::RaiseSite site = MD_RAISE_SITE) {
  static_assert(detail::kBreakArgs[id] == 0, "the row has args in graph_breaks.toml");
  return detail::unless_mutated(site, detail::fill_break(id, {}));
}

template <BreakId id, class... Args>
[[noreturn]] void graph_break(detail::FirstArg first, Args&&... args) {
  detail::throw_break(make_break<id>(std::move(first), std::forward<Args>(args)...));
}
template <BreakId id>
[[noreturn]] void graph_break(detail::RaiseSite site = MD_RAISE_SITE) {
  detail::throw_break(make_break<id>(site));
}

// A form of a construct that has no rule of its own: the construct's code, whose debug context says so.
template <BreakId id, class... Args>
GraphBreak make_not_modelled(detail::FirstArg first, Args&&... args) {
  return detail::as_not_modelled(make_break<id>(std::move(first), std::forward<Args>(args)...));
}
template <BreakId id>
GraphBreak make_not_modelled(detail::RaiseSite site = MD_RAISE_SITE) {
  return detail::as_not_modelled(make_break<id>(site));
}

template <BreakId id, class... Args>
[[noreturn]] void not_modelled(detail::FirstArg first, Args&&... args) {
  detail::throw_break(make_not_modelled<id>(std::move(first), std::forward<Args>(args)...));
}
template <BreakId id>
[[noreturn]] void not_modelled(detail::RaiseSite site = MD_RAISE_SITE) {
  detail::throw_break(make_not_modelled<id>(site));
}

// A construct the interpreter can trace and the registry lists all the same: where config.trace_more is off it breaks.
template <BreakId id, class... Args>
GraphBreak make_listed(detail::FirstArg first, Args&&... args) {
  return detail::as_listed(make_break<id>(std::move(first), std::forward<Args>(args)...));
}
template <BreakId id>
GraphBreak make_listed(detail::RaiseSite site = MD_RAISE_SITE) {
  return detail::as_listed(make_break<id>(site));
}

template <BreakId id, class... Args>
[[noreturn]] void listed_break(detail::FirstArg first, Args&&... args) {
  detail::throw_break(make_listed<id>(std::move(first), std::forward<Args>(args)...));
}
template <BreakId id>
[[noreturn]] void listed_break(detail::RaiseSite site = MD_RAISE_SITE) {
  detail::throw_break(make_listed<id>(site));
}

// A break without registry text: STORE_ATTR, SKIPPED INLINING, reordered logging.
[[noreturn]] inline void title_only_break(std::string title, detail::RaiseSite site = MD_RAISE_SITE) {
  GraphBreak b;
  b.type = std::move(title);
  detail::throw_break(detail::unless_mutated(site, std::move(b)));
}

}  // namespace md
