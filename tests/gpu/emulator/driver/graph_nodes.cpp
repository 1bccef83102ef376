// Graphs put together node by node, and nodes of graphs that are ready given other parameters.
#include "graphs.h"

namespace emulated {
namespace {

CUfunction function_of(const CUDA_KERNEL_NODE_PARAMS_v2* p) {
  check(p && p->func && !p->kern);
  if (p->ctx) check(handles<Context>().get(p->ctx, CUDA_ERROR_INVALID_CONTEXT) == current_context());
  return p->func;
}

Work work_of(const CUDA_KERNEL_NODE_PARAMS_v2* p) {
  const CUfunction function = function_of(p);
  return kernel_work(function, {p->gridDimX, p->gridDimY, p->gridDimZ}, {p->blockDimX, p->blockDimY, p->blockDimZ},
                     p->sharedMemBytes, p->kernelParams, p->extra);
}

// Lines of bytes between places in memory of devices: what else there is, is refused.
Work work_of(const CUDA_MEMCPY3D* p) {
  constexpr int kOfDevice = 2;
  check(p && p->width_in_bytes > 0);
  for (const CUcopySide* side : {&p->from, &p->to}) {
    check(side->memory_type == kOfDevice && !side->level, CUDA_ERROR_NOT_SUPPORTED);
    check(!side->y && !side->z, CUDA_ERROR_NOT_SUPPORTED);
  }
  check(p->height == 1 && p->depth == 1, CUDA_ERROR_NOT_SUPPORTED);
  return copy_work("a copy of a graph", p->to.device + p->to.x_in_bytes, p->from.device + p->from.x_in_bytes,
                   p->width_in_bytes);
}

Work work_of(const CUDA_MEMSET_NODE_PARAMS* p) {
  check(p && (p->elementSize == 1 || p->elementSize == 2 || p->elementSize == 4) && p->width > 0);
  check(p->dst % p->elementSize == 0);
  check(p->height == 1, CUDA_ERROR_NOT_SUPPORTED);
  return fill_work("a fill of a graph", p->dst, p->value, p->elementSize, p->width);
}

template <class Parameters>
CUresult add(CUgraphNode* node, CUgraph graph, const CUgraphNode* after, std::size_t count, const Parameters* p) {
  check(node);
  *node = add_node(graph, after, count, work_of(p));
  return CUDA_SUCCESS;
}

// Launches to come do the other thing; those under way are not changed.
template <class Parameters>
CUresult change(CUgraphExec handle, CUgraphNode node, const Parameters* p) {
  const auto ready = handles<ReadyGraph>().get(handle);
  check(node != nullptr);
  Work work = work_of(p);
  const std::lock_guard guard(streams_lock());
  const auto number = ready->numbers.find(reinterpret_cast<const Node*>(node));
  check(number != ready->numbers.end());
  Work& now = ready->steps[number->second].work;
  check(now.kind == work.kind);
  now = std::move(work);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace emulated

EMULATED_API(cuGraphAddKernelNode_v2, Context, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
             std::size_t count, const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  return add(node, graph, after, count, parameters);
}

EMULATED_API(cuGraphAddMemcpyNode, Context, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
             std::size_t count, const CUDA_MEMCPY3D* parameters, CUcontext) {
  return add(node, graph, after, count, parameters);
}

EMULATED_API(cuGraphAddMemsetNode, Context, CUgraphNode* node, CUgraph graph, const CUgraphNode* after,
             std::size_t count, const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext) {
  return add(node, graph, after, count, parameters);
}

EMULATED_API(cuGraphExecKernelNodeSetParams_v2, Context, CUgraphExec ready, CUgraphNode node,
             const CUDA_KERNEL_NODE_PARAMS_v2* parameters) {
  return change(ready, node, parameters);
}

EMULATED_API(cuGraphExecMemcpyNodeSetParams, Context, CUgraphExec ready, CUgraphNode node,
             const CUDA_MEMCPY3D* parameters, CUcontext) {
  return change(ready, node, parameters);
}

EMULATED_API(cuGraphExecMemsetNodeSetParams, Context, CUgraphExec ready, CUgraphNode node,
             const CUDA_MEMSET_NODE_PARAMS* parameters, CUcontext) {
  return change(ready, node, parameters);
}
