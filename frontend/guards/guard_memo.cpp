// Records what passed guards depend on, from the frame on, and when words are compared, dropped and noted again.
#include "frontend/guards/guard_memo.h"

#include <algorithm>
#include <utility>

#include "frontend/guards/kinds.h"
#include "frontend/guards/memo_words.h"

namespace md {
namespace {

constexpr std::size_t kWorthwhile = 6;  // fewer saved operations than these do not pay for comparing words
constexpr std::uint32_t kSoon = 32;     // words that change after fewer hits than these cost their node a strike
constexpr std::uint32_t kLongestWait = 64;
// Strikes of a node (how often its words changed soon). From kByEntry on the dictionary there is watched entry by entry
// instead of by its version; from kNever on its guards run in every call.
constexpr std::uint8_t kByEntry = 2, kNever = 4;
// The same for a tuple or dictionary among the arguments (`*args`, `**kwargs` are new objects in each call): from these
// strikes on its elements are compared with those of the call before, instead of the container's address.
constexpr std::uint8_t kTupleByElement = 1, kDictByElement = 3;

bool can_memoize(GuardKind kind) {
  switch (kind) {
    case GuardKind::DataMatch:
    case GuardKind::SetMatch:
    case GuardKind::SetOrder:
    case GuardKind::SetContains:
    case GuardKind::SetNotContains:
    case GuardKind::DequeMaxlen:
    case GuardKind::TensorMatch:
    case GuardKind::ArrayMatch:
    case GuardKind::DimensionMarks:
    case GuardKind::AbcToken:
    case GuardKind::NoAliasing:
    case GuardKind::SizeAssumption:
    case GuardKind::Distinct:
      return false;
    default:
      return true;
  }
}

}  // namespace

// Runs over guards whose operations have passed, and notes what each depends on.
class MemoRecorder {
 public:
  MemoRecorder(GuardMemo& s, const CompiledGuards& p, PyObject** regs, const FrameArgs& args)
      : s_(s),
        p_(p),
        regs_(regs),
        args_(args),
        at_(static_cast<std::size_t>(p.registers)),
        words_(s.strikes_, kByEntry) {}

  // How many operations need not run again.
  std::size_t run() {
    for (const LocalLoad& l : p_.locals) {
      const int node = static_cast<int>(l.node);
      const bool apart = by_element(node, args_.localsplus[l.slot]);
      at_[l.reg] = {.node = node, .root = root(l.slot, node), .known = !apart && !never(node), .local = true};
      at_[l.reg].apart = apart;
    }
    std::size_t memoized = 0;
    for (const GuardOp& op : p_.ops) {
      if (op.kind == kLoad ? load(op) : guard(op))
        ++memoized;
      else
        run_again(op);
    }
    for (std::uint16_t r : p_.wanted) fill(r);
    s_.words_ = std::move(words_.words);
    s_.owners_ = std::move(words_.owners);
    s_.kept_ = std::move(words_.kept);
    if (words_.over_globals) s_.globals_ = args_.globals;
    return memoized;
  }

 private:
  using At = MemoizedObject;
  // A local, or what `load` gives for one that is looked at by its elements.
  struct Root {
    int slot;
    const LoadFact* load;
    PyObject* object;
    int node;
    bool leaned_on = false;
  };

  bool never(int node) const { return node >= 0 && s_.strikes_[static_cast<std::size_t>(node)] >= kNever; }

  bool by_element(int node, PyObject* o) const {
    if (!o) return false;
    const std::uint8_t strikes = s_.strikes_[static_cast<std::size_t>(node)];
    return (PyTuple_CheckExact(o) && strikes >= kTupleByElement) || (PyDict_CheckExact(o) && strikes >= kDictByElement);
  }

  int root(int slot, int node) {
    roots_.push_back({slot, nullptr, args_.localsplus[slot], node});
    return static_cast<int>(roots_.size()) - 1;
  }
  void lean_on(const At& a) {
    if (a.root < 0) return;
    Root& r = roots_[static_cast<std::size_t>(a.root)];
    if (std::exchange(r.leaned_on, true)) return;
    if (r.load)
      s_.elements_.push_back({r.slot, r.load, r.object, r.node});
    else
      s_.anchors_.push_back({r.slot, r.object, r.node});
  }

  void fill(std::uint16_t reg) {
    const At& a = at_[reg];
    if (!a.known || a.local) return;
    lean_on(a);
    s_.fills_.push_back({reg, regs_[reg]});
  }

  void run_again(const GuardOp& op) {
    const auto kind = static_cast<GuardKind>(op.kind);
    if (op.kind == kLoad) {
      if (op.load->needs_base) fill(op.load->base);
      at_[op.reg] = {.node = static_cast<int>(op.record)};
    } else if (kind == GuardKind::NoAliasing || kind == GuardKind::Distinct) {
      for (std::uint16_t r : op.alias->registers) fill(r);
    } else if (kind == GuardKind::SizeAssumption) {
      for (const SizeFact::Read& r : op.size->reads) fill(r.reg);
      for (const std::uint16_t r : op.size->floats) fill(r);
      fill(op.size->actual.reg);
    } else if (kind == GuardKind::Aliasing) {
      fill(op.reg), fill(static_cast<std::uint16_t>(op.value));
    } else if (kind > GuardKind::NothingHandled) {
      fill(op.reg);
    }
    s_.live_.push_back({&op, s_.fills_.size()});
  }

