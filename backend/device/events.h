// Events: points in the work of streams, made when they are first recorded.
#pragma once

#include "ir/tensor/device_runtime.h"

namespace md::device {

EventNumber make_event(bool timed, bool blocking);
void destroy_event(EventNumber event) noexcept;
void record_event(EventNumber event, int device, StreamNumber stream);
// One that was never recorded is done, and there is nothing to wait for.
bool event_is_done(EventNumber event);
void synchronize_event(EventNumber event);  // throws what kernels have found wrong before it
void wait_event(int device, StreamNumber stream, EventNumber event);
double milliseconds_between(EventNumber begin, EventNumber end);

// Work that `stream` is given from here on runs after what `other` has been given so far, maybe on another device.
void order_streams(int device, StreamNumber stream, int other_device, StreamNumber other);

}  // namespace md::device
