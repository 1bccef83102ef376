// Interns options, and drops the entries made under them when their backend dies.
#include "frontend/entries/compile_options.h"

#include <algorithm>
#include <memory>
#include <vector>

namespace md {

namespace {

// Used with the GIL held.
std::vector<std::unique_ptr<CompileOptions>>& all_options() {
  static auto* list = new std::vector<std::unique_ptr<CompileOptions>>();
  return *list;
}

// The backend of some options has died: nobody can ask for their entries any more.
PyObject* forget_options(PyObject* capsule, PyObject*) {
  const void* dead = PyCapsule_GetPointer(capsule, nullptr);
  auto& all = all_options();
  const auto at = std::ranges::find(all, dead, [](const auto& r) { return static_cast<const void*>(r.get()); });
  if (at != all.end()) {
    const std::unique_ptr<CompileOptions> options = std::move(*at);
    all.erase(at);
    remove_entries_under(options.get());
  }
  Py_RETURN_NONE;
}

PyMethodDef kForget{"forget_options", forget_options, METH_O, nullptr};

// Without weak references to it (a builtin) a backend stays for the life of the process.
void watch_backend(CompileOptions& r) {
  if (!r.backend) return;
  PyRef capsule = checked(PyCapsule_New(&r, nullptr, nullptr));
  PyRef callback = checked(PyCFunction_New(&kForget, capsule.get()));
  r.watch = PyRef::steal(PyWeakref_NewRef(r.backend, callback.get()));
  if (r.watch) return;
  clear_answer();
  r.watch = PyRef::borrow(r.backend);
}

constexpr int kReplays = 4;

}  // namespace

CompileStyle compile_style(int number) { return {static_cast<CompileMode>(number % kReplays), number >= kReplays}; }
int number_of(const CompileStyle& style) { return static_cast<int>(style.mode) + (style.replays ? kReplays : 0); }

CompileOptions* get_options(PyObject* backend, const std::string& name, bool fullgraph, int dynamic,
                            PyObject* backend_options, const CompileStyle& style) {
  for (auto& r : all_options())
    if (r->backend == backend && r->backend_name == name && r->fullgraph == fullgraph && r->dynamic == dynamic &&
        r->backend_options.get() == backend_options && r->style == style)
      return r.get();
  auto r = std::make_unique<CompileOptions>();
  r->backend = backend;
  r->backend_name = name;
  r->fullgraph = fullgraph;
  r->dynamic = dynamic;
  r->backend_options = PyRef::borrow(backend_options);
  r->style = style;
  watch_backend(*r);
  all_options().push_back(std::move(r));
  return all_options().back().get();
}

}  // namespace md
