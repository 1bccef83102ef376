// Emulated devices: their generations and their memory.
#include "devices.h"

#include <algorithm>
#include <cstring>

#include "entry.h"

namespace emulated {

const Generation& generation_of(int capability) {
  constexpr int K = 1024, M = K * K;
  static constexpr Generation rows[] = {
      {30, 16, 2048, 16, 48 * K, 48 * K, 0, 2 * M, 1'000'000, 3'000'000, 256},
      {70, 80, 2048, 32, 96 * K, 96 * K, 0, 6 * M, 1'380'000, 877'000, 4096},
      {75, 40, 1024, 16, 64 * K, 64 * K, 0, 4 * M, 1'590'000, 5'001'000, 256},
      {80, 108, 2048, 32, 164 * K, 163 * K, K, 40 * M, 1'410'000, 1'215'000, 5120},
      {86, 84, 1536, 16, 100 * K, 99 * K, K, 6 * M, 1'695'000, 9'751'000, 384},
      {87, 16, 1536, 16, 164 * K, 163 * K, K, 4 * M, 1'300'000, 3'200'000, 256},
      {89, 128, 1536, 24, 100 * K, 99 * K, K, 72 * M, 2'520'000, 10'501'000, 384},
      {90, 132, 2048, 32, 228 * K, 227 * K, K, 50 * M, 1'980'000, 2'619'000, 5120},
      {100, 148, 2048, 32, 228 * K, 227 * K, K, 126 * M, 1'965'000, 3'996'000, 8192},
      {120, 170, 1536, 24, 100 * K, 99 * K, K, 96 * M, 2'407'000, 14'001'000, 512},
  };
  const Generation* best = rows;
  for (const Generation& row : rows) {
    if (row.capability <= capability) best = &row;
  }
  return *best;
}

std::vector<std::unique_ptr<Device>>& devices() {
  static auto& all = *new std::vector<std::unique_ptr<Device>>;
  return all;
}

void make_devices() {
  for (const DeviceSetting& setting : settings().devices) {
    auto made = std::make_unique<Device>();
    made->ordinal = static_cast<int>(devices().size());
    made->setting = setting;
    made->generation = &generation_of(made->capability());
    made->name = "Emulated GPU sm_" + std::to_string(made->capability());
    std::memcpy(made->uuid.bytes, "emulated GPU 0", 14);
    made->uuid.bytes[14] = static_cast<char>(made->capability());
    made->uuid.bytes[15] = static_cast<char>(made->ordinal);
    const auto ordinal = static_cast<Address>(made->ordinal);
    made->memory = std::make_unique<DeviceMemory>(kDeviceBase + ordinal * kDeviceStride, setting.memory);
    made->pool.device = made->ordinal;
    made->current_pool = &made->pool;
    devices().push_back(std::move(made));
  }
}

Device& device_at(CUdevice ordinal) {
  check(ordinal >= 0 && static_cast<std::size_t>(ordinal) < devices().size(), CUDA_ERROR_INVALID_DEVICE);
  return *devices()[static_cast<std::size_t>(ordinal)];
}

Device* device_of(Address address) {
  for (const auto& device : devices()) {
    if (device->memory->in_range(address)) return device.get();
  }
  return nullptr;
}

Address Device::allocate(std::size_t bytes, const Context* owner, Pool* from, bool pinned) {
  const std::lock_guard guard(lock);
  if (pinned) memory->set_capacity(memory->capacity() + bytes);
  const Address made = memory->allocate(bytes);
  if (!made && pinned) memory->set_capacity(memory->capacity() - bytes);
  check(made != 0, CUDA_ERROR_OUT_OF_MEMORY);
  if (pinned) {
    pinned_bytes += bytes;
    std::memset(memory->written(made), 1, bytes);  // what the host writes there nobody sees
  }
  if (from) {
    from->used += bytes;
    from->most_used = std::max(from->most_used, from->used);
    from->most_reserved = std::max(from->most_reserved, from->used);
  }
  holdings[made] = {bytes, owner, from, pinned, false};
  return made;
}

void Device::release(Address address) {
  const std::lock_guard guard(lock);
  const auto found = holdings.find(address);
  check(found != holdings.end());
  const Holding held = found->second;
  holdings.erase(found);
  memory->release(address);
  if (held.pool) held.pool->used -= held.bytes;
  if (held.pinned) {
    pinned_bytes -= held.bytes;
    memory->set_capacity(memory->capacity() - held.bytes);
  }
}

void Device::release_all_of(const Context* owner) {
  std::vector<Address> mine;
  {
    const std::lock_guard guard(lock);
    for (const auto& [address, held] : holdings) {
      if (held.owner == owner) mine.push_back(address);
    }
  }
  for (const Address address : mine) release(address);
}

std::size_t Device::free_bytes() {
  const std::lock_guard guard(lock);
  return memory->capacity() - memory->used();
}

}  // namespace emulated
