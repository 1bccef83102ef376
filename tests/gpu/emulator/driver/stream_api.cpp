// The functions on streams and events.
#include <algorithm>

#include "graphs.h"
#include "streams.h"

namespace emulated {
namespace {

std::shared_ptr<Ticket> newest(Stream& stream) {
  const std::lock_guard guard(streams_lock());
  return stream.last;
}

CUresult make_stream(CUstream* stream, unsigned flags, int priority) {
  check(stream && (flags & ~static_cast<unsigned>(kNonBlocking)) == 0);
  auto made = current_context()->make_stream(flags, std::clamp(priority, -5, 0));
  *stream = handles<Stream>().add<CUstream>(std::move(made));
  return CUDA_SUCCESS;
}

std::shared_ptr<Event> event_of(CUevent handle) {
  auto event = handles<Event>().get(handle);
  check(event->context->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return event;
}

// What the event was recorded as last; null if never, or if all before it was done already.
std::shared_ptr<Ticket> ticket_of(Event& event) {
  const std::lock_guard guard(streams_lock());
  if (event.capture) {
    invalidate(*event.capture);
    throw Failure{CUDA_ERROR_CAPTURED_EVENT};
  }
  return event.recorded;
}

void record(Event& event, Stream& stream) {
  check(event.context == stream.context, CUDA_ERROR_INVALID_HANDLE);
  {
    const std::lock_guard guard(streams_lock());
    if (stream.capture) {
      check(!stream.capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
      event.capture = stream.capture;
      event.frontier = stream.frontier;
      event.recorded = nullptr;
      return;
    }
  }
  auto ticket = enqueue(stream, {NodeKind::RecordEvent, "event", {}, {}});
  const std::lock_guard guard(streams_lock());
  event.capture = nullptr;
  event.frontier.clear();
  event.recorded = std::move(ticket);
}

// Does a captured stream wait, or does a stream wait for a captured event? Then the graph gets the edges.
bool wait_in_capture(Stream& stream, Event& event) {
  const std::lock_guard guard(streams_lock());
  if (!event.capture && !stream.capture) return false;
  if (stream.capture) check(!stream.capture->invalid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (!event.capture) {
    if (!event.recorded) return true;  // never recorded: nothing to wait for
    invalidate(*stream.capture);
    throw Failure{CUDA_ERROR_STREAM_CAPTURE_ISOLATION};
  }
  const auto from = event.capture;
  if (stream.capture && stream.capture != from) {
    invalidate(*from);
    invalidate(*stream.capture);
    throw Failure{CUDA_ERROR_STREAM_CAPTURE_MERGE};
  }
  check(!stream.legacy, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  if (!stream.capture) {
    // An event of a recording that has ended is nothing to wait for any more.
    const auto origin = from->origin.lock();
    check(origin && origin->capture == from, CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
    stream.capture = from;
    stream.frontier.clear();
    from->joined.push_back(stream.weak_from_this());
  }
  for (Node* node : event.frontier) {
    if (std::find(stream.frontier.begin(), stream.frontier.end(), node) == stream.frontier.end())
      stream.frontier.push_back(node);
  }
  return true;
}

struct Callback {
  CUstreamCallback function;
  void* with;
  CUstream stream;
};

}  // namespace
}  // namespace emulated

EMULATED_API(cuStreamCreate, Context, CUstream* stream, unsigned flags) { return make_stream(stream, flags, 0); }

EMULATED_API(cuStreamCreateWithPriority, Context, CUstream* stream, unsigned flags, int priority) {
  return make_stream(stream, flags, priority);
}

// What is queued is still done.
EMULATED_API(cuStreamDestroy_v2, Context, CUstream stream) {
  check(reinterpret_cast<std::uintptr_t>(stream) > kPerThreadStream);
  const auto gone = handles<Stream>().remove(stream);
  abandon_capture(*gone);
  const auto last = newest(*gone);
  if (!last || last->done) {
    gone->context->forget(gone.get());
    return CUDA_SUCCESS;
  }
  enqueue(*gone, {NodeKind::Empty,
                  "end of a stream",
                  [gone] {
                    gone->context->forget(gone.get());
                    return CUDA_SUCCESS;
                  },
                  {}});
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuStreamSynchronize, _ptsz, Context, CUstream handle) {
  const auto stream = any_stream_of(handle);
  refuse_captured(*stream);
  if (const auto last = newest(*stream)) {
    last->wait();
    seen_by_host(*last);
  }
  return stream->context->error();
}

EMULATED_STREAM_API(cuStreamQuery, _ptsz, Context, CUstream handle) {
  const auto stream = any_stream_of(handle);
  refuse_captured(*stream);
  const auto last = newest(*stream);
  if (last && !last->done) return CUDA_ERROR_NOT_READY;
  if (last) seen_by_host(*last);
  return stream->context->error();
}

EMULATED_STREAM_API(cuStreamWaitEvent, _ptsz, Context, CUstream handle, CUevent event_handle, unsigned flags) {
  check((flags & ~1u) == 0);
  const auto stream = any_stream_of(handle);
  const auto event = event_of(event_handle);
  if (wait_in_capture(*stream, *event)) return CUDA_SUCCESS;
  const auto before = ticket_of(*event);
  if (!before) return CUDA_SUCCESS;
  if (before->done)
    come_after(*stream, *before);
  else
    enqueue(*stream, {NodeKind::WaitEvent, "wait for an event", {}, {}}, {before});
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuStreamGetPriority, _ptsz, Context, CUstream stream, int* priority) {
  check(priority);
  *priority = any_stream_of(stream)->priority;
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuStreamGetFlags, _ptsz, Context, CUstream stream, unsigned* flags) {
  check(flags);
  *flags = any_stream_of(stream)->flags;
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuStreamGetId, _ptsz, Context, CUstream stream, unsigned long long* id) {
  check(id);
  *id = any_stream_of(stream)->id;
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuStreamGetCtx, _ptsz, Context, CUstream stream, CUcontext* context) {
  check(context);
  *context = reinterpret_cast<CUcontext>(any_stream_of(stream)->context.get());
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuLaunchHostFunc, _ptsz, Context, CUstream stream, CUhostFn function, void* with) {
  check(function);
  enqueue(*stream_of(stream),
          {NodeKind::Host, "host function", [function, with] { return call_host([&] { function(with); }); }, {}});
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuStreamAddCallback, _ptsz, Context, CUstream handle, CUstreamCallback function, void* with,
                    unsigned flags) {
  check(function && flags == 0);
  const auto stream = stream_of(handle);
  refuse_captured(*stream);
  const Context* context = stream->context.get();
  enqueue(
      *stream,
      {NodeKind::Host, "callback", [=] { return call_host([&] { function(handle, context->error(), with); }); }, {}});
  return CUDA_SUCCESS;
}

EMULATED_API(cuEventCreate, Context, CUevent* event, unsigned flags) {
  check(event && (flags & ~7u) == 0);
  check(!(flags & kInterprocessEvent), CUDA_ERROR_NOT_SUPPORTED);
  auto made = std::make_shared<Event>();
  made->context = current_context();
  made->flags = flags;
  *event = handles<Event>().add<CUevent>(std::move(made));
  return CUDA_SUCCESS;
}

EMULATED_API(cuEventDestroy_v2, Context, CUevent event) {
  handles<Event>().remove(event);
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuEventRecord, _ptsz, Context, CUevent event, CUstream stream) {
  record(*event_of(event), *any_stream_of(stream));
  return CUDA_SUCCESS;
}

EMULATED_STREAM_API(cuEventRecordWithFlags, _ptsz, Context, CUevent event, CUstream stream, unsigned flags) {
  check((flags & ~1u) == 0);
  record(*event_of(event), *any_stream_of(stream));
  return CUDA_SUCCESS;
}

EMULATED_API(cuEventQuery, Context, CUevent handle) {
  const auto event = event_of(handle);
  refuse_while_capturing();
  const auto ticket = ticket_of(*event);
  if (ticket && !ticket->done) return CUDA_ERROR_NOT_READY;
  if (ticket) seen_by_host(*ticket);
  return event->context->error();
}

EMULATED_API(cuEventSynchronize, Context, CUevent handle) {
  const auto event = event_of(handle);
  if (const auto ticket = ticket_of(*event)) {
    ticket->wait();
    seen_by_host(*ticket);
  }
  return event->context->error();
}

EMULATED_API(cuEventElapsedTime, Context, float* milliseconds, CUevent begin, CUevent end) {
  check(milliseconds);
  const auto first = event_of(begin), second = event_of(end);
  check(!((first->flags | second->flags) & kUntimedEvent), CUDA_ERROR_INVALID_HANDLE);
  check(first->context == second->context, CUDA_ERROR_INVALID_HANDLE);
  const auto from = ticket_of(*first), to = ticket_of(*second);
  check(from && to, CUDA_ERROR_INVALID_HANDLE);
  if (!from->done || !to->done) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(to->at - from->at).count();
  return CUDA_SUCCESS;
}

EMULATED_API(cuEventElapsedTime_v2, Context, float* milliseconds, CUevent begin, CUevent end) {
  return cuEventElapsedTime_does(milliseconds, begin, end);
}
