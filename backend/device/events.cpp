// The driver's events by number.
#include "backend/device/events.h"

#include <mutex>
#include <unordered_map>

#include "backend/device/context.h"
#include "backend/device/statuses.h"
#include "backend/device/streams.h"
#include "ir/core/error.h"

namespace md::device {
namespace {

constexpr unsigned kBlocking = 1, kNotTimed = 2;

struct Event {
  bool timed = false, blocking = false;
  Handle handle = nullptr;  // null: never recorded
  int device = 0;
  StreamNumber stream = 0;
  std::uint64_t mark = 0;  // of the stream's statuses
};

struct Events {
  std::mutex lock;
  std::unordered_map<EventNumber, Event> made;
  EventNumber next = 1;
};
Events& all_events() {
  static auto* const events = new Events;
  return *events;
}

Event event_of(EventNumber number) {
  driver();  // not in a forked child: another thread may have had the lock
  Events& all = all_events();
  const std::lock_guard guard(all.lock);
  const auto found = all.made.find(number);
  if (found == all.made.end()) throw OpError(ErrorKind::Value, "there is no event " + std::to_string(number));
  return found->second;
}

}  // namespace

EventNumber make_event(bool timed, bool blocking) {
  driver();
  Events& all = all_events();
  const std::lock_guard guard(all.lock);
  all.made.emplace(all.next, Event{timed, blocking});
  return all.next++;
}

void destroy_event(EventNumber number) noexcept {
  if (!is_usable()) return;
  Events& all = all_events();
  const std::lock_guard guard(all.lock);
  const auto found = all.made.find(number);
  if (found == all.made.end()) return;
  const Event e = found->second;
  all.made.erase(found);
  if (DeviceState* const state = e.handle ? device_in_use(e.device) : nullptr) {
    driver().context_set(state->context);
    driver().event_destroy(e.handle);
  }
}

void record_event(EventNumber number, int device, StreamNumber stream) {
  DeviceState& state = use_device(device);
  const Handle at = state.streams->at(stream).handle;
  event_of(number);
  Events& all = all_events();
  const std::lock_guard guard(all.lock);
  Event& e = all.made.at(number);
  if (e.handle && e.device != device) {
    throw OpError(ErrorKind::Runtime, "the event belongs to cuda:" + std::to_string(e.device) +
                                          ", it cannot be recorded on a stream of cuda:" + std::to_string(device));
  }
  if (!e.handle) {
    const unsigned flags = (e.blocking ? kBlocking : 0) | (e.timed ? 0 : kNotTimed);
    check(driver().event_create(&e.handle, flags), "cuEventCreate", device);
    e.device = device;
  }
  e.stream = stream;
  e.mark = state.streams->statuses().mark();
  check(driver().event_record(e.handle, at), "cuEventRecord", device, stream);
}

bool event_is_done(EventNumber number) {
  const Event e = event_of(number);
  if (!e.handle) return true;
  use_device(e.device);
  const Code code = driver().event_query(e.handle);
  if (code == kNotReady) return false;
  check(code, "cuEventQuery", e.device, e.stream);
  return true;
}

void synchronize_event(EventNumber number) {
  const Event e = event_of(number);
  if (!e.handle) return;
  DeviceState& state = use_device(e.device);
  check(driver().event_synchronize(e.handle), "cuEventSynchronize", e.device, e.stream);
  state.streams->statuses().report(e.stream, e.mark);
}

void wait_event(int device, StreamNumber stream, EventNumber number) {
  const Event e = event_of(number);
  if (!e.handle) return;
  DeviceState& state = use_device(device);
  check(driver().stream_wait(state.streams->at(stream).handle, e.handle, 0), "cuStreamWaitEvent", device, stream);
}

double milliseconds_between(EventNumber begin, EventNumber end) {
  const Event first = event_of(begin), last = event_of(end);
  if (!first.handle || !last.handle)
    throw OpError(ErrorKind::Runtime, "Both events must be recorded before calculating elapsed time.");
  if (!first.timed || !last.timed)
    throw OpError(ErrorKind::Runtime, "Both events must be created with enable_timing=True to calculate elapsed time.");
  if (!event_is_done(begin) || !event_is_done(end))
    throw OpError(ErrorKind::Runtime, "Both events must be completed before calculating elapsed time.");
  float milliseconds = 0;
  use_device(first.device);
  check(driver().event_elapsed(&milliseconds, first.handle, last.handle), "cuEventElapsedTime", first.device);
  return milliseconds;
}

void order_streams(int device, StreamNumber stream, int other_device, StreamNumber other) {
  DeviceState& before = use_device(other_device);
  const Driver& d = driver();
  Handle event = nullptr;
  check(d.event_create(&event, kNotTimed), "cuEventCreate", other_device);
  Code code = d.event_record(event, before.streams->at(other).handle);
  const char* function = "cuEventRecord";
  if (!code) {
    function = "cuStreamWaitEvent";
    code = d.stream_wait(use_device(device).streams->at(stream).handle, event, 0);
  }
  d.event_destroy(event);  // takes effect when it has come
  check(code, function, device, stream);
}

}  // namespace md::device
