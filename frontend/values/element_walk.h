// Walks over the elements of containers, which may contain themselves.
#pragma once

#include <algorithm>
#include <vector>

#include "frontend/trace/value.h"

namespace md {

// Marks a container whose elements are being walked. The walk ends where it comes upon the same container again, or
// where containers nest deeper than the stack should follow.
class ElementWalk {
 public:
  explicit ElementWalk(const Value* container) {
    ends_ = open_.size() >= kDeepest || std::find(open_.begin(), open_.end(), container) != open_.end();
    open_.push_back(container);
  }
  ~ElementWalk() { open_.pop_back(); }
  ElementWalk(const ElementWalk&) = delete;
  ElementWalk& operator=(const ElementWalk&) = delete;
  bool ends() const { return ends_; }

 private:
  static constexpr std::size_t kDeepest = 500;
  static inline thread_local std::vector<const Value*> open_;
  bool ends_;
};

}  // namespace md
