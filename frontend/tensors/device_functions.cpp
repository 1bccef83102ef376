// The runtime of CUDA devices as functions of Python: torch.cuda is written on them. Streams and events are numbers
// here.
#include "frontend/tensors/device_functions.h"

#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "frontend/tensors/ambient_modes.h"
#include "frontend/tensors/generator_object.h"
#include "frontend/tensors/mirror_types.h"
#include "frontend/tensors/pinned_memory.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/core/error.h"
#include "ir/tensor/device_generators.h"
#include "ir/tensor/device_runtime.h"
#include "ir/tensor/extent.h"

namespace md {

namespace py = pybind11;

namespace {

DeviceRuntime* runtime_or_null() { return device_runtime(DeviceType::Cuda); }

int device_count() {
  DeviceRuntime* const r = runtime_or_null();
  return r ? r->device_count() : 0;
}

DeviceRuntime& cuda_runtime() {
  DeviceRuntime* const r = runtime_or_null();
  if (!r || r->device_count() == 0) throw OpError(ErrorKind::Runtime, "there are no CUDA devices");
  return *r;
}

DeviceRuntime& runtime_with(int device) {
  DeviceRuntime& r = cuda_runtime();
  if (device < 0 || device >= r.device_count()) {
    throw OpError(ErrorKind::Device, "CUDA error: invalid device ordinal: there is no 'cuda:" + std::to_string(device) +
                                         "', the devices are 0 to " + std::to_string(r.device_count() - 1));
  }
  return r;
}

const TensorImpl& tensor_of(const py::object& o) {
  if (!is_tensor(o.ptr())) throw py::type_error("a tensor is expected");
  return *tensor_impl(o.ptr());
}

py::dict properties(int device) {
  const DeviceProperties p = runtime_with(device).properties(device);
  py::dict d;
  d["name"] = p.name;
  d["major"] = p.major;
  d["minor"] = p.minor;
  d["total_memory"] = p.total_memory;
  d["multi_processor_count"] = p.multiprocessors;
  d["warp_size"] = p.warp;
  d["max_threads_per_block"] = p.threads_per_block;
  d["max_threads_per_multi_processor"] = p.threads_per_multiprocessor;
  d["regs_per_multiprocessor"] = p.registers_per_multiprocessor;
  d["shared_memory_per_block"] = p.shared_memory_per_block;
  d["shared_memory_per_block_optin"] = p.shared_memory_at_most;
  d["shared_memory_per_multiprocessor"] = p.shared_memory_per_multiprocessor;
  d["L2_cache_size"] = p.l2_cache;
  d["clock_rate"] = p.clock_khz;
  d["memory_clock_rate"] = p.memory_clock_khz;
  d["memory_bus_width"] = p.memory_bus_bits;
  d["is_integrated"] = p.integrated ? 1 : 0;
  d["is_multi_gpu_board"] = 0;
  d["uuid"] = p.uuid;
  return d;
}

py::dict memory(int device) {
  const DeviceMemory m = runtime_with(device).memory(device);
  py::dict d;
  d["allocated"] = m.allocated;
  d["most_allocated"] = m.most_allocated;
  d["reserved"] = m.reserved;
  d["most_reserved"] = m.most_reserved;
  d["free"] = m.free;
  d["total"] = m.total;
  d["allocations"] = m.allocations;
  d["segments"] = m.segments;
  d["frees"] = m.frees;
  d["retries"] = m.retries;
  d["out_of_memory"] = m.out_of_memory;
  return d;
}

void bind_questions(py::module_& m) {
  m.def("device_count", &device_count, "How many devices there are; 0 without a driver.");
  m.def("is_present", [] { return device_count() > 0; }, "Whether there is a device.");
  m.def(
      "why_unavailable",
      [] { return runtime_or_null() ? runtime_or_null()->why_unavailable() : "this build knows no CUDA devices"; },
      "Why there is none; empty where there is one.");
  m.def(
      "driver_version", [] { return runtime_or_null() ? runtime_or_null()->driver_version() : 0; },
      "12040 of 12.4; 0 without a driver.");
  m.def("current_device", [] { return cuda_runtime().current_device(); }, "Of this thread.");
  m.def(
      "set_device",
      [](int device) {
        runtime_with(device).set_current_device(device);
        note_current_device(device);
      },
      "For this thread.");
  m.def("properties", &properties, "What the driver tells of a device, by torch's names.");
  m.def("memory", &memory, "Bytes and counts of a device.");
  m.def(
      "synchronize",
      [](int device) {
        DeviceRuntime& r = runtime_with(device);
        const py::gil_scoped_release others;
        r.synchronize(device);
      },
      "Waits until the device has done everything.");
  m.def("reset_peaks", [](int device) { runtime_with(device).reset_peaks(device); }, "Peaks begin again.");
  m.def("empty_cache", [] { cuda_runtime().empty_cache(); }, "Gives memory nobody uses back to the driver.");
  m.def("empty_pinned_cache", [] { cuda_runtime().empty_pinned_cache(); }, "The same for pinned memory of the host.");
  m.def(
      "set_memory_fraction",
      [](double fraction, int device) { runtime_with(device).set_memory_fraction(fraction, device); },
      "The share of a device's memory that may be reserved.");
}

void bind_streams(py::module_& m) {
  m.def("current_stream", [](int device) { return runtime_with(device).current_stream(device); }, "Of this thread.");
  m.def(
      "set_stream", [](int device, StreamNumber s) { runtime_with(device).set_current_stream(device, s); },
      "For this thread.");
  m.def(
      "make_stream", [](int device, int priority) { return runtime_with(device).make_stream(device, priority); },
      "A stream of the pool.");
  m.def(
      "adopt_stream",
      [](int device, std::uintptr_t handle) {
        return handle ? runtime_with(device).adopt_stream(device, reinterpret_cast<void*>(handle)) : 0;
      },
      "A stream of another library, by its handle.");
  m.def(
      "stream_priority", [](int device, StreamNumber s) { return runtime_with(device).stream_priority(device, s); },
      "A lower number goes first.");
  m.def(
      "stream_priorities", [](int device) { return runtime_with(device).stream_priorities(device); },
      "The least and the greatest.");
  m.def(
      "is_capturing", [](int device, StreamNumber s) { return runtime_with(device).is_capturing(device, s); },
      "Whether its work is kept for a graph.");
  m.def(
      "stream_handle",
      [](int device, StreamNumber s) {
        return reinterpret_cast<std::uintptr_t>(runtime_with(device).stream_handle(device, s));
      },
      "As the driver knows it.");
  m.def(
      "stream_is_done", [](int device, StreamNumber s) { return runtime_with(device).stream_is_done(device, s); },
      "Whether all its work is done.");
  m.def(
      "synchronize_stream",
      [](int device, StreamNumber s) {
        DeviceRuntime& r = runtime_with(device);
        const py::gil_scoped_release others;
        r.synchronize_stream(device, s);
      },
      "Waits until all its work is done.");
  m.def(
      "record_stream",
      [](const py::object& tensor, StreamNumber s) {
        const TensorImpl& t = tensor_of(tensor);
        if (t.device().type == DeviceType::Cuda) cuda_runtime().record_stream(*t.storage, s);
      },
      "The memory is not handed out again before the stream has done what it does now.");
}

// An event while somebody knows it.
struct Event {
  EventNumber number;
  Event(bool timed, bool blocking) : number(cuda_runtime().make_event(timed, blocking)) {}
  ~Event() {
    if (DeviceRuntime* const r = runtime_or_null()) r->destroy_event(number);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;
};

void bind_events(py::module_& m) {
  py::class_<Event>(m, "Event", "A point in a stream: Event(timed, blocking).")
      .def(py::init<bool, bool>())
      .def_readonly("number", &Event::number, "Which one it is.")
      .def(
          "record",
          [](const Event& e, int device, StreamNumber s) { runtime_with(device).record_event(e.number, device, s); },
          "It is passed when the stream has done its work up to here.")
      .def(
          "wait",
          [](const Event& e, int device, StreamNumber s) { runtime_with(device).wait_event(device, s, e.number); },
          "Work of the stream from here on waits for it.")
      .def(
          "is_done", [](const Event& e) { return cuda_runtime().event_is_done(e.number); }, "Whether it is passed.")
      .def(
          "synchronize",
          [](const Event& e) {
            DeviceRuntime& r = cuda_runtime();
            const py::gil_scoped_release others;
            r.synchronize_event(e.number);
          },
          "Waits until it is passed.")
      .def(
          "milliseconds_to",
          [](const Event& begin, const Event& end) {
            return cuda_runtime().milliseconds_between(begin.number, end.number);
          },
          "Both are passed.");
}

void bind_graphs(py::module_& m) {
  py::class_<DeviceGraph, std::shared_ptr<DeviceGraph>>(m, "Graph", "Work of a stream, to be run as a whole.")
      .def("replay", &DeviceGraph::replay, "Runs it on a stream.");
  m.def(
      "begin_capture",
      [](int device, StreamNumber s, const DeviceGraph* shares) {
        runtime_with(device).begin_capture(device, s, shares);
      },
      py::arg("device"), py::arg("stream"), py::arg("shares").none(true) = nullptr,
      "What the stream is given from here on is kept.");
  m.def(
      "end_capture", [](int device, StreamNumber s) { return runtime_with(device).end_capture(device, s); },
      "As a Graph.");
}

bool is_pinned(const py::object& tensor) {
  const TensorImpl& t = tensor_of(tensor);
  return t.is_readable() && t.storage->bytes() && device_count() > 0 && cuda_runtime().is_pinned(t.data());
}

void release_object(void*, std::size_t, void* object) {
  if (!Py_IsInitialized()) return;
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF(static_cast<PyObject*>(object));
  PyGILState_Release(state);
}

// A tensor over memory of a device that `owner` keeps.
py::object tensor_over(std::uintptr_t address, const std::vector<std::int64_t>& sizes,
                       const std::vector<std::int64_t>& strides, const py::object& dtype, int device,
                       const py::object& owner) {
  runtime_with(device);
  const DType type = tensor_dtype(dtype.ptr());
  DimVec dims, steps;
  for (const std::int64_t n : sizes) dims.push_back(n);
  for (const std::int64_t n : strides) steps.push_back(n);
  const std::size_t bytes = checked_bytes(dims, steps, 0, type);
  if (bytes && address % item_size(type) != 0)
    throw OpError(ErrorKind::Value, "elements that do not lie at multiples of their size");
  auto storage = make_ref<Storage>(reinterpret_cast<void*>(address), bytes, release_object, Py_NewRef(owner.ptr()),
                                   Device{DeviceType::Cuda, static_cast<std::int8_t>(device)});
  storage->foreign = true;
  return py::reinterpret_steal<py::object>(
      wrap_tensor(make_ref<TensorImpl>(std::move(storage), type, std::move(dims), std::move(steps), 0)).release());
}

}  // namespace

void bind_devices(py::module_& module) {
  py::module_ m = module.def_submodule("_cuda", "The runtime of CUDA devices: streams and events are numbers.");
  bind_questions(m);
  bind_streams(m);
  bind_events(m);
  bind_graphs(m);
  m.def(
      "default_generator",
      [](int device) {
        runtime_with(device);
        return py::reinterpret_steal<py::object>(
            default_generator_object(Device{DeviceType::Cuda, static_cast<std::int8_t>(device)}).release());
      },
      "The random stream of a device.");
  m.def("seed", &seed_devices, "The random streams of all devices start anew.");
  m.def(
      "pinned_copy",
      [](const py::object& t) {
        return py::reinterpret_steal<py::object>(wrap_tensor(pinned_copy(tensor_of(t))).release());
      },
      "A tensor of the CPU in pinned memory.");
  m.def("is_pinned", &is_pinned, "Whether the elements lie in pinned memory.");
  m.def("tensor_over", &tensor_over, "A tensor over memory of a device that an object keeps.");
}

}  // namespace md
