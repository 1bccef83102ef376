// The families of ops with a kernel of their own. Each returns false if it leaves the call to the CPU.
#pragma once

#include "backend/device_blocks/device_call.h"

namespace md::device_blocks {

bool run_reading(const DeviceCall& c);    // positions.cpp
bool run_writing(const DeviceCall& c);    // writing.cpp
bool run_product(const DeviceCall& c);    // products.cpp
bool run_lines(const DeviceCall& c);      // lines.cpp
bool run_windows(const DeviceCall& c);    // windows.cpp
bool run_searching(const DeviceCall& c);  // searching.cpp
bool run_joining(const DeviceCall& c);    // joining.cpp
bool run_selecting(const DeviceCall& c);  // selecting.cpp
bool run_grouping(const DeviceCall& c);   // grouping.cpp
bool run_sampling(const DeviceCall& c);   // sampling.cpp
bool run_special(const DeviceCall& c);    // special.cpp

// Of ops whose results have sizes that elements decide: they are made, which waits for the device.
bool make_selected(const DeviceCall& c, std::vector<TensorRef>& made);  // selecting.cpp
bool make_grouped(const DeviceCall& c, std::vector<TensorRef>& made);   // grouping.cpp

// lines.cpp: rows of `size` values, sorted, stable, with their positions (before: 0, 1, ... in each row); both have one
// dimension, and their memory is used.
void sort_rows(std::int64_t size, bool descending, TensorRef& values, TensorRef& positions);
// The lines of x along dimension d as rows, sorted.
bool sorted_lines(const TensorRef& x, int d, bool descending, TensorRef& values, TensorRef& positions);

// writing.cpp: out[index[i]] += values[i] in order, all of one dimension; positions are inside.
void add_by_position(const TensorImpl& out, const TensorImpl& index, const TensorImpl& values);

// `x` with its values copied into `out`, unless it is that very tensor.
bool copy_unless_same(const TensorImpl& x, const TensorImpl& out);

}  // namespace md::device_blocks
