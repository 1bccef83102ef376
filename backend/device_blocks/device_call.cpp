// Kernels are loaded when they are first launched on a device, each as a module of its own.
#include "backend/device_blocks/device_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "backend/device/launch.h"
#include "backend/device/modules.h"
#include "backend/device/recorder.h"
#include "backend/device/streams.h"
#include "backend/device_blocks/embedded.h"
#include "ir/core/error.h"
#include "ir/reference/reference.h"

namespace md::device_blocks {
namespace {

// What a kernel notes where a position is outside: the position, the dimension and its size, and how the call words it.
[[noreturn]] void raise_position(const device::KernelStatus& s) {
  const auto [at, dim, size, words] = std::tuple(s.details[0], s.details[1], s.details[2], s.details[3]);
  const std::string bounds = fmt::format("index {} is out of bounds for dimension {} with size {}", at, dim, size);
  switch (static_cast<OutsideWords>(words)) {
    case OutsideWords::InSelf:
      throw OpError(ErrorKind::Index, "index out of range in self");
    case OutsideWords::OfCopy:
      throw OpError(ErrorKind::Index, "index_copy_(): " + bounds);
    case OutsideWords::Flat:
      throw OpError(ErrorKind::Index,
                    fmt::format("out of range: tried to access index {} on a tensor of {} elements.", at, size));
    case OutsideWords::Indexing:
      throw OpError(ErrorKind::Index, bounds);
    case OutsideWords::Class:
      throw OpError(ErrorKind::Runtime,
                    at < 0 ? "Class values must be non-negative." : "Class values must be smaller than num_classes.");
    case OutsideWords::Bounds:
      break;
  }
  throw OpError(ErrorKind::Runtime, bounds);
}

[[noreturn]] void raise_weights(WrongWeights what) {
  const char* said = what == WrongWeights::Negative ? "weights must be finite and not negative"
                     : what == WrongWeights::NoSum
                         ? "the weights of a row add up to 0"
                         : "fewer weights than samples without replacement are greater than 0";
  throw OpError(ErrorKind::Runtime, std::string("multinomial(): ") + said);
}

void raise_failure(const device::KernelStatus& status, const char* kernel) {
  if (static_cast<Failure>(status.code) == Failure::Position) raise_position(status);
  if (static_cast<Failure>(status.code) == Failure::Probability)
    throw OpError(ErrorKind::Runtime, "bernoulli(): probabilities must lie in [0, 1], but one is " +
                                          std::to_string(std::bit_cast<double>(status.details[0])));
  if (static_cast<Failure>(status.code) == Failure::Source)
    throw OpError(ErrorKind::Runtime, "masked_scatter(): Number of elements of source < number of ones in mask");
  if (static_cast<Failure>(status.code) == Failure::Weights)
    raise_weights(static_cast<WrongWeights>(status.details[0]));
  if (static_cast<Failure>(status.code) == Failure::Body) throw OpError(ErrorKind::Runtime, "ZeroDivisionError");
  device::raise_failed_body(status, kernel);
}

struct Loaded {
  std::shared_ptr<device::DeviceModule> module;
  device::DeviceFunction* function;
};

device::DeviceFunction& function_of(std::string_view name, int ordinal) {
  static std::mutex lock;
  static auto& loaded = *new std::unordered_map<std::string, Loaded>;
  const std::string key = fmt::format("{}:{}", name, ordinal);
  const std::lock_guard hold(lock);
  if (const auto it = loaded.find(key); it != loaded.end()) return *it->second.function;
  const EmbeddedEntry* entry = find_entry(name);
  if (!entry) throw InternalError(fmt::format("the device engine has no kernel '{}'", name));
  auto module = device::load_module(ptx_of(*entry), ordinal);
  device::DeviceFunction& function = module->function(std::string(name));
  loaded.emplace(key, Loaded{std::move(module), &function});
  return function;
}

}  // namespace

int DeviceCall::dim(int rank) const {
  const std::int64_t d = whole(op.dim);
  return static_cast<int>(d < 0 ? d + std::max(rank, 1) : d);
}

bool has_kernel(std::string_view entry) { return find_entry(entry); }

void launch_words(std::string_view entry, Device device, std::int64_t threads, unsigned block,
                  std::span<const std::uint64_t> words, std::uint64_t* status) {
  constexpr std::int64_t kMostBlocks = 1 << 20;
  if (threads == 0) return;
  LaunchShape shape;
  shape.grid[0] = static_cast<unsigned>(std::min((threads + block - 1) / block, kMostBlocks));
  shape.block[0] = block;
  if (device::Recorder* const recorder = device::current_recorder()) [[unlikely]]
    return recorder->launch(entry, shape, words, status);
  device::DeviceFunction& function = function_of(entry, device.index);
  const StreamNumber stream = device::current_stream(device.index);
  if (status) *status = device::expect_status(function, stream, raise_failure);
  device::launch(function, shape, words, stream);
}

std::string by_size(std::string_view kernel, DType t) { return fmt::format("{}_{}", kernel, item_size(t)); }
std::string by_dtype(std::string_view kernel, DType t) { return fmt::format("{}_{}", kernel, info(t).short_name); }

namespace {

// Brings the dimension that is dense in `from` behind the first, which is dense in `to`. False if a copy by tiles is
// not for this one.
bool turn_to_tiles(CopyParams& p) {
  constexpr Word kLong = kCopyTile / 2;  // tiles that are mostly empty are not worth it
  Space& s = p.space;
  if (s.rank < 2 || p.to.strides.of[0] != 1 || p.from.strides.of[0] <= 1 || s.sizes[0] < kLong) return false;
  for (Word k = 1; k < s.rank; ++k) {
    if (p.from.strides.of[k] != 1 || s.sizes[k] < kLong) continue;
    std::swap(s.sizes[1], s.sizes[k]);
    std::swap(p.to.strides.of[1], p.to.strides.of[k]);
    std::swap(p.from.strides.of[1], p.from.strides.of[k]);
    return true;
  }
  return false;
}

void launch_copy(DType t, Device device, CopyParams p) {
  if (!turn_to_tiles(p)) return launch(by_size("copy", t), device, p.space.total, p);
  const auto tiles = [](Word n) { return (n + kCopyTile - 1) / kCopyTile; };
  const Word planes = p.space.total / (p.space.sizes[0] * p.space.sizes[1]);
  launch(by_size("copy_tiles", t), device, planes * tiles(p.space.sizes[0]) * tiles(p.space.sizes[1]) * kCopyThreads, p,
         kCopyThreads);
}

}  // namespace

bool copy_elements(const TensorImpl& from, const TensorImpl& to) {
  ConvertParams p{};
  if (!lay_out(to.sizes, p.space, {{to.strides, p.to.strides}, {spread(from, to.sizes), p.from.strides}})) return false;
  p.to.data = address_of(to), p.from.data = address_of(from);
  if (from.dtype == to.dtype) {
    launch_copy(to.dtype, to.device(), {p.space, p.to, p.from});
    return true;
  }
  if (is_storage_only(from.dtype) || is_storage_only(to.dtype)) return false;
  p.from_dtype = static_cast<Word>(from.dtype);
  launch(by_dtype("convert_to", to.dtype), to.device(), p.space.total, p);
  return true;
}

TensorRef contiguous(const TensorRef& t) {
  if (t->is_contiguous()) return t;
  TensorRef made = empty_tensor(t->sizes, t->dtype, t->device());
  return copy_elements(*t, *made) ? made : nullptr;
}

TensorRef converted(const TensorRef& t, DType to) {
  if (t->dtype == to) return t;
  TensorRef made = empty_tensor(t->sizes, to, t->device());
  return copy_elements(*t, *made) ? made : nullptr;
}

Number number_as(const Arg& number, DType t) {
  Number n;
  visit_dtype(working(t), [&](auto v) {
    number_element(number, t, &v);
    n.real = static_cast<double>(widen(v));
    if (!is_floating(t)) n.whole = static_cast<std::int64_t>(widen(v));
  });
  return n;
}

std::uint64_t bits_of_number(const Arg& number, DType t) {
  std::uint64_t bits = 0;
  visit_dtype(t, [&](auto element) {
    using T = decltype(element);
    WorkingOf<T> v;
    number_element(number, t, &v);
    const T stored = narrow<T>(v);
    std::memcpy(&bits, &stored, sizeof stored);
  });
  return bits;
}

}  // namespace md::device_blocks
