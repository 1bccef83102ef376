// Running CompiledGuards on the arguments of a call.

#include <algorithm>

#include "frontend/guards/explain.h"
#include "frontend/guards/kinds.h"
#include "frontend/guards/text.h"

namespace md {
namespace {

inline bool run_load(const LoadFact& f, std::uint16_t out, PyObject** regs, const FrameArgs& args) {
  PyObject* base = regs[f.base];
  // The base of an optional load may itself be absent.
  PyObject* found = f.needs_base && !base ? nullptr : quick_access(f.access, base, args, f.memo);
  regs[out] = found;
  return found != nullptr || f.optional;
}

template <class K, bool explain>
[[gnu::always_inline]] inline bool run_guard(const GuardOp& op, PyObject** regs, Why* why) {
  if constexpr (requires { K::unchecked; })
    __builtin_unreachable();  // such guards have no op: see emit_guard
  else
    return K::template check<explain>(op, regs, why);
}

template <bool explain>
[[gnu::always_inline]] inline bool run_op(const GuardOp& op, PyObject** regs, const FrameArgs& args, Why* why) {
  switch (op.kind) {
    case kLoad:
      return run_load(*op.load, op.reg, regs, args);
#define MD_GUARD(name)                             \
  case static_cast<std::uint8_t>(GuardKind::name): \
    return run_guard<guards::name, explain>(op, regs, why);
#include "frontend/guards/kinds.inc"
#undef MD_GUARD
  }
  return false;
}

// Registers live on the stack: few in a fixed array, more (a model's parameters) by alloca, absurdly many on the heap.
constexpr int kFew = 64;
constexpr int kMostOnStack = 16384;

class ManyRegisters {
 public:
  explicit ManyRegisters(const CompiledGuards& p)
      : regs_(static_cast<PyObject**>(PyMem_RawMalloc(sizeof(PyObject*) * static_cast<std::size_t>(p.registers)))) {}
  ManyRegisters(const ManyRegisters&) = delete;
  ManyRegisters& operator=(const ManyRegisters&) = delete;
  ~ManyRegisters() { PyMem_RawFree(regs_); }
  PyObject** get() const { return regs_; }

