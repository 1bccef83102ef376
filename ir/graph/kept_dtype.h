// The default dtype while a graph is gone through that sets it.
#pragma once

#include "ir/graph/graph.h"
#include "ir/graph/op_table.h"

namespace md {

inline constexpr const char* kSetDefaultDType = "set_default_dtype";  // target of State nodes

// Nodes may set it; afterwards it is what it was. What the program is left with, the plan of the entry sets.
class KeptDefaultDType {
 public:
  KeptDefaultDType() : before_(default_dtype()) {}
  ~KeptDefaultDType() {
    if (changed_) set_default_dtype(before_);
  }
  KeptDefaultDType(const KeptDefaultDType&) = delete;
  KeptDefaultDType& operator=(const KeptDefaultDType&) = delete;

  void apply(const Node& state) {
    if (state.target != kSetDefaultDType) return;
    changed_ = true;
    set_default_dtype(state.args.at(0).get<DType>());
  }

 private:
  DType before_;
  bool changed_ = false;
};

}  // namespace md
