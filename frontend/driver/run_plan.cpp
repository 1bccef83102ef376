// What a call does once its entry is found: load, run the kernel, build what the frame returns, replay effects.
#include <algorithm>
#include <optional>
#include <utility>

#include "frontend/cpython/frame_access.h"
#include "frontend/cpython/internals.h"
#include "frontend/driver/plan_steps.h"
#include "frontend/guards/guard.h"
#include "frontend/tensors/tensor_object.h"
#include "ir/run/read_set.h"
#include "ir/tensor/device_generators.h"

namespace md {

namespace {

struct Runner {
  Runner(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found)
      : plan(plan), args(args), steps(plan, args, found, kernel), kernel(plan, args, found) {}

  const EntryPlan& plan;
  const FrameArgs& args;
  StepRunner steps;
  KernelCall kernel;

  // What they call is part of them.
  void run_calls() {
    if (plan.calls.empty()) return;
    if (!plan.symbols.empty()) steps.symbol_values();  // as they are before the calls
    Disarmed plain;
    steps.run(plan.calls);
  }

  // What the guards and loads found, which others may change while the kernel lets them go on.
  struct AsFound final : ReadSet {
    explicit AsFound(Runner& r) : runner(r) {}
    void check() override {
      if (md_lock_changes() != changes) [[unlikely]]
        runner.load_again();
    }
    Runner& runner;
    const unsigned long changes = md_lock_changes();
  };

  // The call takes place now: what is not of the graph is as others have left it.
  [[gnu::cold, gnu::noinline]] void load_again() {
    if (!plan.number_regs.empty()) throw ReadConflict{};  // they are not computed again
    LoadedValues now;
    now.resize(wanted_count(*plan.guards));
    if (!check_and_load(*plan.guards, args, now.data()) || !kernel.has_same_inputs(now)) throw ReadConflict{};
    for (const auto& [index, place] : plan.symbols) {
      if (steps.symbols.empty()) break;
      std::int64_t& known = steps.symbols[static_cast<std::size_t>(index)];
      const std::int64_t value = number_at(place, args);
      if (place.field != SizePlace::Field::Value && value != known) throw ReadConflict{};
      known = value;
    }
    for (const PlanStep& s : plan.loads) {
      if (s.op != StepOp::LoadSource && s.op != StepOp::EvaluateSize) continue;
      PyRef& r = steps.regs[static_cast<std::size_t>(s.out)];
      PyRef again = s.op == StepOp::LoadSource ? PyRef::borrow(now[static_cast<std::size_t>(s.index)]) : steps.build(s);
      // What a call among the loads has made of it is not made again.
      if (s.op == StepOp::LoadSource && !plan.takes_found && r.get() != again.get()) throw ReadConflict{};
      steps.held.push_back(std::exchange(r, std::move(again)));  // its end may run code
    }
  }

