// Graphs: work recorded from streams instead of being done, to be done again and again.
#pragma once

#include <memory>
#include <thread>
#include <unordered_map>
#include <vector>

#include "../executor.h"
#include "streams.h"

namespace emulated {

struct Node {
  Work work;
  std::vector<Node*> after;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // each after those it comes after
};

// A copy of a graph that can be done. Its launches come one after another.
struct ReadyGraph {
  struct Step {
    Work work;
    std::vector<std::size_t> after;
  };
  std::vector<Step> steps;
  std::unordered_map<const Node*, std::size_t> numbers;  // of the nodes it was made of
  std::shared_ptr<Ticket> last;
};

// The node's handle is its address; it lives as long as its graph.
const Node& node_of(CUgraphNode node);
// A node of the graph that comes after others of it.
CUgraphNode add_node(CUgraph graph, const CUgraphNode* after, std::size_t count, Work work);

// What nodes of a graph do: one launch of a kernel, a copy within devices, a fill of bytes.
Work kernel_work(CUfunction function, Extent grid, Extent block, std::size_t shared, void** each, void** extra);
Work copy_work(const char* function, CUdeviceptr to, CUdeviceptr from, std::size_t bytes);
Work fill_work(const char* function, CUdeviceptr to, std::uint32_t pattern, std::size_t width, std::size_t count);

// A recording under way.
struct Capture {
  std::uint64_t id = 0;
  std::shared_ptr<Graph> graph;
  std::weak_ptr<Stream> origin;
  CaptureMode mode = kGlobalCapture;
  std::thread::id thread;
  bool invalid = false;
  std::vector<std::weak_ptr<Stream>> joined;  // with the origin
};

// Under streams_lock(): adds the work to the graph that the stream is recorded into.
void record_work(Stream& stream, Work work);
void invalidate(Capture& capture);
// The stream is being destroyed: a recording that began there has come to nothing.
void abandon_capture(Stream& stream);

// Throws where a capture under way forbids calls that are not recorded: see cuStreamBeginCapture's modes.
void refuse_while_capturing();
// Waits for nothing: throws if the stream is captured, which then is worth nothing.
void refuse_captured(Stream& stream);

}  // namespace emulated
