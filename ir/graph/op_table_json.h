// The op table as JSON, for what is derived from it outside C++: stubs, documentation, tests.
#pragma once

#include <string>

namespace md {

// [{"name", "public_name", "kind", "signature", "doc", "function", "method", "inplace", "property", "can_fail",
//   "params": [{"name", "type", "default"?, "keyword_only"}], "results": [..] or "list"}, ...] in declaration order.
std::string op_table_json();

}  // namespace md
