// The fusion pass: which ops share a walk over their elements, shown as text, and which must not.
#include <gtest/gtest.h>

#include "ir/compile/passes/fuse.h"
#include "ir/infer/verify.h"
#include "tests/ir/fusion_check.h"
#include "tests/ir/traced_builder.h"

namespace md {
namespace {

// "loops[4, 5]/1(mul, sum_1<0>) -> sum_1; view(t)": extents, reduced bits, members with axes that are not 0, 1, ...
std::string show(const Graph& g) {
  std::string out;
  for (const FusionGroup& group : fuse(g)) {
    if (!out.empty()) out += "; ";
    out += group.kind == FusionGroup::Kind::Loops ? "loops" : group.kind == FusionGroup::Kind::Call ? "call" : "view";
    if (group.kind == FusionGroup::Kind::Loops) {
      std::string sizes;
      for (const Size& s : group.extents) sizes += (sizes.empty() ? "" : ",") + to_string(s);
      out += "[" + sizes + "]";
      if (group.reduced) out += "/" + std::to_string(group.reduced);
    }
    std::string members;
    for (const auto& m : group.members) {
      members += (members.empty() ? "" : " ") + m.node->name;
      bool straight = m.axes.size() == group.extents.size();
      for (std::size_t d = 0; straight && d < m.axes.size(); ++d) straight = m.axes[d] == static_cast<int>(d);
      if (group.kind != FusionGroup::Kind::Loops || straight) continue;
      members += "<";
      for (int a : m.axes) members += a < 0 ? "-" : std::to_string(a);
      members += ">";
    }
    out += "(" + members + ") ->";
    for (const Node* n : group.outputs) out += " " + n->name;
  }
  return out;
}

std::string fused(const std::string& body) {
  const auto g = parse_ir(
      "functional graph \"\" {\n%x = input \"x\" : f32[4, 5]\n%w = input \"w\" : f32[5]\n"
      "%z = input \"z\" : f32[5, 4]\n" +
      body + "}\n");
  verify(*g);
  check_groups(*g);
  return show(*g);
}

TEST(Fuse, ChainsAndBroadcasts) {
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%b = add(%a, %w) : f32[4, 5]\n%c = relu(%b) : f32[4, 5]\n"
                  "%output = output (%c,)\n"),
            "loops[4,5](a b c) -> c");
  EXPECT_EQ(fused("%v = mul(%w, 2) : f32[5]\n%b = add(%x, %v) : f32[4, 5]\n%output = output (%b,)\n"),
            "loops[5](v) -> v; loops[4,5](b) -> b")
      << "the small value would be computed four times over";
}

TEST(Fuse, SharedReadsShareAWalk) {
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%b = exp(%x) : f32[4, 5]\n%output = output (%a, %b)\n"),
            "loops[4,5](a b) -> a b");
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%b = exp(%z) : f32[5, 4]\n%output = output (%a, %b)\n"),
            "loops[4,5](a) -> a; loops[5,4](b) -> b");
}

TEST(Fuse, ReductionsAndWhatFollows) {  // a softmax row
  EXPECT_EQ(fused("%m = amax(%x, [1], True) : f32[4, 1]\n%d = sub(%x, %m) : f32[4, 5]\n%e = exp(%d) : f32[4, 5]\n"
                  "%s = sum(%e, [1], True, None) : f32[4, 1]\n%p = div(%e, %s) : f32[4, 5]\n%output = output (%p,)\n"),
            "loops[4,5]/2(m<0-> d e s<0-> p) -> p");
  EXPECT_EQ(fused("%s = sum(%x, [0], False, None) : f32[5]\n%r = mul(%s, 2) : f32[5]\n%output = output (%r,)\n"),
            "loops[4,5]/1(s<1> r<1>) -> r");
  EXPECT_EQ(fused("%s = sum(%x, [0], False, None) : f32[5]\n%t = sum(%x, [1], False, None) : f32[4]\n"
                  "%output = output (%s, %t)\n"),
            "loops[4,5]/1(s<1>) -> s; loops[4,5]/2(t<0>) -> t")
      << "one group folds one set of axes";
  EXPECT_EQ(fused("%s = sum(%x, [0], False, None) : f32[5]\n%t = sum(%s, [0], False, None) : f32[]\n"
                  "%output = output (%t,)\n"),
            "loops[4,5]/1(s<1>) -> s; loops[5]/1(t<>) -> t");
}

