// The families of ops with a kernel of their own. Each returns false if it leaves the call to the CPU.
#pragma once

#include "backend/device_blocks/device_call.h"

namespace md::device_blocks {

bool run_reading(const DeviceCall& c);    // positions.cpp
bool run_writing(const DeviceCall& c);    // positions.cpp
bool run_product(const DeviceCall& c);    // products.cpp
bool run_lines(const DeviceCall& c);      // lines.cpp
bool run_windows(const DeviceCall& c);    // windows.cpp
bool run_searching(const DeviceCall& c);  // searching.cpp
bool run_joining(const DeviceCall& c);    // joining.cpp

// lines.cpp: rows of `size` values with their positions, sorted, stable; both have one dimension.
void sort_rows(std::int64_t size, bool descending, TensorRef& values, TensorRef& positions);

// `x` with its values copied into `out`, unless it is that very tensor.
bool copy_unless_same(const TensorImpl& x, const TensorImpl& out);

}  // namespace md::device_blocks
