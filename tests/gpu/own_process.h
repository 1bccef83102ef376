// Tests of the driver's side: each in a process of its own, for a driver is loaded once, with what the environment says
// then, and some of its errors last.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "backend/device/cuda_device.h"
#include "ir/core/error.h"
#include "ir/tensor/device_runtime.h"

namespace md {

using Environment = std::vector<std::pair<const char*, std::string>>;

inline DeviceRuntime& cuda() { return *device_runtime(DeviceType::Cuda); }
inline Device cuda_device(int index) { return Device{DeviceType::Cuda, static_cast<std::int8_t>(index)}; }

// Runs `body` in a process of its own on the emulated driver. What it expects and does not hold fails here, too.
inline void in_own_process(const Environment& environment, const std::function<void()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  const auto seen = [] {
    return ::testing::UnitTest::GetInstance()->current_test_info()->result()->total_part_count();
  };
  if (child == 0) {
    const int before = seen();
    setenv("MINIDYNAMO_CUDA_DRIVER", MINIDYNAMO_EMULATED_DRIVER, 1);
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    try {
      install_cuda();
      body();
    } catch (const std::exception& e) {
      ADD_FAILURE() << "unexpected: " << e.what();
    }
    std::fflush(nullptr);
    _exit(seen() > before ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0) << "as waitpid() tells it";
}

// The error's kind and text; the text is empty if there was none.
template <class F>
std::pair<ErrorKind, std::string> error_of(F&& f) {
  try {
    f();
  } catch (const OpError& e) {
    return {e.kind, e.what()};
  }
  return {ErrorKind::Assertion, ""};
}

}  // namespace md
