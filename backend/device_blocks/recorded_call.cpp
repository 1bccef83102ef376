// The call runs twice, over memories at other addresses: the parameters that follow them are addresses.
#include "backend/device_blocks/recorded_call.h"

#include "backend/device/recorder.h"
#include "backend/device_blocks/embedded.h"
#include "ir/core/error.h"
#include "ir/reference/engine.h"

namespace md::device_blocks {
namespace {

constexpr Device kNowhere{DeviceType::Cuda, 0};
constexpr int kMultiprocessors = 132;  // of an H100: a card's number is not known by its capability
constexpr std::uint64_t kFirstPlace = std::uint64_t{1} << 56, kOtherPlace = std::uint64_t{3} << 56;

// Each memory has a range of addresses of its own.
class Addresses final : public device::Recorder {
 public:
  Addresses(std::uint64_t first, int capability) : first_(first) {
    properties_.major = capability / 10, properties_.minor = capability % 10;
    properties_.multiprocessors = kMultiprocessors;
  }

  const DeviceProperties& properties() const override { return properties_; }
  Ref<Storage> allocate(std::size_t bytes) override {
    bytes_.push_back(static_cast<std::int64_t>(bytes));
    return make_ref<Storage>(reinterpret_cast<void*>(first_ + (bytes_.size() << kRange)), bytes, nullptr, nullptr,
                             kNowhere);
  }
  void launch(std::string_view entry, const LaunchShape& shape, std::span<const std::uint64_t> words,
              const std::uint64_t* status) override {
    RecordedLaunch made{std::string(entry), shape, {}};
    for (const std::uint64_t& w : words) {
      const bool is_status = &w == status;
      made.words.push_back({is_status ? RecordedWord::Kind::Status : RecordedWord::Kind::Number, -1,
                            is_status ? 0 : static_cast<std::int64_t>(w)});
    }
    launches_.push_back(std::move(made));
  }

  // The memory of an address, and how far behind its first byte that is.
  RecordedWord place(std::int64_t address) const {
    const auto behind = static_cast<std::uint64_t>(address) - first_;
    const auto offset = static_cast<std::int64_t>(behind & ((std::uint64_t{1} << kRange) - 1));
    return {RecordedWord::Kind::Address, static_cast<int>(behind >> kRange) - 1, offset};
  }
  std::vector<RecordedLaunch>& launches() { return launches_; }
  const std::vector<std::int64_t>& bytes() const { return bytes_; }

 private:
  static constexpr int kRange = 44;

  const std::uint64_t first_;
  DeviceProperties properties_;
  std::vector<std::int64_t> bytes_;
  std::vector<RecordedLaunch> launches_;
};

}  // namespace

RecordedCall record_call(const Op& op, int capability, std::span<const std::int64_t> memories,
                         const std::function<CallOperands(std::span<const Ref<Storage>>)>& lay) {
  if (op.kind() == OpKind::Random) return {.why = "it is launched with the generator's state, which a run knows"};
  Addresses here(kFirstPlace, capability), there(kOtherPlace, capability);
  for (Addresses* const recorder : {&here, &there}) {
    std::vector<Ref<Storage>> storages;
    for (const std::int64_t n : memories) storages.push_back(recorder->allocate(static_cast<std::size_t>(n)));
    const CallOperands operands = lay(storages);
    const device::RecordingScope scope(*recorder);
    try {
      engine(kNowhere).run(op, operands.args, operands.out);
    } catch (const device::CannotRecord& e) {
      return {.why = e.why};
    } catch (const OpError& e) {
      return {.why = e.what()};  // a run will say so
    }
  }
  RecordedCall call{.launches = std::move(here.launches())};
  call.temporaries.assign(here.bytes().begin() + static_cast<std::ptrdiff_t>(memories.size()), here.bytes().end());
  for (std::size_t i = 0; i < call.launches.size(); ++i) {
    std::vector<RecordedWord>& words = call.launches[i].words;
    const std::vector<RecordedWord>& others = there.launches().at(i).words;
    for (std::size_t k = 0; k < words.size(); ++k)
      if (words[k].value != others.at(k).value) words[k] = here.place(words[k].value);
  }
  return call;
}

std::string kernel_text(const std::string& entry) {
  const EmbeddedEntry* const found = find_entry(entry);
  if (!found) throw InternalError("there is no kernel '" + entry + "' for GPUs");
  return ptx_of(*found);
}

}  // namespace md::device_blocks
