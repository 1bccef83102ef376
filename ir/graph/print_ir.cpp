// Our own graph text; ir/graph/parse.cpp reads it. One node a line:
//
//   functional graph "name" {
//     symbol s0 = 8 in [2, inf] from "L['x'].size()[0]"
//     stack 0 "file.py":4 "fn" "y = x + 1"
//     %l_x_ = input "L_x_" : f32[3, s0] $0
//     %y = add(%l_x_, 1) as operator "add" : f32[3, s0] $1 @0
//     %top = max.dim(%y, 0, False) : (f32[s0], i64[s0]) @0
//     %values = item 0 of %top : f32[s0]
//     %c = attr "_tensor_constant0" f32[2] [1.0, 2.5] : f32[2]
//     %state = state "_C._set_grad_enabled"(True)
//     %sq = call _(%y) as function "ops.my.sq.default" : (f32[3], )     (what it calls is not part of the text)
//     %commit = commit 0 (%y)
//     %output = output (%values, %l_x_)
//   }
//
// Types: dtype[sizes]{strides}+offset $storage, then `on "device"`, `grad`, `number`; left out: row-major strides,
// offset 0, storage -1, the CPU. Symbolic sizes among arguments stand in braces. `@n` is the n-th stack, printed
// outermost frame first.
#include <fmt/format.h>

#include <unordered_map>

#include "ir/core/scalar_builder.h"
#include "ir/graph/graph.h"
#include "ir/graph/text.h"
#include "ir/sizes/shape_env.h"
#include "ir/tensor/readable.h"
#include "ir/tensor/strided.h"

