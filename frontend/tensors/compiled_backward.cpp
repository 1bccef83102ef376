// From a recorded backward() to a graph, and to the results of what was made of it.
#include "frontend/tensors/compiled_backward.h"

#include <algorithm>
#include <utility>

#include "frontend/cpython/import_module.h"
#include "frontend/tensors/gradient_hooks.h"
#include "frontend/tensors/node_object.h"
#include "frontend/tensors/recorded_values.h"
#include "frontend/tensors/tensor_parts.h"

namespace md {

namespace {

using Step = BackwardRecorder::Step;
using StepKind = BackwardRecorder::StepKind;

// Of this thread: null, or a compiler, or False where backward() runs op by op whatever else is asked for.
constinit thread_local PyObject* compiler_of_thread = nullptr;
CompilerOfCode compiler_of_code = nullptr;

PyRef exchange_compiler(PyObject* compiler) {
  return PyRef::steal(std::exchange(compiler_of_thread, Py_XNewRef(compiler)));
}

// Hooks, and what is done to compile, may call backward() themselves.
class WithoutCompiler {
 public:
  WithoutCompiler() : before_(exchange_compiler(Py_False)) {}
  ~WithoutCompiler() { exchange_compiler(before_.get()); }
  WithoutCompiler(const WithoutCompiler&) = delete;

 private:
  const PyRef before_;
};

// Tells the steps to an object of the class Capture, which makes a graph of them.
class Telling {
 public:
  Telling(RecordedValues& values, PyRef capture) : values_(values), capture_(std::move(capture)) {
    inputs_ = checked(PyObject_GetAttrString(capture_.get(), "inputs"));
  }

  void tell(std::span<const Step> steps) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step* next = i + 1 < steps.size() ? &steps[i + 1] : nullptr;
      tell(steps[i], next && next->kind == StepKind::Accumulated);
    }
  }

  PyRef node_of(const TensorRef& t) { return numbered(values_.number_of(t)); }

 private:
  PyRef numbered(long number) const {
    if (number >= 0) return made_.at(static_cast<std::size_t>(number));
    return PyRef::borrow(PyList_GET_ITEM(inputs_.get(), -1 - number));
  }
  PyRef target_of(const Step& s) { return numbered(values_.number_of_target(s.args[0].get<TensorRef>())); }
  PyRef hook_of(const Step& s) { return checked(PyLong_FromSize_t(values_.number_of_hook(*s.hook))); }

  void tell(const Step& s, bool has_post_hooks) {
    switch (s.kind) {
      case StepKind::Op:
        return tell_call(s);
      case StepKind::Hook:
        made_.push_back(checked(PyObject_CallMethod(capture_.get(), "hook", "OO", hook_of(s).get(),
                                                    node_of(s.args[0].get<TensorRef>()).get())));
        return;
      case StepKind::Accumulate:
        checked(PyObject_CallMethod(capture_.get(), "accumulate", "OOOO", target_of(s).get(),
                                    node_of(s.args[1].get<TensorRef>()).get(), has_post_hooks ? Py_True : Py_False,
                                    values_.gives_away(s) ? Py_True : Py_False));
        return;
      case StepKind::Accumulated:
        checked(PyObject_CallMethod(capture_.get(), "accumulated", "OO", hook_of(s).get(), target_of(s).get()));
        return;
    }
  }

  PyRef shown(const Arg& a) {
    if (const auto* t = a.get_if<TensorRef>(); t && *t) return node_of(*t);
    const auto* list = a.get_if<ListArg>();
    if (!list) return from_arg(a);
    PyRef out = checked(PyList_New(0));
    for (const Arg& x : list->items) checked(PyList_Append(out.get(), shown(x).get()));
    return out;
  }

  // Arguments that are not what they are by default, or stand before such a one.
  void tell_call(const Step& s) {
    const std::vector<Param>& params = s.op->schema.params;
    const auto is_default = [&](std::size_t i) {
      return params[i].has_default && s.args[i] == params[i].default_value;
    };
    std::size_t positional = 0;
    for (std::size_t i = 0; i < s.args.size(); ++i)
      if (!params[i].keyword_only && !is_default(i)) positional = i + 1;
    PyRef args = checked(PyList_New(0)), named = checked(PyDict_New());
    for (std::size_t i = 0; i < s.args.size(); ++i) {
      if (i < positional)
        checked(PyList_Append(args.get(), shown(s.args[i]).get()));
      else if (!is_default(i))
        checked(PyDict_SetItemString(named.get(), params[i].name.c_str(), shown(s.args[i]).get()));
    }
    const std::string name(s.op->name());
    const PyRef nodes = checked(PyObject_CallMethod(capture_.get(), "call", "sOOn", name.c_str(), args.get(),
                                                    named.get(), static_cast<Py_ssize_t>(s.results.size())));
    for (std::size_t i = 0; i < s.results.size(); ++i)
      made_.push_back(PyRef::borrow(PyList_GET_ITEM(nodes.get(), static_cast<Py_ssize_t>(i))));
  }

  RecordedValues& values_;
  const PyRef capture_;
  PyRef inputs_;
  std::vector<PyRef> made_;
};

