// Kernels looked up by entry and unpacked.
#include "backend/device_blocks/embedded.h"

#include <zstd.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "ir/core/error.h"

namespace md::device_blocks {
namespace {

// Unpacked once, when the first of its entries is asked for.
const std::string& unpacked(std::size_t number) {
  static std::mutex lock;
  static auto& texts = *new std::vector<std::string>(embedded_texts().size());
  const std::lock_guard hold(lock);
  std::string& text = texts[number];
  if (!text.empty()) return text;
  const EmbeddedText& packed = embedded_texts()[number];
  text.resize(packed.bytes);
  if (ZSTD_decompress(text.data(), packed.bytes, packed.data, packed.packed) != packed.bytes)
    throw InternalError("the kernels of the device engine cannot be unpacked");
  return text;
}

}  // namespace

const EmbeddedEntry* find_entry(std::string_view name) {
  const auto entries = embedded_entries();
  const auto at = std::ranges::lower_bound(entries, name, {}, &EmbeddedEntry::name);
  return at != entries.end() && at->name == name ? &*at : nullptr;
}

std::vector<std::string_view> entry_names() {
  std::vector<std::string_view> names;
  for (const EmbeddedEntry& e : embedded_entries()) names.push_back(e.name);
  return names;
}

std::string ptx_of(const EmbeddedEntry& entry) {
  const std::string& text = unpacked(entry.text);
  std::string code;
  for (const EmbeddedPiece& p : embedded_pieces().subspan(entry.first_piece, entry.pieces))
    code.append(text, p.at, p.bytes);
  return code;
}

}  // namespace md::device_blocks
