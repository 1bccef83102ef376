#include "frontend/region.h"

#include <vector>

namespace md {

Region* get_region(PyObject* backend, const std::string& name, bool fullgraph, int dynamic, PyObject* options) {
  static auto* regions = new std::vector<std::unique_ptr<Region>>();  // used with the GIL held
  for (auto& r : *regions)
    if (r->backend.get() == backend && r->backend_name == name && r->fullgraph == fullgraph && r->dynamic == dynamic &&
        r->options.get() == options)
      return r.get();
  auto r = std::make_unique<Region>();
  r->backend = PyRef::borrow(backend);
  r->backend_name = name;
  r->fullgraph = fullgraph;
  r->dynamic = dynamic;
  r->options = PyRef::borrow(options);
  regions->push_back(std::move(r));
  return regions->back().get();
}

}  // namespace md
