// Golden texts: the layouts of the reference pages and of behaviour 7.3.
#include <gtest/gtest.h>

#include "ir/graph/graph.h"
#include "ir/graph/text.h"

namespace md {
namespace {

TensorType f32(SizeVec sizes, SizeVec strides) {
  TensorType t;
  t.sizes = std::move(sizes), t.strides = std::move(strides);
  return t;
}

UserStack at(const std::string& function, int line, const std::string& text, int outer_line = 0) {
  std::vector<UserFrame> frames;
  if (outer_line) frames.push_back({"/tmp/a.py", "fn", "inner()", outer_line});
  frames.push_back({"/tmp/a.py", function, text, line});
  return std::make_shared<const std::vector<UserFrame>>(std::move(frames));
}

struct Builder {
  Graph g;
  Node* input(const std::string& target, TensorType t) {
    return g.append({.kind = NodeKind::Placeholder, .target = target, .types = {std::move(t)}});
  }
  Node* call(const std::string& target, Spelling spelling, std::vector<Arg> args, UserStack stack = nullptr) {
    Node n{.kind = NodeKind::Op};
    n.spelling = spelling, n.target = target, n.args = std::move(args), n.stack = std::move(stack);
    n.types = {f32({3}, {1})};
    return g.append(std::move(n));
  }
  void state(bool on) { g.append({.kind = NodeKind::State, .target = "_C._set_grad_enabled", .args = {on}}); }
  void output(std::vector<Arg> results) {
    g.append({.kind = NodeKind::Output, .args = {ListArg{std::move(results), true}}});
  }
  std::string logged() const { return print_code(g, {.strides = true, .device = true}); }
  std::string readable() const { return print_code(g, {}); }
  std::string code() const { return print_code(g, {.fx_header = true}); }
};

TEST(PrintCode, EveryStackGetsItsComment) {  // the page: inner() inlined three times, called on three lines
  Builder b;
  Node* x = b.input("L_x_", f32({3}, {1}));
  for (int i = 0; i < 3; ++i) {
    x = b.call("add", Spelling::Operator, {x, 1}, at("inner", 5, "x = x + 1", 8 + i));
    b.g.rename(x, "x");
  }
  b.output({x});
  EXPECT_EQ(b.logged(),
            "class GraphModule(torch.nn.Module):\n"
            "    def forward(self, L_x_: \"f32[3][1]cpu\"):\n"
            "        l_x_ = L_x_\n"
            "        \n"
            "         # File: /tmp/a.py:5 in inner, code: x = x + 1\n"
            "        x: \"f32[3][1]cpu\" = l_x_ + 1;  l_x_ = None\n"
            "        \n"
            "         # File: /tmp/a.py:5 in inner, code: x = x + 1\n"
            "        x_1: \"f32[3][1]cpu\" = x + 1;  x = None\n"
            "        \n"
            "         # File: /tmp/a.py:5 in inner, code: x = x + 1\n"
            "        x_2: \"f32[3][1]cpu\" = x_1 + 1;  x_1 = None\n"
            "        return (x_2,)\n"
            "        ");
}

TEST(PrintCode, StateNodesAndMissingStacks) {
  Builder b;
  Node* x = b.input("L_x_", f32({3}, {1}));
  b.state(false);
  Node* y = b.call("add", Spelling::Operator, {x, 1}, at("fn", 6, "x = x + 1"));
  b.g.rename(y, "x");
  b.state(true);
  b.output({y});
  EXPECT_EQ(b.logged(),
            "class GraphModule(torch.nn.Module):\n"
            "    def forward(self, L_x_: \"f32[3][1]cpu\"):\n"
            "        l_x_ = L_x_\n"
            "        \n"
            "        # No stacktrace found for following nodes\n"
            "        _set_grad_enabled = torch._C._set_grad_enabled(False);  _set_grad_enabled = None\n"
            "        \n"
            "         # File: /tmp/a.py:6 in fn, code: x = x + 1\n"
            "        x: \"f32[3][1]cpu\" = l_x_ + 1;  l_x_ = None\n"
            "        \n"
            "        # No stacktrace found for following nodes\n"
            "        _set_grad_enabled_1 = torch._C._set_grad_enabled(True);  _set_grad_enabled_1 = None\n"
            "        return (x,)\n"
            "        ");
}

TEST(PrintCode, UnusedResultAndNoOutput) {
  Builder b;
  Node* x = b.input("L_x_", f32({3}, {1}));
  Node* y = b.call("add", Spelling::Operator, {x, 2}, at("inner2", 4, "return x + 2"));
  b.g.rename(y, "x");
  b.output({});
  EXPECT_EQ(b.logged(),
            "class GraphModule(torch.nn.Module):\n"
            "    def forward(self, L_x_: \"f32[3][1]cpu\"):\n"
            "        l_x_ = L_x_\n"
            "        \n"
            "         # File: /tmp/a.py:4 in inner2, code: return x + 2\n"
            "        x: \"f32[3][1]cpu\" = l_x_ + 2;  l_x_ = x = None\n"
            "        return ()\n"
            "        ");
}

TEST(PrintCode, SpellingsOfCalls) {
  Builder b;
  Node* x = b.input("L_x_", f32({2, 2}, {2, 1}));
  Node* w = b.input("L_w_", f32({}, {}));
  const UserStack here = at("f", 1, "...");
  Node* view = b.call("view", Spelling::Method, {x, -1}, here);
  view->types[0] = f32({4}, {1});
  Node* cat = b.call("cat", Spelling::Function, {ListArg{{w, w}, false}}, here);
  cat->kwargs.emplace_back("dim", -1);
  b.call("neg", Spelling::Operator, {cat}, here);
  b.call("getitem", Spelling::Operator, {x, ListArg{{make_slice({}, {}, {}), 0}, true}}, here);
  b.call("iadd", Spelling::Inplace, {x, 1.0}, here);
  b.call("setitem", Spelling::Inplace, {x, 0, 7}, here)->types.clear();
  Node* t = b.call("T", Spelling::Attribute, {x}, here);
  Node* max = b.call("max", Spelling::Function, {t, 0}, here);
  max->multi = true, max->types.push_back(max->types[0]);
  Node* item = b.g.append({.kind = NodeKind::GetItem, .args = {max}, .types = {f32({2}, {1})}, .stack = here});
  Node* constant = b.g.append({.kind = NodeKind::GetAttr, .target = "_tensor_constant0", .types = {f32({}, {})}});
  constant->stack = here;
  b.call("to", Spelling::Method, {constant, DType::Float64, Device{}, "it's"}, here);
  b.output({view, item});
  EXPECT_EQ(b.readable(),
            "class GraphModule(torch.nn.Module):\n"
            "    def forward(self, L_x_: \"f32[2, 2]\", L_w_: \"f32[]\"):\n"
            "        l_x_ = L_x_\n"
            "        l_w_ = L_w_\n"
            "        \n"
            "         # File: /tmp/a.py:1 in f, code: ...\n"
            "        view: \"f32[4]\" = l_x_.view(-1)\n"
            "        cat: \"f32[3]\" = torch.cat([l_w_, l_w_], dim = -1);  l_w_ = None\n"
            "        neg: \"f32[3]\" = -cat;  cat = neg = None\n"
            "        getitem: \"f32[3]\" = l_x_[(slice(None, None, None), 0)];  getitem = None\n"
            "        l_x_ += 1.0;  iadd: \"f32[3]\" = l_x_;  iadd = None\n"
            "        l_x_[0] = 7;  setitem = l_x_;  setitem = None\n"
            "        getattr_1: \"f32[3]\" = l_x_.T;  l_x_ = None\n"
            "        max_1 = torch.max(getattr_1, 0);  getattr_1 = None\n"
            "        getitem_1: \"f32[2]\" = max_1[0];  max_1 = None\n"
            "        _tensor_constant0: \"f32[]\" = self._tensor_constant0\n"
            "        to: \"f32[3]\" = _tensor_constant0.to(torch.float64, device(type='cpu'), \"it's\");  "
            "_tensor_constant0 = to = None\n"
            "        return (view, getitem_1)\n"
            "        ");
}

TEST(PrintCode, CodeAttribute) {
  Builder b;
  Node* x = b.input("L_x_", f32({3}, {1}));
  Node* y = b.input("L_y_", f32({3}, {1}));
  Node* add = b.call("add", Spelling::Operator, {x, y}, at("f", 1, "..."));
  b.output({add});
  EXPECT_EQ(b.code(),
            "\n\n\ndef forward(self, L_x_ : torch.Tensor, L_y_ : torch.Tensor):\n"
            "    l_x_ = L_x_\n"
            "    l_y_ = L_y_\n"
            "    add = l_x_ + l_y_;  l_x_ = l_y_ = None\n"
            "    return (add,)\n"
            "    ");
}

TEST(PrintCode, TableAndGraph) {
  Builder b;
  Node* x = b.input("L_x_", f32({3}, {1}));
  Node* add = b.call("add", Spelling::Operator, {x, 1});
  Node* sum = b.call("sum", Spelling::Method, {add});
  sum->kwargs.emplace_back("dim", 0);
  Node* sin = b.call("sin", Spelling::Function, {add});
  b.output({sum, sin});
  using Row = std::array<std::string, 5>;
  EXPECT_EQ(table_rows(b.g), (std::vector<Row>{{"placeholder", "l_x_", "L_x_", "()", "{}"},
                                               {"call_function", "add", "<built-in function add>", "(l_x_, 1)", "{}"},
                                               {"call_method", "sum_1", "sum", "(add,)", "{'dim': 0}"},
                                               {"call_function", "sin", "torch.sin", "(add,)", "{}"},
                                               {"output", "output", "output", "((sum_1, sin),)", "{}"}}));
  EXPECT_EQ(print_fx_graph(b.g),
            "graph():\n"
            "    %l_x_ : torch.Tensor [num_users=1] = placeholder[target=L_x_]\n"
            "    %add : [num_users=2] = call_function[target=operator.add](args = (%l_x_, 1), kwargs = {})\n"
            "    %sum_1 : [num_users=1] = call_method[target=sum](args = (%add,), kwargs = {dim: 0})\n"
            "    %sin : [num_users=1] = call_function[target=torch.sin](args = (%add,), kwargs = {})\n"
            "    return (sum_1, sin)");
}

TEST(PrintCode, PythonFloats) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},       {-0.0, "-0.0"},       {1.0, "1.0"},          {10.0, "10.0"},
      {100.5, "100.5"},   {0.1, "0.1"},         {1e16, "1e+16"},       {1e15, "1000000000000000.0"},
      {1e-4, "0.0001"},   {1e-5, "1e-05"},      {1.5e300, "1.5e+300"}, {123.456, "123.456"},
      {5e-324, "5e-324"}, {-2.5e-7, "-2.5e-07"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(python_repr(value), text);
}

}  // namespace
}  // namespace md
