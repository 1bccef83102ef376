// Random numbers drawn in vector lanes: on every CPU level the reference's bits, from the same place in the stream.
#include "ir/tensor/generator.h"
#include "ir/tensor/philox.h"
#include "tests/backend/blocks_fixture.h"
#include "tests/ir/calls.h"

namespace md {
namespace {

// From a counter whose lower word overflows soon.
constexpr Generator kStart{0x123456789abcdef0, 0xfffffff0};

using RunCall = std::function<void(Engine&, std::span<const TensorRef>)>;

// Runs the call with the reference and on every level, into tensors of the same layout: bits, and the counters taken.
void expect_same(const DimVec& sizes, DType t, Layout layout, const RunCall& run) {
  const auto result = [&](Engine& e) {
    const TensorRef out = random_tensor(sizes, t, layout, 1);
    set_state(default_generator(), kStart);
    run(e, std::span(&out, 1));
    return std::pair(all_bits(*out), state_of(default_generator()).offset);
  };
  const auto want = result(reference_engine());
  for (blocks::BlockEngine* e : engines()) {
    const auto got = result(*e);
    ASSERT_EQ(want.second, got.second) << "counters";
    for (std::size_t i = 0; i < want.first.size(); ++i) {
      ASSERT_EQ(want.first[i], got.first[i]) << info(t).name << ", element " << i << " of " << want.first.size();
    }
  }
}

RunCall call_of(OpId id, std::vector<Arg> args) {
  return [id, args = std::move(args)](Engine& e, std::span<const TensorRef> out) { e.run(op(id), args, out); };
}

Arg sizes_of(const DimVec& sizes) {
  ListArg l;
  for (const std::int64_t s : sizes) l.items.emplace_back(Size(s));
  return l;
}

// Rests of vectors and blocks, and more than one task.
const DimVec kSizes[] = {{0}, {1}, {2}, {3}, {5}, {17}, {31}, {64}, {1023}, {1025}, {2, 3, 171}, {8193}, {20011}};
constexpr DType kFloats[] = {DType::Float32, DType::Float64, DType::Float16, DType::BFloat16};

TEST(BlockRandom, UniformAndNormalNumbersAreTheReferences) {
  for (const DimVec& sizes : kSizes) {
    for (const DType t : kFloats) {
      for (const OpId id : {id::Rand, id::Randn}) {
        ASSERT_NO_FATAL_FAILURE(expect_same(sizes, t, Layout::RowMajor, call_of(id, {sizes_of(sizes), t})))
            << op(id).name();
      }
    }
  }
}

TEST(BlockRandom, IntegersAreTheReferences) {
  const std::pair<std::int64_t, std::int64_t> ranges[] = {
      {0, 1}, {0, 2}, {-5, 6}, {0, 100}, {INT64_MIN, INT64_MAX}, {-1, INT64_MAX}, {0, std::int64_t{1} << 62}};
  for (const auto& [low, high] : ranges) {
    for (const DType t : kTypes) {
      const Arg at = Size(low), to = Size(high);
      ASSERT_NO_FATAL_FAILURE(
          expect_same({1031}, t, Layout::RowMajor, call_of(id::Randint, {at, to, sizes_of({1031}), t})))
          << low << " to " << high;
    }
  }
}

TEST(BlockRandom, DrawsByProbabilityAreTheReferences) {
  for (const DType t : kTypes) {
    for (const Layout layout : {Layout::RowMajor, Layout::Transposed, Layout::Stepped}) {
      const DimVec sizes{37, 53};
      const TensorRef self = random_tensor(sizes, t, layout, 2);
      for (const double p : {0.0, 1.0, 0.3, 0x1p-32, 0x1.8p-32, 1 - 0x1p-53, 5e-324}) {
        ASSERT_NO_FATAL_FAILURE(expect_same(sizes, t, layout, call_of(id::BernoulliP, {self, p}))) << p;
      }
      for (const DType of : kFloats) {
        const TensorRef p = random_tensor(sizes, of, layout, 3);
        for (std::int64_t i = 0; i < 37 * 53; ++i) {
          const std::int64_t offset = i / 53 * p->strides[0] + i % 53 * p->strides[1];
          put_element(of, const_cast<char*>(element_at(*p, offset)), static_cast<double>(i % 101) / 100);
        }
        ASSERT_NO_FATAL_FAILURE(expect_same(sizes, t, layout, call_of(id::BernoulliTensor, {self, p})));
        if (t == of) {
          ASSERT_NO_FATAL_FAILURE(expect_same(sizes, t, layout, call_of(id::Bernoulli, {p})));
        }
        const auto row = make_ref<TensorImpl>(p->storage, of, sizes, DimVec{0, p->strides[1]}, p->offset);
        ASSERT_NO_FATAL_FAILURE(expect_same(sizes, t, layout, call_of(id::BernoulliTensor, {self, row})));
      }
    }
  }
}

TEST(BlockRandom, TargetsOfAnyStridesAreFilled) {
  const DimVec sizes{41, 57};
  for (const Layout layout : {Layout::Transposed, Layout::Stepped, Layout::Offset}) {
    for (const DType t : kFloats) {
      ASSERT_NO_FATAL_FAILURE(expect_same(sizes, t, layout, [&](Engine& e, std::span<const TensorRef> out) {
        // The reference writes rand and randn of contiguous results alone.
        const TensorRef dense = empty_tensor(sizes, t);
        const bool reference = &e == &reference_engine();
        e.run(op(id::Randn), std::vector<Arg>{sizes_of(sizes), t}, reference ? std::span(&dense, 1) : out);
        if (!reference) return;
        for (std::int64_t i = 0; i < 41 * 57; ++i) {
          const std::int64_t offset = i / 57 * out[0]->strides[0] + i % 57 * out[0]->strides[1];
          std::memcpy(const_cast<char*>(element_at(*out[0], offset)), element_at(*dense, i), item_size(t));
        }
      }));
    }
  }
}

TEST(BlockRandom, BadProbabilitiesAreRefusedBeforeAnythingIsDrawn) {
  const TensorRef p = random_tensor({5000}, DType::Float32, Layout::RowMajor, 1);
  for (int i = 0; i < 5000; ++i) p->as<float>()[i] = 0.5f;
  for (const float bad : {-0.5f, 1.5f, NAN}) {
    p->as<float>()[4321] = bad;
    for (blocks::BlockEngine* e : engines()) {
      const TensorRef out = empty_tensor({5000}, DType::Float32);
      set_state(default_generator(), kStart);
      EXPECT_THROW(e->run(op(id::Bernoulli), std::vector<Arg>{p}, std::span(&out, 1)), OpError);
      EXPECT_EQ(state_of(default_generator()).offset, kStart.offset);
    }
  }
}

}  // namespace
}  // namespace md
