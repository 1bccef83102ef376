// What a compiled entry does around its kernel: load inputs, run, rebuild live values, replay effects. A straight-line
// program over registers of Python objects, run in C++ with no Python frame.
#pragma once

#include <functional>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/guards/sizes.h"
#include "frontend/guards/source.h"
#include "frontend/plan/opaque_calls.h"
#include "frontend/trace/value.h"
#include "ir/compile/backend.h"
#include "ir/run/observed_parts.h"

namespace md {

enum class StepOp : std::uint8_t {
  LoadSource,      // source; index: where the guards hand it out
  LoadConst,       // object; index 1: what it refers to weakly
  LoadOutput,      // index: graph output, wrapped once
  LoadLocal,       // index: localsplus slot (fast form of LoadSource)
  EvaluateSize,    // size: an int
  BuildTuple,      // regs
  BuildTupleType,  // object = type, regs: named tuple, Size
  NewList,         // empty
  NewDict,         // object = type
  NewSet,          // frozen sets: BuildFrozenSet
  BuildFrozenSet,  // regs
  BuildSlice,      // regs: start, stop, step
  NewCell,         // empty
  NewObject,       // a = type reg: the __new__ of its C base; regs: its arguments
  NewException,    // a = type reg; regs: args
  MakeFunction,    // object = (code, globals, name, qualname) tuple; regs: defaults, kwdefaults, closure, annotations
                   // (-1: none)
  MakeMethod,      // regs: function, self
  GetAttr,         // a = reg, object = name: a bound method of a builtin type
  Call,            // a = callable reg; regs: arguments, the last named by object, a tuple of str (or null); index 1:
                   // the first one is a generator of Python's that is drawn from
  Iterate,         // a = reg: iter(x), then advanced `index` times; object: the builtin type whose iter()
  // effects: return nothing
  ListAppend,
  ListAssign /* a, index: first, count: how many go, -1: all, regs: what comes */,
  DequeExtend /* a, regs */,
  DequeCall /* a, object: name of the method, regs: its arguments */,
  DictSet /* a, regs key, value */,
  DictDelete,
  DictClear,
  SetAdd,
  SetDiscard,
  SetClear,
  AttrSet /* a, object name, b */,
  AttrDelete,
  CellSet,
  GlobalSet /* object name, b */,
  Advance,         // a = iterator reg: next(a), `index` times
  SetGradEnabled,  // index: 0 or 1
};

struct PlanStep {
  StepOp op;
  Reg out = -1;
  Reg a = -1, b = -1;
  std::int64_t index = 0, count = -1;
  std::vector<Reg> regs;
  PyRef object;
  SourceRef source = nullptr;
  Size size;
};

// Where a break goes on.
struct BreakPoint {
  // A split code, called over the frame's globals, and where its arguments come from: held value k, or ~k: item k of
  // the break's result.
  struct Part {
    PyRef code;
    std::vector<int> from;
    SiteSlot guards;  // looking for an entry of the code
  };
  Part breaking;              // executes the instruction; takes held values only; no code: `resume` starts with it
  Part resume, resume_taken;  // taken: of a conditional jump
  bool conditional = false;   // item 0 of the result says whether the jump was taken
  std::vector<Reg> held;
  PartName about;            // where it stands; its name: "GB0059 at file.py:12"
  SiteSlot site, rest;       // of the instruction, and of what follows it
  std::vector<int> lasting;  // slots of arguments that no instruction of the code replaces: tracebacks show them
};

struct EntryPlan {
  std::shared_ptr<const SourceTable> sources;  // keeps the sources alive
  std::vector<SizePlace> size_inputs;          // the kernel's first inputs: ints
  std::vector<SourceRef> inputs;               // its tensors, in placeholder order
  std::vector<int> input_slots;                // localsplus slot of each, or -1
  std::vector<int> input_places;               // of the others: where the guards hand them out, or -1
  // Inputs that are numbers which `calls` give, and where they are (values/number_value.h).
  std::vector<std::pair<SourceRef, Reg>> numbers;
  std::vector<Reg> number_regs;      // of each input, or -1; empty: there are none
  bool calls_first = false;          // `calls` come before the graph: it needs their numbers, or they may fail
  std::shared_ptr<ShapeEnv> shapes;  // of the sizes that steps evaluate; null: none
  std::vector<std::pair<int, SizePlace>> symbols;
  struct OutputSymbol {
    int symbol, output, dim;
  };
  std::vector<OutputSymbol> output_symbols;  // sizes of outputs: steps that need them come after the kernel
  std::shared_ptr<Kernel> kernel;            // null: no graph
  std::shared_ptr<const class CompiledGuards> guards;
  bool calls_out = false;             // the graph calls code of the program
  std::optional<std::uint64_t> seed;  // of the default random stream, before the kernel runs
  std::size_t outputs = 0;
  std::shared_ptr<const Graph> traced;               // where outputs require grad: what their history goes back through
  std::shared_ptr<class CompiledBackward> backward;  // how, where there is more to it than running the graph again
  bool history_unknown = false;                      // gradients cannot go back through the graph: backward() says so
  std::vector<GradState> output_grads;               // what kernels know nothing of; empty: there is nothing to say
  // In this order: sources are read before anything changes. `calls` (values/deferred_calls.h) come before a graph's
  // work shows; before the graph, where it needs their numbers.
  std::vector<PlanStep> loads, calls, steps, effects;
  int registers = 0;
  Reg result = -1;  // Return
  std::unique_ptr<BreakPoint> broken;
  // Fast form: the result is graph output 0, of few inputs, and there is nothing else to do.
  static constexpr std::size_t kFewInputs = 8;
  bool single_output = false;
  bool inputs_apart = false;  // some are no parameters
  bool takes_found = true;    // no code runs between the guards and the last load: what they hand out is still there
};

// Appends steps; every value is built once, so identity and aliasing survive.
class PlanBuilder {
 public:
  PlanBuilder(Tracer& t, EntryPlan& plan) : tracer(t), plan(plan) {}
  Reg rebuild(const ValueRef& v);
  Reg load_source(SourceRef s);
  Reg load_constant(const PyRef& object);
  Reg load_class(PyTypeObject* type);  // as a constant, unless the trace has made it
  Reg graph_output(Node* n);
  Reg evaluate_size(Size s);
  int output_index(Node* n);  // of the graph; added where it is none yet
  Reg step(PlanStep s);       // gives it an output register
  // For containers that may contain themselves: names the register before the elements are built.
  void remember(const Value* v, Reg r) { built_[v] = r; }
  bool has(const ValueRef& v) const { return built_.contains(v.get()); }
  void effect(PlanStep s) { plan.effects.push_back(std::move(s)); }
  // Filling steps of fresh containers come before the effects, after every container exists.
  void fill(PlanStep s) { plan.steps.push_back(std::move(s)); }
  // The same where the step is built of values: one that holds something immutable which is being made around it (a
  // tuple in a list in that tuple) comes after that.
  using MakeStep = std::function<PlanStep()>;
  void fill(MakeStep make);
  // An iterator from which `draws` values are taken; in the end, if it or one before it is over a list that effects
  // are still to change.
  Reg advanced(Reg iterator, std::int64_t draws, bool over_changed_list = false);
  PlanStep attribute(Reg object, const PyRef& name, const ValueRef& value);  // object.name = value
  bool has_postponed() const { return !postponed_.empty(); }
  void replay(const class Effects& effects);

