// Values as Python's repr() spells them.
#pragma once

#include <string>
#include <string_view>

#include "ir/graph/arg.h"

namespace md {

std::string python_repr(double v);                // "1.0", "1e-05", "inf"
std::string python_repr(std::complex<double> c);  // "(1+2j)", "2j"
std::string python_repr(std::string_view v);      // "'m'"
// Any argument; nodes print as their names, dtypes as torch.float32.
std::string python_repr(const Arg& a);
std::string device_repr(Device d);                        // "device(type='cuda', index=1)"
std::string invalid_device(const std::string& text);      // why it names no device
std::string python_tuple(const std::vector<Arg>& items);  // "(a, 1)", "(a,)", "()"

}  // namespace md
