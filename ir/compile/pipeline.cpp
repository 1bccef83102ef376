// The list of passes, each checked by the verifier and timed if the caller asks for it.
#include "ir/compile/pipeline.h"

#include <chrono>
#include <cstdlib>
#include <string>

#include "ir/compile/backend.h"
#include "ir/compile/passes/cse.h"
#include "ir/compile/passes/dead_code.h"
#include "ir/compile/passes/fold.h"
#include "ir/compile/passes/functionalize.h"
#include "ir/compile/passes/shrink_commits.h"
#include "ir/compile/passes/simplify.h"
#include "ir/core/error.h"
#include "ir/graph/mutation.h"
#include "ir/infer/verify.h"

namespace md {
namespace {

struct Pass {
  std::string_view name;
  void (*run)(Graph&);
};

constexpr Pass kPasses[] = {
    {"dead_code", remove_dead_code},  // what the program never uses
    {"simplify", simplify},          {"cse", merge_common_subexpressions},
    {"fold", fold_constants},        {"shrink_commits", shrink_commits},
    {"dead_code", remove_dead_code},  // what the passes before left behind
};

void run_everywhere(const Pass& pass, Graph& g) {
  for (const auto& n : g.nodes) {
    for (const auto& region : n->regions) run_everywhere(pass, *region);
  }
  if (!MD_MUTATED("pass", pass.name)) pass.run(g);
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

void check(std::string_view pass, const Graph& g) {
  try {
    verify(g);
  } catch (const InternalError& e) {
    throw InternalError("after pass " + std::string(pass) + ": " + e.what());
  }
}

bool verify_by_default() {
  const char* v = std::getenv("MINIDYNAMO_VERIFY");
  return v && *v && std::string_view(v) != "0";
}

}  // namespace

namespace {

using Clock = std::chrono::steady_clock;

void finish(std::string_view pass, const Graph& g, Clock::time_point start, const PipelineOptions& options) {
  const double seconds = seconds_since(start);
  if (options.verify) check(pass, g);
  if (options.observer) options.observer(pass, g, seconds);
}

void run_passes(Graph& g, const PipelineOptions& options) {
  for (const Pass& pass : kPasses) {
    const auto start = Clock::now();
    run_everywhere(pass, g);
    finish(pass.name, g, start, options);
  }
}

}  // namespace

std::unique_ptr<Graph> optimize(const Graph& traced, const PipelineOptions& options) {
  if (options.verify) check("tracing", traced);
  const auto start = Clock::now();
  std::unique_ptr<Graph> g = functionalize(traced);
  finish("functionalize", *g, start, options);
  run_passes(*g, options);
  return g;
}

std::unique_ptr<Graph> optimize_functional(std::unique_ptr<Graph> functional) {
  const PipelineOptions options{.verify = verify_by_default()};
  if (options.verify) check("differentiation", *functional);
  run_passes(*functional, options);
  return functional;
}

std::unique_ptr<Graph> optimize(const Graph& traced) { return optimize(traced, {.verify = verify_by_default()}); }

}  // namespace md
