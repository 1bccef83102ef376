// Every op with a body, in every dtype and layout, against the reference engine, bit for bit.
#include "ir/graph/op_table.h"
#include "tests/backend/graph_fixture.h"
#include "tests/backend/refusals.h"

namespace md::testing {
namespace {

const std::vector<DType> kTypes = every_dtype();

// Fills parameters after the operands with their defaults; a dtype parameter without one gets `t`.
std::vector<Arg> with_defaults(const Op& o, std::vector<Arg> args, DType t) {
  for (std::size_t i = args.size(); i < o.schema.params.size(); ++i) {
    const Param& p = o.schema.params[i];
    args.push_back(p.has_default ? p.default_value : p.type == ParamType::DType ? Arg(t) : Arg(1));
  }
  return args;
}

void check_pointwise(const Op& o, std::mt19937& random, const std::vector<DType>& types, Layout layout, DimVec sizes) {
  GraphFixture g;
  std::vector<Arg> args;
  for (int i = 0; i < o.operands; ++i) {
    const DType t = types[static_cast<std::size_t>(i)];
    args.push_back(g.input(random_tensor(random, operand_sizes(o, i, sizes), t, layout)));
  }
  args = with_defaults(o, args, types.back());
  std::string what(o.name());
  for (DType t : types) what += " " + std::string(info(t).name);
  Node* n;
  try {
    n = g.call(o, args);
  } catch (const OpError& e) {
    EXPECT_TRUE(dtypes_forbid(o, args)) << what << ": " << e.what();
    return;
  }
  EXPECT_FALSE(dtypes_forbid(o, args)) << what;
  g.finish({n});
  g.check(what + " layout " + std::to_string(static_cast<int>(layout)));
}

TEST(LlvmOps, PointwiseEveryDtype) {
  std::mt19937 random(1);
  for (const Op& o : all_ops()) {
    if (o.kind() != OpKind::Pointwise) continue;
    for (DType t : kTypes) {
      std::vector<DType> types(static_cast<std::size_t>(std::max(1, o.operands)), t);
      if (o.decl->promote == Promote::Select) types[0] = DType::Bool;
      check_pointwise(o, random, types, Layout::Contiguous, {3, 37});
    }
  }
}

TEST(LlvmOps, PointwiseMixedDtypesAndLayouts) {
  std::mt19937 random(2);
  for (const Op& o : all_ops()) {
    if (o.kind() != OpKind::Pointwise) continue;
    for (Layout layout : {Layout::Contiguous, Layout::Transposed, Layout::Strided}) {
      std::vector<DType> types;
      for (int i = 0; i < std::max(1, o.operands); ++i) types.push_back(kTypes[random() % kTypes.size()]);
      if (o.decl->promote == Promote::Select) types[0] = DType::Bool;
      check_pointwise(o, random, types, layout, {5, 19});
    }
    std::vector<DType> floats(static_cast<std::size_t>(std::max(1, o.operands)), DType::Float32);
    if (o.decl->promote == Promote::Select) floats[0] = DType::Bool;
    check_pointwise(o, random, floats, Layout::Contiguous, {});
    check_pointwise(o, random, floats, Layout::Contiguous, {0, 4});
  }
}

TEST(LlvmOps, Conversions) {
  std::mt19937 random(3);
  for (DType from : kTypes)
    for (DType to : kTypes) {
      GraphFixture g;
      Node* x = g.input(random_tensor(random, {203}, from, Layout::Contiguous));
      g.finish({g.call(op(find_op("convert")), {x, to})});
      g.check("convert " + std::string(info(from).name) + " to " + std::string(info(to).name));
    }
}

TEST(LlvmOps, Broadcasting) {
  std::mt19937 random(4);
  for (DType t : kTypes) {
    GraphFixture g;
    Node* full = g.input(random_tensor(random, {4, 5, 33}, t, Layout::Contiguous));
    Node* row = g.input(random_tensor(random, {33}, t, Layout::Strided));
    Node* column = g.input(random_tensor(random, {5, 1}, t, Layout::Contiguous));
    Node* outer = g.input(random_tensor(random, {4, 1, 1}, t, Layout::Contiguous));
    Node* scalar = g.input(random_tensor(random, {}, t, Layout::Contiguous));
    Node* a = g.call("add", {full, row});
    Node* b = g.call("mul", {a, column});
    Node* c = g.call("mul", {b, outer});
    Node* d = g.call("add", {c, scalar});
    Node* e = g.call("mul", {d, Arg(3)});
    g.finish({e, b, g.call("add", {column, outer})});
    g.check("broadcasting " + std::string(info(t).name));
  }
}

TEST(LlvmOps, ReductionsEveryDtypeAxesAndLayout) {
  std::mt19937 random(5);
  const std::vector<std::vector<int>> kDims = {{}, {0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {0, 1, 2}};
  for (const Op& o : all_ops()) {
    if (o.kind() != OpKind::Reduction) continue;
    for (DType t : kTypes)
      for (Layout layout : {Layout::Contiguous, Layout::Transposed, Layout::Strided})
        for (const auto& dims : kDims)
          for (DimVec sizes : {DimVec{3, 5, 70}, DimVec{1, 1100, 2}}) {
            if (sizes[0] == 1 && (layout != Layout::Contiguous || t != DType::Float32)) continue;
            if (random() % 6 != 0) continue;  // each combination compiles a kernel
            GraphFixture g;
            std::vector<Arg> args{g.input(random_tensor(random, sizes, t, layout))};
            args = with_defaults(o, args, t);
            if (o.dim >= 0) {
              const ParamType p = o.schema.params[static_cast<std::size_t>(o.dim)].type;
              const bool list = p == ParamType::IntList || p == ParamType::IntListOpt;
              if (!list && dims.size() > 1) continue;
              ListArg l;
              for (int d : dims) l.items.emplace_back(d);
              if (list)
                args[static_cast<std::size_t>(o.dim)] = l;
              else if (!dims.empty())
                args[static_cast<std::size_t>(o.dim)] = dims[0];
              if (o.keepdim >= 0) args[static_cast<std::size_t>(o.keepdim)] = random() % 2 == 0;
            }
            Node* n;
            try {
              n = g.call(o, args);
            } catch (const OpError& e) {
              EXPECT_TRUE(dtypes_forbid(o, args)) << o.name() << " " << info(t).name << ": " << e.what();
              continue;
            }
            EXPECT_FALSE(dtypes_forbid(o, args)) << o.name() << " " << info(t).name;
            if (n->multi) continue;
            g.finish({n});
            g.check(std::string(o.name()) + " " + std::string(info(t).name) + " dims " + std::to_string(dims.size()) +
                    (dims.empty() ? "" : " from " + std::to_string(dims[0])) + " layout " +
                    std::to_string(static_cast<int>(layout)) + " sizes " + std::to_string(sizes[1]));
          }
  }
}

}  // namespace
}  // namespace md::testing
