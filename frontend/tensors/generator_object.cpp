// The Python type of Generator: seeds, state, and which generator a call names.
#include "frontend/tensors/generator_object.h"

#include <cstring>
#include <random>

#include "frontend/tensors/mirror_types.h"
#include "ir/infer/infer.h"
#include "ir/tensor/device_generators.h"
#include "ir/tensor/device_runtime.h"
#include "ir/tensor/tensor.h"

namespace md {

PyTypeObject* generator_type = nullptr;

namespace {

struct GeneratorObject {
  PyObject_HEAD
  Generator own;
  Generator* state;  // `own`, or a default generator
  Device device;
};

PyObject* default_object = nullptr;

GeneratorObject& self_of(PyObject* o) { return *reinterpret_cast<GeneratorObject*>(o); }

bool draws(Device d) {
  DeviceRuntime* const devices = device_runtime(d.type);
  return devices && devices->device_count() > 0;
}

PyRef make_generator(Generator* state, Device device = kCpu) {
  PyRef made = checked(generator_type->tp_alloc(generator_type, 0));
  GeneratorObject& g = self_of(made.get());
  g.own = kFirstState;
  g.state = state ? state : &g.own;
  g.device = device;
  return made;
}

PyObject* generator_new(PyTypeObject*, PyObject* args, PyObject* kwargs) {
  return guarded([&]() -> PyObject* {
    static const char* names[] = {"device", nullptr};
    PyObject* device = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:Generator", const_cast<char**>(names), &device)) {
      throw PythonError{};
    }
    const Device d = device == Py_None ? kCpu : named_device(device);
    if (!d.is_cpu() && !draws(d))
      throw OpError(ErrorKind::Runtime, "Generator(): random numbers are drawn on the CPU, not on " + to_string(d));
    return make_generator(nullptr, available(d)).release();
  });
}

void generator_dealloc(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  type->tp_free(o);
  Py_DECREF(type);
}

PyObject* generator_manual_seed(PyObject* o, PyObject* seed) {
  return guarded([&]() -> PyObject* {
    set_state(*self_of(o).state, {seed_argument(seed, "manual_seed"), 0});
    return Py_NewRef(o);
  });
}

PyObject* generator_initial_seed(PyObject* o, PyObject*) {
  return PyLong_FromUnsignedLongLong(state_of(*self_of(o).state).seed);
}

PyObject* generator_seed(PyObject* o, PyObject*) {
  std::random_device source;
  const std::uint64_t seed = (std::uint64_t{source()} << 32) | source();
  set_state(*self_of(o).state, {seed, 0});
  return PyLong_FromUnsignedLongLong(seed);
}

// Seed and offset as 16 bytes, the lowest first.
PyObject* generator_get_state(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    const Generator g = state_of(*self_of(o).state);
    TensorRef bytes = empty_tensor(DimVec{static_cast<std::int64_t>(sizeof g)}, DType::UInt8);
    std::memcpy(bytes->data(), &g, sizeof g);
    return wrap_tensor(std::move(bytes)).release();
  });
}

PyObject* generator_set_state(PyObject* o, PyObject* state) {
  return guarded([&]() -> PyObject* {
    if (!is_tensor(state)) {
      throw_type_error("set_state(): expected a torch.ByteTensor, but got %.200s", Py_TYPE(state)->tp_name);
    }
    if (!tensor_impl(state)->is_readable())
      throw_type_error("set_state(): expected a torch.ByteTensor of the CPU, but got one on device '%s'",
                       to_string(tensor_impl(state)->device()).c_str());
    const TensorImpl& bytes = *tensor_impl(state);
    Generator g;
    if (bytes.dtype != DType::UInt8) {
      throw_type_error("set_state(): expected a torch.ByteTensor, but got one of another dtype");
    }
    if (bytes.numel() != static_cast<std::int64_t>(sizeof g) || !bytes.is_contiguous()) {
      throw OpError(ErrorKind::Runtime, "set_state(): a state is " + std::to_string(sizeof g) +
                                            " contiguous bytes, as get_state() gives it");
    }
    std::memcpy(&g, bytes.data(), sizeof g);
    set_state(*self_of(o).state, g);
    return Py_NewRef(o);
  });
}

PyObject* generator_clone_state(PyObject* o, PyObject*) {
  return guarded([&]() -> PyObject* {
    PyRef made = make_generator(nullptr, self_of(o).device);
    set_state(*self_of(made.get()).state, state_of(*self_of(o).state));
    return made.release();
  });
}

