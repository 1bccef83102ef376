// The function transforms that are under way in this thread: calls of vmap, and of grad and its kin.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ir/tensor/batched.h"

namespace md {

// What random numbers inside vmap are.
enum class Randomness : std::uint8_t { Error, Different, Same };

struct TransformLevel {
  std::uint32_t number = 0;  // by transforms_begun: inner ones have higher numbers
  bool is_vmap = false;
  bool only_draws = false;  // says what random numbers are, and has no examples
  std::int64_t size = 0;    // of vmap: how many examples
  Randomness randomness = Randomness::Error;
  bool asks_gradients() const { return !is_vmap && !only_draws; }
};

std::span<const TransformLevel> transform_levels();  // outermost first
// Whether there are any: code that is called runs on tensors that mean something only to them.
inline bool is_in_transform() { return in_transform() && !transform_levels().empty(); }
const TransformLevel* find_level(std::uint32_t number);
// Numbers of the calls of vmap among them.
std::vector<std::uint32_t> vmap_levels();
// Begins one, which gets its number.
std::uint32_t begin_transform(TransformLevel level);
// Ends that one, and those begun after it.
void end_transform(std::uint32_t number);

// A write in place to a tensor made after this number of transforms. Throws OpError(Runtime) while gradients are asked
// of a function by the innermost grad() that began later: the tensor is none of the function's own.
void check_captured_write(std::uint32_t made_after, const std::string& name);

}  // namespace md
