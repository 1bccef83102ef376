// The names of special registers that have a row.
#pragma once

#include <optional>
#include <string_view>

#include "program.h"

namespace emulated {

std::optional<Row> special_row(std::string_view name);

}  // namespace emulated
