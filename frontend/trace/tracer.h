// The state of one trace of one frame: the symbolic frames, the graph, guards, effects. The interpreter steps it;
// values act through it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/bytecode/instruction.h"
#include "frontend/guards/guard.h"
#include "frontend/report/graph_break.h"
#include "frontend/report/source_lines.h"
#include "frontend/trace/dynamic_sizes.h"
#include "frontend/trace/effects.h"
#include "frontend/trace/frame_stack.h"
#include "frontend/trace/graph_builder.h"
#include "frontend/trace/guard_recorder.h"
#include "frontend/trace/prototypes.h"
#include "frontend/trace/trace_config.h"
#include "frontend/trace/traced_sizes.h"
#include "frontend/trace/value.h"
#include "ir/core/error.h"

namespace md {

struct FunctionValue;
struct MethodValue;
struct CellValue;
struct ContextValue;
struct StreamFacts;
struct TensorValue;

// --- What ends a step other than its result ----------------------------------------------------------------------
// An exception of the traced program.
struct TracedRaise {
  ValueRef exception;
};
// A tensor call that does not fit its operands; `call` is the node as errors print it.
struct FailedCall : OpError {
  FailedCall(const OpError& e, std::string call) : OpError(e), call(std::move(call)) {}
  std::string call;
};
// Leave the whole frame to CPython.
struct SkipFrame {
  std::string reason;
  bool no_content = false;    // nothing to capture: quiet
  bool user_request = false;  // skip_frame(): callees are still compiled
};

// Where the trace stopped and why.
struct TraceResult {
  enum class End { Return, Break } end = End::Return;
  ValueRef returned;
  UserFrame returned_at;
  const char* returned_by = "";  // "RETURN_VALUE"
  int break_instruction = -1;    // index in the root frame's body
};

// Breaks already known, by ordinal of the root frame's executed instruction.
struct SpeculationLog {
  struct Entry {
    int instruction;
    std::string reason;
    std::vector<UserFrame> frames;
    int code = -1;       // of the break, and the line at which it was met
    bool leave = false;  // what follows runs as plain Python, the instruction included
  };
  std::map<long, Entry> breaks;
  int restarts = 0;
};

// Who answers calls before Tensor does: instances of classes with __torch_function__, and modes, the innermost last.
enum class Asked : std::uint8_t { All, Modes, None };
struct AskedOverrides {
  Asked asked = Asked::All;
  std::vector<ValueRef> modes;
  bool asks_subclasses() const { return asked == Asked::All; }
  bool asks_modes() const { return asked != Asked::None && !modes.empty(); }
};

class Tracer {
 public:
  Tracer(const TraceConfig& config, SpeculationLog& log);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  // Runs the root frame to its end. Throws GraphBreak, SkipFrame, TracedRaise, OpError, PythonError.
  TraceResult run(std::unique_ptr<SymbolicFrame> root, const FrameArgs& args);

  // --- values -----------------------------------------------------------------------------------------------------
  ValueRef lazy(PyObject* object, SourceRef source);
  ValueRef wrap(PyObject* object, SourceRef source);  // looks at it: guards
  ValueRef realize(const ValueRef& v);                // lazy → wrapped; anything else itself
  ValueRef constant(PyRef object);
  ValueRef constant(PyObject* borrowed) { return constant(PyRef::borrow(borrowed)); }
  ValueRef none() { return constant(Py_None); }
  ValueRef boolean(bool b) { return constant(b ? Py_True : Py_False); }
  ValueRef integer(std::int64_t i) { return constant(checked(PyLong_FromLongLong(i))); }
  // A real object met on the way (a class attribute, a method found on a type): wrapped below `source` when given.
  ValueRef from_object(PyObject* object, SourceRef source);

