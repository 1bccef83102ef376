// Streams and events: order between streams, timing, numbers that nobody gave out.
#include "tests/gpu/own_process.h"

namespace md {
namespace {

const Environment kSlow{{"MINIDYNAMO_EMULATOR_DEVICES", "sm_90:64M"}, {"MINIDYNAMO_EMULATOR_DELAY", "random"}};

TEST(DeviceStreams, PoolsByPriority) {
  in_own_process(kSlow, [] {
    const auto [least, greatest] = cuda().stream_priorities(0);
    EXPECT_LE(greatest, least);
    const StreamNumber usual = cuda().make_stream(0, 0), urgent = cuda().make_stream(0, -1);
    EXPECT_NE(usual, urgent);
    EXPECT_EQ(cuda().stream_priority(0, urgent), -1);
    EXPECT_EQ(cuda().stream_priority(0, cuda().make_stream(0, -100)), greatest);
    std::vector<StreamNumber> seen;
    for (int i = 0; i < 70; ++i) seen.push_back(cuda().make_stream(0, 0));
    EXPECT_EQ(seen[0], seen[32]);
    EXPECT_EQ(cuda().stream_handle(0, 0), nullptr);
    EXPECT_EQ(cuda().adopt_stream(0, cuda().stream_handle(0, urgent)), urgent);
    EXPECT_EQ(cuda().adopt_stream(0, nullptr), 0);
    EXPECT_EQ(error_of([] { cuda().set_current_stream(0, 10000); }).first, ErrorKind::Value);
    cuda().set_current_stream(0, usual);
    EXPECT_EQ(cuda().current_stream(0), usual);
  });
}

TEST(DeviceStreams, EventsOrderThem) {
  in_own_process(kSlow, [] {
    const StreamNumber first = cuda().make_stream(0, 0), second = cuda().make_stream(0, 0);
    const std::size_t bytes = 1 << 16;
    const Ref<Storage> a = cuda().allocate(bytes, 0), b = cuda().allocate(bytes, 0);
    const EventNumber event = cuda().make_event(false, true);
    EXPECT_TRUE(cuda().event_is_done(event));  // never recorded
    cuda().synchronize_event(event);
    cuda().wait_event(0, second, event);
    for (int round = 1; round < 10; ++round) {
      cuda().set_current_stream(0, first);
      cuda().fill(a->data(), 0, static_cast<unsigned char>(round), bytes);
      cuda().record_event(event, 0, first);
      cuda().wait_event(0, second, event);
      cuda().set_current_stream(0, second);
      cuda().copy(b->data(), cuda_device(0), a->data(), cuda_device(0), bytes, false);
      std::vector<unsigned char> back(bytes);
      cuda().copy(back.data(), kCpu, b->data(), cuda_device(0), bytes, false);
      EXPECT_EQ(back, std::vector<unsigned char>(bytes, static_cast<unsigned char>(round)));
      cuda().record_event(event, 0, second);
      cuda().wait_event(0, first, event);
    }
    cuda().destroy_event(event);
    cuda().destroy_event(event);
    EXPECT_EQ(error_of([&] { cuda().synchronize_event(event); }).first, ErrorKind::Value);
    cuda().synchronize(0);
    EXPECT_TRUE(cuda().stream_is_done(0, first));
  });
}

TEST(DeviceStreams, Timing) {
  in_own_process(kSlow, [] {
    const EventNumber begin = cuda().make_event(true, false), end = cuda().make_event(true, false),
                      untimed = cuda().make_event(false, false);
    EXPECT_EQ(error_of([&] { cuda().milliseconds_between(begin, end); }).second,
              "Both events must be recorded before calculating elapsed time.");
    for (const EventNumber e : {begin, end, untimed}) cuda().record_event(e, 0, 0);
    cuda().synchronize(0);
    EXPECT_GE(cuda().milliseconds_between(begin, end), 0);
    EXPECT_EQ(error_of([&] { cuda().milliseconds_between(begin, untimed); }).first, ErrorKind::Runtime);
  });
}

TEST(DeviceStreams, MemoryOfAnotherStreamIsNotHandedOutEarly) {
  in_own_process(kSlow, [] {
    const StreamNumber other = cuda().make_stream(0, 0);
    const std::size_t bytes = 1 << 20;
    const Ref<Storage> kept = cuda().allocate(bytes, 0);
    for (int round = 0; round < 10; ++round) {
      Ref<Storage> s = cuda().allocate(bytes, 0);
      cuda().fill(s->data(), 0, 1, bytes);
      const EventNumber filled = cuda().make_event(false, false);
      cuda().record_event(filled, 0, 0);
      cuda().wait_event(0, other, filled);
      cuda().destroy_event(filled);
      cuda().set_current_stream(0, other);
      cuda().copy(kept->data(), cuda_device(0), s->data(), cuda_device(0), bytes, false);
      cuda().record_stream(*s, other);
      cuda().set_current_stream(0, 0);
      s = nullptr;
      s = cuda().allocate(bytes, 0);
      cuda().fill(s->data(), 0, 2, bytes);  // before the copy has read, were it the same memory
      cuda().set_current_stream(0, other);
      std::vector<unsigned char> back(bytes);
      cuda().copy(back.data(), kCpu, kept->data(), cuda_device(0), bytes, false);
      EXPECT_EQ(back, std::vector<unsigned char>(bytes, 1));
      cuda().set_current_stream(0, 0);
    }
  });
}

}  // namespace
}  // namespace md
