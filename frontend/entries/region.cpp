// Interns regions by their options, and drops a region's entries when its backend dies.
#include "frontend/entries/region.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace md {

namespace {

// Used with the GIL held.
std::vector<std::unique_ptr<Region>>& regions() {
  static auto* list = new std::vector<std::unique_ptr<Region>>();
  return *list;
}

// The backend of a region has died: nobody can ask for its entries any more.
PyObject* forget_region(PyObject* capsule, PyObject*) {
  const void* dead = PyCapsule_GetPointer(capsule, nullptr);
  auto& all = regions();
  const auto at = std::ranges::find(all, dead, [](const auto& r) { return static_cast<const void*>(r.get()); });
  if (at != all.end()) {
    const std::unique_ptr<Region> region = std::move(*at);
    all.erase(at);
    remove_region(region.get());
  }
  Py_RETURN_NONE;
}

PyMethodDef kForget{"forget_region", forget_region, METH_O, nullptr};

// Without weak references to it (a builtin) a backend stays for the life of the process.
void watch_backend(Region& r) {
  if (!r.backend) return;
  PyRef capsule = checked(PyCapsule_New(&r, nullptr, nullptr));
  PyRef callback = checked(PyCFunction_New(&kForget, capsule.get()));
  r.watch = PyRef::steal(PyWeakref_NewRef(r.backend, callback.get()));
  if (r.watch) return;
  clear_answer();
  r.watch = PyRef::borrow(r.backend);
}

}  // namespace

Region* get_region(PyObject* backend, const std::string& name, bool fullgraph, int dynamic, PyObject* options,
                   CompileMode mode) {
  for (auto& r : regions())
    if (r->backend == backend && r->backend_name == name && r->fullgraph == fullgraph && r->dynamic == dynamic &&
        r->options.get() == options && r->mode == mode)
      return r.get();
  auto r = std::make_unique<Region>();
  r->backend = backend;
  r->backend_name = name;
  r->fullgraph = fullgraph;
  r->dynamic = dynamic;
  r->options = PyRef::borrow(options);
  r->mode = mode;
  watch_backend(*r);
  regions().push_back(std::move(r));
  return regions().back().get();
}

}  // namespace md
