// minidynamo.Generator: a random stream of its own, or the default one.
#pragma once

#include "frontend/tensors/op_function.h"
#include "ir/tensor/generator.h"

namespace md {

extern PyTypeObject* generator_type;
Generator& generator_of(PyObject* o);

// The generator a call names: `value` of its argument `generator`, None meaning the default one (null). Throws
// TypeError for anything else.
Generator* named_generator(PyObject* value, const char* function);

// Throws OpError(Runtime) for a generator of another device than that of what is drawn.
void expect_device(PyObject* generator, Device drawn_on);

// Any 64-bit pattern, signed or not. Throws ValueError naming the function.
std::uint64_t seed_argument(PyObject* seed, const char* function);

PyRef default_generator_object();
PyRef default_generator_object(Device d);  // of a device
int init_generator(PyObject* module);

}  // namespace md
