// Where the bytes lie that the lanes of a warp access, after all that can be wrong with an address is checked.
#pragma once

#include "races.h"
#include "warp.h"

namespace emulated {

enum class AccessKind : std::uint8_t { kLoad, kStore, kAtomic };

using Addresses = Address[kLanes];

struct Place {
  std::byte* data[kLanes];
  std::uint8_t* written[kLanes];
  bool contiguous = false;  // all lanes run, each behind the one before
  Space space = Space::kGlobal;
};

void addresses_of(Warp& warp, const Instruction& i, Addresses& at);
// The same of another row, for instructions with two addresses.
void addresses_in(Warp& warp, Row row, bool narrow, std::int64_t offset, Addresses& at);

// The space that generic addresses of the running lanes lie in, taken off; lanes of other spaces are left out of
// warp.mask, for another turn.
Space generic_space(Warp& warp, Addresses& at);

// Checks and counts; throws a Fault. `bytes`: of each lane.
void locate(Warp& warp, const Addresses& at, Space space, unsigned bytes, AccessKind kind, Place& place);
void check_written(Warp& warp, const Addresses& at, const Place& place, unsigned bytes);
// For lane after lane; `value` are the bytes to be written.
void check_lane(Warp& warp, const Addresses& at, const Place& place, unsigned bytes, int lane, bool writes, bool atomic,
                const void* value);

// Races of all lanes that read. Of those that write, false where each has to be looked at alone.
void check_reads(Warp& warp, const Addresses& at, const Place& place, unsigned bytes, bool atomic);
bool check_row_of_writes(Warp& warp, const Addresses& at, const Place& place, unsigned bytes);

// What text says of an address, for messages.
std::string described(const Warp& warp, Space space, Address at);

// Runs body(space, addresses) for the space of the instruction, or once for each that its generic addresses lie in.
template <class Body>
void for_each_space(Warp& warp, const Instruction& i, Addresses& at, Body body) {
  if (i.space != Space::kGeneric) {
    body(i.space, at);
    return;
  }
  std::uint32_t all = warp.mask, done = 0;
  while (done != all) {
    warp.mask = all & ~done;
    Addresses own;
    std::memcpy(own, at, sizeof own);
    Space space = generic_space(warp, own);
    body(space, own);
    done |= warp.mask;
  }
  warp.mask = all;
}

}  // namespace emulated
