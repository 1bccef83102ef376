// The compiled form of a GuardSet: one flat array of operations over registers that hold the objects at the sources.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "frontend/guards/guard.h"
#include "frontend/guards/guard_memo.h"
#include "frontend/guards/source_access.h"

namespace md {

// Where a payload object is found: a slot of ours (strong) or the referent field of a weak reference, which CPython
// sets to None when the object dies.
using ObjectSlot = PyObject* const*;

struct TensorFact {
  ObjectSlot type;
  const std::int64_t* extents;  // size and stride of each dimension; kAnyExtent where symbolic
  DType dtype;
  Device device;
  bool requires_grad;
  GradHistory history;
  bool wrapped_number;
  bool any_extent = false;
  std::uint8_t dim;
};
inline constexpr std::int64_t kAnyExtent = std::numeric_limits<std::int64_t>::min();

struct AliasFact {
  std::vector<std::uint16_t> registers;
  std::vector<std::pair<int, std::int64_t>> groups;  // empty: all storages differ
};

struct SizeFact;  // frontend/guards/sizes.h

struct LoadFact {
  SourceAccess access;
  std::uint16_t base;
  bool optional;  // may be absent: a NotPresent guard looks at it
  bool needs_base;
  mutable AccessMemo memo;
};

struct NameFact {
  PyObject* name;  // borrowed from held
  mutable AttrMemo memo;
  PyObject* known = nullptr;  // DimensionMarks: a dict with the marks as keys, borrowed from held
};

struct KeyFact {
  PyObject* key;
  Py_hash_t hash;
  mutable unsigned hint;
};

// What a class held when it was looked at. A version tag that is unchanged answers for all of it.
struct ClassFact {
  struct Lookup {
    enum Expect : std::uint8_t { Same, Absent, NoSetter, Subclass, NoSubclass, NoneNearer } expect;
    PyObject* name;     // borrowed from held; null for Subclass
    ObjectSlot after;   // null: the whole mro; a class: what super() sees after it; Subclass: of that class;
                        // NoneNearer: no class before it in the mro has the name
    ObjectSlot object;  // Same
    bool none;          // Same: None itself, not a dead object
  };
  std::vector<Lookup> lookups;
  mutable unsigned version = 0;
};

inline constexpr std::uint8_t kLoad = 0xFF;

// Locals are loaded all at once, before everything else.
struct LocalLoad {
  std::uint16_t slot, reg;
  std::uint32_t node;
};

struct GuardOp {
  std::uint8_t kind;     // GuardKind or kLoad
  std::uint8_t flag;     // meaning is the kind's
  std::uint16_t reg;     // the object looked at; for a load, the one filled
  std::uint32_t record;  // index into records; for a load, into nodes
  union {
    ObjectSlot slot;
    std::int64_t value;
    const TensorFact* tensor;
    const AliasFact* alias;
    const SizeFact* size;
    const LoadFact* load;
    const NameFact* name;
    const KeyFact* key;
    const ClassFact* cls;
    PyObject* object;  // borrowed from held
  };
};
static_assert(sizeof(GuardOp) == 16);

// A source they need, kept for the texts after the SourceTable is gone.
struct GuardNode {
  SourceKind kind;
  int parent;  // -1: the frame
  int index;
  PyRef key;
  std::string name;
  bool global_rooted;
  NumberPlace number;  // of an int that is there
};

// A guard, for the texts.
struct GuardRecord {
  GuardKind kind;
  int node = -1;
  PyRef object;           // constants only; classes, functions, … are kept as `described`
  std::string described;  // by kind: class name, condition, other source
  const void* id = nullptr;
  std::int64_t value = 0;
  TensorType tensor;
  std::shared_ptr<const struct SizeCondition> sizes;  // SizeAssumption
  std::vector<int> others;                            // NoAliasing: the other nodes
  int where = -1;                                     // index into CompiledGuards::places
};

class CompiledGuards {
 public:
  std::vector<LocalLoad> locals;
  std::vector<GuardOp> ops;
  int registers = 1;
  std::vector<std::uint16_t> wanted;  // registers of the sources check_and_load() hands out

  std::vector<GuardNode> nodes;
  std::vector<GuardRecord> records;  // in the order of checking and printing
  std::vector<UserFrame> places;

  // What the operations point to.
  std::vector<PyRef> held, weak;
  std::vector<PyObject*> weak_keys;  // those of `weak` whose referents operations hold as bare pointers
  std::vector<std::unique_ptr<PyObject*>> slots;
  std::vector<std::unique_ptr<std::int64_t[]>> extents;
  std::vector<std::unique_ptr<TensorFact>> tensors;
  std::vector<std::unique_ptr<AliasFact>> aliases;
  std::vector<std::shared_ptr<SizeFact>> sizes;
  std::vector<std::unique_ptr<LoadFact>> loads;
  std::vector<std::unique_ptr<NameFact>> names;
  std::vector<std::unique_ptr<KeyFact>> keys;
  std::vector<std::unique_ptr<ClassFact>> classes;

  mutable GuardMemo memo;
};

// Filled by a failing check when it explains; empty text: the guard's own condition is the explanation.
struct Why {
  std::string text;
  const CompiledGuards* compiled = nullptr;
  const GuardRecord* record = nullptr;
  std::string part, expected, actual;  // of what has parts: "size(0)", "3", "4"
  std::string place;                   // of what is no part of one source
  std::string source() const;          // printed as the recompile log does: L['x'] is x
};

// "L['l'][0] == 1" -> "l[0] == 1"
std::string strip_local_scope(const std::string& text);
// "Tensor", and "<class 'torch.Tensor'>", from the stored names only.
std::string class_name(PyTypeObject* type);
std::string class_text(PyTypeObject* type);

// Of a key of a dictionary: a weak reference, if it is compared by identity; a constant itself.
PyRef weak_key(const PyRef& key);

// Gives guard kinds what they need while they are compiled.
class GuardBuilder {
 public:
  explicit GuardBuilder(CompiledGuards& p) : compiled(p) {}
  // Owns constants; refers weakly to everything that can be referred to weakly.
  ObjectSlot refer(PyObject* o);
  PyObject* hold(PyRef o);
  // A key of a dictionary: owned if it is a constant, else borrowed, and no check passes once it has died.
  PyObject* hold_key(const PyRef& key);
  const NameFact* name(const Guard& g);
  NameFact* name(PyObject* name);
  const KeyFact* key(const Guard& g);
  std::uint16_t register_of(SourceRef s) const { return registers_of[static_cast<std::size_t>(s->id)]; }

  CompiledGuards& compiled;
  std::vector<std::uint16_t> registers_of;  // by source id; for relational guards
};

}  // namespace md
