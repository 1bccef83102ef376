// What a graph that runs op by op changes of tensors that others know, so that a failure can take it back.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_set>
#include <vector>

#include "ir/run/eager.h"
#include "ir/tensor/device_generators.h"

namespace md {

class UndoLog {
 public:
  UndoLog();
  UndoLog(const UndoLog&) = delete;
  UndoLog& operator=(const UndoLog&) = delete;

  // An op made it: memory nobody else has, unless it is an operand's.
  void made(const TensorRef& t) { own_.insert(t->storage.get()); }
  // Code outside of the graph has seen it and may keep it.
  void shown(const TensorRef& t) { own_.erase(t->storage.get()); }
  // Keeps what `t` covers, once; nothing for memory of the graph's own.
  void before_write(const TensorRef& t);
  // It was written to.
  bool knows(const Storage& s) const;
  // Elements, layouts, version counters and the default generator as they were.
  void take_back() noexcept;

 private:
  struct Bytes {
    char* at;
    std::unique_ptr<char[]> before;
    std::size_t count;
    Device device;
  };
  struct Layout {
    TensorRef tensor;  // keeps the memory too
    DimVec sizes, strides;
    std::int64_t offset;
    std::uint32_t version;
  };
  void keep(char* from, char* to, Device device);

  std::unordered_set<const Storage*> own_;
  std::map<char*, char*> kept_;  // address ranges of all devices, disjoint: from -> to
  std::vector<Bytes> bytes_;
  std::vector<Layout> layouts_;
  DefaultStreams streams_;
};

}  // namespace md
