// Repeats the look-ups of a class after its version tag has changed.
#include "frontend/guards/class_lookups.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/cpython/object_attr.h"
#include "frontend/cpython/plain_object.h"
#include "frontend/cpython/type_dict.h"

namespace md::guards {
namespace {

PyObject* found_after(PyTypeObject* type, PyObject* start, PyObject* name) {
  bool after = false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    PyObject* cls = PyTuple_GET_ITEM(type->tp_mro, i);
    if (after)
      if (PyObject* found = own_attribute(reinterpret_cast<PyTypeObject*>(cls), name)) return found;
    after |= cls == start;
  }
  return nullptr;
}

bool is_subclass(PyTypeObject* type, PyObject* of) {
  return PyType_Check(of) && PyType_IsSubtype(type, reinterpret_cast<PyTypeObject*>(of));
}

bool none_nearer(PyTypeObject* type, PyObject* than, PyObject* name) {
  (void)type_find(type, name);  // assigns a version tag
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); ++i) {
    PyObject* const cls = PyTuple_GET_ITEM(type->tp_mro, i);
    if (cls == than) return true;
    if (own_attribute(reinterpret_cast<PyTypeObject*>(cls), name)) return false;
  }
  return false;
}

bool holds(const ClassFact::Lookup& l, PyTypeObject* type) {
  using Lookup = ClassFact::Lookup;
  if (!l.name) return is_subclass(type, *l.after) == (l.expect == Lookup::Subclass);
  if (l.expect == Lookup::NoneNearer) return none_nearer(type, *l.after, l.name);
  PyObject* found = l.after ? found_after(type, *l.after, l.name) : type_find(type, l.name);
  switch (l.expect) {
    case Lookup::Absent:
      return !found;
    case Lookup::NoSetter:
      return !found || (!Py_TYPE(found)->tp_descr_set && is_c_type(Py_TYPE(found)));
    default:
      if (*l.object == Py_None && !l.none) return false;
      return found && (found == *l.object || (is_plain(*l.object) && plain_equal(*l.object, found)));
  }
}

PyObject* field(PyObject* item, Py_ssize_t i) {
  PyObject* o = PyTuple_GET_ITEM(item, i);
  return o == Py_None ? nullptr : o;
}

}  // namespace

void ClassLookups::prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
  auto fact = std::make_unique<ClassFact>();
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(g.object.get()); ++i) {
    PyObject* item = PyTuple_GET_ITEM(g.object.get(), i);
    ClassFact::Lookup l{};
    l.expect = static_cast<ClassFact::Lookup::Expect>(PyLong_AsLong(PyTuple_GET_ITEM(item, 0)));
    if (PyObject* name = field(item, 1)) l.name = b.hold(PyRef::borrow(name));
    if (PyObject* after = field(item, 2)) l.after = b.refer(after);
    if (l.expect == ClassFact::Lookup::Same) {
      l.object = b.refer(PyTuple_GET_ITEM(item, 3));
      l.none = *l.object == Py_None;
    }
    fact->lookups.push_back(l);
  }
  op.cls = fact.get();
  b.compiled.classes.push_back(std::move(fact));
}

bool ClassLookups::look_again(const ClassFact& f, PyTypeObject* type, Why* why) {
  for (const auto& l : f.lookups) {
    if (holds(l, type)) continue;
    if (why) {
      why->text = l.name ? std::string("attribute '") + utf8_of(l.name) + "' of class '" : "bases of class '";
      why->text += type->tp_name + std::string("' changed");
    }
    return false;
  }
  f.version = type->tp_version_tag;  // after the look-ups, which assign one
  return true;
}

std::string ClassLookups::describe(const Guard& g) {
  constexpr Py_ssize_t kShown = 16;
  const Py_ssize_t all = PyTuple_GET_SIZE(g.object.get());
  std::string names;
  for (Py_ssize_t i = 0; i < std::min(all, kShown); ++i) {
    PyObject* name = field(PyTuple_GET_ITEM(g.object.get(), i), 1);
    names += (names.empty() ? "" : ", ") + (name ? constant_repr(name) : std::string("__mro__"));
  }
  if (all > kShown) names += fmt::format(", ... {} more", all - kShown);
  return "unchanged " + names;
}

}  // namespace md::guards
