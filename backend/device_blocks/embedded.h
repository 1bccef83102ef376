// The ahead-of-time kernels as the extension holds them: a compressed text in PTX for each file of kernels/, and what
// of it each entry needs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace md::device_blocks {

struct EmbeddedText {
  const unsigned char* data;
  std::size_t packed, bytes;
};
struct EmbeddedPiece {
  std::size_t at, bytes;
};
struct EmbeddedEntry {
  std::string_view name;
  std::size_t text, first_piece, pieces;
};

// Generated at build time. Entries are sorted by name.
std::span<const EmbeddedText> embedded_texts();
std::span<const EmbeddedPiece> embedded_pieces();
std::span<const EmbeddedEntry> embedded_entries();

// Null: there is no such kernel.
const EmbeddedEntry* find_entry(std::string_view name);
std::vector<std::string_view> entry_names();
// A module with this entry alone.
std::string ptx_of(const EmbeddedEntry& entry);

}  // namespace md::device_blocks