std::vector<TensorRef> tensors_in(PyObject* answer, std::size_t count) {
  const PyRef items = checked(PySequence_Fast(answer, "a compiled backward() must return a tuple or list of tensors"));
  std::vector<TensorRef> out;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i) {
    PyObject* const o = PySequence_Fast_GET_ITEM(items.get(), i);
    if (!is_tensor(o)) throw_type_error("a compiled backward() returned a '%.200s' for a tensor", Py_TYPE(o)->tp_name);
    out.emplace_back(tensor_impl(o));
  }
  if (out.size() != count)
    throw OpError(ErrorKind::Runtime,
                  fmt::format("a compiled backward() returned {} tensors instead of {}", out.size(), count));
  return out;
}

// --- Functions of _C -------------------------------------------------------------------------------------------------

PyRef set_autograd_compiler(const PassedArgs& call) {
  static const char* const names[] = {"compiler"};
  PyObject* out[1];
  parse_native({"_set_autograd_compiler", names, 1}, call, out);
  PyRef before = exchange_compiler(out[0] == Py_None ? nullptr : out[0]);
  return before ? before : PyRef::borrow(Py_None);
}

TensorImpl& tensor_in(PyObject* o, const char* function) {
  if (!is_tensor(o)) throw_type_error("%s() takes a Tensor, not %.200s", function, Py_TYPE(o)->tp_name);
  return *tensor_impl(o);
}

PyRef accumulate_grad(const PassedArgs& call) {
  static const char* const names[] = {"tensor", "gradient", "ours"};
  PyObject* out[3];
  parse_native({"_accumulate_grad", names, 3}, call, out);
  TensorImpl& t = tensor_in(out[0], "_accumulate_grad");
  const TensorRef g(&tensor_in(out[1], "_accumulate_grad"));
  add_to_grad_now(t, g, checked(PyObject_IsTrue(out[2])));
  track_tensor(out[0]);
  return PyRef::borrow(Py_None);
}

PyRef run_grad_hooks(const PassedArgs& call) {
  static const char* const names[] = {"hooks", "gradient"};
  PyObject* out[2];
  parse_native({"_run_grad_hooks", names, 2}, call, out);
  const TensorRef given(&tensor_in(out[1], "_run_grad_hooks"));
  const TensorRef now = through_hooks(out[0], given);
  return now == given ? PyRef::borrow(out[1]) : object_of_tensor(now);
}

PyRef run_hooks_after(const PassedArgs& call) {
  static const char* const names[] = {"hooks", "leaf"};
  PyObject* out[2];
  parse_native({"_run_hooks_after", names, 2}, call, out);
  call_hooks_after(out[0], TensorRef(&tensor_in(out[1], "_run_hooks_after")));
  return PyRef::borrow(Py_None);
}

constexpr NativeRow kFunctions[] = {
    {"_set_autograd_compiler", set_autograd_compiler,
     "What this thread's backward() is compiled with from here on: a callable, None, or False where nothing may "
     "compile "
     "it. Gives what it was before.",
     true},
    {"_accumulate_grad", accumulate_grad,
     "Adds to the grad of a tensor. `ours`: nobody else will have the memory of the gradient.", true},
    {"_run_grad_hooks", run_grad_hooks, "Calls hooks of a gradient: what they give in its place.", true},
    {"_run_hooks_after", run_hooks_after, "Calls hooks of a leaf whose grad was added to.", true},
    {"_op_function", op_function_named, "The function of one op of the table, by its name there.", true},
};

}  // namespace

PyRef autograd_compiler() {
  if (compiler_of_thread) return compiler_of_thread == Py_False ? PyRef() : PyRef::borrow(compiler_of_thread);
  return compiler_of_code ? compiler_of_code() : PyRef();
}

void set_compiler_of_code(CompilerOfCode ask) { compiler_of_code = ask; }

std::vector<TensorRef> GraphRecorder::execute(std::span<const Step> steps, std::span<const TensorRef> asked) {
  const WithoutCompiler within;
  RecordedValues values(steps, asked);
  const PyRef module = checked(import_module("minidynamo._dynamo.compiled_autograd"));
  const PyRef key =
      checked(PyBytes_FromStringAndSize(values.text().data(), static_cast<Py_ssize_t>(values.text().size())));
  PyRef compiled = checked(PyObject_CallMethod(module.get(), "_compiled_before", "O", key.get()));
  if (compiled.get() == Py_None) {
    PyRef capture =
        checked(PyObject_CallMethod(module.get(), "_Capture", "nn", static_cast<Py_ssize_t>(values.input_count()),
                                    static_cast<Py_ssize_t>(values.hook_count())));
    Telling telling(values, capture);
    telling.tell(steps);
    const PyRef outputs = checked(PyList_New(0));
    for (const TensorRef& t : asked) checked(PyList_Append(outputs.get(), telling.node_of(t).get()));
    compiled =
        checked(PyObject_CallMethod(capture.get(), "compiled", "OOO", key.get(), outputs.get(), compiler_.get()));
  }
  const PyRef inputs = values.input_objects(), hooks = values.hook_objects();
  const PyRef answer = checked(PyObject_CallFunction(compiled.get(), "O[][]O[]", inputs.get(), hooks.get()));
  return tensors_in(answer.get(), asked.size());
}

std::span<const NativeRow> compiled_backward_functions() { return kFunctions; }

}  // namespace md
