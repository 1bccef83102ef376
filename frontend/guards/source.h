// Where a value lives, seen from the frame's entry: L['x'].lin['w'][0]. Sources are hash-consed per trace and form the
// source trie; guards hang on its nodes, and compiled entries load their inputs through it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "frontend/cpython/py_ref.h"

namespace md {

enum class SourceKind : std::uint8_t {
  Local,         // localsplus slot `index` at entry (parameters, cells' content for captured parameters)
  CellContents,  // base is a cell object
  FreeCell,      // the cell object in localsplus slot `index`
  Global,        // key: name, in the frame's globals
  Builtin,       // key: name, in the frame's builtins
  ModuleGlobal,  // key: name, in the globals of the function at `base` (its __globals__)
  Attr,          // raw instance attribute: slot, instance __dict__ or type attribute, never user code; key: name
  InstanceDict,  // key looked up in the __dict__ of base only
  TypeOf,        // type(base)
  TypeAttr,      // attribute found on the mro of type(base), unbound; key: name
  ClassAttr,     // attribute found on the mro of the class at base, unbound; key: name
  Field,        // part of a function or class that no dictionary holds: __name__, __mro__, __defaults__, ...; key: name
  ListItem,     // base[index] of list or tuple (exact or subclass storage), or of an exact deque
  DictItem,     // base[key], key an exact str/int/float/bool/None/tuple of them, by identity or hash
  DictKey,      // the index-th key of base
  FuncCode,     // of a function over the frame's globals (index 0), or over those at the address `key`
  FuncDefault,  // index
  FuncKwDefault,  // key
  FuncClosure,    // index: the cell
  MethodSelf,
  MethodFunc,
  PartialFunc,
  PartialArgs,
  PartialKeywords,
  RangeField,   // key: "start" "stop" "step" of range or slice
  Constant,     // `object` itself (a module reached by import, ...)
  Referent,     // what `object`, a weak reference, refers to: a constant that the guards see alive
  TensorAttr,   // attribute of a tensor (a Python attribute); key: name
  ArrayTensor,  // a tensor over the memory of the array at base, or of the float there, made anew by each load()
};

inline constexpr int kOverOwnGlobals = 0;  // index of a FuncCode

struct Source;
using SourceRef = Source*;  // owned by the SourceTable

struct Source {
  SourceKind kind;
  SourceRef base = nullptr;
  int index = -1;
  PyRef key;                   // name or dict key
  PyRef object;                // Constant, Referent
  std::string name;            // "L['x'].y[0]", the reference's spelling; of a very deep one see kSpelledDepth
  int id = 0;                  // position in the table
  int depth = 0;               // steps from the frame
  bool global_rooted = false;  // starts at a global: prints and sorts with G['..']
  bool is_module = false;      // a neural network's module is there; known before anything below it is looked at
  bool in_module = false;      // below one
};

// Deeper sources are spelled by their place among all sources and their last steps, so that names stay short:
// "L['x'][0]...[0]<#712>[0]".
inline constexpr int kSpelledDepth = 100;
// Deeper ones are not followed: the frame runs as plain Python.
inline constexpr int kDeepestSource = 50'000;

// Where an int stands decides whether it may be a symbol: only in what a call brings, and not in a module's attributes.
enum class NumberPlace : std::uint8_t { Argument, Global, Module, Elsewhere };
NumberPlace place_of_number(const Source& s);

// The arguments of one frame at its entry.
struct FrameArgs {
  PyObject* const* localsplus;  // borrowed; null = unbound; free slots hold cells
  PyObject* globals;            // dict
  PyObject* builtins;           // dict
};

// Keys of sources run no user code to hash or compare; child() throws InternalError for any other.
class SourceTable {
 public:
  SourceRef local(int slot, const std::string& name);
  SourceRef free_cell(int slot, const std::string& name);
  SourceRef global(PyObject* name);
  SourceRef builtin(PyObject* name);
  SourceRef constant(PyObject* object, const std::string& printed);
  SourceRef child(SourceRef base, SourceKind kind, PyObject* key_or_null = nullptr, int index = -1);
  const std::vector<std::unique_ptr<Source>>& all() const { return sources_; }

 private:
  SourceRef intern(Source s);
  std::vector<std::unique_ptr<Source>> sources_;
  std::unordered_multimap<std::size_t, SourceRef> index_;
};

// The object at `s` for these arguments, by raw look-ups that run no user code. New reference; null without an
// exception if it is not there.
PyRef load(SourceRef s, const FrameArgs& args);

// What a weak reference refers to; null once it has died.
PyRef referent(PyObject* weak_reference);

// repr() of a constant; "<name object>" for anything whose repr may run user code.
std::string constant_repr(PyObject* o);

}  // namespace md
