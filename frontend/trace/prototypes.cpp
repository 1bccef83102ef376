// Keeps prototypes and stand-ins for the life of a trace and takes the classes apart at its end.
#include "frontend/trace/prototypes.h"

#include "frontend/cpython/type_dict.h"

namespace md {

// A class and its mro hold each other. They are to go now: their bases' __subclasses__() would show them.
Prototypes::~Prototypes() {
  values_.clear();
  stand_ins_.clear();
  while (!classes_.empty()) {
    take_apart(reinterpret_cast<PyTypeObject*>(classes_.back().get()));
    classes_.pop_back();
  }
}

void Prototypes::add_class(PyRef type, ValueRef cls) {
  values_[type.get()] = std::move(cls);
  classes_.push_back(std::move(type));
}

PyObject* Prototypes::add_stand_in(PyRef object, ValueRef v) {
  values_[object.get()] = std::move(v);
  stand_ins_.push_back(std::move(object));
  return stand_ins_.back().get();
}

}  // namespace md
