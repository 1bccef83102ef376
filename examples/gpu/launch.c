// Launches a graph that `python -m minidynamo ptx PROGRAM -o FOLDER` has written, with nothing but CUDA's driver:
//
//   cc launch.c -o launch -ldl
//   ./launch FOLDER GRAPH [FILE ...]
//
// GRAPH is its number in the manifest. The files hold the memory of its inputs, in order; the memory of its outputs is
// written to FOLDER/output_0.bin and so on. Without a card, MINIDYNAMO_CUDA_DRIVER names the emulated driver's library.
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "manifest.h"

typedef uint64_t Address;

// The functions of the driver that are used.
static struct {
  int (*init)(unsigned);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  int (*load)(void** module, const void* ptx);
  int (*function)(void** function, void* module, const char* name);
  int (*set_attribute)(void* function, int attribute, int value);
  int (*allocate)(Address* memory, size_t bytes);
  int (*fill)(Address memory, unsigned char byte, size_t bytes);
  int (*to_device)(Address memory, const void* from, size_t bytes);
  int (*to_host)(void* to, Address memory, size_t bytes);
  int (*launch)(void* function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned shared,
                void* stream, void** parameters, void** extra);
  int (*synchronize)(void);
  int (*error_name)(int code, const char** name);
} cuda;

static void fail(const char* what, const char* detail) {
  fprintf(stderr, "launch: %s: %s\n", what, detail);
  exit(1);
}

static void check(int code, const char* what) {
  const char* name = "unknown code";
  if (!code) return;
  cuda.error_name(code, &name);
  fail(what, name);
}

static void find_driver(void) {
  const char* set = getenv("MINIDYNAMO_CUDA_DRIVER");
  void* library = dlopen(set ? set : "libcuda.so.1", RTLD_NOW);
  if (!library) fail("no driver", dlerror());
  const struct {
    const char* name;
    void* place;
  } wanted[] = {{"cuInit", &cuda.init},
                {"cuDevicePrimaryCtxRetain", &cuda.retain},
                {"cuCtxSetCurrent", &cuda.set_current},
                {"cuModuleLoadData", &cuda.load},
                {"cuModuleGetFunction", &cuda.function},
                {"cuFuncSetAttribute", &cuda.set_attribute},
                {"cuMemAlloc_v2", &cuda.allocate},
                {"cuMemsetD8_v2", &cuda.fill},
                {"cuMemcpyHtoD_v2", &cuda.to_device},
                {"cuMemcpyDtoH_v2", &cuda.to_host},
                {"cuLaunchKernel", &cuda.launch},
                {"cuCtxSynchronize", &cuda.synchronize},
                {"cuGetErrorName", &cuda.error_name}};
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    void* found = dlsym(library, wanted[i].name);
    if (!found) fail("the driver lacks", wanted[i].name);
    memcpy(wanted[i].place, &found, sizeof found);
  }
}

// The memories of a graph by their names.
static struct {
  char name[32];
  Address address;
  size_t bytes;
} memories[1024];
static int memory_count;

static int memory(const char* name) {
  for (int i = 0; i < memory_count; ++i) {
    if (!strcmp(memories[i].name, name)) return i;
  }
  fail("no memory of the name", name);
  return 0;
}

static void make_memory(const char* name, size_t bytes, const void* content) {
  if (memory_count == 1024) fail("too many memories", name);
  snprintf(memories[memory_count].name, sizeof memories->name, "%s", name);
  memories[memory_count].bytes = bytes;
  Address* at = &memories[memory_count++].address;
  check(cuda.allocate(at, bytes ? bytes : 1), "cuMemAlloc");
  if (content && bytes) check(cuda.to_device(*at, content, bytes), "cuMemcpyHtoD");
}

// Each tensor's memory; one that lies in another tensor's has no size of its own.
static void make_memories(const struct Json* graph, const char* folder, char** files, int file_count) {
  static const char* const lists[] = {"inputs", "outputs", "constants"};
  int used = 0, number = 0;
  for (int i = 0; i < 3; ++i) {
    for (const struct Json* each = json_get(graph, lists[i])->first; each; each = each->next) {
      if (!json_find(each, "bytes")) continue;
      const size_t bytes = (size_t)json_number(each, "bytes");
      char* content = NULL;
      if (i == 0) {
        if (used == file_count) fail("no file for", json_text(each, "memory"));
        content = read_file("", files[used++], bytes);
      } else if (i == 2) {
        content = read_file(folder, json_text(each, "file"), bytes);
      }
      make_memory(json_text(each, "memory"), bytes, content);
      free(content);
    }
  }
  for (const struct Json* each = json_get(graph, "temporaries")->first; each; each = each->next) {
    char name[32];
    snprintf(name, sizeof name, "temporary %d", number++);
    make_memory(name, (size_t)json_number(each, "bytes"), NULL);
  }
}

