// Graphs of the driver are put together node by node, each after the one before, and found again by their kernels and
// shapes.
#include "backend/device/replay.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/device/context.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"
#include "ir/core/small_vector.h"

namespace md::device {
namespace {

thread_local LaunchReplay::Run* run_of_thread = nullptr;

SmallVector<void*, 24> pointers_to(std::span<const std::uint64_t> words) {
  SmallVector<void*, 24> all;
  for (const std::uint64_t& w : words) all.push_back(const_cast<std::uint64_t*>(&w));
  return all;
}

KernelNode kernel_node(const KeptStep& s, void** parameters) {
  const auto& [grid, block, shared] = s.shape;
  return {.function = s.function->handle,
          .grid = {grid[0], grid[1], grid[2]},
          .block = {block[0], block[1], block[2]},
          .shared_bytes = static_cast<unsigned>(shared),
          .parameters = parameters};
}

CopyNode copy_node(std::span<const std::uint64_t> words) {
  constexpr int kOfDevice = 2;
  CopyNode n;
  n.to.memory_type = n.from.memory_type = kOfDevice;
  n.to.device = words[0], n.from.device = words[1];
  n.to.pitch = n.from.pitch = n.bytes = words[2];
  n.to.height = n.from.height = 1;
  return n;
}

FillNode fill_node(std::span<const std::uint64_t> words) {
  return {.to = words[0], .pitch = words[2], .value = static_cast<unsigned>(words[1]), .width = words[2]};
}

bool same_shape(const LaunchShape& a, const LaunchShape& b) {
  return std::ranges::equal(a.grid, b.grid) && std::ranges::equal(a.block, b.block) && a.shared_bytes == b.shared_bytes;
}

bool same_step(const KeptStep& a, const KeptStep& b) {
  return a.kind == b.kind && a.function == b.function && a.count == b.count && same_shape(a.shape, b.shape);
}

void give_step(const KeptSteps& kept, const KeptStep& s, DeviceState& state, StreamNumber number) {
  Stream& stream = state.streams->at(number);
  const auto words = kept.words_of(s);
  const Driver& d = driver();
  switch (s.kind) {
    case KeptStep::Kind::Kernel:
      return launch(*s.function, s.shape, words, number, s.line);
    case KeptStep::Kind::Copy:
      return check(d.copy_within(words[0], words[1], words[2], stream.handle), "cuMemcpyDtoDAsync", state.ordinal,
                   number);
    case KeptStep::Kind::Fill:
      return check(d.set_bytes(words[0], static_cast<unsigned char>(words[1]), words[2], stream.handle),
                   "cuMemsetD8Async", state.ordinal, number);
  }
}

// `writes`: some of the steps write what the program sees; which ones is not known here. `begun`: others were given
// before.
void give_one_by_one(const KeptSteps& kept, DeviceState& state, StreamNumber number, bool writes, bool begun) {
  for (const KeptStep& s : kept.steps) {
    try {
      give_step(kept, s, state, number);
    } catch (const OpError& e) {
      if (!writes || !begun) throw;
      throw FailedAfterWrite(e);
    }
    begun = true;
  }
}

std::string kernels_of(const KeptSteps& kept) {
  constexpr std::size_t kMost = 8;
  std::string text;
  std::size_t listed = 0;
  const auto& all = kept.steps;
  for (std::size_t i = 0, alike; i < all.size(); i += alike) {
    if (listed++ == kMost) return text + fmt::format(" and {} more", all.size() - i);
    const KeptStep& s = all[i];
    for (alike = 1; i + alike < all.size() && all[i + alike].function == s.function && all[i + alike].line == s.line &&
                    all[i + alike].kind == s.kind;)
      ++alike;
    if (!text.empty()) text += ", ";
    text += s.kind == KeptStep::Kind::Copy ? "a copy" : s.kind == KeptStep::Kind::Fill ? "a fill" : s.function->name;
    if (alike > 1) text += fmt::format(" {} times", alike);
    if (s.line) text += fmt::format(" (for {})", s.line);
  }
  return text;
}

}  // namespace

struct LaunchReplay::Graph {
  explicit Graph(int on) : device(on) {}
  ~Graph() {
    DeviceState* const state = device_in_use(device);
    if (!state || driver().context_set(state->context)) return;
    if (runnable) driver().graph_runnable_destroy(runnable);  // one that runs goes to its end
    if (graph) driver().graph_destroy(graph);
  }
  Graph(const Graph&) = delete;

