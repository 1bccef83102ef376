// Mutation check (tools/mutate.py): in a build with -DMINIDYNAMO_MUTATE=ON the environment variable MINIDYNAMO_MUTATE
// disables one op ("op:sin"), opcode handler ("opcode:BUILD_LIST") or raise site of a graph break
// ("break:frontend/values/value.cpp:93"); then some test has to fail. MINIDYNAMO_MUTATE_RECORD is a file to which the
// name of each is appended when it is first used.
#pragma once

#include <string_view>

namespace md {

#ifdef MINIDYNAMO_MUTATE
bool is_mutated(std::string_view kind, std::string_view name);
#endif

}  // namespace md
