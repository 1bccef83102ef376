// Calls of code outside of the op table, and calls that pick a region: in both dialects, by both evaluators.
#include <gtest/gtest.h>

#include "ir/compile/pipeline.h"
#include "ir/core/error.h"
#include "ir/graph/callee.h"
#include "ir/infer/verify.h"
#include "ir/reference/engine.h"
#include "ir/run/evaluate_graph.h"
#include "ir/run/run_regions.h"
#include "tests/ir/traced_builder.h"

namespace md {
namespace {

TensorRef vector_of(std::vector<float> v) {
  TensorRef t = empty_tensor({static_cast<std::int64_t>(v.size())}, DType::Float32);
  std::ranges::copy(v, t->as<float>());
  return t;
}

std::vector<float> values(const TensorRef& t) { return {t->as<float>(), t->as<float>() + t->numel()}; }

// Adds the number to the tensor in place and returns twice the result.
class AddAndDouble final : public Callee {
 public:
  AddAndDouble() { writes = {0}; }
  std::vector<TensorRef> run(std::span<const Arg> args, std::span<const ExpectedTensor> expected) const override {
    const TensorRef& x = args[0].get<TensorRef>();
    EXPECT_EQ(expected.size(), 1u);
    EXPECT_EQ(expected[0].sizes, x->sizes);
    TensorRef out = empty_tensor(x->sizes, DType::Float32);
    for (std::int64_t i = 0; i < x->numel(); ++i) {
      x->as<float>()[i] += static_cast<float>(args[1].get<double>());
      out->as<float>()[i] = 2 * x->as<float>()[i];
    }
    return {out};
  }
};

Node* call_out(TracedBuilder& b, Node* x, const std::shared_ptr<Callee>& callee) {
  Node n{.kind = NodeKind::Call, .target = "ops.my.add_and_double.default", .name = "made"};
  n.args = {x};
  n.kwargs = {{"by", 0.5}};
  n.types = {x->type()};
  n.types[0].storage = 100;
  n.callee = callee;
  return b.graph->append(std::move(n));
}

TEST(Calls, WritesAreSeenInBothDialects) {
  TracedBuilder b;
  Node* x = b.input({3});
  Node* made = call_out(b, x, std::make_shared<AddAndDouble>());
  b.output({b.call("add", {made, x}), x});
  verify(*b.graph);
  const std::vector<float> want{4.5, 7.5, 10.5};
  const TensorRef plain = vector_of({1, 2, 3});
  EXPECT_EQ(values(interpret(*b.graph, std::vector{plain})[0]), want);

  const auto functional = optimize(*b.graph, {.verify = true});
  const TensorRef in = vector_of({1, 2, 3});
  const auto out = evaluate(*functional, std::vector{in}, reference_engine());
  EXPECT_EQ(values(out[0]), want);
  EXPECT_EQ(out[1], in);
  EXPECT_EQ(values(in), values(plain));
  EXPECT_EQ(in->storage->version, 1u);
}

TEST(Calls, OfOneTensorTwiceHaveNoFunctionalForm) {
  TracedBuilder b;
  Node* x = b.input({3});
  Node* made = call_out(b, x, std::make_shared<AddAndDouble>());
  made->args.push_back(b.call("view", {x, {-1}}));
  std::swap(b.graph->nodes[1], b.graph->nodes[2]);  // the view stands before its user
  b.output({made});
  EXPECT_THROW((void)optimize(*b.graph, {.verify = true}), NotFunctional);
}

TEST(Calls, ThatMayReturnAnArgumentHaveNoFunctionalForm) {
  TracedBuilder b;
  Node* x = b.input({3});
  auto callee = std::make_shared<AddAndDouble>();
  callee->writes.clear();
  callee->aliases = true;
  b.output({call_out(b, x, callee)});
  EXPECT_THROW((void)optimize(*b.graph, {}), NotFunctional);
}

constexpr const char* kChoice = R"(traced graph "" {
  %p = input "L_p_" : b8[] $0
  %x = input "L_x_" : f32[3] $1
  %cond = call _(%p, (%x,)) as function "ops.higher_order.cond" : (f32[3] $4, ) with
    traced graph "cond_true_0" {
      %t = input "x" : f32[3] $1
      %y = neg(%t) : f32[3] $2
      %output = output (%y,)
    }
    traced graph "cond_false_0" {
      %t = input "x" : f32[3] $1
      %m = mul(%t, 2) : f32[3] $2
      %y = add(%m, %t) : f32[3] $3
      %output = output (%y,)
    }
  end
  %getitem = item 0 of %cond : f32[3] $4
  %output = output (%getitem,)
}
)";

TEST(Calls, APredicatePicksTheRegion) {
  const auto g = parse_ir(kChoice);
  verify(*g);
  EXPECT_EQ(print_ir(*parse_ir(print_ir(*g))), print_ir(*g));
  const auto functional = optimize(*g, {.verify = true});
  for (const bool holds : {true, false}) {
    const TensorRef p = scalar_tensor(std::int64_t{holds}, DType::Bool), x = vector_of({1, 2, 3});
    const std::vector<float> want = holds ? std::vector<float>{-1, -2, -3} : std::vector<float>{3, 6, 9};
    EXPECT_EQ(values(interpret(*g, std::vector{p, x})[0]), want);
    EXPECT_EQ(values(evaluate(*functional, std::vector{p, x}, reference_engine())[0]), want);
  }
  Arg several[] = {vector_of({1, 2}), ListArg{{}, true}};
  EXPECT_THROW((void)run_regions(RegionKind::Cond, several, [](auto, auto) { return std::vector<TensorRef>(); }),
               OpError);
}

TEST(Calls, RegionsFitTheCall) {
  const auto g = parse_ir(kChoice);
  g->nodes[2]->args[1] = ListArg{{}, true};
  EXPECT_THROW(verify(*g), InternalError) << "an operand is missing";
  const auto other = parse_ir(kChoice);
  other->nodes[2]->types[0].dtype = DType::Float64;
  EXPECT_THROW(verify(*other), InternalError) << "the regions give something else";
}

}  // namespace
}  // namespace md
