// What a graph has written is taken back after a failure: overlapping parts, layouts, the random stream.
#include <gtest/gtest.h>

#include "ir/run/undo_log.h"
#include "ir/tensor/generator.h"

namespace md {
namespace {

TensorRef counting(std::int64_t n) {
  TensorRef t = empty_tensor({n}, DType::Float32);
  for (std::int64_t i = 0; i < n; ++i) t->as<float>()[i] = static_cast<float>(i);
  return t;
}

TensorRef part(const TensorRef& t, std::int64_t from, std::int64_t n, std::int64_t step = 1) {
  return make_ref<TensorImpl>(t->storage, t->dtype, DimVec{n}, DimVec{step}, t->offset + from);
}

void overwrite(UndoLog& log, const TensorRef& t, float value) {
  log.before_write(t);
  for (std::int64_t i = 0; i < t->sizes[0]; ++i) t->as<float>()[i * t->strides[0]] = value;
  ++t->storage->version;
}

TEST(UndoLog, OverlappingPartsComeBackAsTheyWereFirst) {
  const TensorRef x = counting(20);
  UndoLog log;
  overwrite(log, part(x, 4, 3), 100);
  overwrite(log, part(x, 5, 8), 101);
  overwrite(log, part(x, 14, 2), 102);
  overwrite(log, part(x, 0, 5, 4), 103);
  overwrite(log, part(x, 6, 1), 104);
  overwrite(log, x, 105);
  log.take_back();
  for (std::int64_t i = 0; i < 20; ++i) EXPECT_EQ(x->as<float>()[i], static_cast<float>(i));
  EXPECT_EQ(x->storage->version, 0U);
}

TEST(UndoLog, MemoryOfTheGraphIsLeftAlone) {
  const TensorRef own = counting(3), shown = counting(3);
  UndoLog log;
  log.made(own);
  log.made(shown);
  log.shown(shown);
  overwrite(log, own, 7);
  overwrite(log, shown, 7);
  log.take_back();
  EXPECT_EQ(own->as<float>()[1], 7);
  EXPECT_EQ(shown->as<float>()[1], 1);
}

TEST(UndoLog, LayoutsAndTheRandomStreamComeBack) {
  const TensorRef x = counting(6), empty = empty_tensor({0}, DType::Float32);
  const Generator before = state_of(default_generator());
  UndoLog log;
  log.before_write(x);
  log.before_write(empty);
  x->sizes = DimVec{2, 3};
  x->strides = DimVec{3, 1};
  set_state(default_generator(), {before.seed, before.offset + 5});
  log.take_back();
  EXPECT_EQ(x->sizes, DimVec{6});
  EXPECT_EQ(x->strides, DimVec{1});
  EXPECT_EQ(state_of(default_generator()).offset, before.offset);
}

}  // namespace
}  // namespace md
