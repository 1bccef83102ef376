// Raising graph breaks: texts are filled in, codes and variants told apart.
#include <gtest/gtest.h>

#include "frontend/report/graph_break.h"

namespace md {
namespace {

template <class F>
GraphBreak caught(F raise) {
  try {
    raise();
  } catch (const GraphBreak& b) {
    return b;
  }
  ADD_FAILURE() << "nothing was raised";
  return {};
}

TEST(GraphBreak, FillsTheTemplates) {
  const GraphBreak b = caught([] { graph_break<GB0124>("TensorVariable()", "()", "{}"); });
  EXPECT_EQ(b.code, 124);
  EXPECT_EQ(b.type, "Unsupported Tensor.item() call with capture_scalar_outputs=False");
  EXPECT_EQ(b.context, "call_method TensorVariable() item () {}");
  ASSERT_EQ(b.hints.size(), 1u);
  EXPECT_NE(b.hints[0].find("capture_scalar_outputs = True"), std::string::npos);
}

TEST(GraphBreak, ArgumentsAreNotTakenForTemplates) {
  const GraphBreak b = caught([] { graph_break<GB0025>("{1}", "{0} }}", "{2}"); });
  EXPECT_EQ(b.context, "Called `torch._dynamo.graph_break()` with args `{1}`, kwargs `{0} }}`");
}

TEST(GraphBreak, AVariantHasTheCodeAndItsOwnText) {
  const GraphBreak first = make_break<GB0007>("m", "q", "r", "file.py");
  const GraphBreak second = make_break<GB0007_builtin>("m", "q", "r", "m.q");
  EXPECT_EQ(second.code, 7);
  EXPECT_EQ(first.type, second.type);
  EXPECT_EQ(first.context, second.context);
  EXPECT_NE(first.explanation, second.explanation);
}

TEST(GraphBreak, NotModelledSaysSo) {
  const GraphBreak b = caught([] { not_modelled<GB0082>("IMPORT_STAR", "0"); });
  EXPECT_EQ(b.context, "IMPORT_STAR with args 0 (no rule for this form)");
  EXPECT_EQ(caught([] { not_modelled<GB0003>(); }).context, "no rule for this form");
}

TEST(GraphBreak, TitleOnly) {
  const GraphBreak b = caught([] { title_only_break("STORE_ATTR-caused graph break"); });
  EXPECT_EQ(b.code, -1);
  EXPECT_EQ(b.type, "STORE_ATTR-caused graph break");
  EXPECT_TRUE(b.context.empty() && b.explanation.empty() && b.hints.empty());
}

TEST(GraphBreak, LookUp) {
  ASSERT_NE(find_break(7), nullptr);
  EXPECT_EQ(find_break(7)->id, "GB0007");
  const int last = break_rows().back().code;
  EXPECT_EQ(find_break(last)->code, last);
  EXPECT_EQ(find_break(last + 1), nullptr);
  EXPECT_EQ(find_break(-1), nullptr);
  EXPECT_EQ(break_code_name(3), "GB0003");
}

TEST(GraphBreak, EveryRowFills) {
  // Each placeholder of each text names an existing argument: filling reads no further than the arguments given.
  for (const BreakRow& row : break_rows()) {
    const std::size_t count = split_list(row.args).size();
    for (std::string_view text : {row.context, row.explanation, row.hints})
      for (std::size_t i = 0; i + 1 < text.size(); ++i)
        if (text[i] == '{' && text[i + 1] >= '0' && text[i + 1] <= '9')
          EXPECT_LT(text[i + 1] - '0', int(count)) << row.id;
  }
}

}  // namespace
}  // namespace md
