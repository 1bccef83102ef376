// Queues of streams and the threads that work them off.
#include "streams.h"

#include <algorithm>
#include <random>

#include "graphs.h"
#include "host_memory.h"
#include "record.h"

namespace emulated {
namespace {

std::atomic<std::uint64_t> next_id = 1;
std::atomic<bool> stopped = false;
std::atomic<int> running = 0;
thread_local bool calling_host = false;

void finish(Ticket& ticket) {
  for (const auto& block : ticket.work.host) block->in_flight.fetch_sub(1, std::memory_order_acq_rel);
  ticket.work = {};
  ticket.after.clear();
  ticket.at = std::chrono::steady_clock::now();
  ticket.done.store(true, std::memory_order_release);
  ticket.done.notify_all();
}

void dawdle(std::uint64_t stream, std::uint64_t number) {
  const Settings& set = settings();
  if (set.delay != Delay::Random) return;
  std::seed_seq seeds{set.delay_seed, stream, number};
  std::minstd_rand random(seeds);
  random.discard(3);
  if (random() % 4 == 0) return;  // at once, sometimes
  std::this_thread::sleep_for(std::chrono::microseconds(random() % (set.delay_most + 1)));
}

}  // namespace

namespace {
std::vector<std::uint64_t>& host_has_seen = *new std::vector<std::uint64_t>;  // by number of a stream
}

void come_after(Stream& stream, const Ticket& ticket) {
  const std::lock_guard guard(streams_lock());
  stream.order.take(ticket.order.before);
}

void seen_by_host(const Ticket& ticket) {
  const std::lock_guard guard(streams_lock());
  StreamOrder all;
  all.before = std::move(host_has_seen);
  all.take(ticket.order.before);
  host_has_seen = std::move(all.before);
}

std::mutex& streams_lock() {
  static std::mutex& lock = *new std::mutex;
  return lock;
}

bool is_sticky(int code) {
  return code == 214 || code == 220 || code == 700 || code == 702 ||
         (code >= 710 && code <= 719 && code != 712 && code != 713);
}

bool in_host_function() { return calling_host; }

CUresult call_host(const std::function<void()>& function) {
  calling_host = true;
  function();
  calling_host = false;
  return CUDA_SUCCESS;
}

// --- Contexts

Context::Context(Device& on, unsigned with_flags, bool is_primary)
    : device(on), flags(with_flags), primary(is_primary), id(next_id++) {}

void Context::fail(CUresult code) {
  int none = 0;
  error_.compare_exchange_strong(none, code, std::memory_order_acq_rel);
}

std::shared_ptr<Stream> Context::make_stream(unsigned with_flags, int priority) {
  auto made = std::make_shared<Stream>(shared_from_this(), with_flags, priority, false);
  const std::lock_guard guard(lock_);
  streams_.push_back(made);
  return made;
}

void Context::forget(const Stream* stream) {
  const std::lock_guard guard(lock_);
  std::erase_if(streams_, [&](const auto& other) { return other.get() == stream; });
}

std::shared_ptr<Stream> Context::legacy() {
  const std::lock_guard guard(lock_);
  if (!legacy_) legacy_ = std::make_shared<Stream>(shared_from_this(), 0, 0, true);
  return legacy_;
}

std::shared_ptr<Stream> Context::per_thread() {
  const std::lock_guard guard(lock_);
  auto& mine = per_thread_[std::this_thread::get_id()];
  if (!mine) mine = std::make_shared<Stream>(shared_from_this(), 0, 0, false);
  return mine;
}

std::vector<std::shared_ptr<Stream>> Context::streams() {
  const std::lock_guard guard(lock_);
  std::vector<std::shared_ptr<Stream>> all = streams_;
  for (const auto& [thread, stream] : per_thread_) all.push_back(stream);
  if (legacy_) all.push_back(legacy_);
  return all;
}

void Context::synchronize() {
  std::vector<std::shared_ptr<Ticket>> newest;
  {
    const auto all = streams();
    const std::lock_guard guard(streams_lock());
    for (const auto& stream : all) {
      if (stream->last) newest.push_back(stream->last);
    }
  }
  for (const auto& ticket : newest) {
    ticket->wait();
    seen_by_host(*ticket);
  }
}

// --- Streams

Stream::Stream(std::shared_ptr<Context> of, unsigned with_flags, int with_priority, bool is_legacy)
    : context(std::move(of)), flags(with_flags), priority(with_priority), legacy(is_legacy), id(next_id++) {}

void Stream::push(std::shared_ptr<Ticket> ticket) {
  const std::lock_guard guard(lock_);
  queue_.push_back(std::move(ticket));
  if (!started_) {
    started_ = true;
    std::thread([self = shared_from_this()] { self->work_off(); }).detach();
  }
  arrived_.notify_one();
}

// The thread ends with the queue after a while, and the next work begins another.
void Stream::work_off() {
  std::uint64_t number = 0;
  for (;;) {
    std::shared_ptr<Ticket> next;
    {
      std::unique_lock guard(lock_);
      if (!arrived_.wait_for(guard, std::chrono::seconds(5), [&] { return !queue_.empty(); })) {
        started_ = false;
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    for (const auto& other : next->after) other->wait();
    run(*next, ++number);
    finish(*next);
  }
}

void Stream::run(Ticket& ticket, std::uint64_t number) {
  if (!ticket.work.run || context->error()) return;
  dawdle(id, number);
  running.fetch_add(1, std::memory_order_seq_cst);
  if (!stopped.load(std::memory_order_seq_cst)) {
    order_of_work = &ticket.order;
    CUresult code = CUDA_SUCCESS;
    try {
      code = ticket.work.run();
    } catch (const Failure& failure) {
      code = failure.code;
    } catch (const std::exception& error) {
      add_finding("emulator", ticket.work.what + ": " + error.what(), CUDA_ERROR_UNKNOWN);
      code = CUDA_ERROR_LAUNCH_FAILED;
    }
    order_of_work = nullptr;
    if (code) context->fail(code);
  }
  running.fetch_sub(1, std::memory_order_seq_cst);
}

void stop_streams() {
  stopped.store(true, std::memory_order_seq_cst);
  for (int i = 0; i < 5000 && running.load(std::memory_order_seq_cst) && !calling_host; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::shared_ptr<Ticket> enqueue(Stream& stream, Work work, const std::vector<std::shared_ptr<Ticket>>& after) {
  const auto all = stream.context->streams();
  const auto legacy = stream.blocking() ? stream.context->legacy() : nullptr;
  const std::lock_guard guard(streams_lock());
  if (stream.capture) {
    record_work(stream, std::move(work));
    return nullptr;
  }
  auto ticket = std::make_shared<Ticket>();
  ticket->work = std::move(work);
  stream.order.take(host_has_seen);
  const auto come_after = [&](const std::shared_ptr<Ticket>& other) {
    if (other) stream.order.take(other->order.before);
    if (other && !other->done.load(std::memory_order_acquire)) ticket->after.push_back(other);
  };
  for (const auto& other : after) come_after(other);
  if (stream.legacy) {
    for (const auto& other : all) {
      if (!other->blocking()) continue;
      if (other->capture) {
        invalidate(*other->capture);
        throw Failure{CUDA_ERROR_STREAM_CAPTURE_IMPLICIT};
      }
      come_after(other->last);
    }
  } else if (legacy) {
    come_after(legacy->last);
  }
  for (const auto& block : ticket->work.host) block->in_flight.fetch_add(1, std::memory_order_acq_rel);
  stream.order.stream = stream.id;
  if (stream.order.before.size() <= stream.id) stream.order.before.resize(stream.id + 1);
  stream.order.before[stream.id] = ++stream.order.count;
  ticket->order = stream.order;
  stream.last = ticket;
  stream.push(ticket);
  return ticket;
}

CUresult enqueue_and_wait(Stream& stream, Work work) {
  {
    const std::lock_guard guard(streams_lock());
    if (stream.capture) {
      invalidate(*stream.capture);
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
    }
  }
  const auto ticket = enqueue(stream, std::move(work));
  ticket->wait();
  seen_by_host(*ticket);
  return stream.context->error();
}

// --- The thread's context

std::vector<std::shared_ptr<Context>>& context_stack() {
  thread_local std::vector<std::shared_ptr<Context>> stack;
  return stack;
}

void set_current_context(std::shared_ptr<Context> context) {
  auto& stack = context_stack();
  if (!stack.empty()) stack.pop_back();
  if (context) stack.push_back(std::move(context));
}

std::shared_ptr<Context> current_context() {
  const auto& stack = context_stack();
  check(!stack.empty() && stack.back(), CUDA_ERROR_INVALID_CONTEXT);
  check(stack.back()->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
  return stack.back();
}

std::shared_ptr<Stream> any_stream_of(CUstream handle) {
  const auto number = reinterpret_cast<std::uintptr_t>(handle);
  if (number > kPerThreadStream) {
    auto found = handles<Stream>().get(handle);
    check(found->context->alive, CUDA_ERROR_CONTEXT_IS_DESTROYED);
    return found;
  }
  const bool of_thread = number == kPerThreadStream || (number == 0 && null_stream_is_per_thread);
  const auto context = current_context();
  return of_thread ? context->per_thread() : context->legacy();
}

std::shared_ptr<Stream> stream_of(CUstream handle) {
  auto stream = any_stream_of(handle);
  check(stream->context == current_context(), CUDA_ERROR_INVALID_HANDLE);
  return stream;
}

}  // namespace emulated
