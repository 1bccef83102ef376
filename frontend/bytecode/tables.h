// co_linetable and co_exceptiontable.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "frontend/bytecode/instruction.h"

namespace md {

// Code the running version cannot have produced; becomes a SystemError.
class BadCode : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct Bytes {
  const std::uint8_t* data;
  std::size_t size;
};

// A stretch of code units with one position.
struct LocationRun {
  int units;
  Position pos;
};

// The position of each of `units` code units.
std::vector<Position> read_locations(Bytes table, int first_line, int units);
// One run for each emitted instruction; neighbours are merged where the running version does so.
std::string write_locations(const std::vector<LocationRun>& runs, int first_line);

// [start, end) in code units; handler.label is a unit too.
struct ExceptionRange {
  int start, end;
  Handler handler;
};

std::vector<ExceptionRange> read_exceptions(Bytes table);
std::string write_exceptions(const std::vector<ExceptionRange>& ranges);

}  // namespace md
