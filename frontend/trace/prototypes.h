// The classes a trace has made, as it looks at them: real ones, with stand-ins for what only a run knows. A run makes
// its own (values/made_class.h), so nothing of these may get into guards or plans.
#pragma once

#include <unordered_map>
#include <vector>

#include "frontend/trace/value.h"

namespace md {

class Prototypes {
 public:
  Prototypes() = default;
  ~Prototypes();
  Prototypes(const Prototypes&) = delete;
  Prototypes& operator=(const Prototypes&) = delete;

  bool has(PyTypeObject* type) const {
    return !classes_.empty() && values_.contains(reinterpret_cast<PyObject*>(type));
  }
  // What a prototype or a stand-in stands for; null: it is neither.
  ValueRef value_of(PyObject* object) const {
    if (values_.empty()) return {};
    const auto it = values_.find(object);
    return it == values_.end() ? ValueRef() : it->second;
  }
  void add_class(PyRef type, ValueRef cls);
  PyObject* add_stand_in(PyRef object, ValueRef v);

  // The bases that are no prototypes, each once.
  template <class F>
  void each_real_base(PyTypeObject* type, F f) const {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i)
      if (auto* base = reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(type->tp_mro, i)); !has(base)) f(base);
  }

 private:
  std::vector<PyRef> classes_, stand_ins_;
  std::unordered_map<PyObject*, ValueRef> values_;
};

}  // namespace md
