// The graph: one node type, two dialects (traced: as the user wrote it; functional: after `functionalize`).
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/graph/op_table.h"

namespace md {

class Callee;
class ShapeEnv;
struct Graph;

enum class NodeKind : std::uint8_t {
  Placeholder,  // graph input; `target` is the source name ("L_x_")
  Op,           // op call
  Call,         // call of something outside of the op table: of `callee`, or of an operator over `regions`
  GetItem,      // element `index` of a multi-result node
  GetAttr,      // module attribute (constant tensor); `constant` holds it
  State,        // ambient state that touches no tensor: "_C._set_grad_enabled"(False); kept for the printed graph
  Commit,       // functional dialect: input `index` becomes args[0]; or its part at strides args[1], offset args[2]
  Output,       // args[0] is a tuple of results
};

// How the user spelled the call; decides how it prints and what graph.nodes[i].op / .target say.
enum class Spelling : std::uint8_t {
  Function,   // torch.sin(x); target "sin", with a path where there is one ("nn.functional.relu")
  Method,     // x.sum(); target "sum", in place "add_"
  Operator,   // x + 1; target as in Python's operator module ("add", "truediv", "getitem")
  Inplace,    // x += 1; target "iadd", op add. Also x[0] = 7: target "setitem", op getitem, args (x, 0, 7)
  Attribute,  // x.T; target "T", the node is named getattr_1
  Name,       // a function of the program's own; target "__main___step"
};

// Where in the user's program a node comes from, outermost frame first.
struct UserFrame {
  std::string file, function, line_text;
  int line = 0;
};
using UserStack = std::shared_ptr<const std::vector<UserFrame>>;

struct Node {
  NodeKind kind;
  OpId op = kNoOp;
  Spelling spelling = Spelling::Function;
  std::string target;     // Placeholder: source name; Op: public name as spelled ("add", "sum", "getitem", "iadd")
  std::string name;       // unique within the graph: "add_1"
  std::vector<Arg> args;  // traced: as written; functional: bound, in schema order
  KwArgs kwargs;          // traced only
  int index = 0;          // GetItem: element; Commit: which input
  std::vector<TensorType> types;  // one per result; empty for non-tensor results
  bool is_size = false;           // Placeholder: not a tensor but an int, the value of types[0].sizes[0]
  std::vector<Size> unbacked;  // traced Op: the symbols its types brought along, in the order inference asked for them
  bool multi = false;          // result is a tuple/list of `types.size()` tensors
  TensorRef constant;          // GetAttr
  UserStack stack;
  std::shared_ptr<const Callee> callee;  // Call
  // Call: graphs whose names are attributes of this one ("cond_true_0"). What their inputs are given, region_call.h
  // says; their symbols are this graph's.
  std::vector<std::shared_ptr<Graph>> regions;

  const TensorType& type() const { return types.front(); }
};

bool is_setitem(const Node& n);
// The node writes into its first argument and stands for it: x += 1, x.add_(1), x[0] = 7.
bool is_inplace(const Node& n);

// Nodes that stand for a call of the program's whose derivative they do not hold (autograd.Function). Where gradients
// are recorded the call itself is made in their place.
struct DelegatedCall {
  Node *first, *last;  // of the nodes in between, placeholders and constants are not part of it
  std::shared_ptr<const Callee> callee;
  std::vector<Arg> args;
  std::vector<std::pair<int, Node*>> results;  // which result of the call each of these nodes is
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // in execution order; placeholders first, Output last
  std::vector<DelegatedCall> delegated;      // traced, in order
  std::shared_ptr<ShapeEnv> shapes;          // null: every size is constant
  std::string name;                          // "__compiled_fn_1_<uuid>"
  bool functional = false;

  Graph() = default;
  ~Graph();

  // Gives it a unique name derived from n.name, or if that is empty from its kind, spelling and target.
  Node* append(Node n);
  std::vector<Node*> placeholders() const;
  Node* output() const;  // null until set
  std::string fresh_name(const std::string& base);
  void rename(Node* n, const std::string& base);  // first store to a variable: y = x * 2

 private:
  friend std::unique_ptr<Graph> clone(const Graph& g);
  std::unordered_set<std::string> used_names_;
  std::unordered_map<std::string, int> last_number_;  // base name -> highest number given out
};

// Nodes of a large graph have left the caches when the next pass comes: who walks along them asks here, at place `k`,
// for those that follow.
inline void fetch_ahead(const std::vector<std::unique_ptr<Node>>& nodes, std::size_t k) {
  constexpr std::size_t kNode = 8, kParts = 4;  // so many places ahead
  if (k + kNode >= nodes.size()) return;
  const auto* node = reinterpret_cast<const char*>(nodes[k + kNode].get());
  for (std::size_t line = 0; line < sizeof(Node); line += 64) __builtin_prefetch(node + line, 1);
  const Node* const near = nodes[k + kParts].get();
  if (!near) return;  // moved elsewhere
  __builtin_prefetch(near->stack.get(), 1);
  __builtin_prefetch(near->args.data(), 1);
  __builtin_prefetch(near->types.data(), 1);
}

// Deep copy, regions included.
std::unique_ptr<Graph> clone(const Graph& g);

// --- Texts -------------------------------------------------------------------------------------------------------
std::string print_ir(const Graph& g);                      // our own text; parse_ir(print_ir(g)) is g
std::unique_ptr<Graph> parse_ir(const std::string& text);  // throws OpError(Value) naming line and column
struct CodeStyle {
  bool strides = false, device = false;  // "f32[3][1]cpu" (logs) instead of "f32[3]" (print_readable)
  bool fx_header = false;                // gm.code: "\n\n\ndef forward(self, L_x_ : torch.Tensor):"
};
// torch.fx's form: "class GraphModule(torch.nn.Module):\n    def forward(..." or, with fx_header, the function alone.
// Ends with an indented empty line that has no newline.
std::string print_code(const Graph& g, const CodeStyle& style);
std::vector<std::array<std::string, 5>> table_rows(const Graph& g);  // opcode name target args kwargs
std::string print_fx_graph(const Graph& g);  // "graph():\n    %l_x_ : torch.Tensor [num_users=1] = ..."

}  // namespace md
