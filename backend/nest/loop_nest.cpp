// Values and stores added to a nest, with the axes they vary over.
#include "backend/nest/loop_nest.h"

#include <algorithm>

#include "ir/core/error.h"

namespace md {

int LoopNest::add(NestValue v) {
  v.axes = v.repeated;
  v.stage = 0;
  for (int a : v.args) {
    v.axes |= values[static_cast<std::size_t>(a)].axes;
    v.stage = std::max(v.stage, values[static_cast<std::size_t>(a)].stage);
  }
  if (v.kind == NestValue::Kind::Load) {
    const SizeVec& strides = accesses[static_cast<std::size_t>(v.access)].strides;
    for (std::size_t i = 0; i < strides.size(); ++i)
      if (!strides[i].is_const(0)) v.axes |= AxisMask{1} << i;
  } else if (v.kind == NestValue::Kind::Reduce) {
    v.axes &= ~reduced;
    ++v.stage;
  }
  values.push_back(std::move(v));
  return static_cast<int>(values.size()) - 1;
}

void LoopNest::store(int value, Access to) {
  AxisMask spanned = 0;
  for (std::size_t i = 0; i < to.strides.size(); ++i)
    if (!to.strides[i].is_const(0)) spanned |= AxisMask{1} << i;
  const NestValue& v = values[static_cast<std::size_t>(value)];
  if (const AxisMask missing = spanned & reduced & ~v.axes) {
    NestValue again;
    again.kind = NestValue::Kind::Convert;
    again.dtype = v.dtype;
    again.args.push_back(value);
    again.repeated = missing;
    value = add(std::move(again));
  }
  stores.push_back({value, std::move(to)});
}

Access LoopNest::access(int buffer, DType dtype, SizeVec strides) const {
  for (std::size_t i = 0; i < strides.size(); ++i)
    if (extents[i].is_const(1)) strides[i] = 0;
  return {buffer, dtype, std::move(strides)};
}

StageWork work_of_stage(const LoopNest& nest, int stage, AxisMask loop_axes) {
  StageWork work;
  for (std::size_t i = 0; i < nest.values.size(); ++i) {
    const NestValue& v = nest.values[i];
    if (v.kind == NestValue::Kind::Reduce && v.stage == stage + 1)
      work.reduces.push_back(static_cast<int>(i)), work.roots.push_back(v.args[0]);
  }
  for (std::size_t i = 0; i < nest.stores.size(); ++i) {
    const int value = nest.stores[i].value;
    const NestValue& stored = nest.values[static_cast<std::size_t>(value)];
    if ((stored.axes & loop_axes) && stored.stage == stage)
      work.stores.push_back(static_cast<int>(i)), work.roots.push_back(value);
  }
  return work;
}

std::int64_t likely(Size s) {
  try {
    return hint(s);
  } catch (const InternalError&) {
    return 0;
  }
}

}  // namespace md
