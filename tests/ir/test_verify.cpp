// One bad graph per rule: the verifier names the node and the rule.
#include <gtest/gtest.h>

#include "ir/core/error.h"
#include "ir/graph/graph.h"
#include "ir/infer/verify.h"

namespace md {
namespace {

void expect_refused(const std::string& text, const std::string& rule) {
  const auto g = parse_ir(text);
  try {
    verify(*g);
    FAIL() << "accepted:\n" << text;
  } catch (const InternalError& e) {
    EXPECT_NE(std::string(e.what()).find(rule), std::string::npos) << e.what();
  }
}

std::string traced(const std::string& body) {
  return "traced graph \"\" {\n  %x = input \"L_x_\" : f32[2, 3]\n" + body + "}\n";
}
std::string functional(const std::string& body) {
  return "functional graph \"\" {\n  %x = input \"L_x_\" : f32[2, 3]\n" + body + "}\n";
}

TEST(Verify, GoodGraphs) {
  verify(
      *parse_ir(traced("%y = add(%x, 1) as operator \"add\" : f32[2, 3]\n"
                       "%z = mul(%y, 2) as inplace \"imul\" : f32[2, 3]\n%output = output (%z,)\n")));
  verify(*parse_ir(functional("%y = add(%x, 1) : f32[2, 3]\n%commit = commit 0 (%y)\n%output = output (%y,)\n")));
}

TEST(Verify, Order) {
  expect_refused(traced("%y = relu(%x) : f32[2, 3]\n"), "there is no output");
  expect_refused(traced("%output = output ()\n%y = relu(%x) : f32[2, 3]\n"), "node y: nothing follows the output");
  expect_refused(traced("%y = relu(%x) : f32[2, 3]\n%z = input \"L_z_\" : f32[]\n%output = output ()\n"),
                 "inputs come first");
  expect_refused(functional("%y = relu(%x) : f32[2, 3]\n%commit = commit 0 (%y)\n"
                            "%z = relu(%x) : f32[2, 3]\n%output = output ()\n"),
                 "only the output follows commits");
}

TEST(Verify, References) {
  const auto g = parse_ir(traced("%y = relu(%x) : f32[2, 3]\n%z = relu(%y) : f32[2, 3]\n%output = output (%z,)\n"));
  std::swap(g->nodes[1], g->nodes[2]);
  EXPECT_THROW(verify(*g), InternalError);
  expect_refused(traced("%s = state \"_C._set_grad_enabled\"(True)\n%output = output (%s,)\n"), "have no value");
  expect_refused(traced("%m = max.dim(%x, 0) : (f32[3], i64[3], )\n%y = relu(%m) : f32[3]\n%output = output ()\n"),
                 "used through its items");
}

TEST(Verify, NamesAreUnique) {
  const auto g = parse_ir(traced("%y = relu(%x) : f32[2, 3]\n%output = output (%y,)\n"));
  g->nodes[1]->name = "x";
  EXPECT_THROW(verify(*g), InternalError);
}

TEST(Verify, TypesAreInferred) {
  expect_refused(traced("%y = add(%x, 1) : f32[3, 2]\n%output = output ()\n"), "its type is f32[2, 3]{3, 1}");
  expect_refused(traced("%y = add(%x, 1) : f64[2, 3]\n%output = output ()\n"), "its type is");
  expect_refused(traced("%y = view(%x, 4) as method \"view\" : f32[4]\n%output = output ()\n"), "inference refuses");
  expect_refused(traced("%y = add(%x, 1) as inplace \"iadd\" : f32[2, 3]{1, 2}\n%output = output ()\n"),
                 "the type of its first argument");
  expect_refused(traced("%m = max.dim(%x, 0) : (f32[3], i64[3], )\n%y = item 0 of %m : i64[3]\n%output = output ()\n"),
                 "the type of that result");
  expect_refused(traced("%m = max.dim(%x, 0) : (f32[3], i64[3], )\n%y = item 2 of %m : i64[3]\n%output = output ()\n"),
                 "the item is there");
  expect_refused(traced("%c = attr \"c\" f32[2] [1, 2] : f32[3]\n%output = output ()\n"), "is its tensor's");
}

TEST(Verify, FunctionalRules) {
  expect_refused(functional("%y = add(%x) : f32[2, 3]\n%output = output ()\n"), "arguments are bound");
  expect_refused(functional("%y = square(%x) : f32[2, 3]\n%output = output ()\n"), "composite ops are opened");
  expect_refused(functional("%y = add(%x, 1) as inplace \"iadd\" : f32[2, 3]\n%output = output ()\n"),
                 "nothing is written in place");
  expect_refused(functional("%s = state \"a\"()\n%output = output ()\n"), "the traced dialect");
  expect_refused(functional("%y = neg(%x) : f32[2, 3]\n%commit = commit 1 (%y)\n%output = output ()\n"),
                 "a commit names an input");
  expect_refused(
      functional("%y = permute(%x, [1, 0]) : f32[3, 2]{1, 3}\n%commit = commit 0 (%y)\n%output = output ()\n"),
      "the value has the sizes of the input");
  expect_refused(functional("%y = convert(%x, f64) : f64[2, 3]\n%commit = commit 0 (%y)\n%output = output ()\n"),
                 "the value has the dtype of the input");
  expect_refused(functional("%y = neg(%x) : f32[2, 3]\n%commit = commit 0 (%y, [3, 1], 1)\n%output = output ()\n"),
                 "reaches outside the base");
  expect_refused(functional("%y = view(%x, [2, 3]) : f32[2, 3]\n%commit = commit 0 (%y)\n%output = output ()\n"),
                 "memory of its own");
  expect_refused(traced("%y = neg(%x) : f32[2, 3]\n%commit = commit 0 (%y)\n%output = output ()\n"),
                 "commits belong to the functional dialect");
}

TEST(Verify, RegionsAreGraphsOfTheirOwn) {
  expect_refused(
      "traced graph \"\" {\n  %p = input \"L_p_\" : b8[]\n  %c = logical_not(%p) : b8[] with\n"
      "    traced graph \"\" {\n    }\n  end\n  %output = output (%c,)\n}\n",
      "there is no output");
  const auto g = parse_ir(
      "traced graph \"\" {\n  %p = input \"L_p_\" : b8[]\n  %c = logical_not(%p) : b8[] with\n"
      "    traced graph \"\" {\n %output = output ()\n   }\n  end\n  %output = output (%c,)\n}\n");
  verify(*g);
  g->nodes[1]->regions[0]->output()->args = {ListArg{{g->nodes[0].get()}, true}};
  EXPECT_THROW(verify(*g), InternalError) << "a region sees only its own nodes";
}

}  // namespace
}  // namespace md
