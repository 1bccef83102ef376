// Makes the fakes, runs the function on them and reads the results' types: with numbers, or in a scratch graph.
#include "frontend/marked_callables/fake_tensors.h"

#include <algorithm>
#include <map>

#include "frontend/cpython/frame_access.h"
#include "frontend/marked_callables/reachable.h"
#include "frontend/marked_callables/scratch_graph.h"
#include "frontend/marked_callables/shaped_values.h"
#include "frontend/plan/result_shape.h"
#include "frontend/report/events.h"
#include "frontend/tensors/known_values.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/tensors/untouched_memory.h"
#include "frontend/trace/breaks.h"
#include "frontend/values/constant.h"
#include "frontend/values/containers.h"
#include "frontend/values/size_value.h"
#include "frontend/values/tensor.h"
#include "ir/run/eager.h"
#include "ir/sizes/shape_env.h"
#include "ir/tensor/device_generators.h"
#include "ir/tensor/extent.h"

namespace md {

namespace {

// The thread's gradient mode and the random streams as they were.
class Ambient {
 public:
  explicit Ambient(bool grad) : grad_(md::grad_enabled()) { set_grad_enabled(grad); }
  ~Ambient() {
    set_grad_enabled(grad_);
    streams_.put_back();
  }
  Ambient(const Ambient&) = delete;
  Ambient& operator=(const Ambient&) = delete;

 private:
  bool grad_;
  const DefaultStreams streams_;
};

template <class F>
void for_each_tensor_value(Tracer& t, const ValueRef& raw, F&& f) {
  ValueRef v = t.realize(raw);
  if (v->kind == ValueKind::Tensor) f(Ref<TensorValue>(static_cast<TensorValue*>(v.get())));
  const auto each = [&](const std::vector<ValueRef>& items) {
    for (auto& item : items) for_each_tensor_value(t, item, f);
  };
  if (auto* list = as<ListValue>(v)) each(list->items);
  if (auto* tuple = as<TupleValue>(v)) each(tuple->items);
}

// --- With numbers --------------------------------------------------------------------------------------------------

std::int64_t settled(Size s) {
  const std::int64_t n = hint(s);
  if (!guard_eq(s, Size(n))) throw InternalError("a size is not what its hint says");
  return n;
}

class Numbers {
 public:
  explicit Numbers(Tracer& t) : t_(t) {}

  PyRef object(const ValueRef& raw) {
    ValueRef v = t_.realize(raw);
    if (auto* x = as<TensorValue>(v)) return tensor(*x);
    if (auto* n = as<SizeValue>(v)) return py_int(settled(n->size));
    auto* list = as<ListValue>(v);
    auto* tuple = as<TupleValue>(v);
    if (list || tuple) {
      const auto& items = list ? list->items : tuple->items;
      PyRef made = checked(PyTuple_New(static_cast<Py_ssize_t>(items.size())));
      for (std::size_t k = 0; k < items.size(); ++k)
        PyTuple_SET_ITEM(made.get(), static_cast<Py_ssize_t>(k), object(items[k]).release());
      if (list) return checked(PySequence_List(made.get()));
      if (tuple->type == &PyTuple_Type) return made;
      return checked(PyObject_CallOneArg(reinterpret_cast<PyObject*>(tuple->type), made.get()));
    }
    if (PyRef c = v->as_constant()) return c;
    auto* slice = as<SliceValue>(v);
    if (!slice) throw InternalError("an argument of a call that becomes one node has no fake: " + v->print());
    return checked(PySlice_New(object(slice->start).get(), object(slice->stop).get(), object(slice->step).get()));
  }

  // What the results show: which argument's memory, what was written.
  FakeResult outcome(PyObject* result, const std::string& name) {
    FakeResult out;
    std::vector<TensorRef> tensors;
    std::string offender;
    out.shape = result_shape(result, tensors, offender);
    if (!out.shape) unmodelled(name, "result of type " + offender + " of a call that becomes one node");
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      TensorType type = type_of(Arg(tensors[i]));
      for (std::size_t j = 0; j < i; ++j) {
        if (tensors[j]->storage != tensors[i]->storage) continue;
        type.storage = out.types[j].storage;
        out.aliases = true;
      }
      for (const Given& g : given_) {
        if (g.tensor->storage != tensors[i]->storage) continue;
        type.storage = g.storage;
        out.aliases = true;
      }
      out.types.push_back(std::move(type));
    }
    out.made = std::move(tensors);
    for (std::size_t k = 0; k < given_.size(); ++k)
      if (given_[k].tensor->storage->version != 0) out.writes.push_back(static_cast<int>(k));
    return out;
  }

 private:
  struct Given {
    TensorRef tensor;
    int storage;
  };

  PyRef tensor(const TensorValue& x) {
    if (x.stand_in) {
      given_.push_back({x.stand_in, x.type.storage});
      return wrap_tensor(x.stand_in);
    }
    DimVec sizes, strides;
    for (Size s : x.type.sizes) sizes.push_back(settled(s));
    for (Size s : x.type.strides) strides.push_back(settled(s));
    const std::size_t bytes = checked_bytes(sizes, strides, settled(x.type.offset), x.type.dtype);
    Ref<Storage>& memory = storages_[x.type.storage];
    if (!memory || memory->bytes() < bytes) memory = untouched_zeros(bytes, x.type.device);
    auto made =
        make_ref<TensorImpl>(memory, x.type.dtype, std::move(sizes), std::move(strides), settled(x.type.offset));
    made->set_grad_state(x.type.grad_state());
    given_.push_back({made, x.type.storage});
    return wrap_tensor(made);
  }

