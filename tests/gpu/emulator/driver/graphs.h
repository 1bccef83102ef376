// Graphs: work recorded from streams instead of being done, to be done again and again.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "streams.h"

namespace emulated {

struct Node {
  Work work;
  std::vector<Node*> after;
};

struct Graph {
  std::vector<std::unique_ptr<Node>> nodes;  // each after those it comes after
};

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