PyObject* generator_take_state(PyObject* o, PyObject* other) {
  return guarded([&]() -> PyObject* {
    if (Py_TYPE(other) != generator_type)
      throw_type_error("graphsafe_set_state(): expected a torch.Generator, but got %.200s", Py_TYPE(other)->tp_name);
    set_state(*self_of(o).state, state_of(*self_of(other).state));
    return Py_NewRef(o);
  });
}

PyObject* generator_device(PyObject* o, void*) {
  return guarded([&]() -> PyObject* { return device_object(self_of(o).device).release(); });
}

PyMethodDef generator_methods[] = {
    {"manual_seed", generator_manual_seed, METH_O, "manual_seed(seed): starts the stream anew; gives the generator."},
    {"initial_seed", generator_initial_seed, METH_NOARGS, "initial_seed(): the seed the stream started from."},
    {"seed", generator_seed, METH_NOARGS,
     "seed(): starts the stream from a number the system gives; gives the number."},
    {"get_state", generator_get_state, METH_NOARGS, "get_state(): the stream's position, as uint8."},
    {"set_state", generator_set_state, METH_O, "set_state(state): the position get_state() gave."},
    {"clone_state", generator_clone_state, METH_NOARGS, "clone_state(): another generator at the same position."},
    {"graphsafe_get_state", generator_clone_state, METH_NOARGS, "graphsafe_get_state(): as clone_state()."},
    {"graphsafe_set_state", generator_take_state, METH_O, "graphsafe_set_state(generator): its position."},
    {}};
PyGetSetDef generator_getset[] = {{"device", generator_device, nullptr, "Where what is drawn from it lives.", nullptr},
                                  {}};
PyType_Slot generator_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(generator_new)},
    {Py_tp_dealloc, reinterpret_cast<void*>(generator_dealloc)},
    {Py_tp_methods, generator_methods},
    {Py_tp_getset, generator_getset},
    {Py_tp_doc,
     const_cast<char*>("Generator(device='cpu'): a random stream; random functions take it as `generator`.")},
    {0, nullptr},
};
PyType_Spec generator_spec = {"minidynamo.Generator", sizeof(GeneratorObject), 0,
                              Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, generator_slots};

}  // namespace

Generator& generator_of(PyObject* o) { return *self_of(o).state; }

Generator* named_generator(PyObject* value, const char* function) {
  if (value == Py_None) return nullptr;
  if (Py_TYPE(value) != generator_type) {
    throw_type_error("%s(): argument 'generator' must be torch.Generator, not %.200s", function,
                     Py_TYPE(value)->tp_name);
  }
  return &generator_of(value);
}

void expect_device(PyObject* generator, Device drawn_on) {
  const Device own = self_of(generator).device;
  if (own == drawn_on || !drawn_on.has_memory()) return;
  if (own.type != drawn_on.type) {
    throw OpError(ErrorKind::Runtime, "Expected a '" + std::string(drawn_on.info().name) +
                                          "' device type for generator but found '" + std::string(own.info().name) +
                                          "'");
  }
  throw OpError(ErrorKind::Runtime,
                "Expected a generator of " + to_string(drawn_on) + " but found one of " + to_string(own));
}

std::uint64_t seed_argument(PyObject* seed, const char* function) {
  PyRef number = checked(PyNumber_Long(seed));
  int overflow = 0;
  const long long v = PyLong_AsLongLongAndOverflow(number.get(), &overflow);
  std::uint64_t bits = static_cast<std::uint64_t>(v);
  if (overflow > 0) bits = PyLong_AsUnsignedLongLong(number.get());
  if (overflow < 0 || PyErr_Occurred()) {
    PyErr_Clear();
    throw OpError(ErrorKind::Value, std::string(function) + "() expects a 64-bit integer");
  }
  return bits;
}

PyRef default_generator_object(Device d) {
  return d.is_cpu() ? default_generator_object() : make_generator(&default_generator(d), d);
}

PyRef default_generator_object() { return PyRef::borrow(default_object); }

int init_generator(PyObject* module) {
  generator_type = add_type(module, &generator_spec);
  if (!generator_type) return -1;
  generator_type->tp_name = "torch._C.Generator";
  try {
    default_object = make_generator(&default_generator()).release();
  } catch (const PythonError&) {
    return -1;
  }
  return PyModule_AddObjectRef(module, "default_generator", default_object);
}

}  // namespace md
