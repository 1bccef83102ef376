// Runs the steps of a plan: values are built into registers, effects are replayed.
#pragma once

#include <span>
#include <vector>

#include "frontend/driver/kernel_call.h"

namespace md {

class StepRunner {
 public:
  // `found`: by the guards, or null. Steps that load outputs come after the call of the kernel.
  StepRunner(const EntryPlan& plan, const FrameArgs& args, PyObject* const* found, KernelCall& kernel)
      : regs(static_cast<std::size_t>(plan.registers)), plan_(plan), args_(args), found_(found), kernel_(kernel) {}

  PyRef build(const PlanStep& s);
  // `keeps_replaced`: what effects take from its place lives until this runner ends.
  void run(const std::vector<PlanStep>& steps, bool keeps_replaced = false);
  void run_effects();
  std::span<const std::int64_t> symbol_values();

  std::vector<PyRef> regs;
  std::vector<std::int64_t> symbols;  // by index; empty: nobody has asked yet
  std::vector<PyRef> held;            // until the run is over

 private:
  PyObject* reg(Reg r) const { return regs[static_cast<std::size_t>(r)].get(); }
  PyRef tuple(const std::vector<Reg>& list) const;
  PyRef make_function(const PlanStep& s) const;
  PyRef new_dict(const PlanStep& s) const;
  PyRef new_set(const PlanStep& s) const;
  PyRef iterate(const PlanStep& s) const;
  PyRef call(const PlanStep& s) const;
  Py_ssize_t end_of(const PlanStep& s) const;
  void assign_list(const PlanStep& s);
  void effect(const PlanStep& s);
  void keep_of_deque(const PlanStep& s);
  void keep_replaced(const PlanStep& s);

  const EntryPlan& plan_;
  const FrameArgs& args_;
  PyObject* const* found_;
  KernelCall& kernel_;
};

}  // namespace md
