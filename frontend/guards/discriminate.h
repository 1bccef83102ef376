// What one look at a call tells of many compiled guards: a place where they expect different things.
#pragma once

#include <optional>
#include <span>

#include "frontend/guards/compiled_guards.h"

namespace md {

// What is looked at there. Guards that expect an aspect pass for no call that shows another key of it.
enum class Aspect : std::uint8_t { Value, Type, Identity, Length, Form /* dtype and rank of a tensor */, Extent };

// A source and an aspect of the object there. Runs no user code, allocates nothing, sets no exception.
class Look {
 public:
  using Key = std::uint64_t;

  // What the call shows; nothing if the object is not there, or is of a kind without this aspect: no guards that
  // expects a key passes then.
  std::optional<Key> read(const FrameArgs& args) const;
  // What the guards expect; nothing if it does not say.
  std::optional<Key> expected(const CompiledGuards& p) const;

 private:
  friend class LookFinder;
  struct Link {
    SourceAccess access;
    PyRef key;
    mutable AccessMemo memo;
  };
  bool is_at(const CompiledGuards& p, int node) const;

  std::vector<Link> path_;  // from the frame
  Aspect aspect_ = Aspect::Value;
  int index_ = 0;  // Extent: of sizes and strides in turn
};

// The look that leaves fewest to try; nothing if none tells most of them apart.
std::optional<Look> find_look(std::span<const CompiledGuards* const> candidates);

}  // namespace md
