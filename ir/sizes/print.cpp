// Sizes as text; ir/graph/parse.cpp reads it back.
#include "ir/sizes/shape_env.h"

namespace md {
namespace {

using Names = std::function<std::string(int)>;

bool is_sum(Size s) { return !s.is_const() && s.expr()->terms.size() > 1; }

// An operand of // or %: bracketed unless it is a single symbol or a non-negative number.
std::string operand(Size s, const Names& name) {
  const bool plain = s.is_const() ? s.value() >= 0
                                  : !is_sum(s) && s.expr()->terms[0].coefficient == 1 &&
                                        s.expr()->terms[0].factors().size() == 1 &&
                                        s.expr()->terms[0].factors()[0]->kind != AtomKind::FloorDiv &&
                                        s.expr()->terms[0].factors()[0]->kind != AtomKind::Mod;
  return plain ? to_string(s, name) : "(" + to_string(s, name) + ")";
}

std::string atom_text(const SizeAtom& a, const Names& name) {
  switch (a.kind) {
    case AtomKind::Symbol:
      return name(a.symbol);
    case AtomKind::FloorDiv:
      return "(" + operand(a.a, name) + "//" + operand(a.b, name) + ")";
    case AtomKind::Mod:
      return "(" + operand(a.a, name) + " % " + operand(a.b, name) + ")";
    case AtomKind::Min:
      return "min(" + to_string(a.a, name) + ", " + to_string(a.b, name) + ")";
    case AtomKind::Max:
      return "max(" + to_string(a.a, name) + ", " + to_string(a.b, name) + ")";
  }
  return {};
}

std::string product_text(const SizeTerm& t, const Names& name) {
  std::string out;
  for (std::size_t i = 0; i < t.factors().size();) {
    std::size_t end = i + 1;
    while (end < t.factors().size() && t.factors()[end] == t.factors()[i]) ++end;
    out += (out.empty() ? "" : "*") + atom_text(*t.factors()[i], name);
    if (end - i > 1) out += "**" + std::to_string(end - i);
    i = end;
  }
  return out;
}

}  // namespace

std::string to_string(Size s, const Names& name) {
  if (s.is_const()) return std::to_string(s.value());
  std::string out;
  for (const SizeTerm& t : s.expr()->terms) {
    const std::string product = product_text(t, name);
    // Unsigned negation: the smallest int64 has no positive twin.
    const auto magnitude =
        t.coefficient < 0 ? 0 - static_cast<std::uint64_t>(t.coefficient) : static_cast<std::uint64_t>(t.coefficient);
    if (t.coefficient < 0) out += out.empty() ? "-" : " - ";
    if (t.coefficient > 0 && !out.empty()) out += " + ";
    if (magnitude != 1 || product.empty()) out += std::to_string(magnitude) + (product.empty() ? "" : "*");
    out += product;
  }
  return out;
}

std::string to_string(Size s) {
  if (s.is_const()) return std::to_string(s.value());
  return to_string(s, [&](int i) { return s.expr()->env->symbols()[static_cast<std::size_t>(i)].name; });
}

std::string to_string(const SizeGuard& g) {
  constexpr const char* kText[] = {" == ", " != ", " < ", " >= "};
  return to_string(g.lhs) + kText[static_cast<int>(g.relation)] + to_string(g.rhs);
}

}  // namespace md