  // --- calls ------------------------------------------------------------------------------------------------------
  // Calls anything now and returns its result; Python callees run nested.
  ValueRef call(const ValueRef& callee, CallArgs args);
  // Pushes a frame for a Python callee (flat); false: the caller must use call().
  bool try_push_call(const ValueRef& callee, CallArgs& args, OnReturn on_return = OnReturn::Push, ValueRef held = {});
  std::unique_ptr<SymbolicFrame> make_frame(FunctionValue& fn, CallArgs args);
  ValueRef run_nested(std::unique_ptr<SymbolicFrame> f);
  // Runs a parked generator frame to its next yield; null: it has returned. `sent` null: nothing is pushed.
  ValueRef resume_generator(std::unique_ptr<SymbolicFrame>& f, ValueRef sent, ValueRef& returned);
  // The same, raising `exception` where the frame is suspended.
  ValueRef raise_in_generator(std::unique_ptr<SymbolicFrame>& f, const ValueRef& exception, ValueRef& returned);

  void return_from_frame(ValueRef v);  // RETURN_VALUE
  void yield_from_frame(ValueRef v);   // YIELD_VALUE
  void make_generator();               // RETURN_GENERATOR
  // Before the trace ends, `generator` has to leave the try or with it is suspended in.
  void expect_cleanup(ValueRef generator) { stack.cleanups.push_back(std::move(generator)); }

  // --- what values ask of rooms above ----------------------------------------------------------------------------
  // frontend/operators: Python's operators, comparisons and texts.
  ValueRef binary_op(const ValueRef& a, const ValueRef& b, int op);  // CPython's operator number
  ValueRef unary_op(const ValueRef& v, int op);
  ValueRef compare(const ValueRef& a, const ValueRef& b, int op);                  // Py_LT ... Py_GE
  ValueRef format_value(const ValueRef& v, int conversion, const ValueRef& spec);  // 0 format, 1 str, 2 repr, 3 ascii
  // frontend/marked_callables: the object as what is called, if the program has marked it or a setting names it; null:
  // neither.
  ValueRef marked_callable(PyObject* o, SourceRef source);
  bool is_ignored_method(const MethodValue& m);  // ignore_logger_methods names the bound method

  // --- graph ------------------------------------------------------------------------------------------------------
  // One node per torch call. `name` is the public op name.
  ValueRef call_op(const std::string& name, Spelling spelling, const CallArgs& args, const std::string& target = "");
  // operator.<name>: "add", "iadd", "getitem", "setitem", "truediv", "neg", ...
  ValueRef call_operator(const std::string& name, const CallArgs& args);
  // x.T and the like: a view reached by attribute.
  ValueRef call_attribute_op(const std::string& name, const CallArgs& args);
  // A tensor the graph holds; every run gets a copy.
  ValueRef constant_tensor(PyObject* tensor);
  void emit_grad_switch(bool on);
  // The first variable a node's value is stored to names the node.
  void name_node(const ValueRef& v, const std::string& variable);
  Arg to_arg(const ValueRef& v);  // throws GraphBreak for what cannot go into the graph
  ValueRef tensor_value(Node* n, std::size_t result = 0);
  ValueRef op_result(Node* n);
  ValueRef result_tuple(Node* n, std::vector<ValueRef> items);
  ValueRef input_tensor(PyObject* tensor, SourceRef source);
  ShapeEnv& shapes();  // made on first use
  UserStack user_stack() const;
  std::vector<UserFrame> user_frames() const;
  UserFrame user_frame() const;  // innermost
  mutable SourceLines source_lines;

