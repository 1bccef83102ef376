// What a trace takes for granted of sizes that only a run knows, so that inference can go on; the graph checks it.
#pragma once

#include <utility>
#include <vector>

#include "ir/sizes/shape_env.h"

namespace md {

// While it lives, relations of this thread's unbacked sizes that do not follow from what is known are taken as they are
// in most programs, and noted. Whoever opens it puts a check of each into the graph.
class SizeAssumptions {
 public:
  SizeAssumptions() noexcept : outer_(std::exchange(current_, this)) {}
  ~SizeAssumptions() { current_ = outer_; }
  SizeAssumptions(const SizeAssumptions&) = delete;
  SizeAssumptions& operator=(const SizeAssumptions&) = delete;

  static SizeAssumptions* current() { return current_; }
  const std::vector<SizeGuard>& made() const { return made_; }
  void note(const SizeGuard& g) { made_.push_back(g); }

 private:
  static inline constinit thread_local SizeAssumptions* current_ = nullptr;
  SizeAssumptions* const outer_;
  std::vector<SizeGuard> made_;
};

// Whether `a <relation> b` is most likely, where neither may be known: sizes that have to agree do, none is 0 or 1, and
// the unknown is small.
bool is_likely(SizeRelation relation, Size a, Size b);

}  // namespace md
