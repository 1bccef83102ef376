// Which kernels a device's tensor cores have, by its capability.
#pragma once

#include <string>
#include <string_view>

#include "ir/reference/product_order.h"
#include "ir/tensor/tensor.h"

namespace md::device_blocks {

std::int64_t multiprocessors_of(Device device);
// "mma_product_64_dd_f16_sm_80"; empty if the device multiplies nothing of that dtype on tensor cores.
std::string tensor_core_entry(std::string_view kernel, DType t, Device device);

}  // namespace md::device_blocks
