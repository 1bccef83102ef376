// Memory formats: orders of dimensions in memory that calls name. One row per format; everything else asks the row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace md {

enum class MemoryFormat : std::uint8_t { Contiguous, ChannelsLast, ChannelsLast3d, Preserve };
inline constexpr int kMemoryFormatCount = 4;

struct MemoryFormatInfo {
  MemoryFormat format;
  std::string_view name;
  std::string_view attribute;  // of the module, which repr names
  int rank;                    // of the tensors it is for; 0: any
};

inline constexpr std::array<MemoryFormatInfo, kMemoryFormatCount> kMemoryFormats{{
    {MemoryFormat::Contiguous, "Contiguous", "contiguous_format", 0},
    {MemoryFormat::ChannelsLast, "ChannelsLast", "channels_last", 4},
    {MemoryFormat::ChannelsLast3d, "ChannelsLast3d", "channels_last_3d", 5},
    {MemoryFormat::Preserve, "Preserve", "preserve_format", 0},
}};

constexpr const MemoryFormatInfo& info(MemoryFormat f) { return kMemoryFormats[static_cast<std::size_t>(f)]; }

// Nothing if no format is called so.
constexpr std::optional<MemoryFormat> find_memory_format(std::string_view attribute) {
  for (const MemoryFormatInfo& row : kMemoryFormats) {
    if (row.attribute == attribute) return row.format;
  }
  return {};
}

}  // namespace md
