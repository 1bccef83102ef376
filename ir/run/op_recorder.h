// Calls of ops on stand-ins of tensors, written down as a graph instead of computed: what handlers of the program make
// of an operator, of which only the calls on plain tensors are left.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"
#include "ir/tensor/batched.h"

namespace md {

// Results have memory that nobody computes: who asks for elements has to be refused (frontend/tensors/known_values.h).
class OpRecorder {
 public:
  using Allocate = Ref<Storage> (*)(std::size_t bytes);
  explicit OpRecorder(Allocate allocate) : allocate_(allocate) {}
  OpRecorder(const OpRecorder&) = delete;

  void add_input(const TensorRef& t);
  Arg call(const Op& op, std::span<const Arg> bound);
  void write(const Op& op, std::span<const Arg> bound);

  std::size_t count() const { return steps_.size(); }
  // Whether a call so far has written to what shares memory with `t`.
  bool is_written(const TensorImpl& t) const;
  // The tensors from before step `first` that later steps, or `results`, use; constants are none.
  std::vector<TensorRef> used_later(std::size_t first, std::span<const TensorRef> results) const;
  // Steps [first, end) as a traced graph. Throws OpError for tensors that none of this has made.
  std::unique_ptr<Graph> graph(std::size_t first, std::size_t end, std::span<const TensorRef> inputs,
                               std::span<const TensorRef> outputs) const;

 private:
  struct Step {
    const Op* op;
    std::vector<Arg> args;
    bool in_place;
    std::vector<TensorRef> results;
    bool several;
  };
  TensorRef known(const TensorRef& t);
  void note(const TensorRef& t, int made_by);
  std::vector<Arg> known_args(std::span<const Arg> bound);
  int made_by(const TensorRef& t) const;

  const Allocate allocate_;
  std::vector<Step> steps_;
  struct Made {
    TensorRef tensor;  // keeps its address
    int by;            // a step; -1: an input; -2: a constant
  };
  std::unordered_map<const TensorImpl*, Made> made_;
  std::unordered_map<const Storage*, std::vector<TensorRef>> sharing_;
};

// Of this thread; null: ops are computed.
OpRecorder* op_recorder();

// Calls of this thread go to the recorder until the end of this.
class CallsRecorded {
 public:
  explicit CallsRecorded(OpRecorder* recorder);
  ~CallsRecorded();
  CallsRecorded(const CallsRecorded&) = delete;

 private:
  OpRecorder* before_;
};

}  // namespace md