  // --- guards and effects -----------------------------------------------------------------------------------------
  void guard(GuardKind kind, SourceRef source, PyRef object = {}, std::int64_t value = 0);
  // What the mro of `type` has under `name`, unbound: null if nothing. It will be checked again: by guards on `source`
  // if that is given, else as a whole. `instance`: where an object of the type lives, if it does.
  struct ClassAttribute {
    PyObject* found;
    SourceRef source;
  };
  ClassAttribute on_class(PyTypeObject* type, PyObject* name, SourceRef instance = nullptr);
  // Checked with the class: `found` (null: nothing) is what it has under `name`, or what super() sees after `after`.
  void expect_on_class(PyTypeObject* type, PyObject* name, PyObject* found, PyTypeObject* after = nullptr);
  // Which comes first, what the class has under the name or the instance's own: a descriptor may learn to store.
  void expect_precedence(PyTypeObject* type, PyObject* name);
  void expect_subclass(PyTypeObject* type, PyTypeObject* of, bool is);
  // No abstract class knows more classes than now.
  void expect_no_registration();
  // Two real objects were told apart, or found to be one.
  void expect_identity(const ValueRef& a, const ValueRef& b);
  // It matters that something is there, looked at or not.
  void expect_present(SourceRef s) { recorder.present.push_back(s); }
  // At the end of the trace: the guards on classes, and that what it changed is not seen under another name.
  void add_object_guards();
  // The value the trace has stored to a global of the module with these globals; null if none.
  ValueRef stored_global(PyObject* globals, PyObject* name) const;

  // --- exceptions of the traced program ---------------------------------------------------------------------------
  [[noreturn]] void raise(PyObject* type, const std::string& message);
  // Being handled, in the innermost frame that handles one; null if none is.
  ValueRef handled_exception() const;
  // No traced frame would handle an exception raised now: it would leave the compiled function.
  bool uncaught() const;
  [[noreturn]] void raise_current();  // turns the Python exception that is set into a traced one

  SymbolicFrame& frame() { return *stack.frames.back(); }

  Prototypes prototypes;  // the first member: taken apart when nothing else is left of the trace
  const TraceConfig& config;
  SpeculationLog& speculation;
  // The parts of its state; each says what it keeps.
  GraphBuilder graphs;
  TracedSizes sizes;
  GuardRecorder recorder;
  Effects effects;
  MetObjects objects;
  FrameStack stack;

  bool grad_enabled = true;
  bool initial_grad_enabled = true;
  std::optional<std::uint64_t> seed;  // that the default random stream starts from when the graph does
  AskedOverrides overrides;
  bool errors_on_break = false;  // _dynamo.error_on_graph_break(True) is in force
  FrameArgs args{};
  bool item_break_seen = false;
  bool finishing = false;          // the trace has ended: values are being rebuilt
  bool log_traces = false;         // TRACE lines are wanted
  bool compile_time_code = false;  // has run

 private:
  void step_until(std::size_t depth);
  ValueRef run_parked(std::unique_ptr<SymbolicFrame>& f, std::size_t depth, ValueRef& returned);
  ValueRef emit(const std::string& public_name, Spelling spelling, const std::string& target, bool inplace,
                const CallArgs& args);
  [[noreturn]] void report_op_error(const OpError& e, const Node& n);
  bool unwind(const TracedRaise& e, std::size_t floor);

  int storage_of_input(const Ref<Storage>& memory);
  void note_class(PyTypeObject* type, PyRef item);
  SourceRef class_source(PyTypeObject* type);
  void guard_distinct();
  void expect_on_bases(PyTypeObject* prototype, PyObject* name, PyTypeObject* after = nullptr);

  UserFrame frame_location(const SymbolicFrame& f) const;
  void check_cleanups();
  bool stopped_ = false;  // at a known break
  TraceResult result_;
};

// "L['x']" → "L_x_"
std::string placeholder_target(const Source& source);

// Lays a call's arguments out in a callee's slots; raises the TypeError CPython would.
void bind_call(Tracer& t, FunctionValue& fn, const CodeBody& body, CallArgs args, std::vector<ValueRef>& slots);

// Dispatch: one block per opcode in frontend/opcodes/.
using OpcodeHandler = void (*)(Tracer& t, SymbolicFrame& f, const Instruction& i);
OpcodeHandler opcode_handler(Opcode op);

}  // namespace md
