// The op table as Python data: _C.op_table_json().
#pragma once

namespace pybind11 {
class module_;
}

namespace md {

void bind_op_table(pybind11::module_& module);

}  // namespace md
