// Which generator random ops draw from: the process' own, unless a call names another (`generator=`). Generators are
// objects of the frontend and no arguments of ops: a schema says "Generator? generator=None" where one may be named,
// what is bound and traced knows the default one only.
#pragma once

#include <cstdint>

namespace md {

// A Philox 4x32-10 stream: the key, and the next counter.
struct Generator {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
};
Generator& default_generator();  // one for the process; ir/tensor/philox.h reserves and seeds it under a lock

// What a generator starts from that nobody has seeded.
inline constexpr Generator kFirstState{67280421310721, 0};
// Reading and writing under the lock that drawing takes.
Generator state_of(const Generator& g);
void set_state(Generator& g, Generator state);

// The one that this thread's random ops draw from now; null: the default one.
Generator*& generator_of_call();

// While it lives, this thread's random ops draw from `g`.
class DrawFrom {
 public:
  explicit DrawFrom(Generator& g);
  ~DrawFrom();
  DrawFrom(const DrawFrom&) = delete;
  DrawFrom& operator=(const DrawFrom&) = delete;

 private:
  Generator* before_;
};

}  // namespace md
