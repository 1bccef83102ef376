// Running a GuardProgram.

#include <alloca.h>

#include "frontend/guards/kinds.h"
#include "frontend/guards/text.h"

namespace md {
namespace {

inline bool run_load(const LoadFact& f, std::uint16_t out, PyObject** regs, const FrameArgs& args) {
  PyObject* base = regs[f.base];
  // The base of an optional load may itself be absent.
  PyObject* found = f.needs_base && !base ? nullptr : quick_step(f.step, base, args, f.memo);
  regs[out] = found;
  return found != nullptr || f.optional;
}

template <bool explain>
[[gnu::always_inline]] inline bool run_op(const GuardOp& op, PyObject** regs, const FrameArgs& args, Why* why) {
  switch (op.kind) {
    case kLoad:
      return run_load(*op.load, op.reg, regs, args);
#define MD_GUARD(name)                             \
  case static_cast<std::uint8_t>(GuardKind::name): \
    return guards::name::check<explain>(op, regs, why);
#include "frontend/guards/kinds.inc"
#undef MD_GUARD
  }
  return false;
}

// A program with very many live registers (a model's thousands of parameters) gets them from the heap.
constexpr int kMostOnStack = 8192;

class Registers {
 public:
  Registers(const GuardProgram& p, void* stack)
      : heap_(stack ? nullptr
                    : static_cast<PyObject**>(
                          PyMem_RawMalloc(sizeof(PyObject*) * static_cast<std::size_t>(p.registers)))),
        regs_(stack ? static_cast<PyObject**>(stack) : heap_) {}
  Registers(const Registers&) = delete;
  Registers& operator=(const Registers&) = delete;
  ~Registers() {
    if (heap_) PyMem_RawFree(heap_);
  }
  PyObject** get() const { return regs_; }

 private:
  PyObject** heap_;
  PyObject** regs_;
};

// The node of the first local that is unbound, or -1.
inline int load_locals(const GuardProgram& p, PyObject** regs, const FrameArgs& args) {
  for (const LocalLoad& l : p.locals) {
    PyObject* o = args.localsplus[l.slot];
    if (!o) [[unlikely]]
      return static_cast<int>(l.node);
    regs[l.reg] = o;
  }
  return -1;
}

inline bool run_all(const GuardProgram& p, PyObject** regs, const FrameArgs& args) {
  if (load_locals(p, regs, args) >= 0) return false;
  for (const GuardOp& op : p.ops) {
    if (!run_op<false>(op, regs, args, nullptr)) return false;
  }
  return true;
}

#define MD_STACK_REGISTERS(p) \
  ((p).registers <= kMostOnStack ? alloca(sizeof(PyObject*) * static_cast<std::size_t>((p).registers)) : nullptr)

std::string missing_text(const GuardProgram& p, std::size_t index) {
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

bool check(const GuardProgram& p, const FrameArgs& args) {
  const Registers regs(p, MD_STACK_REGISTERS(p));
  return regs.get() && run_all(p, regs.get(), args);
}

bool check_and_load(const GuardProgram& p, const FrameArgs& args, PyObject** values) {
  const Registers regs(p, MD_STACK_REGISTERS(p));
  if (!regs.get() || !run_all(p, regs.get(), args)) return false;
  for (std::uint16_t r : p.wanted) *values++ = regs.get()[r];
  return true;
}

std::string explain_failure(const GuardProgram& p, const FrameArgs& args, bool with_comment) {
  const Registers regs(p, MD_STACK_REGISTERS(p));
  if (!regs.get()) return "out of memory";
  if (const int unbound = load_locals(p, regs.get(), args); unbound >= 0) {
    return missing_text(p, static_cast<std::size_t>(unbound));
  }
  for (const GuardOp& op : p.ops) {
    const bool load = op.kind == kLoad;
    Why why{{}, &p, load ? nullptr : &p.records[op.record]};
    if (run_op<true>(op, regs.get(), args, &why)) continue;
    if (load) return missing_text(p, op.record);
    if (!why.text.empty()) return why.text;
    const std::string text = strip_local_scope(condition_text(p, *why.record));
    return with_comment ? with_place(p, *why.record, text) : text;
  }
  return {};
}

bool is_dead(const GuardProgram& p) {
  for (const PyRef& w : p.weak) {
    if (reinterpret_cast<PyWeakReference*>(w.get())->wr_object == Py_None) return true;
  }
  return false;
}

int visit_held(const GuardProgram& p, visitproc visit, void* arg) {
  for (const auto* list : {&p.held, &p.weak}) {
    for (const PyRef& o : *list) Py_VISIT(o.get());
  }
  return 0;
}

}  // namespace md