namespace md {
namespace {

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string joined(const SizeVec& sizes) {
  std::string out;
  for (const Size& s : sizes) out += (out.empty() ? "" : ", ") + to_string(s);
  return out;
}

std::string arg_text(const Arg& a);

std::string args_text(const std::vector<Arg>& items) {
  std::string out;
  for (const Arg& a : items) out += (out.empty() ? "" : ", ") + arg_text(a);
  return out;
}

struct ArgText {
  std::string operator()(Size s) const { return s.is_const() ? to_string(s) : "{" + to_string(s) + "}"; }
  std::string operator()(const std::string& s) const { return quoted(s); }
  std::string operator()(std::complex<double> c) const {
    return "complex(" + python_repr(c.real()) + ", " + python_repr(c.imag()) + ")";
  }
  std::string operator()(DType t) const { return std::string(info(t).short_name); }
  std::string operator()(Device d) const { return "device " + quoted(to_string(d)); }
  std::string operator()(MemoryFormat f) const { return std::string(info(f).attribute); }
  std::string operator()(EllipsisArg) const { return "..."; }
  std::string operator()(const SliceArg& s) const { return "slice(" + args_text(*s.parts) + ")"; }
  std::string operator()(const ListArg& l) const {
    if (!l.tuple) return "[" + args_text(l.items) + "]";
    return "(" + args_text(l.items) + (l.items.size() == 1 ? ",)" : ")");
  }
  std::string operator()(Node* n) const { return "%" + n->name; }
  template <class T>
  std::string operator()(const T& v) const {
    return python_repr(Arg(v));  // None, bools, floats; tensors do not occur
  }
};

std::string arg_text(const Arg& a) { return std::visit(ArgText{}, a.v); }

bool row_major(const TensorType& t) {
  Size expected = 1;
  for (std::size_t i = t.sizes.size(); i-- > 0;) {
    if (!(t.strides[i] == expected)) return false;
    expected = expected * max(t.sizes[i], 1);
  }
  return true;
}

std::string type_text(const TensorType& t) {
  std::string out = fmt::format("{}[{}]", info(t.dtype).short_name, joined(t.sizes));
  if (!row_major(t)) out += "{" + joined(t.strides) + "}";
  if (!t.offset.is_const(0)) out += "+(" + to_string(t.offset) + ")";
  if (t.storage >= 0) out += fmt::format(" ${}", t.storage);
  if (!t.device.is_cpu()) out += " on " + quoted(to_string(t.device));
  if (t.requires_grad) out += " grad";
  if (t.history != GradHistory::Leaf) out += " " + std::string(kGradHistoryWords[static_cast<std::size_t>(t.history)]);
  if (t.wrapped_number) out += " number";
  return out;
}

std::string types_text(const Node& n) {
  if (n.types.empty() && !n.multi) return {};
  if (!n.multi) return " : " + type_text(n.type());
  std::string out;
  for (const TensorType& t : n.types) out += type_text(t) + ", ";
  return " : (" + out + ")";
}

template <class T>
std::string element_text(T v) {
  if constexpr (std::is_floating_point_v<WorkingOf<T>>) {
    return python_repr(static_cast<double>(widen(v)));
  } else {
    return std::to_string(v);
  }
}

template <class T>
std::string elements_text(const TensorImpl& t) {
  std::string out;
  std::vector<std::int64_t> at(t.sizes.size(), 0);
  for (std::int64_t left = t.numel(); left > 0; --left) {
    std::int64_t place = 0;
    for (std::size_t d = 0; d < at.size(); ++d) place += at[d] * t.strides[d];
    out += (out.empty() ? "" : ", ") + element_text(t.as<T>()[place]);
    for (std::size_t d = at.size(); d-- > 0;) {
      if (++at[d] < t.sizes[d]) break;
      at[d] = 0;
    }
  }
  return "[" + out + "]";
}

// dtype[sizes] and the elements in row-major order.
std::string constant_text(const TensorImpl& t) {
  const std::string head = fmt::format("{}[{}] ", info(t.dtype).short_name, fmt::join(t.sizes, ", "));
  if (!t.has_memory()) return head + "on " + quoted(to_string(t.device()));
  const TensorRef shown = readable(TensorRef(const_cast<TensorImpl*>(&t)));
  const std::string place = t.device().is_cpu() ? "" : "on " + quoted(to_string(t.device())) + " ";
  return head + place + visit_dtype(t.dtype, [&](auto element) { return elements_text<decltype(element)>(*shown); });
}

constexpr const char* kSpellings[] = {"function", "method", "operator", "inplace", "attribute", "name"};

std::string call_text(const Node& n) {
  std::string out = n.op == kNoOp ? "_" : std::string(op(n.op).name());
  out += "(" + args_text(n.args);
  for (std::size_t i = 0; i < n.kwargs.size(); ++i) {
    out += (i || !n.args.empty() ? ", " : "") + n.kwargs[i].first + "=" + arg_text(n.kwargs[i].second);
  }
  out += ")";
  if (n.op != kNoOp && n.spelling == Spelling::Function && n.target == op(n.op).public_name) return out;
  return fmt::format("{} as {} {}", out, kSpellings[static_cast<int>(n.spelling)], quoted(n.target));
}

std::string head_text(const Node& n) {
  switch (n.kind) {
    case NodeKind::Placeholder:
      return (n.is_size ? "size " : "input ") + quoted(n.target);
    case NodeKind::Op:
      return call_text(n);
    case NodeKind::Call:
      return "call " + call_text(n);
    case NodeKind::GetItem:
      return fmt::format("item {} of {}", n.index, arg_text(n.args.at(0)));
    case NodeKind::GetAttr:
      return "attr " + quoted(n.target) + (n.constant ? " " + constant_text(*n.constant) : "");
    case NodeKind::State:
      return fmt::format("state {}({})", quoted(n.target), args_text(n.args));
    case NodeKind::Commit:
      return fmt::format("commit {} ({})", n.index, args_text(n.args));
    case NodeKind::Output:
      return "output " + arg_text(n.args.at(0));
  }
  return {};
}

std::string bound_text(std::int64_t v) {
  if (v == SizeRange::kMin) return "-inf";
  return v == SizeRange::kMax ? "inf" : std::to_string(v);
}

std::string symbols_text(const ShapeEnv& env, const std::string& indent) {
  std::string out;
  for (const SizeSymbol& s : env.symbols()) {
    out += indent + "symbol " + s.name;
    if (s.hint) out += " = " + std::to_string(*s.hint);
    out += fmt::format(" in [{}, {}]", bound_text(s.range.lo), bound_text(s.range.hi));
    if (!s.source.empty()) out += " from " + quoted(s.source);
    out += "\n";
  }
  for (const auto& [a, b] : env.divisibility()) {
    out += fmt::format("{}divisible {{{}}} by {{{}}}\n", indent, to_string(a), to_string(b));
  }
  return out;
}

std::string stack_text(const std::vector<UserFrame>& frames) {
  std::string out;
  for (const UserFrame& f : frames) {
    out += fmt::format(" {}:{} {} {}", quoted(f.file), f.line, quoted(f.function), quoted(f.line_text));
  }
  return out;
}

std::string graph_text(const Graph& g, const std::string& indent) {
  const std::string inner = indent + "  ";
  std::string out = fmt::format("{}{} graph {} {{\n", indent, g.functional ? "functional" : "traced", quoted(g.name));
  if (g.shapes) out += symbols_text(*g.shapes, inner);
  std::unordered_map<const void*, int> stacks;
  for (const auto& n : g.nodes) {
    std::string place;
    if (n->stack) {
      const auto [at, fresh] = stacks.emplace(n->stack.get(), static_cast<int>(stacks.size()));
      if (fresh) out += fmt::format("{}stack {}{}\n", inner, at->second, stack_text(*n->stack));
      place = fmt::format(" @{}", at->second);
    }
    out += fmt::format("{}%{} = {}{}{}", inner, n->name, head_text(*n), types_text(*n), place);
    if (!n->regions.empty()) {
      out += " with\n";
      for (const auto& region : n->regions) out += graph_text(*region, inner + "  ");
      out += inner + "end";
    }
    out += "\n";
  }
  return out + indent + "}\n";
}

}  // namespace

std::string print_ir(const Graph& g) { return graph_text(g, ""); }

}  // namespace md
