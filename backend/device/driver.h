// CUDA's driver API: the functions that are used, as pointers into a library that is loaded when somebody first asks
// for devices. Nothing of it is linked, and a machine without it notices nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace md::device {

using Code = int;               // what each function returns; 0: fine
using Address = std::uint64_t;  // in the memory of a device: not to be followed here
using Handle = void*;           // contexts, streams, events, modules, functions, graphs

// The codes that are told apart.
inline constexpr Code kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3, kDeinitialized = 4, kInvalidPtx = 218,
                      kNoBinary = 209, kUnsupportedPtx = 222, kNotReady = 600;

// What nodes of a graph do, as the driver's functions take it.
struct KernelNode {
  Handle function = nullptr;
  unsigned grid[3], block[3];
  unsigned shared_bytes = 0;
  void** parameters = nullptr;
  void** extra = nullptr;
  Handle kernel = nullptr, context = nullptr;  // null: `function`, and the context in use
};
struct CopySide {
  std::size_t x = 0, y = 0, z = 0, level = 0;
  int memory_type = 0;
  void* host = nullptr;
  Address device = 0;
  Handle array = nullptr;
  void* reserved = nullptr;
  std::size_t pitch = 0, height = 0;
};
struct CopyNode {
  CopySide from, to;
  std::size_t bytes = 0, rows = 1, planes = 1;
};
struct FillNode {
  Address to = 0;
  std::size_t pitch = 0;
  unsigned value = 0, element_bytes = 1;
  std::size_t width = 0, rows = 1;
};

struct Driver {
  Code (*init)(unsigned flags);
  Code (*driver_version)(int* version);
  Code (*error_name)(Code code, const char** name);
  Code (*error_text)(Code code, const char** text);
  Code (*device_count)(int* count);
  Code (*device_get)(int* device, int ordinal);
  Code (*device_name)(char* name, int bytes, int device);
  Code (*device_uuid)(void* sixteen_bytes, int device);
  Code (*device_memory)(std::size_t* bytes, int device);
  Code (*device_attribute)(int* value, int attribute, int device);
  Code (*primary_retain)(Handle* context, int device);
  Code (*context_set)(Handle context);
  Code (*context_synchronize)();
  Code (*stream_priorities)(int* least, int* greatest);
  Code (*memory_info)(std::size_t* free, std::size_t* total);
  Code (*allocate)(Address* at, std::size_t bytes);
  Code (*free)(Address at);
  Code (*allocate_host)(void** at, std::size_t bytes, unsigned flags);
  Code (*free_host)(void* at);
  Code (*host_address)(Address* at, void* host, unsigned flags);
  Code (*pointer_attribute)(void* value, int attribute, Address at);
  Code (*copy_to_device)(Address to, const void* from, std::size_t bytes, Handle stream);
  Code (*copy_to_host)(void* to, Address from, std::size_t bytes, Handle stream);
  Code (*copy_within)(Address to, Address from, std::size_t bytes, Handle stream);
  Code (*copy_between)(Address to, Handle to_context, Address from, Handle from_context, std::size_t bytes,
                       Handle stream);
  Code (*set_bytes)(Address at, unsigned char byte, std::size_t bytes, Handle stream);
  Code (*stream_create)(Handle* stream, unsigned flags, int priority);
  Code (*stream_synchronize)(Handle stream);
  Code (*stream_query)(Handle stream);
  Code (*stream_wait)(Handle stream, Handle event, unsigned flags);
  Code (*event_create)(Handle* event, unsigned flags);
  Code (*event_destroy)(Handle event);
  Code (*event_record)(Handle event, Handle stream);
  Code (*event_query)(Handle event);
  Code (*event_synchronize)(Handle event);
  Code (*event_elapsed)(float* milliseconds, Handle begin, Handle end);
  Code (*module_load)(Handle* module, const void* code, unsigned count, int* options, void** values);
  Code (*module_unload)(Handle module);
  Code (*module_function)(Handle* function, Handle module, const char* name);
  Code (*function_get)(int* value, int attribute, Handle function);
  Code (*function_set)(Handle function, int attribute, int value);
  Code (*launch)(Handle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                 unsigned block_z, unsigned shared_bytes, Handle stream, void** parameters, void** extra);
  Code (*capture_begin)(Handle stream, int mode);
  Code (*capture_end)(Handle stream, Handle* graph);
  Code (*capture_asked)(Handle stream, int* status);
  Code (*graph_instantiate)(Handle* runnable, Handle graph, unsigned long long flags);
  Code (*graph_launch)(Handle runnable, Handle stream);
  Code (*graph_runnable_destroy)(Handle runnable);
  Code (*graph_destroy)(Handle graph);
  Code (*graph_create)(Handle* graph, unsigned flags);
  Code (*graph_add_kernel)(Handle* node, Handle graph, const Handle* after, std::size_t count, const KernelNode* what);
  Code (*graph_add_copy)(Handle* node, Handle graph, const Handle* after, std::size_t count, const CopyNode* what,
                         Handle context);
  Code (*graph_add_fill)(Handle* node, Handle graph, const Handle* after, std::size_t count, const FillNode* what,
                         Handle context);
  Code (*graph_change_kernel)(Handle runnable, Handle node, const KernelNode* what);
  Code (*graph_change_copy)(Handle runnable, Handle node, const CopyNode* what, Handle context);
  Code (*graph_change_fill)(Handle runnable, Handle node, const FillNode* what, Handle context);
};

// What the one look at the machine has found, which the first question takes.
struct Found {
  int devices = 0;
  int version = 0;
  std::string reason;  // why there are no devices
};
const Found& found() noexcept;

// Throws OpError(Runtime) with the reason if there are no devices, or if the process has been forked since they were
// first asked for.
const Driver& driver();

// Whether the driver may still be called: not in a forked child, and not when it was never loaded.
bool is_usable() noexcept;

// "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"
std::string words_of(Code code);
// Errors after which every call for the device fails.
bool is_lasting(Code code);

}  // namespace md::device