  Tracer& t_;
  std::vector<Given> given_;
  std::map<int, Ref<Storage>> storages_;  // by the trace's numbers: arguments that share memory share it here
};

FakeResult run_with_numbers(Tracer& t, const std::string& name, PyObject* function, const CallArgs& args) {
  Numbers numbers(t);
  PyRef positional = checked(PyTuple_New(static_cast<Py_ssize_t>(args.positional.size())));
  for (std::size_t k = 0; k < args.positional.size(); ++k)
    PyTuple_SET_ITEM(positional.get(), static_cast<Py_ssize_t>(k), numbers.object(args.positional[k]).release());
  PyRef keywords = checked(PyDict_New());
  for (auto& [key, v] : args.keywords) checked(PyDict_SetItem(keywords.get(), key.get(), numbers.object(v).get()));
  PyRef result;
  {
    const Ambient ambient(t.grad_enabled);
    const UnknownValues zeros;
    Disarmed plain;
    result = PyRef::steal(PyObject_Call(function, positional.get(), keywords.get()));
  }
  if (!result) {
    if (!PyErr_ExceptionMatches(PyExc_Exception)) throw PythonError{};
    throw FakeRaised{take_exception()};
  }
  return numbers.outcome(result.get(), name);
}

// --- With symbols --------------------------------------------------------------------------------------------------

FakeResult run_with_symbols(Tracer& t, const std::string& name, const ValueRef& function, const CallArgs& args) {
  const auto arguments = tensors_of(t, args);
  const std::size_t effects = t.effects.list().size();
  ScratchGraph scratch(t);
  CallArgs given;
  for (auto& v : args.positional) given.positional.push_back(scratch.fake(v));
  for (auto& [key, v] : args.keywords) given.keywords.emplace_back(key, scratch.fake(v));
  ValueRef result = t.call(function, std::move(given));
  if (t.effects.list().size() != effects) unmodelled(name, "a rule for shapes that changes objects of the program");
  FakeResult out;
  std::vector<ValueRef> tensors;
  std::string offender;
  out.shape = result_shape(t, result, tensors, offender);
  if (!out.shape) unmodelled(name, "result of type " + offender + " of a call that becomes one node");
  std::vector<int> storages;
  for (auto& v : tensors) {
    TensorType type = as<TensorValue>(v)->type;
    const auto is_argument = [&](const auto& a) { return a->type.storage == type.storage; };
    const bool repeated = std::ranges::find(storages, type.storage) != storages.end();
    storages.push_back(type.storage);
    out.aliases |= repeated || std::ranges::any_of(arguments, is_argument);
    if (!std::ranges::any_of(arguments, is_argument) && !repeated) type.storage = -1;
    out.types.push_back(std::move(type));
  }
  out.writes = scratch.written(arguments);
  return out;
}

bool has_symbols(Tracer& t, const CallArgs& args) {
  if (!t.sizes.env) return false;
  bool found = false;
  const auto look = [&](const ValueRef& v) {
    found |= t.realize(v)->kind == ValueKind::Size;
    for_each_tensor_value(t, v, [&](const Ref<TensorValue>& x) {
      const auto symbolic = [](Size s) { return !s.is_const(); };
      found |= std::ranges::any_of(x->type.sizes, symbolic) || std::ranges::any_of(x->type.strides, symbolic) ||
               symbolic(x->type.offset);
    });
  };
  for (auto& v : args.positional) look(v);
  for (auto& [key, v] : args.keywords) look(v);
  return found;
}

}  // namespace

std::vector<Ref<TensorValue>> tensors_of(Tracer& t, const CallArgs& args) {
  std::vector<Ref<TensorValue>> out;
  const auto add = [&](const Ref<TensorValue>& x) { out.push_back(x); };
  for (auto& v : args.positional) for_each_tensor_value(t, v, add);
  for (auto& [key, v] : args.keywords) for_each_tensor_value(t, v, add);
  return out;
}

FakeResult run_on_fakes(Tracer& t, const std::string& name, PyObject* function, const ValueRef& traced,
                        const CallArgs& args) {
  if (traced && has_symbols(t, args)) {
    const std::size_t effects = t.effects.list().size();
    std::vector<ValueRef> reached = args.positional;
    for (auto& [key, v] : args.keywords) reached.push_back(v);
    reached.push_back(traced);
    const ReachableState before(t, std::move(reached));
    // What the thrown-away trace has changed cannot be taken back: the real one ends here then.
    const auto spoilt = [&] { return t.effects.list().size() != effects || before.has_changed(); };
    try {
      return run_with_symbols(t, name, traced, args);
    } catch (const GraphBreak&) {  // with the sizes of this call, then
      if (spoilt()) throw;
    } catch (const TracedRaise&) {  // which tell what the exception is
      if (spoilt()) unmodelled(name, "a rule for shapes that changes objects of the program");
    }
  }
  return run_with_numbers(t, name, function, args);
}

}  // namespace md