// Every argument is one 64-bit word.
static uint64_t argument(const struct Json* given, Address status) {
  const char* kind = json_text(given, "kind");
  if (!strcmp(kind, "status")) return status;
  const int by_value = !strcmp(kind, "value");
  if (strcmp(kind, "buffer") && !by_value) return (uint64_t)json_number(given, "value");
  const int64_t bytes = dtype_bytes(json_text(given, "dtype")), shift = json_number(given, "shift") * bytes;
  const Address at = memories[memory(json_text(given, "of"))].address + (uint64_t)shift;
  if (!by_value) return at;
  uint64_t bits = 0;
  check(cuda.to_host(&bits, at, (size_t)bytes), "cuMemcpyDtoH");
  return bits;
}

static void launch(const struct Json* kernel, const char* folder, Address status) {
  const char* name = json_text(kernel, "entry");
  if (json_get(kernel, "file")->kind == JSON_NULL) fail(json_text(kernel, "name"), json_text(kernel, "why"));
  uint64_t words[256];  // one behind the other: some kernels take them as one structure
  void* pointers[256];
  int count = 0;
  for (const struct Json* each = json_get(kernel, "arguments")->first; each; each = each->next, ++count) {
    if (count == 256) fail("too many arguments", name);
    words[count] = argument(each, status);
    pointers[count] = &words[count];
  }
  unsigned shape[6], *to = shape;
  for (const struct Json* each = json_get(kernel, "grid")->first; each; each = each->next)
    *to++ = (unsigned)each->number;
  for (const struct Json* each = json_get(kernel, "block")->first; each; each = each->next)
    *to++ = (unsigned)each->number;
  if (!shape[0] || !shape[1] || !shape[2]) return;  // nothing to do

  char* ptx = read_file(folder, json_text(kernel, "file"), 0);
  void *module, *function;
  check(cuda.load(&module, ptx), "cuModuleLoadData");
  check(cuda.function(&function, module, name), name);
  const int shared = (int)json_number(kernel, "shared_bytes");
  if (shared > 48 * 1024) check(cuda.set_attribute(function, 8, shared), "cuFuncSetAttribute");
  check(cuda.launch(function, shape[0], shape[1], shape[2], shape[3], shape[4], shape[5], (unsigned)shared, NULL,
                    pointers, NULL),
        "cuLaunchKernel");
  check(cuda.synchronize(), name);
  int32_t failed = 0;
  check(cuda.to_host(&failed, status, sizeof failed), "cuMemcpyDtoH");
  if (failed) fail(name, "an operation failed: a division by zero, or a position outside");
  free(ptx);
}

int main(int count, char** words) {
  if (count < 3) fail("usage", "launch FOLDER GRAPH [FILE ...]");
  const char* folder = words[1];
  char* text = read_file(folder, "manifest.json", 0);
  const struct Json* manifest = json_parse(text);
  const struct Json* graph = json_at(json_get(manifest, "graphs"), atoi(words[2]));
  find_driver();
  void* context;
  check(cuda.init(0), "cuInit");
  check(cuda.retain(&context, 0), "cuDevicePrimaryCtxRetain");
  check(cuda.set_current(context), "cuCtxSetCurrent");
  make_memories(graph, folder, words + 3, count - 3);
  Address status;
  check(cuda.allocate(&status, 64), "cuMemAlloc");
  check(cuda.fill(status, 0, 64), "cuMemsetD8");
  for (const struct Json* each = json_get(graph, "kernels")->first; each; each = each->next) {
    launch(json_at(json_get(manifest, "kernels"), (int)each->number), folder, status);
  }
  int number = 0;
  for (const struct Json* each = json_get(graph, "outputs")->first; each; each = each->next, ++number) {
    const int at = memory(json_text(each, "memory"));
    char* content = malloc(memories[at].bytes + 1);
    check(cuda.to_host(content, memories[at].address, memories[at].bytes), "cuMemcpyDtoH");
    char name[32];
    snprintf(name, sizeof name, "output_%d.bin", number);
    write_file(folder, name, content, memories[at].bytes);
    printf("%s: %zu bytes\n", name, memories[at].bytes);
    free(content);
  }
  return 0;
}
