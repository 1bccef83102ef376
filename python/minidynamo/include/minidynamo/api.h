// How C++ extensions reach tensors: a table of functions in the capsule `minidynamo._C._extension_api`. Plain C types,
// so that an extension and the package may be built by different compilers. Functions that fail return null with a
// Python exception set.
#pragma once

#include <Python.h>
#include <stdint.h>

#define MINIDYNAMO_API_VERSION 2

typedef struct MinidynamoTensor MinidynamoTensor;  // counted: retain, release

// Element types by the position of torch's names: uint8 is 0, int8 1, ... as c10::ScalarType numbers them.
typedef struct {
  int version;
  MinidynamoTensor* (*from_object)(PyObject* o);  // a new reference; null, without an exception, if `o` is no tensor
  PyObject* (*to_object)(MinidynamoTensor* t);
  void (*retain)(MinidynamoTensor* t);
  void (*release)(MinidynamoTensor* t);
  void* (*data)(MinidynamoTensor* t);  // of the first element; an address of the device that the tensor is on
  int (*device)(MinidynamoTensor* t);  // the ordinal of its CUDA device; -1 for the CPU
  int (*dtype)(MinidynamoTensor* t);
  int (*dim)(MinidynamoTensor* t);
  const int64_t* (*sizes)(MinidynamoTensor* t);
  const int64_t* (*strides)(MinidynamoTensor* t);
  int (*requires_grad)(MinidynamoTensor* t);
  // Uninitialised memory of a device, row-major if `strides` is null.
  MinidynamoTensor* (*make)(int dtype, int device, int dim, const int64_t* sizes, const int64_t* strides);
} MinidynamoApi;
