// How slices are made of values.
#pragma once

#include "frontend/report/graph_break.h"
#include "frontend/values/containers.h"

namespace md {

// slice(start, stop, step) and x[start:stop:step]: breaks if a bound is a tensor.
inline ValueRef slice_between(const ValueRef& start, const ValueRef& stop, const ValueRef& step) {
  if (start->kind == ValueKind::Tensor || stop->kind == ValueKind::Tensor)
    graph_break<GB0038>(start->print(), stop->print(), step->print());
  return make_ref<SliceValue>(start, stop, step);
}

}  // namespace md