 private:
  PyObject** regs_;
};

// The node of the first local that is unbound, or -1.
inline int load_locals(const CompiledGuards& p, PyObject** regs, const FrameArgs& args) {
  for (const LocalLoad& l : p.locals) {
    PyObject* o = args.localsplus[l.slot];
    if (!o) [[unlikely]]
      return static_cast<int>(l.node);
    regs[l.reg] = o;
  }
  return -1;
}

inline bool keys_live(const CompiledGuards& p) {
  for (PyObject* w : p.weak_keys)
    if (reinterpret_cast<PyWeakReference*>(w)->wr_object == Py_None) return false;
  return true;
}

// What is left when the words are unchanged.
inline bool run_rest(const GuardMemo& s, PyObject** regs, const FrameArgs& args) {
  const GuardMemo::Fill *fill = s.fills().data(), *first = fill;
  for (const GuardMemo::Live& l : s.live()) {
    for (; fill != first + l.fills_end; ++fill) regs[fill->reg] = fill->object;
    if (!run_op<false>(*l.op, regs, args, nullptr)) return false;
  }
  for (; fill != first + s.fills().size(); ++fill) regs[fill->reg] = fill->object;
  return true;
}

inline bool run_all(const CompiledGuards& p, PyObject** regs, const FrameArgs& args) {
  if (load_locals(p, regs, args) >= 0 || !keys_live(p)) return false;
  if (p.memo.any() && p.memo.unchanged(args)) return run_rest(p.memo, regs, args);
  for (const GuardOp& op : p.ops) {
    if (!run_op<false>(op, regs, args, nullptr)) return false;
  }
  if (!p.memo.off()) p.memo.passed(p, regs, args);
  return true;
}

inline bool run_and_load(const CompiledGuards& p, PyObject** regs, const FrameArgs& args, PyObject** values) {
  if (!run_all(p, regs, args)) return false;
  if (values) {
    for (std::uint16_t r : p.wanted) *values++ = regs[r];
  }
  return true;
}

[[gnu::noinline]] bool run_large(const CompiledGuards& p, const FrameArgs& args, PyObject** values) {
  if (p.registers <= kMostOnStack) {
    void* regs = __builtin_alloca(sizeof(PyObject*) * static_cast<std::size_t>(p.registers));
    return run_and_load(p, static_cast<PyObject**>(regs), args, values);
  }
  const ManyRegisters regs(p);
  return regs.get() && run_and_load(p, regs.get(), args, values);
}

constexpr const char* kDeadKey = "a key of a dictionary has died";

std::string missing_text(const CompiledGuards& p, std::size_t index) {
  const GuardNode& node = p.nodes[index];
  const std::string name = strip_local_scope(node.name);
  switch (node.kind) {
    case SourceKind::Global:
    case SourceKind::Builtin:
    case SourceKind::DictItem:
    case SourceKind::InstanceDict:
    case SourceKind::FuncKwDefault:
    case SourceKind::ModuleGlobal:
      return "KeyError on " + name;
    case SourceKind::Local:
      return name + " is unbound";
    case SourceKind::ListItem:
    case SourceKind::DictKey:
    case SourceKind::FuncDefault:
    case SourceKind::FuncClosure:
      return "IndexError on " + name;
    default:
      return "getattr failed on source " + name;
  }
}

}  // namespace

bool check(const CompiledGuards& p, const FrameArgs& args) {
  if (p.registers > kFew) return run_large(p, args, nullptr);
  PyObject* regs[kFew];
  return run_all(p, regs, args);
}

std::size_t wanted_count(const CompiledGuards& p) { return p.wanted.size(); }

bool check_and_load(const CompiledGuards& p, const FrameArgs& args, PyObject** values) {
  if (p.registers > kFew) return run_large(p, args, values);
  PyObject* regs[kFew];
  return run_and_load(p, regs, args, values);
}

namespace {

// Where the guards stop.
struct Stop {
  bool failed = true;
  const char* reason = nullptr;  // neither a load nor a guard
  int unbound = -1;              // a load that found nothing
  const GuardOp* op = nullptr;
  Why why;
};

Stop run_to_failure(const CompiledGuards& p, PyObject** regs, const FrameArgs& args) {
  Stop stop;
  if (!regs) return stop.reason = "out of memory", stop;
  if (!keys_live(p)) return stop.reason = kDeadKey, stop;
  if ((stop.unbound = load_locals(p, regs, args)) >= 0) return stop;
  for (const GuardOp& op : p.ops) {
    const bool load = op.kind == kLoad;
    stop.why = {.text = {}, .compiled = &p, .record = load ? nullptr : &p.records[op.record]};
    if (run_op<true>(op, regs, args, &stop.why)) continue;
    stop.op = &op;
    if (load) stop.unbound = static_cast<int>(op.record);
    return stop;
  }
  stop.failed = false;
  return stop;
}

std::string text_of(const CompiledGuards& p, const Stop& stop, bool with_comment) {
  if (!stop.failed) return {};
  if (stop.reason) return stop.reason;
  if (stop.unbound >= 0) return missing_text(p, static_cast<std::size_t>(stop.unbound));
  if (!stop.why.text.empty()) return stop.why.text;
  const std::string text = strip_local_scope(condition_text(p, *stop.why.record));
  return with_comment ? with_place(p, *stop.why.record, text) : text;
}

}  // namespace

std::string explain_failure(const CompiledGuards& p, const FrameArgs& args, bool with_comment) {
  const ManyRegisters regs(p);
  return text_of(p, run_to_failure(p, regs.get(), args), with_comment);
}

// Of the int at a node.
static const char* number_place(const CompiledGuards& p, int index) {
  const GuardNode& node = p.nodes[static_cast<std::size_t>(index)];
  const bool of_range = node.kind == SourceKind::RangeField && std::ranges::any_of(p.records, [&](const auto& r) {
                          return r.node == node.parent && r.kind == GuardKind::TypeMatch && r.described == "range";
                        });
  if (of_range) return "range";
  static constexpr const char* kNames[] = {"argument", "global", "module", "elsewhere"};
  return kNames[static_cast<int>(node.number)];
}

Failure first_failure(const CompiledGuards& p, const FrameArgs& args) {
  const ManyRegisters regs(p);
  const Stop stop = run_to_failure(p, regs.get(), args);
  Failure out;
  out.text = text_of(p, stop, false);
  if (!stop.failed || stop.reason) return out;
  const int node = stop.unbound >= 0 ? stop.unbound : stop.why.record->node;
  if (node >= 0) out.source = p.nodes[static_cast<std::size_t>(node)].name;
  out.place = strip_local_scope(out.source);
  if (stop.unbound >= 0) {
    out.kind = "MISSING", out.expected = "present", out.actual = "absent";
    return out;
  }
  const Why& why = stop.why;
  out.kind = printed_name(why.record->kind);
  if (!why.part.empty()) out.place += "." + why.part;
  if (!why.place.empty()) out.place = why.place;
  if (node >= 0) out.number = number_place(p, node);
  out.expected = why.expected, out.actual = why.actual;
  if (out.expected.empty() && node >= 0) compare_texts(*why.record, regs.get()[stop.op->reg], out.expected, out.actual);
  if (why.record->kind == GuardKind::IdMatch && *stop.op->slot != Py_None)
    out.expected = told_apart(object_text(*stop.op->slot), out.actual);
  if (why.record->kind == GuardKind::Aliasing) {
    out.actual = object_text(regs.get()[stop.op->reg]);
    out.expected = told_apart(object_text(regs.get()[stop.op->value]), out.actual);
  }
  return out;
}

std::vector<std::string> explain_failures(const CompiledGuards& p, const FrameArgs& args) {
  const ManyRegisters regs(p);
  if (!regs.get()) return {"out of memory"};
  if (!keys_live(p)) return {kDeadKey};
  if (const int unbound = load_locals(p, regs.get(), args); unbound >= 0)
    return {missing_text(p, static_cast<std::size_t>(unbound))};
  std::vector<std::string> failures;
  std::vector<bool> unknown(static_cast<std::size_t>(p.registers));  // what later guards must not look at
  for (const GuardOp& op : p.ops) {
    const bool load = op.kind == kLoad;
    const bool relates = !load && op.kind >= static_cast<std::uint8_t>(GuardKind::NoAliasing);
    if (load) unknown[op.reg] = op.load->needs_base && unknown[op.load->base];
    if (unknown[op.reg] || (relates && !failures.empty())) continue;
    Why why{.text = {}, .compiled = &p, .record = load ? nullptr : &p.records[op.record]};
    if (run_op<true>(op, regs.get(), args, &why)) continue;
    unknown[op.reg] = true;
    if (load)
      failures.push_back(missing_text(p, op.record));
    else if (!why.text.empty())
      failures.push_back(why.text);
    else
      failures.push_back(with_place(p, *why.record, strip_local_scope(condition_text(p, *why.record))));
  }
  return failures;
}

bool is_dead(const CompiledGuards& p) {
  for (const PyRef& w : p.weak) {
    if (reinterpret_cast<PyWeakReference*>(w.get())->wr_object == Py_None) return true;
  }
  return false;
}

int visit_held(const CompiledGuards& p, visitproc visit, void* arg) {
  for (const auto* list : {&p.held, &p.weak}) {
    for (const PyRef& o : *list) Py_VISIT(o.get());
  }
  return 0;
}

}  // namespace md
