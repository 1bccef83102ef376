// Names of nodes as a graph gives them, and clones that refer to nothing of the original.
#include <gtest/gtest.h>

#include "ir/graph/graph.h"

namespace md {
namespace {

Node call(const std::string& target, Spelling spelling, std::vector<Arg> args) {
  Node n{.kind = NodeKind::Op};
  n.spelling = spelling, n.target = target, n.args = std::move(args);
  return n;
}

TEST(Graph, NamesCountPerBase) {
  Graph g;
  Node* x = g.append({.kind = NodeKind::Placeholder, .target = "L_x_"});
  EXPECT_EQ(x->name, "l_x_");
  EXPECT_EQ(g.append(call("add", Spelling::Operator, {x, 1}))->name, "add");
  EXPECT_EQ(g.append(call("add", Spelling::Operator, {x, 1}))->name, "add_1");
  EXPECT_EQ(g.append(call("cat", Spelling::Function, {x}))->name, "cat");
  EXPECT_EQ(g.append(call("add", Spelling::Operator, {x, 1}))->name, "add_2");
  EXPECT_EQ(g.append(call("nn.functional.relu", Spelling::Function, {x}))->name, "relu");
}

TEST(Graph, BuiltinsAndKeywordsStartAtOne) {
  Graph g;
  EXPECT_EQ(g.append(call("sum", Spelling::Method, {}))->name, "sum_1");
  EXPECT_EQ(g.append(call("sum", Spelling::Method, {}))->name, "sum_2");
  EXPECT_EQ(g.fresh_name("lambda"), "lambda_1");
  EXPECT_EQ(g.fresh_name("device"), "device_1");
  EXPECT_EQ(g.append(call("T", Spelling::Attribute, {}))->name, "getattr_1");
  EXPECT_EQ(g.append(call("pow", Spelling::Operator, {}))->name, "pow_1");
}

TEST(Graph, FirstStoreRenames) {  // total = x.sum(); x = x * 2; x = x + total; sum = x - 1
  Graph g;
  Node* total = g.append(call("sum", Spelling::Method, {}));
  g.rename(total, "total");
  Node* mul = g.append(call("mul", Spelling::Operator, {}));
  EXPECT_EQ(mul->name, "mul");
  g.rename(mul, "x");
  Node* add = g.append(call("add", Spelling::Operator, {}));
  g.rename(add, "x");
  Node* sub = g.append(call("sub", Spelling::Operator, {}));
  g.rename(sub, "sum");
  EXPECT_EQ(total->name + " " + mul->name + " " + add->name + " " + sub->name, "total x x_1 sum_2");
  EXPECT_EQ(g.append(call("mul", Spelling::Operator, {}))->name, "mul_1") << "a renamed node's first name stays taken";
}

TEST(Graph, NamesBecomeIdentifiers) {
  Graph g;
  EXPECT_EQ(g.fresh_name("a.b[0]"), "a_b_0_");
  EXPECT_EQ(g.fresh_name("0x"), "_0x");
  EXPECT_EQ(g.fresh_name(""), "_unnamed");
  EXPECT_EQ(g.fresh_name("y_7"), "y_7");
  EXPECT_EQ(g.fresh_name("y_7"), "y_8");
  EXPECT_EQ(g.fresh_name("y"), "y");
  EXPECT_EQ(g.fresh_name("y"), "y_9");
}

TEST(Graph, CloneRedirectsEveryReference) {
  Graph g;
  Node* x = g.append({.kind = NodeKind::Placeholder, .target = "L_x_"});
  Node* y = g.append(call("getitem", Spelling::Operator, {x, make_slice(x, NoneArg{}, x)}));
  y->kwargs.emplace_back("other", ListArg{{x, ListArg{{x}, true}}, false});
  auto region = std::make_shared<Graph>();
  Node* inner = region->append({.kind = NodeKind::Placeholder, .target = "a"});
  region->append({.kind = NodeKind::Output, .args = {ListArg{{inner}, true}}});
  y->regions.push_back(region);
  g.append({.kind = NodeKind::Output, .args = {ListArg{{y}, true}}});

  const auto copy = clone(g);
  std::set<const Node*> ours, inside;
  for (const auto& n : copy->nodes) ours.insert(n.get());
  for (const auto& n : copy->nodes) {
    for (Arg& a : n->args) for_each_node(a, [&](Node*& m) { EXPECT_TRUE(ours.contains(m)); });
    for (auto& [k, a] : n->kwargs) for_each_node(a, [&](Node*& m) { EXPECT_TRUE(ours.contains(m)); });
  }
  const Graph& r = *copy->nodes[1]->regions.at(0);
  EXPECT_NE(&r, region.get());
  EXPECT_EQ(r.output()->args[0].get<ListArg>().items[0].get<Node*>(), r.nodes[0].get());
  EXPECT_EQ(copy->append(call("getitem", Spelling::Operator, {}))->name, "getitem_1") << "names stay taken";
  EXPECT_EQ(y->args[0].get<Node*>(), x) << "the original is left alone";
}

}  // namespace
}  // namespace md
