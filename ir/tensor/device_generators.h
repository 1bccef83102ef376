// Random streams of devices: each has a default one, as the CPU has; the same seed gives the same numbers on all.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/tensor/generator.h"
#include "registry/device.h"

namespace md {

// That of a device, which begins where seed_devices() said last, or anywhere.
Generator& default_generator(Device d);
// All of them start anew, those that nobody has used yet too.
void seed_devices(std::uint64_t seed);

// The default streams of the CPU and of all devices in use, as they were.
class DefaultStreams {
 public:
  DefaultStreams();  // now
  void put_back() const;
  bool operator==(const DefaultStreams& o) const;
  Generator& of(Device d);

 private:
  friend class DrawAgain;
  Generator cpu_;
  std::vector<Generator> devices_;  // by ordinal
};

// While it lives, this thread draws what was drawn from then on.
class DrawAgain {
 public:
  explicit DrawAgain(const DefaultStreams& from);
  ~DrawAgain();
  DrawAgain(const DrawAgain&) = delete;
  DrawAgain& operator=(const DrawAgain&) = delete;

 private:
  DefaultStreams streams_;
  DefaultStreams* before_;
  DrawFrom cpu_;
};

// While it lives, this thread draws from the stream of `d`, unless the call has named a generator.
class DrawOnDevice {
 public:
  explicit DrawOnDevice(Device d);
  ~DrawOnDevice();
  DrawOnDevice(const DrawOnDevice&) = delete;
  DrawOnDevice& operator=(const DrawOnDevice&) = delete;

 private:
  Generator* before_;
};

}  // namespace md
