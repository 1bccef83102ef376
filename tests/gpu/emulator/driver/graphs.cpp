// Graphs made ready and launched.
#include "graphs.h"

#include <algorithm>
#include <random>

#include "host_memory.h"

namespace emulated {

namespace {

std::vector<ReadyGraph::Step> steps_of(const Graph& graph, std::unordered_map<const Node*, std::size_t>& numbers) {
  std::vector<ReadyGraph::Step> steps;
  for (const auto& node : graph.nodes) {
    ReadyGraph::Step step{node->work, {}};
    for (const Node* before : node->after) step.after.push_back(numbers.at(before));
    numbers[node.get()] = steps.size();
    steps.push_back(std::move(step));
  }
  return steps;
}

// Branches come in any order: one that is drawn anew each time where work is delayed, which shows missing edges.
CUresult run_steps(const std::vector<ReadyGraph::Step>& steps) {
  static std::atomic<unsigned> launches = 0;
  std::minstd_rand random(++launches);
  const bool any_order = settings().delay == Delay::Random;
  std::vector<std::size_t> waits_for(steps.size());
  std::vector<std::vector<std::size_t>> then(steps.size());
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    waits_for[i] = steps[i].after.size();
    for (const std::size_t before : steps[i].after) then[before].push_back(i);
    if (!waits_for[i]) open.push_back(i);
  }
  while (!open.empty()) {
    const std::size_t place = any_order ? random() % open.size() : 0;
    const std::size_t next = open[place];
    open.erase(open.begin() + static_cast<std::ptrdiff_t>(place));
    if (steps[next].work.run) {
      if (const CUresult code = steps[next].work.run()) return code;
    }
    for (const std::size_t after : then[next]) {
      if (--waits_for[after] == 0) open.push_back(after);
    }
  }
  return CUDA_SUCCESS;
}

CUresult make_ready(CUgraphExec* ready, CUgraph graph) {
  check(ready);
  auto made = std::make_shared<ReadyGraph>();
  made->steps = steps_of(*handles<Graph>().get(graph), made->numbers);
  *ready = handles<ReadyGraph>().add<CUgraphExec>(std::move(made));
  return CUDA_SUCCESS;
}

CUresult launch(CUgraphExec handle, CUstream stream_handle) {
  const auto ready = handles<ReadyGraph>().get(handle);
  const auto stream = stream_of(stream_handle);
  Work work{NodeKind::Graph, "graph", {}, {}};
  std::shared_ptr<Ticket> before;
  {
    const std::lock_guard guard(streams_lock());
    for (const auto& step : ready->steps)
      work.host.insert(work.host.end(), step.work.host.begin(), step.work.host.end());
    work.run = [steps = ready->steps] { return run_steps(steps); };
    before = ready->last;
  }
  auto ticket =
      enqueue(*stream, std::move(work), before ? std::vector{before} : std::vector<std::shared_ptr<Ticket>>{});
  const std::lock_guard guard(streams_lock());
  ready->last = std::move(ticket);
  return CUDA_SUCCESS;
}

int difference_of(const ReadyGraph& ready, const std::vector<ReadyGraph::Step>& steps) {
  if (ready.steps.size() != steps.size()) return 2;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (ready.steps[i].after != steps[i].after) return 2;
    if (ready.steps[i].work.kind != steps[i].work.kind) return 3;
  }
  return 0;
}

}  // namespace

const Node& node_of(CUgraphNode node) {
  check(node != nullptr);
  return *reinterpret_cast<const Node*>(node);
}

CUgraphNode add_node(CUgraph handle, const CUgraphNode* after, std::size_t count, Work work) {
  check(after || !count);
  const auto graph = handles<Graph>().get(handle);
  auto made = std::make_unique<Node>();
  made->work = std::move(work);
  for (std::size_t i = 0; i < count; ++i) made->after.push_back(const_cast<Node*>(&node_of(after[i])));
  graph->nodes.push_back(std::move(made));
  return reinterpret_cast<CUgraphNode>(graph->nodes.back().get());
}

}  // namespace emulated

EMULATED_API(cuGraphCreate, Driver, CUgraph* graph, unsigned flags) {
  check(graph && flags == 0);
  *graph = handles<Graph>().add<CUgraph>(std::make_shared<Graph>());
  return CUDA_SUCCESS;
}

EMULATED_API(cuGraphDestroy, Driver, CUgraph graph) {
  handles<Graph>().remove(graph);
  return CUDA_SUCCESS;
}

EMULATED_API(cuGraphAddEmptyNode, Driver, CUgraphNode* node, CUgraph handle, const CUgraphNode* after,
             std::size_t count) {
  check(node);
  *node = add_node(handle, after, count, {});
  return CUDA_SUCCESS;
}

EMULATED_API(cuGraphGetNodes, Driver, CUgraph handle, CUgraphNode* nodes, std::size_t* count) {
  check(count);
  const auto graph = handles<Graph>().get(handle);
  if (!nodes) {
    *count = graph->nodes.size();
    return CUDA_SUCCESS;
  }
  for (std::size_t i = 0; i < *count; ++i) {
    nodes[i] = i < graph->nodes.size() ? reinterpret_cast<CUgraphNode>(graph->nodes[i].get()) : nullptr;
  }
  *count = std::min(*count, graph->nodes.size());
  return CUDA_SUCCESS;
}

EMULATED_API(cuGraphNodeGetType, Driver, CUgraphNode node, int* type) {
  check(type);
  *type = static_cast<int>(node_of(node).work.kind);
  return CUDA_SUCCESS;
}

EMULATED_API(cuGraphInstantiateWithFlags, Context, CUgraphExec* ready, CUgraph graph, unsigned long long) {
  return make_ready(ready, graph);
}

EMULATED_API(cuGraphInstantiate_v2, Context, CUgraphExec* ready, CUgraph graph, CUgraphNode* wrong, char* log,
             std::size_t bytes) {
  if (wrong) *wrong = nullptr;
  if (log && bytes) *log = 0;
  return make_ready(ready, graph);
}

EMULATED_STREAM_API(cuGraphUpload, _ptsz, Context, CUgraphExec ready, CUstream stream) {
  handles<ReadyGraph>().get(ready);
  stream_of(stream);
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuGraphLaunch, _ptsz, Context, CUgraphExec ready, CUstream stream) { return launch(ready, stream); }

EMULATED_API(cuGraphExecDestroy, Driver, CUgraphExec ready) {
  handles<ReadyGraph>().remove(ready);
  return CUDA_SUCCESS;
}

EMULATED_API(cuGraphExecUpdate_v2, Context, CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo* info) {
  check(info);
  const auto ready = handles<ReadyGraph>().get(handle);
  std::unordered_map<const Node*, std::size_t> numbers;
  auto steps = steps_of(*handles<Graph>().get(graph), numbers);
  *info = {difference_of(*ready, steps), nullptr, nullptr};
  if (info->result) return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
  const std::lock_guard guard(streams_lock());
  ready->steps = std::move(steps);
  return CUDA_SUCCESS;
}
