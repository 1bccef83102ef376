// Whole graphs: fusion, views, several outputs, commits, failures, random programs.
#include "tests/backend/graph_fixture.h"

namespace md::testing {
namespace {

TEST(LlvmGraphs, OutputsKeepIdentity) {
  std::mt19937 random(1);
  GraphFixture g;
  Node* x = g.input(random_tensor(random, {4, 6}, DType::Float32, Layout::Contiguous));
  Node* y = g.call("neg", {x});
  Node* v = g.call("transpose", {y, Arg(0), Arg(1)});
  Node* w = g.call("transpose", {x, Arg(0), Arg(1)});
  g.finish({x, y, y, v, w});
  install_llvm_backend();
  const auto kernel = find_backend("llvm")->compile(clone(g.graph));
  std::vector<TensorImpl*> in{g.inputs[0].get()};
  std::vector<TensorRef> out(5);
  kernel->run(in, out);
  EXPECT_EQ(out[0], g.inputs[0]);
  EXPECT_EQ(out[1], out[2]);
  EXPECT_EQ(out[3]->storage, out[1]->storage);
  EXPECT_EQ(out[4]->storage, g.inputs[0]->storage);
  g.check("identity");
}

TEST(LlvmGraphs, CommitsHappenLastAndOnlyOnSuccess) {
  for (int divisor : {3, 0}) {
    GraphFixture g;
    std::mt19937 random(2);
    Node* x = g.input(random_tensor(random, {8}, DType::Int32, Layout::Contiguous, true));
    Node* sum = g.call("add", {x, Arg(1)});
    Node* quotient = g.call("floor_divide", {sum, Arg(divisor)});
    Node commit{.kind = NodeKind::Commit};
    commit.args = {Arg(sum)};
    commit.index = 0;
    g.graph.append(std::move(commit));
    g.finish({quotient});
    g.check("commit, divisor " + std::to_string(divisor));
  }
}

TEST(LlvmGraphs, LayerNormAndSoftmax) {
  std::mt19937 random(3);
  for (int cols : {1, 7, 64, 100, 1024, 3000}) {
    GraphFixture g;
    Node* x = g.input(random_tensor(random, {5, cols}, DType::Float32, Layout::Contiguous, true));
    Node* w = g.input(random_tensor(random, {cols}, DType::Float32, Layout::Contiguous, true));
    const ListArg last{{Arg(1)}};
    Node* mean = g.call("div", {g.call("sum", {x, last, Arg(true)}), Arg(cols)});
    Node* centred = g.call("sub", {x, mean});
    Node* var = g.call("div", {g.call("sum", {g.call("mul", {centred, centred}), last, Arg(true)}), Arg(cols)});
    Node* normal = g.call("mul", {g.call("mul", {centred, g.call("rsqrt", {g.call("add", {var, Arg(1e-5)})})}), w});
    Node* e = g.call("exp", {g.call("sub", {normal, g.call("amax", {normal, last, Arg(true)})})});
    g.finish({normal, g.call("div", {e, g.call("sum", {e, last, Arg(true)})}), mean});
    g.check("layer norm of " + std::to_string(cols));
  }
}

TEST(LlvmGraphs, ColumnSumsOfTwoThings) {
  std::mt19937 random(4);
  for (int rows : {3, 1500}) {
    GraphFixture g;
    Node* x = g.input(random_tensor(random, {rows, 130}, DType::Float32, Layout::Contiguous));
    const ListArg first{{Arg(0)}};
    g.finish({g.call("sum", {x, first}), g.call("add", {g.call("sum", {g.call("sin", {x}), first}), Arg(1)})});
    g.check("column sums");
  }
}

TEST(LlvmGraphs, FewLongRowsFoldInParts) {
  std::mt19937 random(5);
  for (DType t : {DType::Float32, DType::Float64, DType::Int64, DType::Bool}) {
    GraphFixture g;
    Node* x = g.input(random_tensor(random, {2, 100, 1500}, t, Layout::Contiguous));
    const ListArg last{{Arg(1), Arg(2)}};
    Node* sum = g.call("sum", {x, last, Arg(true)});
    g.finish(
        {g.call("add", {sum, Arg(1)}), g.call("amax", {x, last}), g.call("any", {x, last}), g.call("mul", {x, x})});
    g.check("long rows of " + std::string(info(t).name));
  }
}

TEST(LlvmGraphs, LongSoftmax) {
  std::mt19937 random(6);
  GraphFixture g;
  Node* x = g.input(random_tensor(random, {200001}, DType::Float32, Layout::Contiguous, true));
  const ListArg all{{Arg(0)}};
  Node* e = g.call("exp", {g.call("sub", {x, g.call("amax", {x, all, Arg(true)})})});
  g.finish({g.call("div", {e, g.call("sum", {e, all, Arg(true)})}), g.call("sum", {g.call("mul", {x, x})})});
  g.check("softmax of one long row");
}

// Programs of random ops over values of three shapes.
TEST(LlvmGraphs, RandomPrograms) {
  static constexpr const char* kUnary[] = {"neg", "sin", "exp", "abs", "tanh", "relu", "floor", "sqrt", "sigmoid"};
  static constexpr const char* kBinary[] = {"add",     "sub", "mul", "div",         "maximum",
                                            "minimum", "lt",  "eq",  "floor_divide"};
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    GraphFixture g;
    const std::int64_t rows = 1 + random() % 9, cols = 1 + random() % 90;
    const DType types[] = {DType::Float32, DType::Float64, DType::Int32, DType::Bool};
    std::vector<Node*> values;
    for (const DimVec& s : {DimVec{rows, cols}, DimVec{cols}, DimVec{rows, 1}, DimVec{rows, cols}})
      values.push_back(g.input(random_tensor(random, s, types[random() % 4], static_cast<Layout>(random() % 3), true)));
    for (int i = 0; i < 14; ++i) {
      Node* a = values[random() % values.size()];
      Node* b = values[random() % values.size()];
      try {
        switch (random() % 8) {
          case 0:
            values.push_back(g.call(random() % 2 ? "sum" : "amax",
                                    {a, ListArg{{Arg(static_cast<int>(random() % 2) - 1)}}, Arg(true)}));
            break;
          case 1:
            values.push_back(
                g.call("transpose", {g.call("neg", {g.call("transpose", {a, Arg(-1), Arg(0)})}), Arg(-1), Arg(0)}));
            break;
          case 2:
            values.push_back(g.call("where", {g.call("lt", {a, Arg(1)}), b, a}));
            break;
          case 3:
          case 4:
            values.push_back(g.call(kUnary[random() % std::size(kUnary)], {a}));
            break;
          default:
            values.push_back(g.call(kBinary[random() % std::size(kBinary)], {a, b}));
            break;
        }
      } catch (const OpError&) {
      }
    }
    g.finish({values.back(), values[values.size() - 2], values[values.size() / 2]});
    g.check("program " + std::to_string(seed));
  }
}

}  // namespace
}  // namespace md::testing
