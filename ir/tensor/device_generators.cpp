// One stream for each ordinal of CUDA devices, the only kind that draws besides the CPU.
#include "ir/tensor/device_generators.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <random>
#include <utility>

namespace md {
namespace {

constexpr int kMost = 128;  // as many as there are ordinals
constinit Generator streams[kMost] = {};
constinit std::atomic<int> used = 0;  // those below have begun
constinit std::atomic<bool> seeded = false;
constinit std::atomic<std::uint64_t> last_seed = 0;

thread_local DefaultStreams* replayed = nullptr;

std::mutex& beginning() {
  static std::mutex m;
  return m;
}

Generator first_state() {
  if (seeded) return {last_seed, 0};
  return {(std::uint64_t{std::random_device{}()} << 32) | std::random_device{}(), 0};
}

}  // namespace

Generator& default_generator(Device d) {
  if (d.is_cpu()) return default_generator();
  const int at = std::max<int>(d.index, 0);
  if (at < used.load(std::memory_order_acquire)) return streams[at];
  const std::scoped_lock lock(beginning());
  for (int i = used; i <= at; ++i) set_state(streams[i], first_state());
  used.store(std::max(at + 1, used.load()), std::memory_order_release);
  return streams[at];
}

void seed_devices(std::uint64_t seed) {
  const std::scoped_lock lock(beginning());
  last_seed = seed, seeded = true;
  for (int i = 0; i < used; ++i) set_state(streams[i], {seed, 0});
}

DefaultStreams::DefaultStreams() : cpu_(state_of(default_generator())) {
  const int n = used.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i) devices_.push_back(state_of(streams[i]));
}

// Those that began later stay: they have been drawn from by others, or start anywhere as well.
void DefaultStreams::put_back() const {
  set_state(default_generator(), cpu_);
  for (std::size_t i = 0; i < devices_.size(); ++i) set_state(streams[i], devices_[i]);
}

bool DefaultStreams::operator==(const DefaultStreams& o) const {
  const auto alike = [](const Generator& a, const Generator& b) { return a.seed == b.seed && a.offset == b.offset; };
  return alike(cpu_, o.cpu_) && std::ranges::equal(devices_, o.devices_, alike);
}

Generator& DefaultStreams::of(Device d) {
  if (d.is_cpu()) return cpu_;
  const auto at = static_cast<std::size_t>(std::max<int>(d.index, 0));
  while (devices_.size() <= at) devices_.push_back(first_state());
  return devices_[at];
}

DrawAgain::DrawAgain(const DefaultStreams& from)
    : streams_(from), before_(std::exchange(replayed, &streams_)), cpu_(streams_.cpu_) {}
DrawAgain::~DrawAgain() { replayed = before_; }

DrawOnDevice::DrawOnDevice(Device d) : before_(generator_of_call()) {
  if (before_ && !(replayed && before_ == &replayed->of(kCpu))) return;
  generator_of_call() = &(replayed ? replayed->of(d) : default_generator(d));
}
DrawOnDevice::~DrawOnDevice() { generator_of_call() = before_; }

}  // namespace md
