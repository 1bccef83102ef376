// Arguments of a call are bound to the signature of an op that fits; what the complaint says where none does.
#include "tests/ir/calls.h"

namespace md {
namespace {

using testing::list;
using testing::raised;
using testing::vec;

BoundCall bound(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  return md::bind(name, std::vector<Arg>(args), kwargs);
}
std::string_view chosen(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  return op(bound(name, args, kwargs).op).name();
}
std::string complaint(std::string_view name, std::initializer_list<Arg> args, const KwArgs& kwargs = {}) {
  const auto r = raised([&] { bound(name, args, kwargs); });
  EXPECT_EQ(r.kind, ErrorKind::Type);
  return r.text;
}

TEST(Bind, EverySignatureParsesAndIsFoundByName) {
  for (const Op& o : all_ops()) {
    EXPECT_EQ(find_op(o.name()), o.id);
    EXPECT_FALSE(overloads(o.public_name).empty());
    EXPECT_FALSE(o.decl->doc.empty()) << o.name();
    EXPECT_NE(o.schema.results, 0) << o.name();
  }
  EXPECT_EQ(find_op("no_such_op"), kNoOp);
  EXPECT_TRUE(overloads("no_such_op").empty());
}

TEST(Bind, OverloadIsChosenByWhatFits) {
  const Arg x = vec<float>({1, 2});
  EXPECT_EQ(chosen("max", {x}), "max");
  EXPECT_EQ(chosen("max", {x, 0}), "max.dim");
  EXPECT_EQ(chosen("max", {x, x}), "max.other");
  EXPECT_EQ(chosen("max", {x}, {{"dim", 0}, {"keepdim", true}}), "max.dim");
  EXPECT_EQ(chosen("add", {x, x}), "add");
  EXPECT_EQ(chosen("add", {x, x}, {{"alpha", 2}}), "add.alpha");
  EXPECT_EQ(chosen("pow", {x, 2}), "pow.scalar");
  EXPECT_EQ(chosen("pow", {2, x}), "pow");
  EXPECT_EQ(chosen("arange", {5}), "arange");
  EXPECT_EQ(chosen("arange", {1, 5}), "arange.start");
  EXPECT_EQ(chosen("arange", {1, 5, 2}), "arange.step");
  EXPECT_EQ(chosen("to", {x, DType::Int64}), "to");
  EXPECT_EQ(chosen("to", {x, "cpu"}), "to.device");
  EXPECT_EQ(chosen("to", {x, x}), "to.other");
  EXPECT_EQ(chosen("split", {x, 1}), "split");
  EXPECT_EQ(chosen("split", {x, list({1, 1})}), "split.sizes");
}

TEST(Bind, IntListsTakeVarargsListsAndLoneInts) {
  const Arg x = vec<float>({1, 2});
  EXPECT_EQ(bound("view", {x, 1, 2}).args[1], list({1, 2}));
  EXPECT_EQ(bound("view", {x, list({1, 2})}).args[1], list({1, 2}));
  EXPECT_EQ(bound("view", {x, 2}).args[1], list({2}));
  EXPECT_EQ(bound("zeros", {2, 3}).args[0], list({2, 3}));
  EXPECT_EQ(bound("sum", {x, 0}).args[1], list({0}));
  EXPECT_EQ(bound("sum", {x, 0, true}).args[2], Arg(true));
}

TEST(Bind, DefaultsAndSecondNames) {
  const Arg x = vec<float>({1, 2});
  const BoundCall c = bound("sum", {x}, {{"axis", 0}, {"keepdims", true}});
  EXPECT_EQ(c.args[1], list({0}));
  EXPECT_EQ(c.args[2], Arg(true));
  EXPECT_TRUE(c.args[3].is_none());
  EXPECT_EQ(bound("sin", {}, {{"input", x}}).args[0], x);
}

TEST(Bind, ComplaintsReadLikePythons) {
  const Arg x = vec<float>({1, 2});
  EXPECT_EQ(complaint("sin", {x, x}), "sin() takes 1 positional argument but 2 were given");
  EXPECT_EQ(complaint("sum", {x, 0, true, 1}), "sum() takes from 1 to 3 positional arguments but 4 were given");
  EXPECT_EQ(complaint("clamp", {x}, {{"foo", 1}}), "clamp() got an unexpected keyword argument 'foo'");
  EXPECT_EQ(complaint("sum", {x, 0}, {{"dim", 0}}), "sum() got multiple values for argument 'dim'");
  EXPECT_EQ(complaint("sin", {}), "sin() missing 1 required positional argument: 'input'");
  EXPECT_EQ(complaint("sin", {1}), "sin(): argument 'input' (position 1) must be Tensor, not int");
  EXPECT_EQ(complaint("sum", {x, 0, 1}), "sum(): argument 'keepdim' (position 3) must be bool, not int");
  EXPECT_EQ(complaint("zeros", {2.5}), "zeros(): argument 'size' (position 1) must be tuple of ints, not float");
  EXPECT_EQ(complaint("zeros", {list({2, 2.5})}),
            "zeros(): argument 'size' (position 1) must be tuple of ints, but found element of type float at pos 1");
  EXPECT_EQ(complaint("permute", {x, x}), "permute(): argument 'dims' (position 2) must be tuple of ints, not Tensor");
}

TEST(Bind, ComplaintListsTheFormsWhenNoneIsNearer) {
  const Arg x = vec<float>({1, 2});
  const std::string text = complaint("max", {x, "a"});
  EXPECT_NE(text.find("max() does not take (Tensor, str)"), std::string::npos) << text;
  EXPECT_NE(text.find("max(Tensor self, int dim"), std::string::npos) << text;
}

}  // namespace
}  // namespace md