TEST(Fuse, PositionsAreCalls) {
  EXPECT_EQ(fused("%m = max.dim(%x, 0, False) : (f32[5], i64[5],)\n%v = item 0 of %m : f32[5]\n"
                  "%i = item 1 of %m : i64[5]\n%r = neg(%v) : f32[5]\n%output = output (%r, %i)\n"),
            "call(m v i) -> v i; loops[5](r) -> r");
}

TEST(Fuse, ViewsHoldNobodyBack) {
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%t = permute(%z, [1, 0]) : f32[4, 5]{1, 4}\n"
                  "%b = add(%a, %t) : f32[4, 5]\n%output = output (%b,)\n"),
            "view(t) -> t; loops[4,5](a b) -> b");
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%t = permute(%a, [1, 0]) : f32[5, 4]{1, 5}\n"
                  "%b = add(%z, %t) : f32[5, 4]\n%output = output (%b,)\n"),
            "loops[4,5](a t<10> b<10>) -> b")
      << "a renaming view of an inner value is an inner value";
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%t = slice(%a, 0, 1, 3, 1) : f32[2, 5]+(5)\n"
                  "%b = neg(%t) : f32[2, 5]\n%output = output (%b,)\n"),
            "loops[4,5](a) -> a; view(t) -> t; loops[2,5](b) -> b");
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%t = permute(%a, [1, 0]) : f32[5, 4]{1, 5}\n"
                  "%b = add(%z, %t) : f32[5, 4]\n%output = output (%b, %t)\n"),
            "loops[4,5](a t<10> b<10>) -> a b; view(t) -> t")
      << "outside it is a view of stored memory";
}

TEST(Fuse, PartsOfAStoredValueWaitForIt) {
  EXPECT_EQ(fused("%a = mul(%w, 2) : f32[5]\n%s = select(%a, 0, 1) : f32[]+(1)\n%b = mul(%a, %s) : f32[5]\n"
                  "%t = slice(%b, 0, 0, 1, 1) : f32[1]\n%c = sum(%t, None, False, None) : f32[]\n"
                  "%output = output (%b, %c)\n"),
            "loops[5](a) -> a; view(s) -> s; loops[5](b) -> b; view(t) -> t; loops[1]/1(c<>) -> c");
}

TEST(Fuse, KernelsAndCreation) {
  EXPECT_EQ(fused("%a = mul(%x, 2) : f32[4, 5]\n%m = mm(%a, %z) : f32[4, 4]\n%f = full([4, 4], 1, None, None, False) : "
                  "i64[4, 4]\n%b = add(%m, %f) : f32[4, 4]\n%output = output (%b,)\n"),
            "call(f) -> f; loops[4,5](a) -> a; call(m) -> m; loops[4,4](b) -> b");
}

TEST(Fuse, NoCycles) {  // b joins a's walk only if nothing between them needs a
  fused(
      "%a = mul(%x, 2) : f32[4, 5]\n%m = mm(%a, %z) : f32[4, 4]\n%s = sum(%m, None, False, None) : f32[]\n"
      "%b = add(%a, %s) : f32[4, 5]\n%c = mul(%x, %b) : f32[4, 5]\n%output = output (%c, %a)\n");
}

TEST(Fuse, LongChainsSplitAndStayLinear) {
  TracedBuilder b;
  Node* x = b.input({3, 3});
  for (int i = 0; i < 2000; ++i)
    x = b.call(i % 7 == 0 ? "transpose" : "neg", i % 7 == 0 ? std::vector<Arg>{x, 0, 1} : std::vector<Arg>{x});
  b.output({x});
  check_groups(*b.graph);
}

}  // namespace
}  // namespace md