  Tracer& tracer;
  EntryPlan& plan;
  std::vector<Node*> outputs;

 private:
  void finish_postponed(const Value* made);

  std::unordered_map<const Value*, Reg> built_;
  std::unordered_set<const Value*> in_making_;
  std::vector<std::pair<const Value*, MakeStep>> postponed_;  // until the value is made
  std::unordered_map<SourceRef, Reg> loaded_;
  std::unordered_map<Node*, Reg> output_regs_;
  std::unordered_set<int> known_symbols_;               // in plan.symbols or plan.output_symbols
  std::unordered_map<const Node*, int> output_places_;  // in `outputs`
  std::vector<PlanStep> last_;                          // after all other effects
  std::vector<ValueRef> keep_;                          // values keyed by address must stay alive
};

// Runs a plan. Result: a new reference to the return value, or for a break the argument tuple contents in `next`.
struct PlanRun {
  PyRef returned;
  std::vector<PyRef> held;  // break
  bool committed = false;   // inputs may have changed: whatever fails from here on, the frame cannot run again
  bool in_kernel = false;   // the graph is running
  OpaqueCalls calls;        // what it has called out to
};
// Of a plan with `single_output`. `committed` as in PlanRun.
PyRef run_single_output(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, bool& committed);
// `found`: what the guards have handed out, or null; then sources are loaded. Throws PythonError; OpError when the
// kernel failed and nothing has been committed; ReadConflict.
void run_plan(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, PlanRun& out);

}  // namespace md
