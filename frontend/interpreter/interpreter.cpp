// The symbolic interpreter: one flat step loop over canonical instructions. Inlining a Python callee pushes a frame; an
// exception of the traced program unwinds by the exception tables.
#include <algorithm>
#include <atomic>

#include "frontend/entries/frame_notes.h"
#include "frontend/interpreter/abandoned_generators.h"
#include "frontend/interpreter/break_place.h"
#include "frontend/interpreter/failed_operation.h"
#include "frontend/marked_callables/marked_value.h"
#include "frontend/report/events.h"
#include "frontend/tensors/absent_names.h"
#include "frontend/trace/breaks.h"
#include "frontend/trace/frame_places.h"
#include "frontend/trace/logs.h"
#include "frontend/trace/tracer.h"
#include "frontend/values/attributes.h"
#include "frontend/values/constant.h"
#include "frontend/values/deferred_calls.h"
#include "frontend/values/functions.h"
#include "frontend/values/inlining.h"
#include "frontend/values/iterators.h"
#include "frontend/values/objects.h"
#include "frontend/values/polyfilled.h"
#include "frontend/values/skipped_methods.h"
#include "frontend/values/tensor.h"
#include "frontend/values/tensor_functions.h"

namespace md {

namespace {
constexpr long kSignalInterval = 1024;
constexpr long kMaxSteps = 2'000'000;             // an unrolled loop this long would not compile in useful time
constexpr long kMostStepsToLeave = 1'500'000;     // where the frame can be left instead
constexpr long kMostStepsWithoutOps = 1'400'000;  // there is nothing to compile, while guards on what is read pile up
constexpr int kMaxDepth = 1000;

bool has_ops(const Graph& g) {
  return std::ranges::any_of(g.nodes, [](auto& n) { return n->kind == NodeKind::Op || n->kind == NodeKind::Call; });
}

}  // namespace

Tracer::Tracer(const TraceConfig& config, SpeculationLog& log) : config(config), speculation(log) {}
Tracer::~Tracer() = default;

TraceResult Tracer::run(std::unique_ptr<SymbolicFrame> root, const FrameArgs& frame_args) {
  args = frame_args;
  root->on_return = OnReturn::Stop;
  stack.frames.push_back(std::move(root));
  step_until(0);
  check_cleanups();
  if (!std::exchange(stopped_, false)) {  // whoever rebuilds values may have to call something
    result_.end = TraceResult::End::Return;
    result_.returned = std::move(stack.nested_result);
  }
  return std::move(result_);
}

// When Python closes an abandoned generator, its finally, except and with run: at a moment only plain Python knows. The
// frame that has such a generator at its end is left to it.
void Tracer::check_cleanups() {
  for (auto& v : stack.cleanups) {
    auto* g = as<GeneratorValue>(v);
    if (!g || !g->has_cleanup()) continue;
    finishing = true;
    try {
      unmodelled(g->print(), "generator left suspended inside try or with");
    } catch (GraphBreak& b) {
      if (stack.frames.empty() && !result_.returned_at.file.empty())
        b.happened_at = std::make_shared<PlacedFrames>(PlacedFrames{{result_.returned_at}});
      throw;
    }
  }
}

void Tracer::step_until(std::size_t depth) {
  while (stack.frames.size() > depth && !stopped_) {
    SymbolicFrame& f = *stack.frames.back();
    f.current = f.pc++;
    const Instruction& i = f.instruction();
    if (stack.frames.size() == 1) {
      ++stack.ordinal;
      if (auto it = speculation.breaks.find(stack.ordinal); it != speculation.breaks.end()) {
        if (it->second.instruction != f.current) throw InternalError("the trace took another path after a restart");
        result_.end = TraceResult::End::Break;
        result_.break_instruction = f.current;
        stopped_ = true;
        return;
      }
      if (f.handled.empty() && can_begin_here(f)) {
        stack.unhandled = {stack.ordinal, f.current};
        if (f.stack.empty()) stack.bare = stack.unhandled;
      }
      if (config.break_every > 0 || config.break_at > 0) break_if_forced(*this);
    }
    if (++stack.steps % kSignalInterval == 0) {
      if (PyErr_CheckSignals() < 0) throw PythonError{};
      if (config.trace_more && !config.fullgraph && stack.steps > kMostStepsToLeave)
        unmodelled(stack.frames.front()->printed_name, "trace of this length");
      if (stack.steps > kMostStepsWithoutOps && !config.fullgraph && !config.trace_more && !has_ops(*graphs.current))
        throw SkipFrame{"there is no operation among the first " + std::to_string(stack.steps) + " instructions"};
      if (stack.steps > kMaxSteps)
        throw SkipFrame{"the trace is longer than " + std::to_string(kMaxSteps) + " instructions"};
    }
    if (log_traces) log_instruction(*this, f, i);
    try {
      if (!stack.cleanups.empty()) [[unlikely]]
        i.op == Opcode::RETURN_VALUE&& stack.frames.size() == 1 ? close_at_return(*this) : close_abandoned(*this);
      opcode_handler(i.op)(*this, f, i);
    } catch (const TracedRaise& e) {
      if (!unwind(e, depth)) throw;
    } catch (const DataDependent& e) {
      if (e.what_kind == DataDependent::What::Element) unmodelled("SymNodeVariable()", e.what());
      graph_break<GB0170>(std::string("SymNodeVariable()"));
    }
  }
}

// The instruction raises an exception again: neither its context nor its traceback changes.
static bool raises_again(const Instruction& i) {
  return i.op == Opcode::RERAISE || i.op == Opcode::CLEANUP_THROW || (i.op == Opcode::RAISE_VARARGS && i.a == 0);
}

// x is raised while `handled` is; where it is in what led to that, it leaves there.
static void set_context(ExceptionValue& x, const ValueRef& handled) {
  if (!handled || handled.get() == &x) return;
  std::set<Value*> seen;
  for (auto* at = as<ExceptionValue>(handled); at && seen.insert(at).second; at = as<ExceptionValue>(at->context))
    if (at->context.get() == &x) at->context = {};
  x.context = handled;
}

// Finds the handler in the frames above `floor`; frames without one are left.
bool Tracer::unwind(const TracedRaise& e, std::size_t floor) {
  static std::atomic<long> tracebacks;
  auto* x = as<ExceptionValue>(e.exception);
  const Instruction& raising = frame().instruction();
  bool again = raises_again(raising);
  // A handler that does not match, a `with` or a `finally` may see it pass: the place is where it began.
  if (x && !again && (x->raised_at.empty() || raising.op == Opcode::RAISE_VARARGS)) x->raised_at = placed_frames(*this);
  if (x && !again && config.fullgraph && raising.op == Opcode::RAISE_VARARGS) refuse_operation(*this, *x);
  if (x && !again && (!x->context || raising.op == Opcode::RAISE_VARARGS)) set_context(*x, handled_exception());
  for (; stack.frames.size() > floor; again = false) {
    SymbolicFrame& f = *stack.frames.back();
    if (x && !again) x->traceback = ++tracebacks;
    const Handler& h = f.instruction().handler;
    if (h.label >= 0) {
      f.stack.resize(static_cast<std::size_t>(h.depth));
      if (h.lasti) f.push(integer(f.current));
      f.push(e.exception);
      while (!f.contexts.empty() && f.contexts.back().stack_index >= h.depth) f.contexts.pop_back();
      f.pc = h.label;
      return true;
    }
    if (stack.frames.size() == 1) return false;  // the root frame stays for the report
    if (!stack.cleanups.empty()) keep_open(*this);
    stack.frames.pop_back();
  }
  return false;
}

// --- calls
// ---------------------------------------------------------------------------------------------------------------

ValueRef Tracer::call(const ValueRef& callee, CallArgs call_args) {
  return realize(callee)->call(*this, std::move(call_args));
}

bool Tracer::try_push_call(const ValueRef& callee, CallArgs& call_args, OnReturn on_return, ValueRef held) {
  ValueRef v = realize(callee);
  if (auto* exit = as<WithExitValue>(v)) v = exit->exit;
  if (is_deferred_draw(*this, v)) return false;
  auto* m = as<MethodValue>(v);
  if (auto* of_library = as<FunctionValue>(m ? m->function : v);
      of_library && (of_library->overridable || (!config.trace_more && is_tensor_function(*this, *of_library))))
    return false;
  if (m && as<FunctionValue>(m->function) && !is_ignored_method(*m)) {
    call_args.positional.insert(call_args.positional.begin(), m->self);
    v = m->function;
  }
  auto* fn = as<FunctionValue>(v);
  if (!fn) return false;
  break_if_known(*this, *fn, call_args);
  if (m && !m->real) break_on_skipped_method(*this, *fn);
  if (!may_inline(*this, *fn)) {
    fn->call(*this, std::move(call_args));  // breaks
    return false;
  }
  auto f = make_frame(*fn, std::move(call_args));
  f->on_return = on_return;
  f->held = std::move(held);
  stack.frames.push_back(std::move(f));
  return true;
}

ValueRef Tracer::run_nested(std::unique_ptr<SymbolicFrame> f) {
  f->on_return = OnReturn::Stop;
  const std::size_t depth = stack.frames.size();
  stack.frames.push_back(std::move(f));
  step_until(depth);
  return std::move(stack.nested_result);
}

void Tracer::return_from_frame(ValueRef v) {
  if (stack.frames.size() == 1) {
    result_.returned_at = user_frame();
    result_.returned_by = frame().instruction().orig_name;
  }
  std::unique_ptr<SymbolicFrame> done = std::move(stack.frames.back());
  if (done->inline_depth > 0 && log_traces) log_inlining_done(*this, *done);
  stack.frames.pop_back();
  switch (done->on_return) {
    case OnReturn::Push:
      frame().push(std::move(v));
      return;
    case OnReturn::DiscardAndPush:
      frame().push(done->held);
      return;
    case OnReturn::Stop:
      stack.nested_result = std::move(v);
      return;
  }
}

ValueRef Tracer::resume_generator(std::unique_ptr<SymbolicFrame>& f, ValueRef sent, ValueRef& returned) {
  if (sent) f->push(std::move(sent));
  const std::size_t depth = stack.frames.size();
  f->on_return = OnReturn::Stop;
  f->yielded = false;
  stack.frames.push_back(std::move(f));
  return run_parked(f, depth, returned);
}

ValueRef Tracer::raise_in_generator(std::unique_ptr<SymbolicFrame>& f, const ValueRef& exception, ValueRef& returned) {
  const std::size_t depth = stack.frames.size();
  f->on_return = OnReturn::Stop;
  f->yielded = false;
  stack.frames.push_back(std::move(f));
  const TracedRaise raised{exception};
  if (!unwind(raised, depth)) throw raised;
  return run_parked(f, depth, returned);
}

ValueRef Tracer::run_parked(std::unique_ptr<SymbolicFrame>& f, std::size_t depth, ValueRef& returned) {
  step_until(depth);
  if (stack.parked) {
    f = std::move(stack.parked);
    return std::move(stack.nested_result);
  }
  returned = std::move(stack.nested_result);
  return {};
}

void Tracer::yield_from_frame(ValueRef v) {
  stack.parked = std::move(stack.frames.back());
  stack.frames.pop_back();
  stack.nested_result = std::move(v);
}

void Tracer::make_generator() {
  std::unique_ptr<SymbolicFrame> f = std::move(stack.frames.back());
  stack.frames.pop_back();
  const OnReturn on_return = f->on_return;
  ValueRef held = f->held;
  auto g = make_ref<GeneratorValue>(std::move(f), "");
  g->name = g->frame->printed_name;
  if (on_return == OnReturn::Stop)
    stack.nested_result = g;
  else
    frame().push(on_return == OnReturn::Push ? ValueRef(g) : held);
}

// By the first of its instructions that has no handler.
[[noreturn]] static void refuse_coroutine(FunctionValue& fn) {
  const auto body = decoded_body(reinterpret_cast<PyCodeObject*>(fn.code.get()));
  for (const Instruction& i : body->instructions) {
    for (const char* name : {"GET_AWAITABLE", "GET_AITER", "GET_ANEXT", "BEFORE_ASYNC_WITH", "ASYNC_GEN_WRAP"})
      if (name == std::string_view(*i.orig_name ? i.orig_name : opcode_name(i.op)))
        graph_break<GB0082>(std::string(name), operand_text(*body, i.orig_arg));
    if (i.op == Opcode::INTRINSIC_1 && i.a == kIntrinsicAsyncGenWrap) graph_break<GB0079>(std::to_string(i.a));
  }
  const auto* code = reinterpret_cast<PyCodeObject*>(fn.code.get());
  graph_break<GB0147_construct>(fn.print(),
                                std::string(code->co_flags & CO_COROUTINE ? "coroutine" : "asynchronous generator"));
}

std::unique_ptr<SymbolicFrame> Tracer::make_frame(FunctionValue& fn, CallArgs call_args) {
  if (ValueRef other = replaced_function(*this, fn, call_args))
    return make_frame(static_cast<FunctionValue&>(*other), call_args);
  if (stack.frames.size() > kMaxDepth) throw SkipFrame{"calls nest deeper than " + std::to_string(kMaxDepth)};
  auto* code = reinterpret_cast<PyCodeObject*>(fn.code.get());
  if (code->co_flags & (CO_COROUTINE | CO_ASYNC_GENERATOR)) refuse_coroutine(fn);
  auto f = std::make_unique<SymbolicFrame>();
  f->code = fn.code;
  f->body = decoded_body(code);
  f->globals = fn.globals;
  f->builtins = fn.builtins;
  f->own_globals = frame().own_globals && fn.globals.get() == stack.frames.front()->globals.get();
  if (fn.globals.get() == stack.frames.front()->globals.get()) f->own_globals = true;
  f->inline_depth = static_cast<int>(stack.frames.size());
  f->printed_name = text_of(code->co_name);
  f->slots.resize(f->body->slot_names.size());
  bind_call(*this, fn, *f->body, std::move(call_args), f->slots);
  const std::size_t first_free = f->slots.size() - fn.closure.size();
  for (std::size_t k = 0; k < fn.closure.size(); ++k) f->slots[first_free + k] = fn.closure[k];
  if (log_traces) log_inlining(*this, *f);
  return f;
}

// --- exceptions
// ----------------------------------------------------------------------------------------------------------

ValueRef Tracer::handled_exception() const {
  for (auto f = stack.frames.rbegin(); f != stack.frames.rend(); ++f)
    if (!(*f)->handled.empty()) return (*f)->handled.back();
  return {};
}

// Whether a handler of the frame sees the exception. The end of an inlined comprehension (from 3.12 on) only gives
// variables their values back and raises the exception again.
static bool has_handler(const SymbolicFrame& f) {
  const auto& code = f.body->instructions;
  int at = f.instruction().handler.label;
  while (at >= 0) {
    auto i = static_cast<std::size_t>(at);
    while (code[i].op == Opcode::SWAP || code[i].op == Opcode::POP_TOP || code[i].op == Opcode::STORE_FAST) ++i;
    if (code[i].op != Opcode::RERAISE) return true;
    at = code[i].handler.label;
  }
  return false;
}

bool Tracer::uncaught() const {
  return std::ranges::none_of(stack.frames, [](const auto& f) { return has_handler(*f); });
}

void Tracer::raise(PyObject* type, const std::string& message) {
  std::vector<ValueRef> args_of;
  args_of.push_back(
      constant(checked(PyUnicode_FromStringAndSize(message.data(), static_cast<Py_ssize_t>(message.size())))));
  throw TracedRaise{make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(type), std::move(args_of))};
}