  // Numbers, strings and tensors are mostly others each time: what holds them is looked at again.
  bool element(const GuardOp& op, const At& container) {
    PyObject* o = regs_[op.reg];
    const bool is_item = op.load->access.kind == SourceKind::ListItem || op.load->access.kind == SourceKind::DictItem;
    if (!is_item || !o || is_scalar(o) || is_tensor(o)) return false;
    const int node = static_cast<int>(op.record);
    const int slot = roots_[static_cast<std::size_t>(container.root)].slot;
    roots_.push_back({slot, op.load, o, node});
    at_[op.reg] = {.node = node, .root = static_cast<int>(roots_.size()) - 1, .known = true};
    return true;
  }

  bool load(const GuardOp& op) {
    const LoadFact& f = *op.load;
    const int node = static_cast<int>(op.record);
    At made{.node = node, .known = true};
    PyObject* const base = f.needs_base ? regs_[f.base] : nullptr;
    regs_[op.reg] = f.needs_base && !base ? nullptr : quick_access(f.access, base, args_, f.memo);
    if (never(node)) return false;
    if (f.needs_base) {
      const At& a = at_[f.base];
      if (a.apart) return element(op, a);
      if (!base || !a.known || is_tensor(base)) return false;
      made.root = a.root;
      lean_on(a);
      if (!words_.access(base, f, a, made.same)) return false;
    } else if (f.access.kind == SourceKind::Local || f.access.kind == SourceKind::FreeCell) {
      made.root = root(f.access.index, node);
    } else if (f.access.kind == SourceKind::Constant) {
      words_.word(f.access.object, node);
      made.same = true;
    } else if (f.access.kind == SourceKind::Global) {
      s_.globals_ = args_.globals;
      if (f.access.key && !words_.entry(args_.globals, f.access.key, f.access.hash, node, made.same)) return false;
    } else if (f.access.kind == SourceKind::Builtin) {
      s_.builtins_ = args_.builtins;
      if (!words_.entry(args_.builtins, f.access.key, f.access.hash, node, made.same)) return false;
    } else {
      return false;
    }
    at_[op.reg] = made;
    return true;
  }

  // --- guards

  bool guard(const GuardOp& op) {
    const auto kind = static_cast<GuardKind>(op.kind);
    if (kind <= GuardKind::NothingHandled) return false;
    if (kind == GuardKind::Aliasing) return alias(at_[op.reg], at_[static_cast<std::size_t>(op.value)]);
    const At& a = at_[op.reg];
    PyObject* o = regs_[op.reg];
    if (!a.known || (o && is_tensor(o))) return false;
    if (!can_memoize(kind)) return false;
    lean_on(a);
    return words_.guard(kind, op, o, a);
  }

  bool alias(const At& a, const At& b) {
    if (!a.known || !b.known || a.local || b.local) return false;
    lean_on(a), lean_on(b);
    return true;
  }

  GuardMemo& s_;
  const CompiledGuards& p_;
  PyObject** regs_;
  const FrameArgs& args_;
  std::vector<At> at_;  // by register
  std::vector<Root> roots_;
  MemoWords words_;
};

bool GuardMemo::elements_unchanged(const FrameArgs& args) {
  for (const Element& e : elements_) {
    PyObject* container = args.localsplus[e.slot];
    if (!container || quick_access(e.load->access, container, args, e.load->memo) != e.object) return changed(e.node);
  }
  return true;
}

void GuardMemo::forget() {
  anchors_.clear(), elements_.clear(), words_.clear(), owners_.clear(), live_.clear(), fills_.clear(), kept_.clear();
  globals_ = builtins_ = nullptr;
  valid_ = false;
}

void GuardMemo::passed(const CompiledGuards& p, PyObject** regs, const FrameArgs& args) {
  if (p.ops.size() < kWorthwhile) {
    off_ = true;
    return;
  }
  if (valid_) {
    const bool soon = hits_ < kSoon;
    if (soon && changed_ >= 0 && strikes_[static_cast<std::size_t>(changed_)] < kNever)
      ++strikes_[static_cast<std::size_t>(changed_)];
    wait_ = soon ? std::min(2 * wait_, kLongestWait) : 1;
    left_ = wait_;
    forget();
  }
  if (--left_ > 0) return;
  try {
    strikes_.resize(p.nodes.size());
    off_ = MemoRecorder(*this, p, regs, args).run() < kWorthwhile;
    valid_ = !off_;
  } catch (const std::bad_alloc&) {
    off_ = true;
  }
  hits_ = 0, changed_ = -1;
  if (off_) *this = GuardMemo(), off_ = true;
}

}  // namespace md
