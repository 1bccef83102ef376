// Recording streams into graphs.
#include <algorithm>
#include <set>

#include "graphs.h"

namespace emulated {
namespace {

struct Captures {
  std::mutex lock;
  std::vector<std::shared_ptr<Capture>> all;  // under way
};

Captures& captures() {
  static Captures& made = *new Captures;
  return made;
}

std::atomic<std::uint64_t> next_capture = 1;
thread_local CaptureMode mode_of_thread = kGlobalCapture;

void add_reached(const Node* node, std::set<const Node*>& reached) {
  std::vector<const Node*> open{node};
  while (!open.empty()) {
    const Node* next = open.back();
    open.pop_back();
    if (!reached.insert(next).second) continue;
    open.insert(open.end(), next->after.begin(), next->after.end());
  }
}

// Is all that was recorded waited for by the stream where it began?
bool is_joined(const Capture& capture, const Stream& origin) {
  std::set<const Node*> reached;
  for (const Node* node : origin.frontier) add_reached(node, reached);
  return reached.size() == capture.graph->nodes.size();
}

void forget(const std::shared_ptr<Capture>& capture) {
  const std::lock_guard guard(captures().lock);
  std::erase(captures().all, capture);
}

// Under streams_lock(): the streams go on doing what they are asked for.
void let_go(const std::shared_ptr<Capture>& capture) {
  for (const auto& weak : capture->joined) {
    const auto stream = weak.lock();
    if (!stream || stream->capture != capture) continue;
    stream->capture = nullptr;
    stream->frontier.clear();
  }
  forget(capture);
}

CUresult begin(CUstream handle, int mode) {
  check(mode >= kGlobalCapture && mode <= kRelaxedCapture);
  const auto stream = stream_of(handle);
  check(!stream->legacy, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  const std::lock_guard guard(streams_lock());
  check(!stream->capture, CUDA_ERROR_ILLEGAL_STATE);
  auto made = std::make_shared<Capture>();
  made->id = next_capture++;
  made->graph = std::make_shared<Graph>();
  made->origin = stream;
  made->mode = static_cast<CaptureMode>(mode);
  made->thread = std::this_thread::get_id();
  made->joined.push_back(stream);
  stream->capture = made;
  stream->frontier.clear();
  const std::lock_guard list(captures().lock);
  captures().all.push_back(std::move(made));
  return CUDA_SUCCESS;
}

CUresult end(CUstream handle, CUgraph* graph) {
  check(graph);
  *graph = nullptr;
  const auto stream = stream_of(handle);
  const std::lock_guard guard(streams_lock());
  const auto capture = stream->capture;
  check(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  if (capture->origin.lock() != stream) {
    capture->invalid = true;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  check(capture->mode == kRelaxedCapture || capture->thread == std::this_thread::get_id(),
        CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool joined = is_joined(*capture, *stream);
  let_go(capture);
  if (capture->invalid) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (!joined) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
  *graph = handles<Graph>().add<CUgraph>(capture->graph);
  return CUDA_SUCCESS;
}

}  // namespace

void record_work(Stream& stream, Work work) {
  check(!stream.capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  auto node = std::make_unique<Node>();
  node->work = std::move(work);
  node->after = std::move(stream.frontier);
  stream.frontier = {node.get()};
  stream.capture->graph->nodes.push_back(std::move(node));
}

void invalidate(Capture& capture) { capture.invalid = true; }

void abandon_capture(Stream& stream) {
  const std::lock_guard guard(streams_lock());
  if (!stream.capture) return;
  const auto capture = stream.capture;
  capture->invalid = true;
  if (capture->origin.lock().get() == &stream) let_go(capture);
}

void refuse_while_capturing() {
  if (mode_of_thread == kRelaxedCapture) return;
  const std::lock_guard guard(captures().lock);
  bool refused = false;
  for (const auto& capture : captures().all) {
    const bool mine = capture->thread == std::this_thread::get_id();
    const bool forbids = capture->mode == kGlobalCapture ? mine || mode_of_thread == kGlobalCapture
                                                         : capture->mode == kThreadLocalCapture && mine;
    if (!forbids) continue;
    capture->invalid = true;
    refused = true;
  }
  check(!refused, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

void refuse_captured(Stream& stream) {
  const std::lock_guard guard(streams_lock());
  if (!stream.capture) return;
  stream.capture->invalid = true;
  throw Failure{CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED};
}

}  // namespace emulated

EMULATED_STREAM_API(cuStreamBeginCapture_v2, _ptsz, Context, CUstream stream, int mode) { return begin(stream, mode); }
EMULATED_STREAM_API(cuStreamEndCapture, _ptsz, Context, CUstream stream, CUgraph* graph) { return end(stream, graph); }

EMULATED_STREAM_API(cuStreamIsCapturing, _ptsz, Context, CUstream handle, int* status) {
  check(status);
  const auto stream = any_stream_of(handle);
  const std::lock_guard guard(streams_lock());
  *status = !stream->capture ? kNotCapturing : stream->capture->invalid ? kCaptureInvalidated : kCapturing;
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuStreamGetCaptureInfo_v2, _ptsz, Context, CUstream handle, int* status, std::uint64_t* id,
                    CUgraph* graph, const CUgraphNode** after, std::size_t* count) {
  check(status);
  const auto stream = any_stream_of(handle);
  const std::lock_guard guard(streams_lock());
  const auto& capture = stream->capture;
  *status = !capture ? kNotCapturing : capture->invalid ? kCaptureInvalidated : kCapturing;
  if (!capture) return CUDA_SUCCESS;
  if (id) *id = capture->id;
  if (graph) *graph = reinterpret_cast<CUgraph>(capture->graph.get());
  if (after) *after = reinterpret_cast<const CUgraphNode*>(stream->frontier.data());
  if (count) *count = stream->frontier.size();
  return CUDA_SUCCESS;
}

EMULATED_API(cuThreadExchangeStreamCaptureMode, Driver, int* mode) {
  check(mode && *mode >= kGlobalCapture && *mode <= kRelaxedCapture);
  const CaptureMode before = mode_of_thread;
  mode_of_thread = static_cast<CaptureMode>(*mode);
  *mode = before;
  return CUDA_SUCCESS;
}
