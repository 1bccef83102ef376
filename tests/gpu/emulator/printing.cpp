// Formats what kernels print, lane after lane.
#include "printing.h"

#include <cstdio>

#include "memory_access.h"

namespace emulated {
namespace {

std::byte* byte_at(Warp& warp, int lane, Address address) {
  std::uint32_t all = warp.mask;
  warp.mask = 1u << lane;
  Addresses at = {};
  at[lane] = address;
  Space space = generic_space(warp, at);
  Place place;
  locate(warp, at, space, 1, AccessKind::kLoad, place);
  warp.mask = all;
  return place.data[lane];
}

std::string string_at(Warp& warp, int lane, Address address) {
  std::string text;
  while (char c = static_cast<char>(*byte_at(warp, lane, address++))) text += c;
  return text;
}

template <class T>
T argument(Warp& warp, int lane, Address& at) {
  at = (at + sizeof(T) - 1) / sizeof(T) * sizeof(T);
  T value;
  for (std::size_t i = 0; i < sizeof(T); ++i) reinterpret_cast<std::byte*>(&value)[i] = *byte_at(warp, lane, at + i);
  at += sizeof(T);
  return value;
}

template <class... T>
std::string printed(const std::string& form, T... value) {
  char buffer[512];
  std::snprintf(buffer, sizeof buffer, form.c_str(), value...);
  return buffer;
}

std::string conversion(Warp& warp, int lane, const std::string& form, Address& at) {
  char kind = form.back();
  bool is_long = form.find('l') != std::string::npos || form.find('z') != std::string::npos;
  switch (kind) {
    case '%':
      return "%";
    case 's':
      return string_at(warp, lane, argument<std::uint64_t>(warp, lane, at));
    case 'p':
      return printed(form, reinterpret_cast<void*>(argument<std::uint64_t>(warp, lane, at)));
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A':
      return printed(form, argument<double>(warp, lane, at));
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
    case 'c':
      if (is_long) return printed(form, argument<std::int64_t>(warp, lane, at));
      return printed(form, argument<std::int32_t>(warp, lane, at));
    default:
      return form;
  }
}

std::string formatted(Warp& warp, int lane, const std::string& format, Address arguments) {
  std::string text;
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') {
      text += format[i];
      continue;
    }
    std::size_t end = format.find_first_not_of("0123456789.+-# lhz", i + 1);
    if (end == std::string::npos) break;
    text += conversion(warp, lane, format.substr(i, end - i + 1), arguments);
    i = end;
  }
  return text;
}

}  // namespace

void print_lanes(Warp& warp, std::size_t format_at, std::size_t arguments_at) {
  for (int lane = 0; lane < kLanes; ++lane) {
    if (!warp.runs(lane)) continue;
    const std::byte* local = warp.local.data.data() + static_cast<std::size_t>(lane) * warp.local_stride;
    Address format, arguments;
    std::memcpy(&format, local + format_at, 8);
    std::memcpy(&arguments, local + arguments_at, 8);
    std::string text = formatted(warp, lane, string_at(warp, lane, format), arguments);
    std::lock_guard lock(warp.launch->mutex);
    warp.launch->printed += text;
  }
}

}  // namespace emulated