  Code add(const KeptStep& s) {
    const Driver& d = driver();
    const auto words = kept.words_of(s);
    Handle node = nullptr;
    const Handle* const after = nodes.empty() ? nullptr : &nodes.back();
    const std::size_t count = nodes.empty() ? 0 : 1;
    Code code = 0;
    if (s.kind == KeptStep::Kind::Kernel) {
      auto parameters = pointers_to(words);
      const KernelNode n = kernel_node(s, parameters.data());
      code = d.graph_add_kernel(&node, graph, after, count, &n);
    } else if (s.kind == KeptStep::Kind::Copy) {
      const CopyNode n = copy_node(words);
      code = d.graph_add_copy(&node, graph, after, count, &n, context);
    } else {
      const FillNode n = fill_node(words);
      code = d.graph_add_fill(&node, graph, after, count, &n, context);
    }
    nodes.push_back(node);
    return code;
  }

  Code change(std::size_t number, std::span<const std::uint64_t> words) {
    const Driver& d = driver();
    const KeptStep& s = kept.steps[number];
    if (s.kind == KeptStep::Kind::Kernel) {
      auto parameters = pointers_to(words);
      const KernelNode n = kernel_node(s, parameters.data());
      return d.graph_change_kernel(runnable, nodes[number], &n);
    }
    if (s.kind == KeptStep::Kind::Copy) {
      const CopyNode n = copy_node(words);
      return d.graph_change_copy(runnable, nodes[number], &n, context);
    }
    const FillNode n = fill_node(words);
    return d.graph_change_fill(runnable, nodes[number], &n, context);
  }