// A text that is put together when it is read is one here: as an object of its own it would be guarded.
static PyRef read_text(PyObject* o) {
  return Py_TYPE(o) == absent_text_type ? checked(PyObject_Str(o)) : PyRef::borrow(o);
}

void Tracer::raise_current() {
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  PyRef t = PyRef::steal(type), v = PyRef::steal(value), tb = PyRef::steal(traceback);
  const auto is = [&](PyObject* class_of_error) { return PyErr_GivenExceptionMatches(t.get(), class_of_error) != 0; };
  if (tb && v) PyException_SetTraceback(v.get(), tb.get());
  const bool of_code = tb && v && !is(PyExc_RecursionError);  // nothing more can be asked near the limit
  if (is(PyExc_KeyboardInterrupt) || is(PyExc_MemoryError) || is(PyExc_SystemError) ||
      (of_code && report("came_from_outside", {v}).get() == Py_True)) {
    PyErr_Restore(t.release(), v.release(), tb.release());
    throw PythonError{};
  }
  PyRef raw_args = v ? PyRef::steal(PyObject_GetAttrString(v.get(), "args")) : PyRef();
  std::vector<ValueRef> values;
  if (raw_args && PyTuple_Check(raw_args.get()))
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(raw_args.get()); ++k)
      values.push_back(from_folded(*this, read_text(PyTuple_GET_ITEM(raw_args.get(), k)).get()));
  clear_answer();
  throw TracedRaise{make_ref<ExceptionValue>(reinterpret_cast<PyTypeObject*>(t.get()), std::move(values))};
}

}  // namespace md
