// Tells a whole module of the standard library from one under import and from a program's file of that name.
#include "frontend/cpython/library_modules.h"

#include <map>
#include <string>

#include "frontend/cpython/import_module.h"

namespace md {

namespace {

PyRef attribute(PyObject* o, const char* name) {
  PyRef found = PyRef::steal(PyObject_GetAttrString(o, name));
  clear_answer();
  return found;
}

PyRef spec_of(PyObject* module) { return attribute(module, "__spec__"); }

// Where a module's file lies, or "frozen".
std::string folder_of(PyObject* module) {
  const PyRef spec = spec_of(module);
  const PyRef origin = spec ? attribute(spec.get(), "origin") : PyRef();
  const char* text = origin && PyUnicode_Check(origin.get()) ? PyUnicode_AsUTF8(origin.get()) : nullptr;
  clear_answer();
  const std::string path = text ? text : "";
  return path.substr(0, path.rfind('/'));
}

bool is_initializing(PyObject* module) {
  const PyRef spec = spec_of(module);
  const PyRef loading = spec ? attribute(spec.get(), "_initializing") : PyRef();
  return loading && loading.get() == Py_True;
}

// The package has imported functools from there itself.
bool is_from_library(PyObject* module) {
  static auto* const folder = new std::string();  // with the GIL held
  if (folder->empty()) *folder = folder_of(checked(import_module("functools")).get());
  const std::string own = folder_of(module);
  return !own.empty() && (own == *folder || own == "frozen");
}

}  // namespace

bool is_loading(const char* name) {
  PyObject* const module = find_item(PyImport_GetModuleDict(), name);
  return module && is_initializing(PyRef::borrow(module).get());
}

PyRef loaded_library(const char* name) {
  const PyRef module = PyRef::borrow(find_item(PyImport_GetModuleDict(), name));
  if (!module || !PyModule_Check(module.get()) || is_initializing(module.get())) return {};
  return is_from_library(module.get()) ? module : PyRef();
}

PyObject* library_object(const char* module, const char* name) {
  static auto* const known = new std::map<std::pair<std::string, std::string>, PyObject*>();  // with the GIL held
  const std::pair<std::string, std::string> key{module, name};
  if (const auto it = known->find(key); it != known->end()) return it->second;
  const PyRef found = loaded_library(module);
  PyRef object = found ? attribute(found.get(), name) : PyRef();
  if (!object) return nullptr;
  const auto [it, fresh] = known->try_emplace(key, object.get());
  if (fresh) (void)object.release();
  return it->second;
}

}  // namespace md