  const int device;
  Handle context = nullptr, graph = nullptr, runnable = nullptr;
  std::vector<std::shared_ptr<DeviceModule>> modules;  // of its kernels: they stay loaded
  std::vector<Handle> nodes;
  KeptSteps kept;  // as the nodes are now
  const char* kernels = nullptr;
};

LaunchReplay::LaunchReplay(int device, bool writes) : device_(device), writes_(writes) {}
LaunchReplay::~LaunchReplay() = default;

LaunchReplay::Graph* LaunchReplay::find(const KeptSteps& kept) {
  const auto found = std::ranges::find_if(
      graphs_, [&](const auto& g) { return std::ranges::equal(g->kept.steps, kept.steps, same_step); });
  if (found == graphs_.end()) return nullptr;
  std::rotate(found, found + 1, graphs_.end());
  return graphs_.back().get();
}

void LaunchReplay::note(const KeptSteps& kept, std::string why) {
  constexpr std::size_t kMost = 64;  // nobody may be asking
  if (notes_.size() < kMost) notes_.push_back({kept.steps.size(), std::move(why), kernels_of(kept)});
  noted_.store(true, std::memory_order_relaxed);
}

LaunchReplay::Graph* LaunchReplay::make(const KeptSteps& kept) {
  const Driver& d = driver();
  auto made = std::make_unique<Graph>(device_);
  made->context = use_device(device_).context;
  made->kept = kept;
  const char* function = "cuGraphCreate";
  Code code = d.graph_create(&made->graph, 0);
  for (const KeptStep& s : kept.steps) {
    if (code) break;
    function = "a node of a graph";
    code = made->add(s);
  }
  if (!code) {
    function = "cuGraphInstantiate";
    code = d.graph_instantiate(&made->runnable, made->graph, 0);
  }
  if (is_lasting(code)) check(code, function, device_);
  if (code) {
    ++failures_;
    note(kept, error_text(code, function, device_));
    return nullptr;
  }
  for (const KeptStep& s : kept.steps)
    if (s.function) made->modules.push_back(s.function->module->shared_from_this());
  made->kernels = kept_name(kernels_of(kept));
  note(kept, "");
  if (graphs_.size() >= most_graphs_) graphs_.erase(graphs_.begin());
  graphs_.push_back(std::move(made));
  return graphs_.back().get();
}

void LaunchReplay::run(const KeptSteps& kept, StreamNumber number, std::size_t part) {
  DeviceState& state = use_device(device_);
  const auto one_by_one = [&] { give_one_by_one(kept, state, number, writes_, part > 1); };
  const std::lock_guard guard(lock_);
  most_graphs_ = std::max(most_graphs_, 2 * part);
  if (kept.steps.size() < 2) {  // nothing is saved
    if (!std::exchange(single_, true)) note(kept, "there is but one launch");
    return one_by_one();
  }
  Graph* g = find(kept);
  const bool fresh = !g;
  if (fresh && failures_ < kMostFailures) g = make(kept);
  if (!g) return one_by_one();
  Code code = 0;
  for (std::size_t i = 0; !fresh && !code && i < kept.steps.size(); ++i) {
    KeptStep& s = g->kept.steps[i];
    const auto words = kept.words_of(kept.steps[i]);
    if (std::ranges::equal(words, g->kept.words_of(s))) continue;
    code = g->change(i, words);
    std::ranges::copy(words, g->kept.words.begin() + static_cast<std::ptrdiff_t>(s.first));
  }
  Stream& stream = state.streams->at(number);
  const char* const function = code ? "a change of a graph's node" : "cuGraphLaunch";
  if (!code) code = driver().graph_launch(g->runnable, stream.handle);
  if (is_lasting(code)) check(code, function, device_, number);
  if (code) {  // short of memory, as a rule: nothing of it runs, and what its nodes are is not known
    ++failures_;
    note(kept, error_text(code, function, device_));
    graphs_.pop_back();
    return one_by_one();
  }
  const KeptStep& last = kept.steps.back();
  state.streams->note_launch(stream, last.function ? last.function->name : "a copy", last.line, g->kernels);
}

std::vector<ReplayNote> LaunchReplay::take_notes() {
  const std::lock_guard guard(lock_);
  noted_.store(false, std::memory_order_relaxed);
  return std::exchange(notes_, {});
}

// --- A run

// Where somebody captures the stream, all goes there as it is. A driver that does not tell is left alone.
LaunchReplay::Run::Run(LaunchReplay& of) : of_(of), stream_(current_stream(of.device_)) {
  if (run_of_thread || launches_are_waited_for()) return;
  int capturing = 0;
  DeviceState& state = use_device(of.device_);
  if (driver().capture_asked(state.streams->at(stream_).handle, &capturing) || capturing) return;
  keeps_ = true;
  run_of_thread = this;
}

LaunchReplay::Run::~Run() {
  if (!keeps_) return;
  run_of_thread = nullptr;
  if (failed_) return;
  try {
    DeviceState& state = use_device(of_.device_);
    for (const KeptStep& s : kept_.steps) give_step(kept_, s, state, stream_);
  } catch (...) {  // the error that ended the run is told
  }
}

void LaunchReplay::Run::give() noexcept {
  run_of_thread = nullptr;
  try {
    if (!kept_.steps.empty() && !failed_) of_.run(kept_, stream_, ++parts_);
  } catch (...) {
    failed_ = std::current_exception();
  }
  kept_.steps.clear(), kept_.words.clear();
  run_of_thread = this;
}

void LaunchReplay::Run::finish() {
  if (!keeps_) return;
  give();
  run_of_thread = nullptr;
  keeps_ = false;
  if (failed_) std::rethrow_exception(failed_);
}

void give_kept() noexcept {
  if (run_of_thread) [[unlikely]]
    run_of_thread->give();
}

bool keep(int device, StreamNumber stream, KeptStep step, std::span<const std::uint64_t> words) {
  LaunchReplay::Run* const r = run_of_thread;
  if (!r) [[likely]]
    return false;
  if (r->of_.device() != device || r->stream_ != stream) return r->give(), false;
  step.first = r->kept_.words.size(), step.count = words.size();
  r->kept_.words.insert(r->kept_.words.end(), words.begin(), words.end());
  r->kept_.steps.push_back(step);
  return true;
}

}  // namespace md::device
