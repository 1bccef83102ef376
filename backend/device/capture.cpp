// Captured graphs: the driver's, with the memory and the status words that their kernels were given.
#include <utility>

#include "backend/device/context.h"
#include "backend/device/launch.h"
#include "backend/device/memory_cache.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"

namespace md::device {
namespace {

class CapturedGraph final : public DeviceGraph {
 public:
  CapturedGraph(int device, Handle runnable, MemoryPool* pool, std::vector<AwaitedStatus> words, const char* last)
      : device_(device),
        runnable_(runnable),
        pool_(pool),
        words_(std::make_shared<const std::vector<AwaitedStatus>>(std::move(words))),
        last_(last) {}
  ~CapturedGraph() override {
    DeviceState* const state = device_in_use(device_);
    if (!state || driver().context_set(state->context)) return;
    driver().context_synchronize();  // it may still run
    if (runnable_) driver().graph_runnable_destroy(runnable_);
    state->streams->statuses().give_back(*words_);
    state->memory->release_pool(pool_);
  }

  void replay(StreamNumber number) override {
    DeviceState& state = use_device(device_);
    Stream& stream = state.streams->at(number);
    state.streams->statuses().replayed(number, words_);
    if (!runnable_) return;
    check(driver().graph_launch(runnable_, stream.handle), "cuGraphLaunch", device_, number);
    if (last_) state.streams->note_launch(stream, last_, nullptr);
    if (launches_are_waited_for()) synchronize_stream(device_, number);
  }

  int device() const { return device_; }
  MemoryPool* pool() const { return pool_; }

 private:
  const int device_;
  const Handle runnable_;  // null: nothing was captured
  MemoryPool* const pool_;
  const std::shared_ptr<const std::vector<AwaitedStatus>> words_;
  const char* const last_;  // kernel
};

}  // namespace

void begin_capture(int device, StreamNumber number, const DeviceGraph* shares) {
  DeviceState& state = use_device(device);
  Stream& stream = state.streams->at(number);
  if (!stream.handle) {
    throw OpError(
        ErrorKind::Runtime,
        "CUDA graphs must be captured on a non-default stream. (However, after capture, it's ok to replay them "
        "on the default stream.)");
  }
  const auto* const other = static_cast<const CapturedGraph*>(shares);
  if (other && other->device() != device)
    throw OpError(ErrorKind::Runtime, "a CUDA graph shares memory only with graphs of its own device");
  constexpr int kAllowsOtherCalls = 2;
  MemoryPool* const pool = state.memory->begin_capture(number, other ? other->pool() : nullptr);
  if (const Code code = driver().capture_begin(stream.handle, kAllowsOtherCalls)) {
    state.memory->end_capture();
    state.memory->release_pool(pool);
    check(code, "cuStreamBeginCapture", device, number);
  }
  state.streams->statuses().begin_capture(number);
}

std::shared_ptr<DeviceGraph> end_capture(int device, StreamNumber number) {
  DeviceState& state = use_device(device);
  Stream& stream = state.streams->at(number);
  const Driver& d = driver();
  Handle graph = nullptr, runnable = nullptr;
  const char* function = "cuStreamEndCapture";
  Code code = d.capture_end(stream.handle, &graph);
  if (int capturing = 0; code && d.capture_asked(stream.handle, &capturing) == 0 && capturing) {
    Handle unwanted = nullptr;  // while a capture is open nobody can wait for the device
    if (d.capture_end(stream.handle, &unwanted) == 0 && unwanted) d.graph_destroy(unwanted);
  }
  std::vector<AwaitedStatus> words = state.streams->statuses().end_capture();
  MemoryPool* const pool = state.memory->end_capture();
  if (!pool) check(code ? code : kInvalidValue, function, device, number);
  if (!code && graph) {
    function = "cuGraphInstantiate";
    code = d.graph_instantiate(&runnable, graph, 0);
  }
  if (graph) d.graph_destroy(graph);
  auto made = std::make_shared<CapturedGraph>(device, runnable, pool, std::move(words), stream.back(0).kernel.load());
  check(code, function, device, number);  // what was taken for it goes back with `made`
  return made;
}

}  // namespace md::device
