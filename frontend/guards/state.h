// Guards on ambient state: what a trace depends on without naming it.
#pragma once

#include "frontend/guards/compiled_guards.h"

namespace md {

// Grad mode, inference mode, default dtype, thread count and default device in one word; GuardSet::add notes it in
// GlobalState and DefaultDevice guards.
std::int64_t ambient_state();
// What that function says; -1 if it cannot.
std::int64_t abc_token(PyObject* get_cache_token);
// This thread is inside an except or finally block that handles an exception.
bool is_handling();

namespace guards {

struct GlobalState {
  static constexpr const char* name = "GLOBAL_STATE";
  static void prepare(const Guard& g, GuardBuilder&, GuardOp& op) { op.value = g.value; }
  template <bool explain>
  static bool check(const GuardOp& op, PyObject* const*, Why* why) {
    const std::int64_t now = ambient_state();
    if (explain && now != op.value) explain_difference(op.value, now, *why);
    return now == op.value;
  }
  static std::string text(const GuardRecord&, const std::string&) { return "___check_global_state()"; }

 private:
  static void explain_difference(std::int64_t before, std::int64_t now, Why& why);
};

// abc.get_cache_token(), a C function, which is the source: it counts all registrations with abstract classes.
struct AbcToken {
  static constexpr const char* name = "LAMBDA_GUARD";
  static void prepare(const Guard& g, GuardBuilder&, GuardOp& op) { op.value = g.value; }
  template <bool explain>
  [[gnu::noinline]] static bool check(const GuardOp& op, PyObject* const* regs, Why*) {
    return abc_token(regs[op.reg]) == op.value;
  }
  static std::string text(const GuardRecord& r, const std::string& s) { return s + "() == " + std::to_string(r.value); }
};

// The next three are printed because readers of the log look for them; nothing is checked for them alone, and the log
// says why.
struct SavedTensorHooks {
  static constexpr const char* name = "LAMBDA_GUARD";
  static constexpr const char* unchecked = "hooks on saved tensors change no graph";
  static std::string text(const GuardRecord&, const std::string&) {
    return "torch._functorch.aot_autograd.utils.top_saved_tensors_hooks ids == None";
  }
};

struct DefaultDevice {
  static constexpr const char* name = "DEFAULT_DEVICE";
  static constexpr const char* unchecked = "a part of GLOBAL_STATE";
  static std::string text(const GuardRecord& r, const std::string&);  // value: ambient_state()
};

struct TorchFunctionModeStack {
  static constexpr const char* name = "TORCH_FUNCTION_MODE_STACK";
  static constexpr const char* unchecked =
      "their number is a part of GLOBAL_STATE, and each that was there has guards of its own";
  static std::string text(const GuardRecord&, const std::string&) { return "___check_torch_function_mode_stack()"; }
};

// sys.exc_info() was empty when the frame was called.
struct NothingHandled {
  static constexpr const char* name = "LAMBDA_GUARD";
  static void prepare(const Guard&, GuardBuilder&, GuardOp&) {}
  template <bool explain>
  static bool check(const GuardOp&, PyObject* const*, Why*) {
    return !is_handling();
  }
  static std::string text(const GuardRecord&, const std::string&) { return "sys.exc_info()[1] is None"; }
};

}  // namespace guards
}  // namespace md
