// Interpreting traced graphs and evaluating functional ones: values, failures, commits, symbolic sizes.
#include <gtest/gtest.h>

#include "ir/compile/backend.h"
#include "ir/compile/pipeline.h"
#include "ir/core/error.h"
#include "ir/infer/verify.h"
#include "ir/reference/engine.h"
#include "ir/run/evaluate_graph.h"
#include "tests/ir/traced_builder.h"

namespace md {
namespace {

TensorRef counting(DimVec sizes) {
  TensorRef t = empty_tensor(sizes, DType::Float32);
  for (std::int64_t i = 0; i < t->numel(); ++i) t->as<float>()[i] = static_cast<float>(i);
  return t;
}

std::vector<float> values(const TensorRef& t) {
  EXPECT_TRUE(t->is_contiguous());
  return {t->as<float>(), t->as<float>() + t->numel()};
}

TEST(Interpret, RunsAsWritten) {
  TracedBuilder b;
  Node* x = b.input({2, 3});
  Node* y = b.call("mul", {x, 2});
  b.call("add_", {x, 1});
  b.setitem(y, 0, 7);
  b.setitem(y, ListArg{{1, 0}, true}, b.call("sum", {x}));
  b.graph->append({.kind = NodeKind::State, .target = "_C._set_grad_enabled", .args = {false}});
  b.output({y, x});
  const TensorRef in = counting({2, 3});
  const auto out = interpret(*b.graph, std::vector{in});
  EXPECT_EQ(values(out[0]), (std::vector<float>{7, 7, 7, 21, 8, 10}));
  EXPECT_EQ(out[1], in) << "an input returned is that tensor";
  EXPECT_EQ(values(in), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  EXPECT_THROW(interpret(*b.graph, {}), InternalError);
}

TEST(Interpret, ValuesDieAfterTheirLastUse) {
  TracedBuilder b;
  Node* x = b.input({4});
  Node* a = b.call("neg", {x});
  Node* c = b.call("detach", {a});
  b.call("exp", {c});
  b.output({b.call("view", {x, {-1}})});
  const TensorRef in = counting({4});
  const auto out = interpret(*b.graph, std::vector{in});
  EXPECT_EQ(in->storage->use_count(), 2u) << "the input and the view returned";
}

TEST(Interpret, TheFailingNodeIsNamed) {
  TracedBuilder b;
  Node* n = b.input({2}, DType::Int64);
  b.call("add_", {n, 1});
  Node* bad = b.call("floor_divide", {n, b.call("sub", {n, n})});
  b.output({bad});
  TensorRef in = empty_tensor({2}, DType::Int64);
  in->as<std::int64_t>()[0] = in->as<std::int64_t>()[1] = 5;
  const Node* failed = nullptr;
  EXPECT_THROW(interpret(*b.graph, std::vector{in}, &failed), OpError);
  EXPECT_EQ(failed, bad);
  EXPECT_EQ(in->as<std::int64_t>()[0], 6) << "effects before the failure happened";
}

TEST(Evaluate, AFailureLeavesInputsAlone) {
  TracedBuilder b;
  Node* n = b.input({2}, DType::Int64);
  b.call("add_", {n, 1});
  b.call("floor_divide", {n, b.call("sub", {n, n})});
  b.output({n});
  const auto g = optimize(*b.graph, {.verify = true});
  TensorRef in = empty_tensor({2}, DType::Int64);
  in->as<std::int64_t>()[0] = in->as<std::int64_t>()[1] = 5;
  EXPECT_THROW(evaluate(*g, std::vector{in}, reference_engine()), OpError);
  EXPECT_EQ(in->as<std::int64_t>()[0], 5);
  EXPECT_EQ(in->storage->version, 0u);
}

TEST(Evaluate, CommitsReadWhatWasThereBefore) {  // x, y = y, x in place
  TracedBuilder b;
  Node *x = b.input({3}), *y = b.input({3});
  Node* old = b.call("clone", {x});
  b.call("copy_", {x, y});
  b.call("copy_", {y, old});
  b.output({});
  const auto g = optimize(*b.graph, {.verify = true});
  const TensorRef one = counting({3}), two = counting({3});
  for (int i = 0; i < 3; ++i) two->as<float>()[i] += 10;
  evaluate(*g, std::vector{one, two}, reference_engine());
  EXPECT_EQ(values(one), (std::vector<float>{10, 11, 12}));
  EXPECT_EQ(values(two), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(one->storage->version, 1u);
}

TEST(Evaluate, SizesMayBeSymbols) {
  const auto traced = parse_ir(R"(traced graph "" {
  symbol s0 = 4 in [2, inf] from "L['x'].size()[0]"
  %x = input "L_x_" : f32[s0, 3] $0
  %y = mul(%x, 2) as operator "mul" : f32[s0, 3]
  %v = slice(%y, 0, 1, None, 1) : f32[s0 - 1, 3]+(3)
  %w = add(%v, 1) as inplace "iadd" : f32[s0 - 1, 3]+(3)
  %s = sum(%y, 0) as method "sum" : f32[3]
  %output = output (%y, %s)
}
)");
  verify(*traced);
  const auto g = optimize(*traced, {.verify = true});
  const GraphEvaluator evaluator(clone(*g));
  for (std::int64_t rows : {2, 4, 9}) {
    const TensorRef in = counting({rows, 3});
    TensorImpl* raw[] = {in.get()};
    std::vector<TensorRef> out(2);
    evaluator.run(reference_engine(), raw, out);
    ASSERT_EQ(out[0]->sizes, (DimVec{rows, 3}));
    float sum = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      EXPECT_EQ(out[0]->as<float>()[3 * i], static_cast<float>(6 * i + (i > 0)));
      sum += out[0]->as<float>()[3 * i];
    }
    EXPECT_EQ(out[1]->as<float>()[0], sum);
  }
}

TEST(Blocks, IsABackend) {
  Backend* blocks = find_backend("blocks");
  ASSERT_NE(blocks, nullptr);
  EXPECT_EQ(find_backend("nobody"), nullptr);
  TracedBuilder b;
  Node* x = b.input({3});
  b.output({b.call("add", {b.call("mul", {x, 2}), 1}), x});
  const auto kernel = blocks->compile(optimize(*b.graph));
  const TensorRef in = counting({3});
  TensorImpl* raw[] = {in.get()};
  std::vector<TensorRef> out(2);
  kernel->run(raw, out);
  EXPECT_EQ(values(out[0]), (std::vector<float>{1, 3, 5}));
  EXPECT_EQ(out[1], in);
  EXPECT_NE(blocks->code(*optimize(*b.graph)).find("mul(%l_a_, 2)"), std::string::npos);
  EXPECT_THROW(blocks->compile(clone(*b.graph)), InternalError) << "only functional graphs";
}

}  // namespace
}  // namespace md