  void run_kernel(PlanRun& out) {
    kernel.take_inputs(steps.regs);
    std::optional<Recording> recording;
    if (plan.calls_out) recording.emplace(out.calls);
    if (!plan.output_symbols.empty()) steps.symbol_values();  // as they are before the graph writes
    {
      const AsFound still{*this};
      kernel.run(out.committed);
    }
    recording.reset();
    out.calls.clear();
    for (const EntryPlan::OutputSymbol& of_output : plan.output_symbols)
      steps.symbols[static_cast<std::size_t>(of_output.symbol)] =
          kernel.output_tensor(static_cast<std::size_t>(of_output.output))
              .sizes[static_cast<std::size_t>(of_output.dim)];
    kernel.require_grads();
  }
};

}  // namespace

// The commonest plan: one output, returned as it is. `inputs_apart`: not all inputs are parameters.
template <bool inputs_apart>
static PyRef run_direct(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, bool& committed) {
  constexpr std::size_t kFew = EntryPlan::kFewInputs;
  TensorImpl* inputs[kFew];
  PyObject* objects[kFew];
  PyRef held[inputs_apart ? kFew : 1];  // another thread may let go of it meanwhile
  const std::size_t n = plan.input_slots.size();
  for (std::size_t k = 0; k < n; ++k) {
    if (!inputs_apart || plan.input_slots[k] >= 0) {
      objects[k] = args.localsplus[plan.input_slots[k]];
    } else {
      held[k] = input_elsewhere(plan, k, args, found);
      objects[k] = held[k].get();
      if (!objects[k] || !is_tensor(objects[k])) throw InternalError("a graph input vanished after its guard passed");
    }
    inputs[k] = tensor_impl(objects[k]);
  }
  TensorRef out;
  run_kernel(*plan.kernel, std::span(inputs, n), std::span(&out, 1), committed);
  for (std::size_t k = 0; k < n; ++k)
    if (inputs[k] == out.get()) return PyRef::borrow(objects[k]);
  return wrap_tensor(std::move(out));
}

PyRef run_single_output(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, bool& committed) {
  return (plan.inputs_apart ? run_direct<true> : run_direct<false>)(plan, args, found, committed);
}

namespace {

// The random stream starts anew, unless the run fails before anything was done.
class Seeded {
 public:
  Seeded(const EntryPlan& plan, const PlanRun& run) : run_(run) {
    if (!plan.seed) return;
    before_.emplace();
    set_state(default_generator(), {*plan.seed, 0});
    seed_devices(*plan.seed);
  }
  ~Seeded() {
    if (before_ && !run_.committed) before_->put_back();
  }
  Seeded(const Seeded&) = delete;
  Seeded& operator=(const Seeded&) = delete;

 private:
  const PlanRun& run_;
  std::optional<DefaultStreams> before_;
};

// Python's generators that calls before the graph draw from are put back as well.
class DrawnFrom {
 public:
  DrawnFrom(Runner& runner, const PlanRun& run) : run_(run) {
    for (const PlanStep& s : runner.plan.calls) {
      if (s.op != StepOp::Call || s.index != 1) continue;
      const PyRef& generator = runner.steps.regs[static_cast<std::size_t>(s.regs[0])];
      if (std::ranges::any_of(states_, [&](auto& known) { return known.first.get() == generator.get(); })) continue;
      states_.emplace_back(generator, checked(PyObject_CallMethod(generator.get(), "getstate", nullptr)));
    }
  }
  ~DrawnFrom() {
    if (run_.committed || states_.empty()) return;
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (auto& [generator, state] : states_) {
      PyRef done = PyRef::steal(PyObject_CallMethod(generator.get(), "setstate", "(O)", state.get()));
      if (!done) PyErr_WriteUnraisable(generator.get());
    }
    PyErr_Restore(type, value, traceback);
  }
  DrawnFrom(const DrawnFrom&) = delete;
  DrawnFrom& operator=(const DrawnFrom&) = delete;

 private:
  const PlanRun& run_;
  std::vector<std::pair<PyRef, PyRef>> states_;
};

// Calls whose numbers the graph needs come before it.
[[gnu::noinline]] void run_with_numbers(Runner& r, PlanRun& out) {
  const DrawnFrom streams(r, out);
  r.run_calls();
  if (r.plan.kernel) r.run_kernel(out);
  out.committed = true;  // what was drawn stays drawn
}

}  // namespace

void run_plan(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, PlanRun& out) {
  if (plan.single_output) {
    out.in_kernel = true;
    out.returned = run_single_output(plan, args, found, out.committed);
    out.in_kernel = false;
    return;
  }
  if (!plan.takes_found) found = nullptr;
  Runner r(plan, args, found);
  r.steps.run(plan.loads);
  const Seeded seeded(plan, out);
  out.in_kernel = true;
  if (plan.calls_first)
    run_with_numbers(r, out);
  else if (plan.kernel)
    r.run_kernel(out);
  else
    r.run_calls();
  out.in_kernel = false;
  out.committed = true;
  if (plan.kernel && !plan.calls_first) r.run_calls();
  r.steps.run(plan.steps);
  if (!plan.effects.empty()) r.steps.run_effects();
  if (plan.broken) {
    for (Reg a : plan.broken->held) out.held.push_back(r.steps.regs[static_cast<std::size_t>(a)]);
  } else {
    out.returned = r.steps.regs[static_cast<std::size_t>(plan.result)];
  }
}

}  // namespace md
