// Mutation check (tools/mutate.py): in a build with -DMINIDYNAMO_MUTATE=ON the environment variable MINIDYNAMO_MUTATE
// disables one op ("op:sin"), opcode handler ("opcode:BUILD_LIST"), raise site of a graph break
// ("break:frontend/values/value.cpp:93"), kind of guard ("guard:TypeMatch"), pass ("pass:cse") or the fact that an op's
// result shares its operand's memory ("alias:transpose"); then some test has to fail. MINIDYNAMO_MUTATE_RECORD is a
// file to which the name of each is appended when it is first used.
#pragma once

#include <string_view>

#ifdef MINIDYNAMO_MUTATE
namespace md {
bool is_mutated(std::string_view kind, std::string_view name);
// The answer of a predicate, turned round if it is mutated ("rule:values/wrap.cpp:is_deepcopy"): tools/mutated_rules.py
// writes the calls into copies of the sources.
inline bool mutated_rule(std::string_view name, bool answer) { return answer != is_mutated("rule", name); }
}  // namespace md
#define MD_MUTATED(kind, name) ::md::is_mutated(kind, name)
#else
#define MD_MUTATED(kind, name) false
#endif
