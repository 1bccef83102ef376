// From a traced graph to something callable: the only way frontend/ reaches code generation.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace md {

// A compiled graph. Thread-safe. Either it succeeds and all commits are done, or it throws and no input and no random
// stream has changed. (Code of the program that it calls is not undone.)
class Kernel {
 public:
  virtual ~Kernel() = default;
  // inputs in placeholder order; `outputs` has graph-output size and is filled. An output that is an input (or the same
  // tensor twice) is that very TensorRef.
  virtual void run(std::span<TensorImpl* const> inputs, std::span<TensorRef> outputs) = 0;
  // It runs op by op under the program's grad mode: its outputs know how they were computed.
  virtual bool records_gradients() const { return false; }
};

// When machine code is made. The bits are the same in any case.
enum class CompileMode : std::uint8_t {
  Wait,        // at once
  Background,  // by another thread; until then op after op
  Measure,     // at once, and kept if the first calls find it faster than op after op
};

// How a graph is to be compiled.
struct CompileStyle {
  CompileMode mode = CompileMode::Wait;
  bool replays = false;  // on a GPU: the launches of a call are given to the driver as one graph
  bool operator==(const CompileStyle&) const = default;
};

// What a kernel has made of the launches of its calls, for logs: a CUDA graph of them, or why not.
struct ReplayReport {
  std::string graph;  // its name
  std::size_t launches = 0;
  std::string why;      // empty: there is a graph
  std::string kernels;  // "a, b, c"
};
// Called, where somebody wants to know, by the thread that runs or compiles the graph, which holds the host's lock.
using ReplayObserver = void (*)(const ReplayReport&);
void set_replay_observer(ReplayObserver observer);
void tell_replay(const ReplayReport& report);

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;
  // `functional` has been through the pipeline and is verified. Throws InternalError on a bug of ours.
  virtual std::unique_ptr<Kernel> compile(std::shared_ptr<const Graph> functional, const CompileStyle& style = {}) = 0;
  // What compile() makes of the graph, as text: the output_code artifact.
  virtual std::string code(const Graph& functional) const = 0;
  // Which of its nodes become one kernel, a line for each kernel: the fusion artifact. Empty where none are fused.
  virtual std::string fusion(const Graph& /*functional*/) const { return ""; }
  // Waits for the machine code that was asked for in the background; false: for so long it did not come.
  virtual bool wait(std::chrono::milliseconds /*most*/) { return true; }
};

// "llvm" once backend/ is linked in and installed; null for an unknown name.
Backend* find_backend(const std::string& name);
void register_backend(std::unique_ptr<Backend> backend);

// ir/compile/pipeline.cpp: functionalize, simplify, ... each verified (MINIDYNAMO_VERIFY or debug builds), printed and
// timed on demand. Traced in, functional out; `traced` is left alone. Throws NotFunctional for a graph to be
// interpreted.
std::unique_ptr<Graph> optimize(const Graph& traced);

}  // namespace md
