// Words of memory that stand for accesses and guards: which ones show, while they are unchanged, that an access gives
// the same object again or that a guard passes again.
#pragma once

#include <cstdint>
#include <unordered_set>
#include <vector>

#include "frontend/guards/compiled_guards.h"

namespace md {

// What is known of the object in a register, a local or one to which the words lead.
struct MemoizedObject {
  int node = -1;
  int root = -1;       // what it is reached from: index into the recorder's roots
  bool known = false;  // words show that the object is at this address
  bool same = false;   // and that it is the one that was there, not another one that took its place
  bool local = false;
  bool apart = false;  // a local whose elements are compared, not itself
};

// Numbers, strings and the like, which are mostly others each time.
bool is_scalar(PyObject* o);

class MemoWords {
 public:
  using At = MemoizedObject;
  // `by_entry`: of a node: its dictionary is watched entry by entry instead of by its version.
  MemoWords(const std::vector<std::uint8_t>& strikes, std::uint8_t by_entry) : strikes_(strikes), by_entry_(by_entry) {}

  // False where no words tell what the access from `o` or the look-up gives; `same`: as MemoizedObject has it.
  bool access(PyObject* o, const LoadFact& f, const At& a, bool& same);
  bool entry(PyObject* dict, PyObject* key, Py_hash_t hash, int node, bool& same);
  // False where no words tell that the guard on `o` passes.
  bool guard(GuardKind kind, const GuardOp& op, PyObject* o, const At& a);
  // The word at `at` belongs to the object of `node`.
  void word(const void* at, int node);

  std::vector<md_word> words;
  std::vector<int> owners;    // of the words: the nodes at whose objects they are
  std::vector<PyRef> kept;    // numbers and strings whose addresses stand for their values
  bool over_globals = false;  // a function was met that must go on using the frame's globals

 private:
  void word(const md_word& w, int node);
  void type_word(PyObject* o, const At& a);
  bool class_word(PyTypeObject* type, int node);
  bool scalar(PyObject* o, const At& a);

  bool in_dict(PyObject* dict, PyObject* key, Py_hash_t hash, int node, bool& same);
  bool in_instance(PyObject* o, PyObject* name, const At& a, bool& same);
  bool attribute(PyObject* o, const LoadFact& f, const At& a, bool& same);
  bool on_class(PyObject* o, const At& a, const AccessMemo& m, bool& same);
  bool item(PyObject* o, Py_ssize_t index, const At& a, bool& same);
  bool of_function(PyObject* o, const LoadFact& f, const At& a, bool& same);
  bool of_class(PyObject* o, const LoadFact& f, const At& a);
  bool length(PyObject* o, const At& a);
  bool presence(PyObject* o, const NameFact& f, const At& a);
  bool is_by_entry(int node) const { return node >= 0 && strikes_[static_cast<std::size_t>(node)] >= by_entry_; }

  const std::vector<std::uint8_t>& strikes_;  // by node
  const std::uint8_t by_entry_;
  std::unordered_set<const void*> noted_;
};

}  // namespace md
