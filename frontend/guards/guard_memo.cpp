// Records what each operation of passed guards read, and compares and drops the words later.
#include "frontend/guards/guard_memo.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "frontend/cpython/dict_access.h"
#include "frontend/cpython/object_attr.h"
#include "frontend/guards/kinds.h"

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

bool is_static(PyTypeObject* type) { return !(type->tp_flags & Py_TPFLAGS_HEAPTYPE); }

bool is_scalar(PyObject* o) {
  return o == Py_None || PyBool_Check(o) || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyUnicode_CheckExact(o) ||
         PyBytes_CheckExact(o) || PyComplex_CheckExact(o);
}

}  // namespace

// Runs over guards whose operations have passed, and notes what each depends on.
class MemoRecorder {
 public:
  MemoRecorder(GuardMemo& s, const CompiledGuards& p, PyObject** regs, const FrameArgs& args)
      : s_(s), p_(p), regs_(regs), args_(args), at_(static_cast<std::size_t>(p.registers)) {}

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
    return memoized;
  }

 private:
  // What is known of the object in a register, a local or one to which the words lead.
  struct At {
    int node = -1;
    int root = -1;       // what it is reached from: index into roots_
    bool known = false;  // words show that the object is at this address
    bool same = false;   // and that it is the one that was there, not another one that took its place
    bool local = false;
    bool apart = false;  // a local whose elements are compared, not itself
  };
  // A local, or what `load` gives for one that is looked at by its elements.
  struct Root {
    int slot;
    const LoadFact* load;
    PyObject* object;
    int node;
    bool leaned_on = false;
  };

  bool never(int node) const { return node >= 0 && s_.strikes_[static_cast<std::size_t>(node)] >= kNever; }
  bool by_entry(int node) const { return node >= 0 && s_.strikes_[static_cast<std::size_t>(node)] >= kByEntry; }

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

  void word(const md_word& w, int node) {
    if (!noted_.insert(w.at).second) return;
    s_.words_.push_back(w);
    s_.owners_.push_back(node);
  }
  void word(const void* at, int node) {
    md_word w{at, 0};
    std::memcpy(&w.value, at, sizeof w.value);
    word(w, node);
  }

  void type_word(PyObject* o, const At& a) {
    if (!a.same || !is_static(Py_TYPE(o))) word(&o->ob_type, a.node);
  }
  // The tag and, in the same word, what fills the gap after it.
  bool class_word(PyTypeObject* type, int node) {
    if (type->tp_version_tag == 0) return false;
    word(&type->tp_version_tag, node);
    return true;
  }
  bool scalar(PyObject* o, const At& a) {
    if (!is_scalar(o)) return false;
    if (!a.same) s_.kept_.push_back(PyRef::borrow(o));
    return true;
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
      fill(op.size->actual.reg);
    } else if (kind == GuardKind::Aliasing) {
      fill(op.reg), fill(static_cast<std::uint16_t>(op.value));
    } else if (kind > GuardKind::NothingHandled) {
      fill(op.reg);
    }
    s_.live_.push_back({&op, s_.fills_.size()});
  }

  // --- look-ups: false where no words tell what they give. `same`: as At has it.

  bool in_dict(PyObject* dict, PyObject* key, Py_hash_t hash, int node, bool& same) {
    if (!by_entry(node) && PyDict_CheckExact(dict) && dict_version_is_complete(dict)) {
      word(dict_version_at(dict), node);
      return same = true;
    }
    return entry(dict, key, hash, node, same);
  }

  bool entry(PyObject* dict, PyObject* key, Py_hash_t hash, int node, bool& same) {
    md_word words[MD_MOST_WORDS];
    const int n = PyDict_CheckExact(dict) ? md_lookup_words(dict, key, hash, words) : 0;
    for (int i = 0; i < n; ++i) word(words[i], node);
    same = false;
    return n > 0;
  }

  bool in_instance(PyObject* o, PyObject* name, const At& a, bool& same) {
    md_word words[MD_MOST_WORDS];
    PyObject* dict;
    word(&o->ob_type, a.node);
    if (PyType_Check(o) || !class_word(Py_TYPE(o), a.node)) return false;
    const int n = md_instance_words(o, name, words, &dict);
    for (int i = 0; i < n; ++i) word(words[i], a.node);
    same = false;
    return dict ? in_dict(dict, name, PyObject_Hash(name), a.node, same) : n >= 0;
  }

  bool attribute(PyObject* o, const LoadFact& f, const At& a, bool& same) {
    const AttrMemo& m = f.memo.attr;
    if (PyType_Check(o) || is_tensor(o) || PyModule_Check(o)) {
      if (!PyModule_CheckExact(o)) return false;
      type_word(o, a);
      PyObject** dict = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(o) + PyModule_Type.tp_dictoffset);
      word(dict, a.node);
      return entry(*dict, f.access.key, f.access.hash, a.node, same);
    }
    if (m.hidden || m.type_version == 0 || m.type_version != Py_TYPE(o)->tp_version_tag) return false;
    if (!m.slot_offset) return in_instance(o, f.access.key, a, same);
    word(&o->ob_type, a.node);
    if (!class_word(Py_TYPE(o), a.node)) return false;
    word(reinterpret_cast<char*>(o) + m.slot_offset, a.node);
    return true;
  }

  bool on_class(PyObject* o, const At& a, const AccessMemo& m, bool& same) {
    if (!PyType_Check(o) || m.attr.type_version != reinterpret_cast<PyTypeObject*>(o)->tp_version_tag) return false;
    return same = class_word(reinterpret_cast<PyTypeObject*>(o), a.node);
  }

  // Of an exact list or tuple.
  bool item(PyObject* o, Py_ssize_t index, const At& a, bool& same) {
    if (PyTuple_CheckExact(o) && a.same) return same = true;
    if (!(PyTuple_CheckExact(o) || PyList_CheckExact(o)) || index < 0 || index >= Py_SIZE(o)) return false;
    type_word(o, a);
    word(&reinterpret_cast<PyVarObject*>(o)->ob_size, a.node);
    if (PyList_CheckExact(o)) word(&reinterpret_cast<PyListObject*>(o)->ob_item, a.node);
    word(&(PyList_CheckExact(o) ? reinterpret_cast<PyListObject*>(o)->ob_item
                                : reinterpret_cast<PyTupleObject*>(o)->ob_item)[index],
         a.node);
    return true;
  }

  bool of_function(PyObject* o, const LoadFact& f, const At& a, bool& same) {
    if (!PyFunction_Check(o)) return false;
    auto* fn = reinterpret_cast<PyFunctionObject*>(o);
    const At part{.node = a.node};
    type_word(o, a);
    switch (f.access.kind) {
      case SourceKind::FuncCode:
        word(&fn->func_globals, a.node);
        if (!f.access.key && f.access.index == kOverOwnGlobals) s_.globals_ = args_.globals;
        word(&fn->func_code, a.node);
        return true;
      case SourceKind::FuncDefault:
        word(&fn->func_defaults, a.node);
        return fn->func_defaults && item(fn->func_defaults, f.access.index, part, same);
      case SourceKind::FuncClosure:
        word(&fn->func_closure, a.node);
        return fn->func_closure && item(fn->func_closure, f.access.index, part, same);
      case SourceKind::ModuleGlobal:
        word(&fn->func_globals, a.node);
        return entry(fn->func_globals, f.access.key, f.access.hash, a.node, same);
      default:
        return false;
    }
  }

  bool of_class(PyObject* o, const LoadFact& f, const At& a) {
    PyObject* const* const place = class_field(o, f.access.key);
    if (!place) return false;
    type_word(o, a);
    word(place, a.node);
    return true;
  }

  bool depends_on_access(PyObject* o, const LoadFact& f, const At& a, bool& same) {
    switch (f.access.kind) {
      case SourceKind::Attr:
        return attribute(o, f, a, same);
      case SourceKind::InstanceDict:
        return in_instance(o, f.access.key, a, same);
      case SourceKind::TypeOf:
        word(&o->ob_type, a.node);
        return true;
      case SourceKind::TypeAttr:
        word(&o->ob_type, a.node);
        return on_class(reinterpret_cast<PyObject*>(Py_TYPE(o)), a, f.memo, same);
      case SourceKind::ClassAttr:
        type_word(o, a);
        return on_class(o, a, f.memo, same);
      case SourceKind::ListItem:
        return item(o, f.access.index, a, same);
      case SourceKind::DictItem:
        if (!PyDict_CheckExact(o)) return false;
        type_word(o, a);
        return in_dict(o, f.access.key, f.access.hash, a.node, same);
      case SourceKind::CellContents:
        if (!PyCell_Check(o)) return false;
        type_word(o, a);
        word(&reinterpret_cast<PyCellObject*>(o)->ob_ref, a.node);
        return true;
      case SourceKind::MethodSelf:
      case SourceKind::MethodFunc: {
        if (!PyMethod_Check(o)) return false;
        auto* m = reinterpret_cast<PyMethodObject*>(o);
        type_word(o, a);
        word(f.access.kind == SourceKind::MethodSelf ? &m->im_self : &m->im_func, a.node);
        return true;
      }
      case SourceKind::Field:
        return of_class(o, f, a);
      default:
        return of_function(o, f, a, same);
    }
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
      if (!depends_on_access(base, f, a, made.same)) return false;
    } else if (f.access.kind == SourceKind::Local || f.access.kind == SourceKind::FreeCell) {
      made.root = root(f.access.index, node);
    } else if (f.access.kind == SourceKind::Constant) {
      word(f.access.object, node);
      made.same = true;
    } else if (f.access.kind == SourceKind::Global) {
      s_.globals_ = args_.globals;
      if (f.access.key && !entry(args_.globals, f.access.key, f.access.hash, node, made.same)) return false;
    } else if (f.access.kind == SourceKind::Builtin) {
      s_.builtins_ = args_.builtins;
      if (!entry(args_.builtins, f.access.key, f.access.hash, node, made.same)) return false;
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
    return on_object(kind, op, o, a);
  }

  static bool can_memoize(GuardKind kind) {
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

  bool alias(const At& a, const At& b) {
    if (!a.known || !b.known || a.local || b.local) return false;
    lean_on(a), lean_on(b);
    return true;
  }

  bool on_object(GuardKind kind, const GuardOp& op, PyObject* o, const At& a) {
    bool same;
    switch (kind) {
      case GuardKind::TypeMatch:
        type_word(o, a);
        if (!is_static(Py_TYPE(o))) word(op.slot, a.node);
        return true;
      case GuardKind::IdMatch:
        if (!a.same) word(op.slot, a.node);
        return true;
      case GuardKind::CMethod:
        type_word(o, a);
        if (!a.same) word(&reinterpret_cast<PyCFunctionObject*>(o)->m_ml, a.node);
        return true;
      case GuardKind::EqualsMatch:
      case GuardKind::Nan:
        return scalar(o, a);
      case GuardKind::NoneMatch:
      case GuardKind::TrueMatch:
      case GuardKind::FalseMatch:
      case GuardKind::NotPresent:
        return true;
      case GuardKind::LengthCheck:
      case GuardKind::DictLength:
        return length(o, a);
      case GuardKind::DictContains:
      case GuardKind::DictNotContains:
        if (op.flag) return in_instance(o, op.key->key, a, same);
        if (!PyDict_CheckExact(o)) return false;
        type_word(o, a);
        return in_dict(o, op.key->key, op.key->hash, a.node, same);
      case GuardKind::DictKeyOrder:
        if (!PyDict_CheckExact(o) || by_entry(a.node) || !dict_version_is_complete(o)) return false;
        type_word(o, a);
        word(dict_version_at(o), a.node);
        return true;
      case GuardKind::NoHasattr:
      case GuardKind::Hasattr:
        return presence(o, *op.name, a);
      case GuardKind::ClassLookups:
        type_word(o, a);
        return op.cls->version == reinterpret_cast<PyTypeObject*>(o)->tp_version_tag &&
               class_word(reinterpret_cast<PyTypeObject*>(o), a.node);
      default:
        return false;
    }
  }

  bool length(PyObject* o, const At& a) {
    if (scalar(o, a)) return true;
    if (PyTuple_CheckExact(o) && a.same) return true;
    type_word(o, a);
    if (PyTuple_CheckExact(o) || PyList_CheckExact(o)) {
      word(&reinterpret_cast<PyVarObject*>(o)->ob_size, a.node);
    } else if (!PyDict_CheckExact(o)) {
      return false;
    } else if (by_entry(a.node) || !dict_version_is_complete(o)) {
      word(&reinterpret_cast<PyDictObject*>(o)->ma_used, a.node);
    } else {
      word(dict_version_at(o), a.node);
    }
    return true;
  }

  bool presence(PyObject* o, const NameFact& f, const At& a) {
    bool same;
    const AttrMemo& m = f.memo;
    if (PyType_Check(o) || PyModule_Check(o) || m.type_version == 0 || m.type_version != Py_TYPE(o)->tp_version_tag)
      return false;
    if (!m.slot_offset && !m.hidden) return in_instance(o, f.name, a, same);
    word(&o->ob_type, a.node);
    if (!class_word(Py_TYPE(o), a.node)) return false;
    if (m.slot_offset) word(reinterpret_cast<char*>(o) + m.slot_offset, a.node);
    return true;
  }

  GuardMemo& s_;
  const CompiledGuards& p_;
  PyObject** regs_;
  const FrameArgs& args_;
  std::vector<At> at_;  // by register
  std::unordered_set<const void*> noted_;
  std::vector<Root> roots_;
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
