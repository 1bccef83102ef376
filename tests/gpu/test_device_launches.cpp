// Modules, launches, what kernels report, captured graphs, errors that last.
#include <thread>

#include "backend/device/driver.h"
#include "backend/device/launch.h"
#include "tests/gpu/own_process.h"
#include "tests/gpu/small_kernels.h"

namespace md {
namespace {

using device::load_module;

const Environment kDevice{{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:64M"}};

LaunchShape blocks_of(unsigned blocks, unsigned threads) { return {{blocks, 1, 1}, {threads, 1, 1}, 0}; }
std::uint64_t address(const Storage& s) { return reinterpret_cast<std::uint64_t>(s.data()); }

std::vector<int> read_back(const Storage& s) {
  std::vector<int> back(s.bytes() / sizeof(int));
  cuda().copy(back.data(), kCpu, s.data(), s.device(), s.bytes(), false);
  return back;
}

Ref<Storage> zeros(std::size_t count) {
  Ref<Storage> s = cuda().allocate(count * sizeof(int), 0);
  cuda().fill(s->data(), 0, 0, s->bytes());
  return s;
}

TEST(DeviceLaunches, KernelsRunInOrder) {
  in_own_process(kDevice, [] {
    const auto module = load_module(kSmallKernels, 0);
    EXPECT_EQ(module, load_module(std::string(kSmallKernels), 0));
    device::DeviceFunction& add_one = module->function("add_one");
    const Ref<Storage> s = zeros(1000);
    const std::uint64_t words[] = {address(*s), 1000};
    for (int i = 0; i < 5; ++i) device::launch(add_one, blocks_of(4, 256), words, 0);
    device::launch(add_one, blocks_of(0, 256), words, 0);  // nothing
    EXPECT_EQ(read_back(*s), std::vector<int>(1000, 5));
    EXPECT_NE(error_of([&] { module->function("nothing"); }).second.find("'nothing'"), std::string::npos);
  });
}

TEST(DeviceLaunches, LargeSharedMemoryIsAskedFor) {
  in_own_process(kDevice, [] {
    const auto module = load_module(kSmallKernels, 0);
    const Ref<Storage> s = zeros(1);
    const std::uint64_t words[] = {address(*s)};
    for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{100} << 10, std::size_t{64} << 10}) {
      LaunchShape shape = blocks_of(1, 1);
      shape.shared_bytes = bytes;
      device::launch(module->function("scratch"), shape, words, 0);
      EXPECT_EQ(read_back(*s), std::vector<int>(1, static_cast<int>(bytes)));
    }
    LaunchShape much = blocks_of(1, 1);
    much.shared_bytes = std::size_t{1} << 30;
    EXPECT_EQ(error_of([&] { device::launch(module->function("scratch"), much, words, 0); }).first, ErrorKind::Device);
    device::launch(module->function("scratch"), blocks_of(0, 1), words, 0);
    cuda().synchronize(0);
  });
}

[[noreturn]] void raise_index(const device::KernelStatus& status, const char* kernel) {
  throw OpError(ErrorKind::Index, "code " + std::to_string(status.code) + " of " + kernel);
}

TEST(DeviceLaunches, WhatKernelsReportIsRaisedOnce) {
  in_own_process(kDevice, [] {
    const auto module = load_module(kSmallKernels, 0);
    device::DeviceFunction& complain = module->function("complain");
    const auto run = [&](std::uint64_t code, StreamNumber stream, device::RaiseStatus raise) {
      const std::uint64_t words[] = {device::expect_status(complain, stream, raise), code};
      device::launch(complain, blocks_of(1, 1), words, stream);
    };
    run(0, 0, raise_index);
    cuda().synchronize(0);
    run(1, 0, device::raise_failed_body);
    EXPECT_EQ(error_of([] { cuda().synchronize(0); }).first, ErrorKind::ZeroDivision);
    cuda().synchronize(0);
    const StreamNumber other = cuda().make_stream(0, 0);
    run(3, other, raise_index);
    run(5, other, raise_index);
    cuda().synchronize_stream(0, 0);  // that of another stream
    const auto [kind, text] = error_of([&] { cuda().synchronize_stream(0, other); });
    EXPECT_EQ(kind, ErrorKind::Index);
    EXPECT_EQ(text, "code 3 of complain");
    cuda().synchronize(0);
    const EventNumber event = cuda().make_event(false, false);
    run(4, other, raise_index);
    cuda().record_event(event, 0, other);
    EXPECT_EQ(error_of([&] { cuda().synchronize_event(event); }).second, "code 4 of complain");
    // A later launch tells as well.
    run(6, other, raise_index);
    bool told = false;
    for (int i = 0; i < 1000 && !told; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      told = !error_of([&] { run(0, other, raise_index); }).second.empty();
    }
    EXPECT_TRUE(told);
    for (int i = 0; i < 3000; ++i) run(0, 0, raise_index);  // more than are waited for
    cuda().synchronize(0);
  });
}

TEST(DeviceLaunches, GraphsAreReplayed) {
  in_own_process(kDevice, [] {
    const auto module = load_module(kSmallKernels, 0);
    device::DeviceFunction& add_one = module->function("add_one");
    EXPECT_EQ(error_of([] { cuda().begin_capture(0, 0, nullptr); }).first, ErrorKind::Runtime);
    const StreamNumber stream = cuda().make_stream(0, 0);
    cuda().set_current_stream(0, stream);
    const Ref<Storage> s = zeros(100);
    cuda().synchronize(0);
    cuda().begin_capture(0, stream, nullptr);
    EXPECT_TRUE(cuda().is_capturing(0, stream));
    EXPECT_EQ(error_of([&] { cuda().begin_capture(0, stream, nullptr); }).first, ErrorKind::Runtime);
    const void* place = nullptr;
    {
      const Ref<Storage> inner = cuda().allocate(400, 0);
      place = inner->data();
      cuda().copy(inner->data(), cuda_device(0), s->data(), cuda_device(0), 400, false);
      const std::uint64_t words[] = {address(*inner), 100};
      device::launch(add_one, blocks_of(1, 128), words, stream);
      device::launch(add_one, blocks_of(1, 128), words, stream);
      cuda().copy(s->data(), cuda_device(0), inner->data(), cuda_device(0), 400, false);
    }
    std::shared_ptr<DeviceGraph> graph = cuda().end_capture(0, stream);
    EXPECT_FALSE(cuda().is_capturing(0, stream));
    EXPECT_EQ(read_back(*s), std::vector<int>(100, 0));  // nothing has run yet
    EXPECT_NE(cuda().allocate(400, 0)->data(), place);   // that is the graph's
    for (int i = 0; i < 3; ++i) graph->replay(stream);
    EXPECT_EQ(read_back(*s), std::vector<int>(100, 6));
    graph = nullptr;
    cuda().empty_cache();
    EXPECT_EQ(error_of([&] { cuda().end_capture(0, stream); }).first, ErrorKind::Device);
  });
}

TEST(DeviceLaunches, GraphsReportAtEveryReplay) {
  in_own_process(kDevice, [] {
    const auto module = load_module(kSmallKernels, 0);
    device::DeviceFunction& complain = module->function("complain");
    const StreamNumber stream = cuda().make_stream(0, 0);
    cuda().begin_capture(0, stream, nullptr);
    const std::uint64_t words[] = {device::expect_status(complain, stream, raise_index), 9};
    device::launch(complain, blocks_of(1, 1), words, stream);
    const std::shared_ptr<DeviceGraph> graph = cuda().end_capture(0, stream);
    cuda().synchronize(0);
    for (int i = 0; i < 2; ++i) {
      graph->replay(stream);
      EXPECT_EQ(error_of([&] { cuda().synchronize_stream(0, stream); }).second, "code 9 of complain");
    }
    cuda().synchronize(0);
  });
}

TEST(DeviceLaunches, AnIllegalAddressNamesItsKernelAndLasts) {
  in_own_process(kDevice, [] {
    const auto module = load_module(kSmallKernels, 0);
    const Ref<Storage> s = zeros(10);
    device::launch(module->function("wild"), blocks_of(1, 1), {}, 0, device::kept_name("program.py:12"));
    const auto [kind, text] = error_of([] { cuda().synchronize(0); });
    EXPECT_EQ(kind, ErrorKind::Device);
    for (const char* part : {"CUDA error: ", "CUDA_ERROR_ILLEGAL_ADDRESS", "'wild', for program.py:12", "unharmed"})
      EXPECT_NE(text.find(part), std::string::npos) << text;
    EXPECT_EQ(error_of([] { cuda().synchronize(0); }).first, ErrorKind::Device);
    EXPECT_EQ(error_of([&] { read_back(*s); }).first, ErrorKind::Device);
  });
}

TEST(DeviceLaunches, CodeTheDeviceCannotTake) {
  in_own_process({{"MINIDYNAMO_EMULATOR_DEVICES", "sm_75:64M"}}, [] {
    std::string newer = kSmallKernels;
    newer.replace(newer.find("sm_75"), 5, "sm_90");
    newer.replace(newer.find("6.4"), 3, "7.8");
    const auto [kind, text] = error_of([&] { load_module(newer, 0); });
    EXPECT_EQ(kind, ErrorKind::Device);
    EXPECT_NE(text.find("The kernels are for sm_90, the device is sm_75"), std::string::npos) << text;
    EXPECT_EQ(error_of([&] { load_module(".version 6.4\n.target sm_75\nnonsense", 0); }).first, ErrorKind::Device);
    load_module(kSmallKernels, 0)->function("add_one");
  });
}

}  // namespace
}  // namespace md
