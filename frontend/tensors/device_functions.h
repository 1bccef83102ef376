// _C._cuda: what torch.cuda asks of CUDA devices.
#pragma once

namespace pybind11 {
class module_;
}

namespace md {

void bind_devices(pybind11::module_& module);

}  // namespace md
