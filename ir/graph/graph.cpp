// Names of nodes, as Python and its keywords allow them; building, searching and copying graphs.
#include "ir/graph/graph.h"

#include <algorithm>
#include <cctype>
#include <iterator>
#include <string_view>

namespace md {
namespace {

// Names generated code may not shadow: Python's keywords and builtins, and what the printed code itself uses.
constexpr std::string_view kReserved[] = {"ArithmeticError",
                                          "AssertionError",
                                          "AttributeError",
                                          "BaseException",
                                          "BaseExceptionGroup",
                                          "BlockingIOError",
                                          "BrokenPipeError",
                                          "BufferError",
                                          "BytesWarning",
                                          "ChildProcessError",
                                          "ConnectionAbortedError",
                                          "ConnectionError",
                                          "ConnectionRefusedError",
                                          "ConnectionResetError",
                                          "DeprecationWarning",
                                          "EOFError",
                                          "Ellipsis",
                                          "EncodingWarning",
                                          "EnvironmentError",
                                          "Exception",
                                          "ExceptionGroup",
                                          "False",
                                          "FileExistsError",
                                          "FileNotFoundError",
                                          "FloatingPointError",
                                          "FutureWarning",
                                          "GeneratorExit",
                                          "IOError",
                                          "ImportError",
                                          "ImportWarning",
                                          "IndentationError",
                                          "IndexError",
                                          "InterruptedError",
                                          "IsADirectoryError",
                                          "KeyError",
                                          "KeyboardInterrupt",
                                          "LookupError",
                                          "MemoryError",
                                          "ModuleNotFoundError",
                                          "NameError",
                                          "None",
                                          "NoneType",
                                          "NotADirectoryError",
                                          "NotImplemented",
                                          "NotImplementedError",
                                          "OSError",
                                          "OverflowError",
                                          "PendingDeprecationWarning",
                                          "PermissionError",
                                          "ProcessLookupError",
                                          "RecursionError",
                                          "ReferenceError",
                                          "ResourceWarning",
                                          "RuntimeError",
                                          "RuntimeWarning",
                                          "StopAsyncIteration",
                                          "StopIteration",
                                          "SyntaxError",
                                          "SyntaxWarning",
                                          "SystemError",
                                          "SystemExit",
                                          "TabError",
                                          "TimeoutError",
                                          "True",
                                          "TypeError",
                                          "UnboundLocalError",
                                          "UnicodeDecodeError",
                                          "UnicodeEncodeError",
                                          "UnicodeError",
                                          "UnicodeTranslateError",
                                          "UnicodeWarning",
                                          "UserWarning",
                                          "ValueError",
                                          "Warning",
                                          "ZeroDivisionError",
                                          "__build_class__",
                                          "__debug__",
                                          "__doc__",
                                          "__import__",
                                          "__loader__",
                                          "__name__",
                                          "__package__",
                                          "__spec__",
                                          "abs",
                                          "aiter",
                                          "all",
                                          "and",
                                          "anext",
                                          "any",
                                          "as",
                                          "ascii",
                                          "assert",
                                          "async",
                                          "await",
                                          "bin",
                                          "bool",
                                          "break",
                                          "breakpoint",
                                          "bytearray",
                                          "bytes",
                                          "callable",
                                          "chr",
                                          "class",
                                          "classmethod",
                                          "compile",
                                          "complex",
                                          "continue",
                                          "copyright",
                                          "credits",
                                          "def",
                                          "del",
                                          "delattr",
                                          "device",
                                          "dict",
                                          "dir",
                                          "divmod",
                                          "elif",
                                          "else",
                                          "enumerate",
                                          "eval",
                                          "except",
                                          "exec",
                                          "exit",
                                          "filter",
                                          "finally",
                                          "float",
                                          "for",
                                          "format",
                                          "from",
                                          "frozenset",
                                          "getattr",
                                          "global",
                                          "globals",
                                          "hasattr",
                                          "hash",
                                          "help",
                                          "hex",
                                          "id",
                                          "if",
                                          "import",
                                          "in",
                                          "inf",
                                          "input",
                                          "int",
                                          "is",
                                          "isinstance",
                                          "issubclass",
                                          "iter",
                                          "lambda",
                                          "len",
                                          "license",
                                          "list",
                                          "locals",
                                          "map",
                                          "max",
                                          "memoryview",
                                          "min",
                                          "nan",
                                          "next",
                                          "nonlocal",
                                          "not",
                                          "object",
                                          "oct",
                                          "open",
                                          "or",
                                          "ord",
                                          "pass",
                                          "pow",
                                          "print",
                                          "property",
                                          "quit",
                                          "raise",
                                          "range",
                                          "repr",
                                          "return",
                                          "reversed",
                                          "round",
                                          "set",
                                          "setattr",
                                          "slice",
                                          "sorted",
                                          "staticmethod",
                                          "str",
                                          "sum",
                                          "super",
                                          "torch",
                                          "try",
                                          "tuple",
                                          "type",
                                          "vars",
                                          "while",
                                          "with",
                                          "yield",
                                          "zip"};
static_assert(std::ranges::is_sorted(kReserved));

bool is_reserved(std::string_view name) { return std::ranges::binary_search(kReserved, name); }

// Letters, digits and underscores only, not starting with a digit.
std::string as_identifier(std::string_view text) {
  std::string out;
  for (char c : text) out += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '_';
  if (out.empty()) return "_unnamed";
  return std::isdigit(static_cast<unsigned char>(out[0])) ? "_" + out : out;
}

// "x_12" is number 12 of base "x"; number -1 if there is none.
std::pair<std::string, int> split_number(const std::string& name) {
  const std::size_t bar = name.find_last_not_of("0123456789");
  const std::size_t digits = bar == name.npos ? 0 : name.size() - bar - 1;
  if (digits == 0 || digits > 8 || name[bar] != '_') return {name, -1};
  return {name.substr(0, bar), std::stoi(name.substr(bar + 1))};
}

// Lower case, with an underscore where a capital follows a small letter (torch.fx's habit: "L_x_" is l_x_).
std::string snake_case(std::string_view text) {
  std::string out;
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isupper(byte) && !out.empty() && std::islower(static_cast<unsigned char>(out.back()))) out += '_';
    out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

std::string base_name(const Node& n) {
  // A call named as its target is spelt has no name of its own yet.
  const bool call = n.kind == NodeKind::Op || n.kind == NodeKind::Call || n.kind == NodeKind::State;
  if (!n.name.empty() && !(call && n.name == n.target)) return n.name;
  switch (n.kind) {
    case NodeKind::Op:
      if (n.spelling == Spelling::Attribute) return "getattr";
      [[fallthrough]];
    case NodeKind::Call:
    case NodeKind::State:
      return snake_case(std::string_view(n.target).substr(n.target.rfind('.') + 1));
    case NodeKind::GetItem:
      return "getitem";
    case NodeKind::Commit:
      return "commit";
    case NodeKind::Output:
      return "output";
    case NodeKind::GetAttr:
      return n.target;
    case NodeKind::Placeholder:
      return snake_case(n.target);
  }
  return {};
}

}  // namespace

bool is_setitem(const Node& n) {
  return n.kind == NodeKind::Op && n.spelling == Spelling::Inplace && n.target == "setitem";
}

bool is_inplace(const Node& n) {
  if (n.kind != NodeKind::Op) return false;
  if (n.spelling == Spelling::Inplace) return true;
  const bool call = n.spelling == Spelling::Function || n.spelling == Spelling::Method;
  return call && n.target.ends_with('_') && n.op != kNoOp && !op(n.op).public_name.ends_with('_');
}

Graph::~Graph() {
  for (std::size_t k = 0; k < nodes.size(); ++k) {
    fetch_ahead(nodes, k);
    nodes[k] = nullptr;
  }
}

std::string Graph::fresh_name(const std::string& base) {
  std::string name = as_identifier(base);
  auto [stem, number] = split_number(name);
  if (number < 0 || used_names_.contains(name)) {
    const auto last = last_number_.find(stem);
    number = last == last_number_.end() ? 0 : last->second;
    if (is_reserved(name)) name = stem + "_" + std::to_string(++number);
    while (used_names_.contains(name)) name = stem + "_" + std::to_string(++number);
  }
  used_names_.insert(name);
  int& last = last_number_[stem];
  last = std::max(last, number);
  return name;
}

Node* Graph::append(Node n) {
  n.name = fresh_name(base_name(n));
  nodes.push_back(std::make_unique<Node>(std::move(n)));
  return nodes.back().get();
}

void Graph::rename(Node* n, const std::string& base) {
  if (n->name != base) n->name = fresh_name(base);
}

std::vector<Node*> Graph::placeholders() const {
  std::vector<Node*> found;
  for (const auto& n : nodes) {
    if (n->kind == NodeKind::Placeholder) found.push_back(n.get());
  }
  return found;
}

Node* Graph::output() const {
  return !nodes.empty() && nodes.back()->kind == NodeKind::Output ? nodes.back().get() : nullptr;
}

std::unique_ptr<Graph> clone(const Graph& g) {
  std::unordered_map<const Node*, Node*> to;
  auto copy = std::make_unique<Graph>();
  copy->shapes = g.shapes;
  copy->name = g.name;
  copy->functional = g.functional;
  copy->used_names_ = g.used_names_;
  copy->last_number_ = g.last_number_;
  copy->nodes.reserve(g.nodes.size());
  const auto redirect = [&](Node*& n) { n = to.at(n); };
  for (const auto& old : g.nodes) {
    auto n = std::make_unique<Node>(*old);
    for (Arg& a : n->args) for_each_node(a, redirect);
    for (auto& [key, a] : n->kwargs) for_each_node(a, redirect);
    for (auto& region : n->regions) region = clone(*region);
    to[old.get()] = n.get();
    copy->nodes.push_back(std::move(n));
  }
  for (DelegatedCall call : g.delegated) {
    redirect(call.first), redirect(call.last);
    for (Arg& a : call.args) for_each_node(a, redirect);
    for (auto& [place, n] : call.results) redirect(n);
    copy->delegated.push_back(std::move(call));
  }
  return copy;
}

SliceArg make_slice(Arg start, Arg stop, Arg step) {
  return {
      std::make_shared<const std::vector<Arg>>(std::vector<Arg>{std::move(start), std::move(stop), std::move(step)})};
}

}  // namespace md
