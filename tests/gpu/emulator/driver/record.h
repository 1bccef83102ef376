// What tests ask of the emulated driver afterwards: findings of its checks, and counts of launches.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "../executor.h"

namespace emulated {

// The kind in the words of the checks ("use after free"), and all that is known in the text.
void add_finding(std::string_view kind, std::string text, int code);
// "a kernel failed: " and what the last finding with this code says, if there is one. Lives for ever.
const char* with_finding(int code, const char* meaning);
void add_launch(const std::string& kernel, Extent grid, Extent block, std::size_t shared_bytes,
                const LaunchResult& result);

}  // namespace emulated
