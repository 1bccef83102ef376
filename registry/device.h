// Where tensors live: a type and, where there are several of one, an ordinal. One row per type; everything else asks
// the row.
#pragma once

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace md {

enum class DeviceType : std::uint8_t { Cpu, Meta, Cuda, Mps, Xpu, Hip, Xla, Mtia };
inline constexpr int kDeviceTypeCount = 8;

struct DeviceTypeInfo {
  DeviceType type;
  std::string_view name;
  bool holds_tensors;  // this build can put tensors there; the others can be named only
  bool has_memory;     // tensors there have elements; meta's have sizes, strides and dtypes alone
  bool readable;       // their elements lie in the memory of the process
  bool numbered;       // there may be several: a tensor there has an ordinal
};

inline constexpr std::array<DeviceTypeInfo, kDeviceTypeCount> kDeviceTypes{{
    {DeviceType::Cpu, "cpu", true, true, true, false},
    {DeviceType::Meta, "meta", true, false, false, false},
    {DeviceType::Cuda, "cuda", true, true, false, true},
    {DeviceType::Mps, "mps", false, true, false, true},
    {DeviceType::Xpu, "xpu", false, true, false, true},
    {DeviceType::Hip, "hip", false, true, false, true},
    {DeviceType::Xla, "xla", false, true, false, true},
    {DeviceType::Mtia, "mtia", false, true, false, true},
}};

struct Device {
  DeviceType type = DeviceType::Cpu;
  std::int8_t index = -1;  // -1: none was named

  constexpr bool operator==(const Device&) const = default;
  constexpr const DeviceTypeInfo& info() const { return kDeviceTypes[static_cast<std::size_t>(type)]; }
  constexpr bool is_cpu() const { return type == DeviceType::Cpu; }
  constexpr bool has_memory() const { return info().has_memory; }
  constexpr bool is_readable() const { return info().readable; }
};
inline constexpr Device kCpu{};
inline constexpr Device kMeta{DeviceType::Meta, -1};

// "cpu", "cuda:1"
inline std::string to_string(Device d) {
  const std::string name(d.info().name);
  return d.index < 0 ? name : name + ":" + std::to_string(d.index);
}

// Nothing if `text` names no device: an unknown type, or an ordinal with leading zeros or above 127.
inline std::optional<Device> parse_device(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(':'));
  for (const DeviceTypeInfo& row : kDeviceTypes) {
    if (row.name != name) continue;
    Device d{row.type};
    if (name.size() == text.size()) return d;
    const std::string_view digits = text.substr(name.size() + 1);
    const bool plain = !digits.empty() && (digits == "0" || (digits[0] >= '1' && digits[0] <= '9'));
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), d.index);
    if (!plain || error != std::errc{} || end != digits.data() + digits.size()) return {};
    return d;
  }
  return {};
}

}  // namespace md
