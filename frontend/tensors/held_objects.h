// Python objects that the record of gradients holds, and what the garbage collector learns of them.
#pragma once

#include <atomic>

#include "frontend/cpython/py_ref.h"
#include "ir/gradients/tape.h"

namespace md {

// Something of the tape's that owns Python objects.
class ObjectHolder {
 public:
  ObjectHolder() { ++alive; }
  virtual ~ObjectHolder() { --alive; }
  ObjectHolder(const ObjectHolder&) = delete;
  virtual int traverse(visitproc visit, void* arg) const = 0;
  inline static std::atomic<std::size_t> alive = 0;
};

// Keeps a Python object alive for as long as the tape wants it.
class Held final : public RefCounted, public ObjectHolder {
 public:
  explicit Held(PyRef object) : object(std::move(object)) {}
  int traverse(visitproc visit, void* arg) const override { return visit(object.get(), arg); }
  const PyRef object;
};

// Visits the objects that `t`, or `node`, alone holds through the tape: whatever is reached over references that nobody
// else has. For tp_traverse of who holds the only reference to it.
int traverse_tensor(const TensorImpl& t, visitproc visit, void* arg);
int traverse_node(const GradNode& node, visitproc visit, void* arg);
// For tp_clear: lets go of what traverse_tensor() or traverse_node() reaches.
void clear_tensor(TensorImpl& t);
void clear_node(GradNode& node);

}  // namespace md
