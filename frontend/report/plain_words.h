// Explanations and hints in plain words. Contexts name values as the reference does: "ListVariable(length=2)".
#pragma once

#include <string>
#include <string_view>

namespace md {

// "a list of 2 items": with values and objects named as a reader of the program knows them, and no addresses.
std::string plain_words(std::string_view text);

}  // namespace md
