// Passes as text in, text out. Bodies only: the three inputs and the braces are the same everywhere.
#include <gtest/gtest.h>

#include "ir/compile/passes/cse.h"
#include "ir/compile/passes/dead_code.h"
#include "ir/compile/passes/fold.h"
#include "ir/compile/passes/functionalize.h"
#include "ir/compile/passes/shrink_commits.h"
#include "ir/compile/passes/simplify.h"
#include "ir/compile/pipeline.h"
#include "ir/core/error.h"
#include "ir/infer/verify.h"

namespace md {
namespace {

constexpr const char* kInputs =
    "  %x = input \"L_x_\" : f32[4, 5] $0\n"
    "  %y = input \"L_y_\" : f32[5] $1\n"
    "  %n = input \"L_n_\" : i64[5] $2\n";

std::unique_ptr<Graph> graph(const char* dialect, const std::string& body) {
  auto g = parse_ir(std::string(dialect) + " graph \"\" {\n" + kInputs + body + "}\n");
  verify(*g);
  return g;
}

// The lines after the inputs, without indentation, storage numbers and row-major types.
std::string body_of(const Graph& g) {
  const std::string text = print_ir(g);
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    std::string line = text.substr(at, end - at);
    at = end + 1;
    const std::size_t dollar = line.find(" $");
    if (dollar != line.npos) line.resize(dollar);
    if (line.starts_with("  %") && line.find("= input") == line.npos) out += line.substr(2) + "\n";
  }
  return out;
}

std::string functional(const std::string& body) {
  const auto g = functionalize(*graph("traced", body));
  verify(*g);
  return body_of(*g);
}

std::string after(void (*pass)(Graph&), const std::string& body) {
  const auto g = graph("functional", body);
  pass(*g);
  verify(*g);
  return body_of(*g);
}

// --- functionalize ----------------------------------------------------------------------------------------------

TEST(Functionalize, InPlaceOnAnInputIsCommitted) {
  EXPECT_EQ(functional("%z = add(%x, 1) as inplace \"iadd\" : f32[4, 5]\n"
                       "%w = mul(%x, 2) as operator \"mul\" : f32[4, 5]\n"
                       "%output = output (%w, %z)\n"),
            "%add = add(%x, 1) : f32[4, 5]\n"
            "%mul = mul(%add, 2) : f32[4, 5]\n"
            "%commit = commit 0 (%add)\n"
            "%output = output (%mul, %x)\n");
}

TEST(Functionalize, WritesThroughViewsReachTheBase) {
  EXPECT_EQ(functional("%v = select(%x, 0, 1) as method \"select\" : f32[5]+(5) $0\n"
                       "%w = add(%v, %y) as inplace \"iadd\" : f32[5]+(5) $0\n"
                       "%s = sum(%x) as method \"sum\" : f32[]\n"
                       "%output = output (%v, %s)\n"),
            "%select = select(%x, 0, 1) : f32[5]+(5)\n"
            "%add = add(%select, %y) : f32[5]\n"
            "%write_view = write_view(%x, %add, [1], 5) : f32[4, 5]\n"
            "%sum_1 = sum(%write_view, None, False, None) : f32[]\n"
            "%select_1 = select(%x, 0, 1) : f32[5]+(5)\n"
            "%commit = commit 0 (%write_view)\n"
            "%output = output (%select_1, %sum_1)\n")
      << "the view returned is a view of the input, seen after the commit";
}

TEST(Functionalize, ChainsOfViewsAreOneWrite) {
  EXPECT_EQ(functional("%setitem = getitem(%x, (slice(1, 3, None), slice(None, None, 2)), 7) as inplace \"setitem\"\n"
                       "%output = output ()\n"),
            "%slice_1 = slice(%x, 0, 1, 3, 1) : f32[2, 5]+(5)\n"
            "%slice_2 = slice(%slice_1, 1, None, None, 2) : f32[2, 3]{5, 2}+(5)\n"
            "%fill = fill(%slice_2, 7) : f32[2, 3]\n"
            "%write_view = write_view(%x, %fill, [5, 2], 5) : f32[4, 5]\n"
            "%commit = commit 0 (%write_view)\n"
            "%output = output ()\n");
}

TEST(Functionalize, AWriteThatCoversEverythingNeedsNoOldValue) {
  EXPECT_EQ(functional("%t = t(%x) as method \"t\" : f32[5, 4]{1, 5} $0\n"
                       "%w = mul(%t, 2) as inplace \"imul\" : f32[5, 4]{1, 5} $0\n"
                       "%output = output ()\n"),
            "%t = t(%x) : f32[5, 4]{1, 5}\n"
            "%mul = mul(%t, 2) : f32[5, 4]{1, 5}\n"
            "%permute = permute(%mul, [1, 0]) : f32[4, 5]\n"
            "%commit = commit 0 (%permute)\n"
            "%output = output ()\n");
}

TEST(Functionalize, ViewsOfOneFreshTensorShareIt) {
  EXPECT_EQ(functional("%a = add(%x, 1) as operator \"add\" : f32[4, 5] $3\n"
                       "%p = split(%a, 2) as method \"split\" : (f32[2, 5] $3, f32[2, 5]+(10) $3,)\n"
                       "%u = item 0 of %p : f32[2, 5] $3\n"
                       "%v = item 1 of %p : f32[2, 5]+(10) $3\n"
                       "%w = zero(%u) as method \"zero_\" : f32[2, 5] $3\n"
                       "%output = output (%v, %a)\n"),
            "%add = add(%x, 1) : f32[4, 5]\n"
            "%narrow = narrow(%add, 0, 0, 2) : f32[2, 5]\n"
            "%zero = zero(%narrow) : f32[2, 5]\n"
            "%write_view = write_view(%add, %zero, [5, 1], 0) : f32[4, 5]\n"
            "%narrow_1 = narrow(%write_view, 0, 2, 2) : f32[2, 5]+(10)\n"
            "%output = output (%narrow_1, %write_view)\n");
}

TEST(Functionalize, ResultsAreCastToTheOperand) {
  EXPECT_EQ(functional("%d = to(%y, f64) as method \"to\" : f64[5]\n"
                       "%w = add(%y, %d) as inplace \"iadd\" : f32[5] $1\n"
                       "%output = output ()\n"),
            "%convert = convert(%y, f64) : f64[5]\n"
            "%add = add(%y, %convert) : f64[5]\n"
            "%convert_1 = convert(%add, f32) : f32[5]\n"
            "%commit = commit 1 (%convert_1)\n"
            "%output = output ()\n");
}

TEST(Functionalize, CompositesThatReturnTheirOperandKeepIdentity) {
  EXPECT_EQ(functional("%f = float(%y) as method \"float\" : f32[5] $1\n"
                       "%r = reshape(%x, -1) as method \"reshape\" : f32[20] $0\n"
                       "%c = contiguous(%y) as method \"contiguous\" : f32[5] $1\n"
                       "%output = output (%f, %r, %c)\n"),
            "%view = view(%x, [20]) : f32[20]\n"
            "%output = output (%y, %view, %y)\n");
}

TEST(Functionalize, StateVanishes) {
  EXPECT_EQ(functional("%s = state \"_C._set_grad_enabled\"(False)\n%output = output (%x,)\n"),
            "%output = output (%x,)\n");
}

void expect_refused(const std::string& text, const std::string& why) {
  try {
    functionalize(*parse_ir(text));
    FAIL() << "accepted: " << text;
  } catch (const NotFunctional& e) {
    EXPECT_NE(std::string(e.what()).find(why), std::string::npos) << e.what();
  }
}

TEST(Functionalize, WhatItCannotSay) {
  expect_refused(
      "traced graph \"\" {\n%x = input \"x\" : f32[3] $0\n%y = input \"y\" : f32[3] $0\n"
      "%z = add(%x, %y) as inplace \"iadd\" : f32[3]\n%output = output ()\n}\n",
      "shares storage with another");
  expect_refused(
      "traced graph \"\" {\n%x = input \"x\" : f32[3]{0} $0\n"
      "%z = add(%x, 1) as inplace \"iadd\" : f32[3]{0}\n%output = output ()\n}\n",
      "elements overlap");
  expect_refused(
      "traced graph \"\" {\n%c = attr \"c\" f32[1] [2.0] : f32[1]\n"
      "%z = add(%c, 1) as inplace \"iadd\" : f32[1]\n%output = output ()\n}\n",
      "a constant of the graph");
}

// --- The other passes -------------------------------------------------------------------------------------------

TEST(DeadCode, KeepsWhatMayFailOrDraws) {
  EXPECT_EQ(after(remove_dead_code,
                  "%a = exp(%x) : f32[4, 5]\n%b = neg(%a) : f32[4, 5]\n"
                  "%c = floor_divide(%n, 0) : i64[5]\n%r = rand([2], None, None, False) : f32[2]\n"
                  "%m = max.dim(%x, 0, False) : (f32[5], i64[5],)\n%i = item 1 of %m : i64[5]\n"
                  "%output = output (%y,)\n"),
            "%c = floor_divide(%n, 0) : i64[5]\n%r = rand([2], None, None, False) : f32[2]\n"
            "%output = output (%y,)\n");
}

TEST(Cse, MergesEqualCallsAndViews) {
  EXPECT_EQ(after(merge_common_subexpressions,
                  "%a = exp(%x) : f32[4, 5]\n%b = exp(%x) : f32[4, 5]\n%t = t(%a) : f32[5, 4]{1, 5}\n"
                  "%u = permute(%b, [1, 0]) : f32[5, 4]{1, 5}\n%c = add(%t, %u) : f32[5, 4]{1, 5}\n"
                  "%output = output (%c,)\n"),
            "%a = exp(%x) : f32[4, 5]\n%b = exp(%x) : f32[4, 5]\n%t = t(%a) : f32[5, 4]{1, 5}\n"
            "%u = permute(%a, [1, 0]) : f32[5, 4]{1, 5}\n%c = add(%t, %t) : f32[5, 4]{1, 5}\n"
            "%output = output (%c,)\n");
  EXPECT_EQ(after(merge_common_subexpressions,
                  "%t = t(%x) : f32[5, 4]{1, 5}\n%u = t(%t) : f32[4, 5]\n%c = exp(%u) : f32[4, 5]\n"
                  "%output = output (%c,)\n"),
            "%t = t(%x) : f32[5, 4]{1, 5}\n%u = t(%t) : f32[4, 5]\n%c = exp(%x) : f32[4, 5]\n"
            "%output = output (%c,)\n");
}

TEST(Cse, ResultsStayTensorsOfTheirOwn) {
  const std::string body =
      "%a = exp(%x) : f32[4, 5]\n%b = exp(%x) : f32[4, 5]\n%u = t(%a) : f32[5, 4]{1, 5}\n"
      "%v = t(%a) : f32[5, 4]{1, 5}\n%output = output (%a, %b, %u, %v)\n";
  EXPECT_EQ(after(merge_common_subexpressions, body), body);
}

TEST(Cse, DistinctArgumentsStayDistinct) {
  const std::string body =
      "%a = mul(%x, 0.0) : f32[4, 5]\n%b = mul(%x, -0.0) : f32[4, 5]\n%c = mul(%x, 0) : f32[4, 5]\n"
      "%r = rand([2], None, None, False) : f32[2]\n%s = rand([2], None, None, False) : f32[2]\n"
      "%d = add(%a, %b) : f32[4, 5]\n%e = add(%d, %c) : f32[4, 5]\n%q = add(%r, %s) : f32[2]\n"
      "%output = output (%e, %q)\n";
  EXPECT_EQ(after(merge_common_subexpressions, body), body);
}

// `%r = neg(...)` of what `body` leaves of %v.
std::string simplified(const std::string& body, const std::string& type = "f32[4, 5]") {
  const auto g = graph("functional", body + "%r = neg(%v) : " + type + "\n%output = output (%r,)\n");
  simplify(*g);
  remove_dead_code(*g);
  verify(*g);
  return body_of(*g);
}

TEST(Simplify, ExactRewrites) {
  const std::string gone = "%r = neg(%x) : f32[4, 5]\n%output = output (%r,)\n";
  EXPECT_EQ(simplified("%v = mul(%x, 1) : f32[4, 5]\n"), gone);
  EXPECT_EQ(simplified("%v = mul(1.0, %x) : f32[4, 5]\n"), gone);
  EXPECT_EQ(simplified("%v = div(%x, 1) : f32[4, 5]\n"), gone);
  EXPECT_EQ(simplified("%v = sub(%x, 0) : f32[4, 5]\n"), gone);
  EXPECT_EQ(simplified("%v = add(%x, -0.0) : f32[4, 5]\n"), gone);
  EXPECT_EQ(simplified("%v = clone(%x) : f32[4, 5]\n"), gone);
  EXPECT_EQ(simplified("%a = exp(%x) : f32[4, 5]\n%b = neg(%a) : f32[4, 5]\n%v = neg(%b) : f32[4, 5]\n"),
            "%a = exp(%x) : f32[4, 5]\n%r = neg(%a) : f32[4, 5]\n%output = output (%r,)\n");
  EXPECT_EQ(simplified("%a = convert(%x, f64) : f64[4, 5]\n%v = convert(%a, f32) : f32[4, 5]\n"), gone);
  EXPECT_EQ(simplified("%v = add(%n, 0) : i64[5]\n", "i64[5]"), "%r = neg(%n) : i64[5]\n%output = output (%r,)\n");
}

TEST(Simplify, WhatIsNotExactStays) {
  for (const char* kept :
       {"%v = add(%x, 0) : f32[4, 5]\n", "%v = add(%x, 0.0) : f32[4, 5]\n", "%v = sub(%x, -0.0) : f32[4, 5]\n",
        "%v = mul(%x, 0) : f32[4, 5]\n", "%v = div(%x, 2) : f32[4, 5]\n", "%v = mul(%x, -1) : f32[4, 5]\n"}) {
    EXPECT_EQ(simplified(kept), kept + std::string("%r = neg(%v) : f32[4, 5]\n%output = output (%r,)\n"));
  }
  const std::string narrowing = "%a = convert(%x, i32) : i32[4, 5]\n%v = convert(%a, f32) : f32[4, 5]\n";
  EXPECT_EQ(simplified(narrowing), narrowing + "%r = neg(%v) : f32[4, 5]\n%output = output (%r,)\n");
  const std::string relayout = "%t = t(%x) : f32[5, 4]{1, 5}\n%v = compact(%t) : f32[5, 4]\n";
  EXPECT_EQ(simplified(relayout, "f32[5, 4]"), relayout + "%r = neg(%v) : f32[5, 4]\n%output = output (%r,)\n");
}

TEST(Simplify, ResultsAreNotInputs) {
  const std::string body = "%v = mul(%x, 1) : f32[4, 5]\n%output = output (%v,)\n";
  EXPECT_EQ(after(simplify, body), body) << "the user gets a tensor of its own";
}

TEST(Simplify, CopiesForgetWhatTheyOverwrite) {
  EXPECT_EQ(after(simplify,
                  "%v = slice(%x, 0, 1, 2, 1) : f32[1, 5]+(5)\n%u = view(%y, [1, 5]) : f32[1, 5]\n"
                  "%c = copy(%v, %u) : f32[1, 5]\n%w = write_view(%x, %c, [5, 1], 5) : f32[4, 5]\n"
                  "%commit = commit 0 (%w)\n%output = output ()\n"),
            "%v = slice(%x, 0, 1, 2, 1) : f32[1, 5]+(5)\n%u = view(%y, [1, 5]) : f32[1, 5]\n"
            "%c = copy(%v, %u) : f32[1, 5]\n%w = write_view(%x, %u, [5, 1], 5) : f32[4, 5]\n"
            "%commit = commit 0 (%w)\n%output = output ()\n");
  EXPECT_EQ(after(simplify,
                  "%d = convert(%y, f64) : f64[5]\n%c = copy(%y, %d) : f32[5]\n"
                  "%commit = commit 1 (%c)\n%output = output ()\n"),
            "%d = convert(%y, f64) : f64[5]\n%c = convert(%d, f32) : f32[5]\n"
            "%commit = commit 1 (%c)\n%output = output ()\n");
}

TEST(ShrinkCommits, PartsAreWrittenAlone) {
  EXPECT_EQ(after(shrink_commits,
                  "%a = neg(%y) : f32[5]\n%v = write_view(%x, %a, [1], 5) : f32[4, 5]\n"
                  "%s = sum(%v, [1], False, None) : f32[4]\n%b = exp(%s) : f32[4]\n"
                  "%w = write_view(%v, %b, [5], 0) : f32[4, 5]\n%commit = commit 0 (%w)\n%output = output ()\n"),
            "%a = neg(%y) : f32[5]\n%v = write_view(%x, %a, [1], 5) : f32[4, 5]\n"
            "%s = sum(%v, [1], False, None) : f32[4]\n%b = exp(%s) : f32[4]\n"
            "%w = write_view(%v, %b, [5], 0) : f32[4, 5]\n%commit = commit 0 (%a, [1], 5)\n"
            "%commit_1 = commit 0 (%b, [5], 0)\n%output = output ()\n")
      << "in program order; the whole is left to its other users";
}

TEST(ShrinkCommits, InputsAreCopiedBeforeAnyCommit) {
  EXPECT_EQ(after(shrink_commits,
                  "%v = write_view(%x, %y, [1], 5) : f32[4, 5]\n%n2 = neg(%y) : f32[5]\n"
                  "%commit = commit 1 (%n2)\n%commit_1 = commit 0 (%v)\n%output = output ()\n"),
            "%v = write_view(%x, %y, [1], 5) : f32[4, 5]\n%n2 = neg(%y) : f32[5]\n%clone = clone(%y) : f32[5]\n"
            "%commit = commit 1 (%n2)\n%commit_1 = commit 0 (%clone, [1], 5)\n%output = output ()\n");
}

TEST(ShrinkCommits, OtherBasesStayWhole) {
  const std::string body =
      "%a = neg(%x) : f32[4, 5]\n%b = neg(%y) : f32[5]\n%v = write_view(%a, %b, [1], 5) : f32[4, 5]\n"
      "%commit = commit 0 (%v)\n%output = output ()\n";
  EXPECT_EQ(after(shrink_commits, body), body);
}

TEST(Fold, SmallValuesOfNumbers) {
  EXPECT_EQ(after(fold_constants,
                  "%z = full([2], 1.5, None, None, False) : f32[2]\n%a = mul(%z, 2) : f32[2]\n"
                  "%b = sum(%a, None, False, None) : f32[]\n%c = mul(%y, %b) : f32[5]\n"
                  "%output = output (%c,)\n"),
            "%z = full([2], 1.5, None, None, False) : f32[2]\n%a = attr \"_a\" f32[2] [3.0, 3.0] : f32[2]\n"
            "%b = attr \"_b\" f32[] [6.0] : f32[]\n%c = mul(%y, %b) : f32[5]\n%output = output (%c,)\n");
}

TEST(Fold, LeavesResultsFailuresAndLargeValues) {
  const std::string body =
      "%z = full([2], 0, i64, None, False) : i64[2]\n%a = add(%z, 2) : i64[2]\n%f = floor_divide(%z, 0) : i64[2]\n"
      "%l = zeros([100], None, None, False) : f32[100]\n%m = add(%l, 1) : f32[100]\n%o = exp(%m) : f32[100]\n"
      "%output = output (%a, %f, %o)\n";
  EXPECT_EQ(after(fold_constants, body), body);
}

TEST(Pipeline, EveryPassIsSeenAndVerified) {
  const auto traced = graph("traced",
                            "%z = mul(%x, 1) as operator \"mul\" : f32[4, 5]\n"
                            "%w = sin(%z) : f32[4, 5]\n%output = output (%w,)\n");
  const std::string before = print_ir(*traced);
  std::string passes;
  const auto g = optimize(*traced, {.verify = true, .observer = [&](std::string_view pass, const Graph& g, double s) {
                                      passes += std::string(pass) + " ";
                                      EXPECT_GE(s, 0);
                                      EXPECT_TRUE(g.functional);
                                    }});
  EXPECT_EQ(passes, "functionalize dead_code simplify cse fold shrink_commits dead_code ");
  EXPECT_EQ(body_of(*g), "%sin = sin(%x) : f32[4, 5]\n%output = output (%sin,)\n");
  EXPECT_EQ(print_ir(*traced), before);
}

}  // namespace
}  // namespace md
