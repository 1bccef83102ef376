// Drivers that are missing, old or incomplete; every function of the driver failing in turn; forks.
#include <fstream>
#include <regex>
#include <sstream>

#include "backend/device/driver.h"
#include "backend/device/launch.h"
#include "tests/gpu/own_process.h"
#include "tests/gpu/small_kernels.h"

namespace md {
namespace {

struct NoDriver {
  Environment environment;
  const char* reason;
};

TEST(DeviceFaults, WhyThereIsNoDevice) {
  const NoDriver kCases[] = {
      {{{"MINIDYNAMO_CUDA_DRIVER", "none"}}, "MINIDYNAMO_CUDA_DRIVER is 'none'"},
      {{{"MINIDYNAMO_CUDA_DRIVER", "/nowhere/library.so"}}, "cannot be loaded: /nowhere/library.so"},
      {{{"MINIDYNAMO_CUDA_DRIVER", "something"}}, "it may be 'emulated', 'none', the path of a library, or not set"},
      {{{"MINIDYNAMO_EMULATOR_VERSION", "11000"}}, "too old: it is for CUDA 11.0, and 12.0 or newer is needed"},
      {{{"MINIDYNAMO_EMULATOR_FAULT", "cuInit=100"}}, "cannot be initialized: "},
      {{{"MINIDYNAMO_EMULATOR_FAULT", "cuDeviceGetCount=999"}}, "does not tell its devices: "},
      {{{"MINIDYNAMO_EMULATOR_DEVICES", "none"}}, "CUDA_ERROR_NO_DEVICE"},
  };
  for (const NoDriver& c : kCases) {
    in_own_process(c.environment, [&] {
      EXPECT_EQ(cuda().device_count(), 0);
      EXPECT_NE(cuda().why_unavailable().find(c.reason), std::string::npos) << cuda().why_unavailable();
      const auto [kind, text] = error_of([] { cuda().allocate(8, 0); });
      EXPECT_EQ(kind, ErrorKind::Runtime);
      EXPECT_EQ(text.find("CUDA is not available: "), 0u) << text;
      EXPECT_FALSE(cuda().is_pinned(&kind));
      cuda().empty_cache();
    });
  }
}

// What touches most functions. The number is checked where nothing fails.
int program() {
  cuda().set_current_stream(0, 0);
  const auto module = device::load_module(kSmallKernels, 0);
  const StreamNumber stream = cuda().make_stream(0, 0);
  const Ref<Storage> s = cuda().allocate(400, 0), pinned = cuda().allocate_pinned(400);
  int sum = 0, back[100] = {};
  for (const StreamNumber at : {StreamNumber{0}, stream}) {
    cuda().set_current_stream(0, at);
    cuda().fill(s->data(), 0, 0, 400);
    const std::uint64_t words[] = {reinterpret_cast<std::uint64_t>(s->data()), 100};
    if (at) cuda().begin_capture(0, at, nullptr);
    device::launch(module->function("add_one"), {{1, 1, 1}, {128, 1, 1}, 0}, words, at);
    const std::uint64_t complaint[] = {device::expect_status(module->function("complain"), at), 0};
    device::launch(module->function("complain"), {{1, 1, 1}, {1, 1, 1}, 0}, complaint, at);
    if (at) cuda().end_capture(0, at)->replay(at);
    cuda().copy(pinned->data(), kCpu, s->data(), cuda_device(0), 400, true);
    cuda().copy(back, kCpu, s->data(), cuda_device(0), 400, false);
    const EventNumber event = cuda().make_event(true, false);
    cuda().record_event(event, 0, at);
    cuda().wait_event(0, 0, event);
    cuda().synchronize_event(event);
    cuda().destroy_event(event);
    for (const int i : back) sum += i;
  }
  cuda().record_stream(*s, 0);
  cuda().copy(s->data(), cuda_device(0), back, kCpu, 400, false);
  cuda().copy(s->data(), cuda_device(0), s->data(), cuda_device(0), 400, false);
  cuda().synchronize(0);
  cuda().set_current_stream(0, 0);
  return sum;
}

std::vector<std::string> functions_used() {
  std::ifstream file(MINIDYNAMO_SOURCE "/backend/device/driver.cpp");
  std::stringstream text;
  text << file.rdbuf();
  const std::string all = text.str();
  std::vector<std::string> names;
  const std::regex name("\\{\"(cu[A-Za-z0-9_]+)\", place_of");
  for (std::sregex_iterator at(all.begin(), all.end(), name), end; at != end; ++at) names.push_back((*at)[1]);
  return names;
}

// Whatever fails: an error of a device's kind or none, and (unless the error lasts) the next round is right.
void expect_recovery() {
  bool right = false, refused = false;
  std::string last;
  for (int round = 0; round < 4 && !right; ++round) {
    const auto [kind, text] = error_of([&] { right = program() == 200; });
    if (right) break;
    EXPECT_TRUE(kind == ErrorKind::Device || kind == ErrorKind::DeviceMemory || kind == ErrorKind::Runtime) << text;
    EXPECT_FALSE(text.empty()) << "a wrong result and no error";
    last = text;
    refused |=
        text.find("Nothing more can be done") != std::string::npos || text.find("not available") != std::string::npos;
  }
  EXPECT_TRUE(right || refused) << last;
}

TEST(DeviceFaults, EveryFunctionFailsOnce) {
  const std::vector<std::string> names = functions_used();
  ASSERT_GT(names.size(), 40u);
  for (const std::string& name : names) {
    for (const char* fault : {":1=2", ":2=2", ":1=999", ":2=719"}) {
      SCOPED_TRACE(name + fault);
      in_own_process({{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:64M"}, {"MINIDYNAMO_EMULATOR_FAULT", name + fault}},
                     expect_recovery);
    }
  }
}

TEST(DeviceFaults, MissingFunctionsAreNamed) {
  in_own_process({{"MINIDYNAMO_EMULATOR_WITHOUT", "cuGraphLaunch,cuMemHostAlloc"}}, [] {
    EXPECT_EQ(cuda().device_count(), 0);
    EXPECT_NE(cuda().why_unavailable().find("cuMemHostAlloc, cuGraphLaunch"), std::string::npos)
        << cuda().why_unavailable();
  });
}

TEST(DeviceFaults, ForkAfterFirstUse) {
  in_own_process({{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:64M"}}, [] {
    const int count = cuda().device_count();
    EXPECT_EQ(count, 1);
    Ref<Storage> s = cuda().allocate(100, 0);
    in_own_process({}, [&] {
      EXPECT_EQ(cuda().device_count(), 1);
      const auto [kind, text] = error_of([] { cuda().allocate(100, 0); });
      EXPECT_EQ(kind, ErrorKind::Runtime);
      EXPECT_EQ(text.find("Cannot re-initialize CUDA in forked subprocess"), 0u) << text;
      s = nullptr;  // frees nothing
      cuda().is_pinned(&count);
    });
    cuda().allocate(100, 0);
    cuda().synchronize(0);
  });
  in_own_process({}, [] {  // a fork before it is none
    in_own_process({}, [] { EXPECT_GT(cuda().device_count(), 0); });
    EXPECT_GT(cuda().device_count(), 0);
  });
}

}  // namespace
}  // namespace md
