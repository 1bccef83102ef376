// Where the values of a graph lie while an executable is built for it: in a slot of their own, in another value's, or
// as a view of one.
#pragma once

#include <unordered_map>
#include <vector>

#include "backend/executable/executable.h"

namespace md {

// Slots and places of `executable`, which nobody else adds to.
class ValuePlaces {
 public:
  explicit ValuePlaces(Executable& executable) : executable_(executable) {}

  Place add(Slot slot);
  // All of a new slot.
  Place define(const Node& n, Slot slot);
  void set(const Node& n, const Place& p) { executable_.places[&n] = p; }
  // Of a node with several results.
  void set_parts(const Node& n, std::vector<Place> results) { parts_[&n] = std::move(results); }

  bool contains(const Node& n) const { return executable_.places.contains(&n); }
  // Whether of() finds a place.
  bool is_known(const Node* n) const;
  // Views are their operand's memory with other sizes and strides.
  Place of(const Node* n);

  Slot& slot(const Place& p) { return executable_.slots[static_cast<std::size_t>(p.slot)]; }
  // By the launch that is added next: until then its memory stays.
  const Place& use(const Place& p) {
    slot(p).last_launch = static_cast<int>(executable_.launches.size());
    return p;
  }

 private:
  Place computed(const Node* n);

  Executable& executable_;
  std::unordered_map<const Node*, std::vector<Place>> parts_;
};

}  // namespace md
