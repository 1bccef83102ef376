// How many threads kernels may use: a process-wide setting the thread pool reads at every parallel loop.
#pragma once

namespace md {

int num_threads();
void set_num_threads(int n);  // n >= 1

}  // namespace md
