// The registry as Python data: _C._registry.rows().
#pragma once

namespace pybind11 {
class module_;
}

namespace md {

void bind_registry(pybind11::module_& module);

}  // namespace md
