// The cache of device memory: what it hands out never overlaps, its numbers add up, and it says what is missing.
#include <cstring>
#include <map>
#include <random>
#include <thread>

#include "backend/device/context.h"
#include "backend/device/memory_cache.h"
#include "tests/gpu/own_process.h"

namespace md {
namespace {

const Environment kOneDevice{{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:256M"}};

void expect_sound(int device) { device::use_device(device).memory->verify(); }

TEST(DeviceMemory, RandomSequencesOverStreams) {
  in_own_process(kOneDevice, [] {
    std::mt19937 random(7);
    struct Held {
      Ref<Storage> storage;
      unsigned char mark;
    };
    std::vector<Held> held;
    const StreamNumber streams[] = {0, cuda().make_stream(0, 0), cuda().make_stream(0, -1)};
    for (int step = 0; step < 600; ++step) {
      cuda().set_current_stream(0, streams[random() % 3]);
      if (held.size() < 40 && random() % 3) {
        const std::size_t bytes = 1 + random() % (std::size_t{1} << (4 + random() % 19));
        held.push_back({cuda().allocate(bytes, 0), static_cast<unsigned char>(random())});
        const auto* const at = static_cast<char*>(held.back().storage->data());
        for (std::size_t i = 0; i + 1 < held.size(); ++i) {
          const auto* const other = static_cast<char*>(held[i].storage->data());
          EXPECT_TRUE(at + bytes <= other || other + held[i].storage->bytes() <= at);
        }
        cuda().fill(held.back().storage->data(), 0, held.back().mark, bytes);
        if (random() % 4 == 0) cuda().record_stream(*held.back().storage, streams[random() % 3]);
      } else if (!held.empty()) {
        const std::size_t which = random() % held.size();
        if (random() % 4 == 0) {
          cuda().synchronize(0);
          std::vector<unsigned char> back(held[which].storage->bytes());
          cuda().copy(back.data(), kCpu, held[which].storage->data(), cuda_device(0), back.size(), false);
          EXPECT_EQ(back, std::vector<unsigned char>(back.size(), held[which].mark));
        }
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(which));
      }
      if (step % 50 == 0) expect_sound(0);
    }
    held.clear();
    cuda().synchronize(0);
    expect_sound(0);
    EXPECT_EQ(cuda().memory(0).allocated, 0u);
    EXPECT_EQ(cuda().memory(0).allocations, cuda().memory(0).frees);
    cuda().empty_cache();
    EXPECT_EQ(cuda().memory(0).reserved, 0u);
    EXPECT_EQ(cuda().memory(0).segments, 0);
  });
}

TEST(DeviceMemory, SizesAndReuse) {
  in_own_process(kOneDevice, [] {
    Ref<Storage> small = cuda().allocate(1, 0);
    EXPECT_EQ(cuda().memory(0).allocated, 512u);
    EXPECT_EQ(cuda().memory(0).reserved, std::size_t{2} << 20);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small->data()) % 512, 0u);
    void* const first = small->data();
    small = nullptr;
    small = cuda().allocate(300, 0);
    EXPECT_EQ(small->data(), first);
    const StreamNumber other = cuda().make_stream(0, 0);
    small = nullptr;
    cuda().set_current_stream(0, other);
    EXPECT_NE(cuda().allocate(300, 0)->data(), first);  // that is the first stream's
    cuda().set_current_stream(0, 0);
    const Ref<Storage> large = cuda().allocate(std::size_t{3} << 20, 0);
    EXPECT_EQ(cuda().memory(0).reserved, std::size_t{24} << 20);
    EXPECT_EQ(cuda().memory(0).most_allocated, (std::size_t{3} << 20));
    cuda().reset_peaks(0);
    EXPECT_EQ(cuda().allocate(0, 0)->bytes(), 0u);
    expect_sound(0);
  });
}

TEST(DeviceMemory, OutOfMemory) {
  in_own_process(kOneDevice, [] {
    const auto [kind, text] = error_of([] { cuda().allocate(std::size_t{20} << 30, 0); });
    EXPECT_EQ(kind, ErrorKind::DeviceMemory);
    EXPECT_EQ(text.find("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0 has a total capacity of 256.00 MiB of "
                        "which "),
              0u)
        << text;
    EXPECT_EQ(cuda().memory(0).out_of_memory, 1);
    EXPECT_EQ(error_of([] { cuda().allocate(~std::size_t{0} - 600, 0); }).first, ErrorKind::DeviceMemory);
    // What is cached is given up first.
    cuda().allocate(std::size_t{150} << 20, 0);
    const Ref<Storage> held = cuda().allocate(std::size_t{200} << 20, 0);
    EXPECT_EQ(cuda().memory(0).retries, 2);
    cuda().set_memory_fraction(0.5, 0);
    const auto [kind_again, told] = error_of([] { cuda().allocate(std::size_t{4} << 20, 0); });
    EXPECT_EQ(kind_again, ErrorKind::DeviceMemory);
    EXPECT_NE(told.find("This process may use 128.00 MiB"), std::string::npos) << told;
    cuda().set_memory_fraction(1, 0);
    cuda().allocate(std::size_t{4} << 20, 0);
    EXPECT_EQ(error_of([] { cuda().set_memory_fraction(2, 0); }).first, ErrorKind::Value);
    expect_sound(0);
  });
}

TEST(DeviceMemory, SmallDevices) {
  in_own_process({{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:8M"}}, [] {
    const Ref<Storage> a = cuda().allocate(3 << 20, 0), b = cuda().allocate(3 << 20, 0);
    EXPECT_EQ(cuda().memory(0).reserved, std::size_t{8} << 20);
    EXPECT_EQ(error_of([] { cuda().allocate(3 << 20, 0); }).first, ErrorKind::DeviceMemory);
    expect_sound(0);
  });
}

TEST(DeviceMemory, LargeBlocksInSmallPieces) {
  in_own_process({{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:8M"}}, [] {
    for (int round = 0; round < 3; ++round) {
      std::vector<Ref<Storage>> held;
      for (int i = 0; i < 3; ++i) held.push_back(cuda().allocate(1500 << 10, 0));
      held.push_back(cuda().allocate(100, 0));
      expect_sound(0);
      held.erase(held.begin() + round);
      expect_sound(0);
    }
    EXPECT_EQ(cuda().memory(0).segments, 4);
  });
}

TEST(DeviceMemory, ThreadsWithStreamsOfTheirOwn) {
  in_own_process(kOneDevice, [] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
      threads.emplace_back([t] {
        cuda().set_current_stream(0, cuda().make_stream(0, 0));
        std::mt19937 random(static_cast<unsigned>(t));
        for (int i = 0; i < 60; ++i) {
          const std::size_t bytes = 1 + random() % 100000;
          const Ref<Storage> s = cuda().allocate(bytes, 0);
          std::vector<unsigned char> sent(bytes, static_cast<unsigned char>(random())), back(bytes);
          cuda().copy(s->data(), cuda_device(0), sent.data(), kCpu, bytes, false);
          cuda().copy(back.data(), kCpu, s->data(), cuda_device(0), bytes, false);
          EXPECT_EQ(sent, back);
        }
      });
    }
    for (std::thread& t : threads) t.join();
    expect_sound(0);
    EXPECT_EQ(cuda().memory(0).allocated, 0u);
  });
}

TEST(DeviceMemory, PinnedMemoryWaitsForItsCopies) {
  in_own_process(kOneDevice, [] {
    const Ref<Storage> there = cuda().allocate(1 << 20, 0);
    Ref<Storage> pinned = cuda().allocate_pinned(1 << 20);
    EXPECT_TRUE(cuda().is_pinned(static_cast<char*>(pinned->data()) + 100));
    int plain = 0;
    EXPECT_FALSE(cuda().is_pinned(&plain));
    for (int round = 0; round < 20; ++round) {
      pinned = cuda().allocate_pinned(1 << 20);
      std::memset(pinned->data(), round, 1 << 20);
      cuda().copy(there->data(), cuda_device(0), pinned->data(), kCpu, 1 << 20, true);
      pinned = nullptr;  // the copy may still run
      std::vector<unsigned char> back(1 << 20);
      cuda().copy(back.data(), kCpu, there->data(), cuda_device(0), back.size(), false);
      EXPECT_EQ(back, std::vector<unsigned char>(back.size(), static_cast<unsigned char>(round)));
    }
    cuda().empty_pinned_cache();
  });
}

TEST(DeviceMemory, TwoDevices) {
  in_own_process({{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:64M,sm_75:64M"}}, [] {
    const std::vector<float> sent{1, 2, 3, 4};
    const Ref<Storage> a = cuda().allocate(16, 0), b = cuda().allocate(16, 1);
    EXPECT_EQ(b->device(), cuda_device(1));
    cuda().copy(a->data(), cuda_device(0), sent.data(), kCpu, 16, false);
    cuda().copy(b->data(), cuda_device(1), a->data(), cuda_device(0), 16, false);
    std::vector<float> back(4);
    cuda().copy(back.data(), kCpu, b->data(), cuda_device(1), 16, false);
    EXPECT_EQ(back, sent);
    EXPECT_EQ(cuda().properties(1).minor, 5);
    EXPECT_EQ(error_of([] { cuda().set_current_device(2); }).first, ErrorKind::Device);
    cuda().set_current_device(1);
    EXPECT_EQ(cuda().current_device(), 1);
    std::thread([] { EXPECT_EQ(cuda().current_device(), 0); }).join();
  });
}

}  // namespace
}  // namespace md
