// The names of these questions, and the test whether a tensor belongs to the backward being traced.
#include "frontend/values/strict_backward.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "frontend/trace/tracer.h"

namespace md {

static thread_local int looked_at = 0;

// The same as in minidynamo/autograd/strict_names.py.
static constexpr std::string_view kForbidden[] = {"layout", "is_neg", "is_conj", "is_pinned"};

StrictBackward::StrictBackward() { ++looked_at; }
StrictBackward::~StrictBackward() { --looked_at; }

bool is_forbidden_in_backward(const Tracer& t, const TensorValue& v, const std::string& name) {
  if (!looked_at || std::ranges::find(kForbidden, name) == std::end(kForbidden)) return false;
  return std::ranges::any_of(t.graphs.current->nodes, [&](const auto& n) { return n.get() == v.node; });
}

}  // namespace md
