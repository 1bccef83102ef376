// Contexts, and streams that really run beside the host: a queue each, worked off by a thread of its own. Order between
// streams comes from events and from the legacy default stream's rules alone.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "../stream_order.h"
#include "devices.h"
#include "handles.h"

namespace emulated {

struct PinnedBlock;
struct Capture;
struct Node;

enum class NodeKind {
  Kernel = 0,
  Copy = 1,
  Fill = 2,
  Host = 3,
  Graph = 4,
  Empty = 5,
  WaitEvent = 6,
  RecordEvent = 7,
  Allocate = 10,
  Free = 11
};

// One thing that a stream does; in a graph it is done again and again.
struct Work {
  NodeKind kind = NodeKind::Empty;
  std::string what;                                // for messages: the kernel, the function called
  std::function<CUresult()> run;                   // nothing: only its place in the order matters
  std::vector<std::shared_ptr<PinnedBlock>> host;  // memory of the host that it reads or writes
};

// A place in a stream's order, and whether it has been reached.
struct Ticket {
  Work work;
  StreamOrder order;
  std::vector<std::shared_ptr<Ticket>> after;  // of other streams; gone once they are done
  std::atomic<bool> done = false;
  std::chrono::steady_clock::time_point at;  // when it was done
  void wait() const { done.wait(false, std::memory_order_acquire); }
};

class Stream;

class Context : public std::enable_shared_from_this<Context> {
 public:
  Context(Device& on, unsigned with_flags, bool is_primary);
  Device& device;
  unsigned flags;
  const bool primary;
  const std::uint64_t id;
  std::atomic<bool> alive = true;
  std::map<int, std::size_t> limits;

  CUresult error() const { return static_cast<CUresult>(error_.load(std::memory_order_acquire)); }
  // The first thing that goes wrong on the device stays: all later calls return it.
  void fail(CUresult code);
  std::shared_ptr<Stream> make_stream(unsigned flags, int priority);
  void forget(const Stream* stream);
  std::shared_ptr<Stream> legacy();
  std::shared_ptr<Stream> per_thread();
  std::vector<std::shared_ptr<Stream>> streams();
  void synchronize();  // waits for all that was asked for before

 private:
  std::atomic<int> error_ = 0;
  std::mutex lock_;
  std::shared_ptr<Stream> legacy_;
  std::map<std::thread::id, std::shared_ptr<Stream>> per_thread_;
  std::vector<std::shared_ptr<Stream>> streams_;
};

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  Stream(std::shared_ptr<Context> of, unsigned with_flags, int with_priority, bool is_legacy);
  const std::shared_ptr<Context> context;
  const unsigned flags;
  const int priority;
  const bool legacy;
  const std::uint64_t id;

  bool blocking() const { return !legacy && !(flags & kNonBlocking); }
  // Under streams_lock():
  std::shared_ptr<Ticket> last;      // the newest, done or not; null before the first
  StreamOrder order;                 // of it, and what the next work comes after besides
  std::shared_ptr<Capture> capture;  // what the stream is recorded into
  std::vector<Node*> frontier;       // what the next recorded work comes after

  void push(std::shared_ptr<Ticket> ticket);

 private:
  void work_off();
  void run(Ticket& ticket, std::uint64_t number);
  std::mutex lock_;
  std::condition_variable arrived_;
  std::deque<std::shared_ptr<Ticket>> queue_;
  bool started_ = false;
};

struct Event {
  std::shared_ptr<Context> context;
  unsigned flags = 0;
  // Under streams_lock():
  std::shared_ptr<Ticket> recorded;
  std::shared_ptr<Capture> capture;  // where it was recorded while its stream was
  std::vector<Node*> frontier;
};

// Orders what threads ask of streams, captures and events.
std::mutex& streams_lock();

// Queues the work, or records it where the stream is captured: then there is no ticket.
std::shared_ptr<Ticket> enqueue(Stream& stream, Work work, const std::vector<std::shared_ptr<Ticket>>& after = {});
// What the stream is given from here on comes after the ticket, which is done.
void come_after(Stream& stream, const Ticket& ticket);
// The host has seen the end of it: what is asked for from here on comes after.
void seen_by_host(const Ticket& ticket);
// Queues it and waits for its end.
CUresult enqueue_and_wait(Stream& stream, Work work);

std::shared_ptr<Context> current_context();  // throws where there is none, or a dead one
void set_current_context(std::shared_ptr<Context> context);
std::vector<std::shared_ptr<Context>>& context_stack();  // of the thread

// The stream of a handle, which belongs to the current context.
std::shared_ptr<Stream> stream_of(CUstream handle);
// The same for a stream of any context.
std::shared_ptr<Stream> any_stream_of(CUstream handle);

// The library is being unloaded or the process ends: nothing is begun any more, and what runs is waited for.
void stop_streams();
// True in functions that a stream calls on the host, which may not call the driver.
bool in_host_function();
CUresult call_host(const std::function<void()>& function);

// What fails with a code of these is broken for good.
bool is_sticky(int code);

}  // namespace emulated
