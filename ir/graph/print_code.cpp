// Graphs as torch.fx prints them: readable code, gm.code, the node table, the %-graph.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/graph/graph.h"
#include "ir/graph/region_call.h"
#include "ir/graph/text.h"
#include "ir/sizes/shape_env.h"

namespace md {
namespace {

struct OperatorText {
  std::string_view name;    // in Python's operator module
  std::string_view format;  // {} per operand
};

constexpr OperatorText kOperators[] = {
    {"add", "{} + {}"},       {"sub", "{} - {}"},      {"mul", "{} * {}"},
    {"truediv", "{} / {}"},   {"mod", "{} % {}"},      {"floordiv", "{} // {}"},
    {"pow", "{} ** {}"},      {"matmul", "{} @ {}"},   {"and_", "{} & {}"},
    {"or_", "{} | {}"},       {"xor", "{} ^ {}"},      {"lshift", "{} << {}"},
    {"eq", "{} == {}"},       {"ne", "{} != {}"},      {"lt", "{} < {}"},
    {"rshift", "{} >> {}"},   {"gt", "{} > {}"},       {"le", "{} <= {}"},
    {"ge", "{} >= {}"},       {"getitem", "{}[{}]"},   {"neg", "-{}"},
    {"pos", "+{}"},           {"invert", "~{}"},       {"setitem", "{}[{}] = {}"},
    {"iadd", "{} += {}"},     {"isub", "{} -= {}"},    {"imul", "{} *= {}"},
    {"itruediv", "{} /= {}"}, {"imod", "{} %= {}"},    {"ifloordiv", "{} //= {}"},
    {"ipow", "{} **= {}"},    {"imatmul", "{} @= {}"}, {"iand", "{} &= {}"},
    {"ior", "{} |= {}"},      {"ixor", "{} ^= {}"},    {"ilshift", "{} <<= {}"},
    {"irshift", "{} >>= {}"},
};

std::string infix(const Node& n) {
  const auto row = std::ranges::find(kOperators, n.target, &OperatorText::name);
  if (row == std::end(kOperators)) return "operator." + n.target + python_tuple(n.args);
  std::string out;
  std::size_t operand = 0;
  for (std::size_t i = 0; i < row->format.size(); ++i) {
    if (row->format[i] != '{') {
      out += row->format[i];
      continue;
    }
    if (operand < n.args.size()) out += python_repr(n.args[operand++]);
    ++i;
  }
  return out;
}

std::string call_args(const Node& n, std::size_t first) {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  for (std::size_t i = first; i < n.args.size(); ++i) add(python_repr(n.args[i]));
  for (const auto& [key, value] : n.kwargs) add(key + " = " + python_repr(value));
  return out;
}

std::string sizes_text(const SizeVec& sizes) {
  std::string out;
  for (const Size& s : sizes) out += (out.empty() ? "" : ", ") + to_string(s);
  return "[" + out + "]";
}

// `: "f32[2, 2]"`; empty for results that are no single tensor, such as an assignment's.
std::string annotation(const Node& n, const CodeStyle& style) {
  if (style.fx_header || n.multi || n.types.empty() || is_setitem(n)) return {};
  const TensorType& t = n.type();
  const std::string strides = style.strides ? sizes_text(t.strides) : "",
                    device = style.device ? to_string(t.device) : "";
  return fmt::format(": \"{}{}{}{}\"", info(t.dtype).short_name, sizes_text(t.sizes), strides, device);
}

// "name: <type> = ..." of one node.
std::string statement(const Node& n, const CodeStyle& style) {
  const std::string left = n.name + annotation(n, style) + " = ";
  switch (n.kind) {
    case NodeKind::Placeholder:
      return n.name + " = " + n.target;
    case NodeKind::Output:
      return "return " + python_repr(n.args.at(0));
    case NodeKind::GetAttr:
      return left + "self." + n.target;
    case NodeKind::GetItem:
      return fmt::format("{}{}[{}]", left, python_repr(n.args.at(0)), n.index);
    case NodeKind::State:
      return fmt::format("{}torch.{}({})", left, n.target, call_args(n, 0));
    case NodeKind::Commit:
      return fmt::format("{}commit({}, {})", left, n.index, call_args(n, 0));
    case NodeKind::Op:
    case NodeKind::Call:
      break;
  }
  switch (n.spelling) {
    case Spelling::Operator:
      return left + infix(n);
    case Spelling::Inplace:
      return infix(n) + ";  " + left + python_repr(n.args.at(0));
    case Spelling::Attribute:
      return left + python_repr(n.args.at(0)) + "." + n.target;
    case Spelling::Method:
      return fmt::format("{}{}.{}({})", left, python_repr(n.args.at(0)), n.target, call_args(n, 1));
    case Spelling::Name:
      return fmt::format("{}{}({})", left, n.target, call_args(n, 0));
    case Spelling::Function:
      break;
  }
  if (n.regions.empty()) return fmt::format("{}torch.{}({})", left, n.target, call_args(n, 0));
  std::string parts, names;
  for (const auto& region : n.regions) {
    parts += fmt::format("{0} = self.{0}\n", region->name);
    names += region->name + ", ";
  }
  std::string before, after;
  const std::size_t split = arguments_before_regions(region_kind(n.target));
  for (std::size_t k = 0; k < n.args.size(); ++k) {
    if (k < split)
      before += python_repr(n.args[k]) + ", ";
    else
      after += (after.empty() ? "" : ", ") + python_repr(n.args[k]);
  }
  return fmt::format("{}{}torch.{}({}{}{})", parts, left, n.target, before, names, after);
}

template <class F>
void for_each_operand(const Node& n, F&& f) {
  // for_each_node wants to write; a copy of the arguments serves both it and us.
  for (Arg a : n.args) for_each_node(a, f);
  for (auto [key, a] : n.kwargs) for_each_node(a, f);
}

// For each node, the values whose last use it is, in the order it uses them, itself last if nobody uses it.
std::unordered_map<const Node*, std::vector<const Node*>> last_uses(const Graph& g) {
  std::unordered_map<const Node*, std::vector<const Node*>> dead;
  std::unordered_set<const Node*> used;
  for (auto it = g.nodes.rbegin(); it != g.nodes.rend(); ++it) {
    const Node& n = **it;
    const bool unused = !used.contains(&n);
    for_each_operand(n, [&](Node*& in) {
      if (used.insert(in).second) dead[&n].push_back(in);
    });
    if (unused) dead[&n].push_back(&n);
  }
  return dead;
}

bool same_stack(const UserStack& a, const UserStack& b) {
  if (a == b) return true;
  if (!a || !b || a->size() != b->size()) return false;
  return std::ranges::equal(*a, *b, [](const UserFrame& x, const UserFrame& y) {
    return x.line == y.line && x.function == y.function && x.file == y.file;
  });
}

bool has_location(const Node& n) { return n.stack && !n.stack->empty(); }

// The comment above `n`, if its place differs from that of the node before it.
std::string location_comment(const Node& n, const Node* previous) {
  if (previous && has_location(*previous) == has_location(n) && same_stack(previous->stack, n.stack)) return {};
  if (!has_location(n)) return "\n# No stacktrace found for following nodes\n";
  const UserFrame& at = n.stack->back();
  return fmt::format("\n # File: {}:{} in {}, code: {}\n", at.file, at.line, at.function, at.line_text);
}

std::string indented(const std::string& text) {
  std::string out = "    ";
  for (char c : text) {
    out += c;
    if (c == '\n') out += "    ";
  }
  return out;
}

// Names of the symbols that are sizes of this input and of none before it.
std::vector<std::string> symbols_brought(const Node& n, std::unordered_set<std::string>& known) {
  std::vector<std::string> fresh;
  for (const TensorType& t : n.types) {
    for (const Size& s : t.sizes) {
      if (symbol_index(s) && known.insert(to_string(s)).second) fresh.push_back(to_string(s));
    }
  }
  return fresh;
}

std::string function_header(const Graph& g, const CodeStyle& style) {
  std::string params;
  std::unordered_set<std::string> printed;
  for (const auto& n : g.nodes) {
    if (n->kind != NodeKind::Placeholder) continue;
    for (const std::string& symbol : symbols_brought(*n, printed))
      params += ", " + symbol + (style.fx_header ? " : torch.SymInt" : fmt::format(": \"Sym({})\"", symbol));
    if (n->is_size) continue;
    const bool tensor = !n->types.empty();
    params += ", " + n->target + (style.fx_header ? (tensor ? " : torch.Tensor" : "") : annotation(*n, style));
  }
  return "def forward(self" + params + "):\n";
}

// "gt = cond_true_0 = cond_false_0 = l_x_ = ": the names nobody uses after `n`, in the order of the arguments.
std::string forgotten(const Node& n, const std::vector<const Node*>& dead) {
  std::string regions, out;
  for (const auto& region : n.regions) regions += region->name + " = ";
  const bool behind_first = !n.regions.empty() && arguments_before_regions(region_kind(n.target)) == 1;
  for (const Node* d : dead) {
    const bool first = behind_first && n.args[0] == Arg(const_cast<Node*>(d));
    if (!regions.empty() && !first) out += std::exchange(regions, "");
    out += d->name + " = ";
  }
  return out + regions;
}

std::string function_text(const Graph& g, const CodeStyle& style) {
  const auto dead = last_uses(g);
  std::string body;
  const Node* previous = nullptr;
  for (const auto& n : g.nodes) {
    if (n->kind == NodeKind::Placeholder) {
      if (n->name != n->target && !n->is_size) body += statement(*n, style) + "\n";
      continue;
    }
    if (n->kind != NodeKind::Output) {
      if (!style.fx_header) body += location_comment(*n, previous);
      previous = n.get();
    }
    body += statement(*n, style);
    const auto last = dead.find(n.get());
    if (n->kind != NodeKind::Output && (last != dead.end() || !n->regions.empty()))
      body += ";  " + forgotten(*n, last == dead.end() ? std::vector<const Node*>() : last->second) + "None";
    body += "\n";
  }
  return function_header(g, style) + indented(body.empty() ? "pass\n" : body);
}

std::string class_text(const Graph& g, const std::string& name, const CodeStyle& style) {
  std::string text = "class " + name + "(torch.nn.Module):\n" + indented(function_text(g, style));
  for (const auto& n : g.nodes) {
    for (std::size_t i = 0; i < n->regions.size(); ++i) {
      const std::string& own = n->regions[i]->name;
      const std::string name = own.empty() ? fmt::format("{}_{}", n->name, i) : own;
      text += "\n" + indented(class_text(*n->regions[i], name, style));
    }
  }
  return text;
}

std::string_view opcode(const Node& n) {
  switch (n.kind) {
    case NodeKind::Placeholder:
      return "placeholder";
    case NodeKind::Output:
      return "output";
    case NodeKind::GetAttr:
      return "get_attr";
    default:
      return n.kind == NodeKind::Op && n.spelling == Spelling::Method ? "call_method" : "call_function";
  }
}

// fx has a get_attr node for each region.
Node region_node(const Graph& region) {
  return {.kind = NodeKind::GetAttr, .target = region.name, .name = region.name};
}

// Arguments as fx stores them: getitem's index, getattr's name and regions are arguments there. `made` keeps the nodes
// that stand for the regions.
std::vector<Arg> fx_args(const Node& n, std::vector<std::unique_ptr<Node>>& made) {
  std::vector<Arg> args = n.args;
  const std::size_t before = n.regions.empty() ? 0 : arguments_before_regions(region_kind(n.target));
  for (std::size_t i = 0; i < n.regions.size(); ++i) {
    made.push_back(std::make_unique<Node>(region_node(*n.regions[i])));
    args.insert(args.begin() + static_cast<std::ptrdiff_t>(before + i), Arg(made.back().get()));
  }
  if (n.kind == NodeKind::GetItem) args.push_back(n.index);
  if (n.kind == NodeKind::Op && n.spelling == Spelling::Attribute) args.push_back(n.target);
  return args;
}

bool is_operator(const Node& n) {
  if (n.kind == NodeKind::GetItem) return true;
  return n.kind == NodeKind::Op && (n.spelling == Spelling::Operator || n.spelling == Spelling::Inplace);
}

// "operator.add", "torch.cat", "getattr"; names of methods, inputs and attributes as they are.
std::string qualified_target(const Node& n) {
  if (n.kind == NodeKind::GetItem) return "operator.getitem";
  if (is_operator(n)) return "operator." + n.target;
  if (n.kind == NodeKind::State) return "torch." + n.target;
  if (n.kind == NodeKind::Output) return "output";
  const bool call = n.kind == NodeKind::Op || n.kind == NodeKind::Call;
  if (!call || n.spelling == Spelling::Method || n.spelling == Spelling::Name) return n.target;
  return n.spelling == Spelling::Attribute ? "getattr" : "torch." + n.target;
}

// %-prefixed, as print(gm.graph) shows values.
std::string percent_repr(Arg a) {
  std::vector<std::unique_ptr<Node>> shown;
  for_each_node(a, [&](Node*& n) {
    shown.push_back(std::make_unique<Node>(Node{.kind = NodeKind::Placeholder, .name = "%" + n->name}));
    n = shown.back().get();
  });
  return python_repr(a);
}

}  // namespace

std::string print_code(const Graph& g, const CodeStyle& style) {
  if (style.fx_header) return "\n\n\n" + function_text(g, style);
  return class_text(g, "GraphModule", style);
}

std::vector<std::array<std::string, 5>> table_rows(const Graph& g) {
  std::vector<std::array<std::string, 5>> rows;
  for (const auto& n : g.nodes) {
    std::string target = qualified_target(*n), kwargs;
    if (is_operator(*n)) target = fmt::format("<built-in function {}>", target.substr(target.find('.') + 1));
    if (target == "getattr") target = "<built-in function getattr>";
    for (const auto& [key, value] : n->kwargs) {
      kwargs += (kwargs.empty() ? "" : ", ") + python_repr(std::string_view(key)) + ": " + python_repr(value);
    }
    std::vector<std::unique_ptr<Node>> made;
    const std::string args = python_tuple(fx_args(*n, made));
    for (const auto& region : n->regions) rows.push_back({"get_attr", region->name, region->name, "()", "{}"});
    rows.push_back({std::string(opcode(*n)), n->name, target, args, "{" + kwargs + "}"});
  }
  return rows;
}

std::string print_fx_graph(const Graph& g) {
  std::unordered_map<const Node*, std::unordered_set<const Node*>> users;
  for (const auto& n : g.nodes) for_each_operand(*n, [&](Node*& in) { users[in].insert(n.get()); });
  std::string out = "graph():";
  for (const auto& n : g.nodes) {
    const std::size_t count = users.contains(n.get()) ? users[n.get()].size() : 0;
    if (n->kind == NodeKind::Output) {
      out += "\n    return " + python_repr(n->args.at(0));
    } else if (n->kind == NodeKind::Placeholder) {
      const char* type = n->is_size ? " Sym" : n->types.empty() ? "" : " torch.Tensor";
      out += fmt::format("\n    %{} :{} [num_users={}] = placeholder[target={}]", n->name, type, count, n->target);
    } else if (n->kind == NodeKind::GetAttr) {
      out += fmt::format("\n    %{} : [num_users={}] = get_attr[target={}]", n->name, count, n->target);
    } else {
      std::string kwargs;
      for (const auto& [key, value] : n->kwargs) {
        kwargs += fmt::format("{}{}: {}", kwargs.empty() ? "" : ", ", key, percent_repr(value));
      }
      std::vector<std::unique_ptr<Node>> made;
      const std::string args = percent_repr(ListArg{fx_args(*n, made), true});
      for (const auto& region : n->regions)
        out += fmt::format("\n    %{0} : [num_users=1] = get_attr[target={0}]", region->name);
      out += fmt::format("\n    %{} : [num_users={}] = {}[target={}](args = {}, kwargs = {{{}}})", n->name, count,
                         opcode(*n), qualified_target(*n), args, kwargs);
    }
  }
  return out;
}

}  // namespace md
