// From recorded guards to their flat form: sort, build the source trie, give registers, emit.
#include "frontend/guards/compiled_guards.h"

#include <fmt/format.h>

#include <algorithm>

#include "frontend/guards/kinds.h"
#include "ir/core/small_vector.h"
#include "ir/graph/mutation.h"

namespace md {
namespace {

// "x, many[0], many[1]"; the first of very many.
std::string places_of(const Guard& g) {
  constexpr std::size_t kShown = 16;
  std::string text = g.source->name;
  for (std::size_t k = 0; k < std::min(kShown, g.others.size()); ++k) text += ", " + g.others[k]->name;
  if (g.others.size() > kShown) text += fmt::format(", ... {} more", g.others.size() - kShown);
  return text;
}

#ifdef MINIDYNAMO_MUTATE
constexpr std::string_view kGuardNames[] = {
#define MD_GUARD(name) #name,
#include "frontend/guards/kinds.inc"
#undef MD_GUARD
};
#endif

bool is_ambient(GuardKind k) { return k <= GuardKind::NothingHandled; }
bool is_relation(GuardKind k) {
  return k == GuardKind::NoAliasing || k == GuardKind::Aliasing || k == GuardKind::SizeAssumption ||
         k == GuardKind::Distinct;
}

// Equal for payloads that same_guard takes as equal.
std::size_t hash_of_payload(PyObject* o) {
  if (!o || !is_plain(o)) return reinterpret_cast<std::uintptr_t>(o);
  const Py_hash_t h = PyObject_Hash(o);
  if (h == -1) PyErr_Clear();
  return static_cast<std::size_t>(h);
}

std::size_t hash_of(const Guard& g) {
  std::size_t h = static_cast<std::size_t>(g.kind) + 31 * reinterpret_cast<std::uintptr_t>(g.source);
  h = h * 1000003u + static_cast<std::size_t>(g.value);
  h = h * 1000003u + reinterpret_cast<std::uintptr_t>(g.sizes.get());
  return (h * 1000003u + reinterpret_cast<std::uintptr_t>(g.other)) * 1000003u + hash_of_payload(g.object.get());
}

bool same_guard(const Guard& a, const Guard& b) {
  if (a.kind != b.kind || a.source != b.source || a.value != b.value || a.other != b.other || a.others != b.others ||
      a.sizes != b.sizes) {
    return false;
  }
  PyObject *x = a.object.get(), *y = b.object.get();
  return x == y || (x && y && is_plain(x) && plain_equal(x, y));
}

// The reference's order: ambient first, identities of two sources last, locals before globals, short names first.
bool comes_before(const Guard& a, const Guard& b) {
  const auto rank = [](const Guard& g) {
    if (is_ambient(g.kind)) return 0;
    if (g.kind == GuardKind::SizeAssumption) return 3;
    return g.kind == GuardKind::Aliasing || g.kind == GuardKind::Distinct ? 2 : 1;
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  if (a.kind == GuardKind::SizeAssumption) return false;  // as recorded
  if (a.source && b.source && a.source != b.source) {
    if (a.source->global_rooted != b.source->global_rooted) return b.source->global_rooted;
    if (a.source->name.size() != b.source->name.size()) return a.source->name.size() < b.source->name.size();
    if (a.source->name != b.source->name) return a.source->name < b.source->name;
  }
  return a.kind < b.kind;
}

std::vector<const Guard*> in_order(const GuardSet& set) {
  std::vector<const Guard*> out;
  for (const Guard& g : set.guards()) {
    if (is_ambient(g.kind) || g.source) out.push_back(&g);
  }
  std::stable_sort(out.begin(), out.end(), [](const Guard* a, const Guard* b) { return comes_before(*a, *b); });
  return out;
}

class Compiler {
 public:
  Compiler(const GuardSet& set, const SourceTable& table, const std::vector<SourceRef>& wanted,
           const std::vector<SourceRef>& present)
      : guards_(in_order(set)),
        wanted_(wanted),
        present_(present),
        compiled_(std::make_shared<CompiledGuards>()),
        builder_(*compiled_) {
    node_of_.assign(table.all().size(), -1);
    pinned_.assign(table.all().size(), false);
    builder_.registers_of.assign(table.all().size(), 0);
  }

  std::shared_ptr<const CompiledGuards> run() {
    for (const Guard* g : guards_) record(*g);
    for (SourceRef s : wanted_) {
      node(s);
      pin(s);
    }
    for (SourceRef s : present_) node(s);
    give_registers();
    for (std::size_t i = 0; i < guards_.size(); ++i) {
      if (is_ambient(guards_[i]->kind)) emit_guard(i);
    }
    for (int root : roots_) emit_node(root);
    for (std::size_t i = 0; i < guards_.size(); ++i) {
      if (is_relation(guards_[i]->kind)) emit_guard(i);
    }
    for (SourceRef s : wanted_) compiled_->wanted.push_back(builder_.register_of(s));
    return compiled_;
  }

 private:
  struct Build {
    SourceRef source;
    int depth;
    bool optional = false;
    std::vector<int> children;
    std::vector<std::size_t> guards;
  };

  int known_node(const Source* s) const { return node_of_[static_cast<std::size_t>(s->id)]; }

  // Sources may be very deep: no recursion here and below.
  int node(SourceRef s) {
    SmallVector<SourceRef, 16> missing;
    for (SourceRef at = s; at && known_node(at) < 0; at = at->base) missing.push_back(at);
    for (std::size_t k = missing.size(); k-- > 0;) add_node(missing[k]);
    return known_node(s);
  }

  void add_node(SourceRef s) {
    const int parent = s->base ? known_node(s->base) : -1;
    const int made = static_cast<int>(build_.size());
    node_of_[static_cast<std::size_t>(s->id)] = made;
    build_.push_back({s, parent < 0 ? 0 : build_[static_cast<std::size_t>(parent)].depth + 1});
    (parent < 0 ? roots_ : build_[static_cast<std::size_t>(parent)].children).push_back(made);
    compiled_->nodes.push_back(
        {s->kind, parent, s->index, weak_key(s->key), s->name, s->global_rooted, place_of_number(*s)});
  }

  void pin(SourceRef s) { pinned_[static_cast<std::size_t>(s->id)] = true; }

  void record(const Guard& g) {
    GuardRecord r{g.kind};
    r.value = g.value;
    r.tensor = g.tensor;
    r.where = place(g.where);
    describe(g, r);
    if (g.source) {
      r.node = node(g.source);
      Build& b = build_[static_cast<std::size_t>(r.node)];
      if (g.kind == GuardKind::NotPresent) b.optional = true;
      if (!is_relation(g.kind)) b.guards.push_back(compiled_->records.size());
    }
    if (is_relation(g.kind)) {
      pin(g.source);
      if (g.other) node(g.other), pin(g.other);
      for (SourceRef s : g.others) r.others.push_back(node(s)), pin(s);
    }
    compiled_->records.push_back(std::move(r));
  }

  // Texts that need what will not be kept.
  static void describe(const Guard& g, GuardRecord& r) {
    switch (g.kind) {
      case GuardKind::TypeMatch:
      case GuardKind::IdMatch:
        r.id = g.object.get();
        break;
      case GuardKind::NotPresent:
        r.described = guards::NotPresent::describe(*g.source);
        break;
      case GuardKind::SizeAssumption:
        r.sizes = g.sizes;
        break;
      case GuardKind::Aliasing:
        r.described = g.other->name;
        break;
      case GuardKind::ArrayMatch:
        r.described = class_name(reinterpret_cast<PyTypeObject*>(g.object.get()));
        break;
      case GuardKind::TensorMatch:
        r.described = class_name(g.object ? reinterpret_cast<PyTypeObject*>(g.object.get()) : tensor_type);
        break;
      case GuardKind::NoAliasing:
        r.described = "check_no_aliasing(" + places_of(g) + ")";
        break;
      case GuardKind::Distinct:
        r.described = g.others.size() > 1 ? "check_distinct(" + places_of(g) + ")"
                                          : g.source->name + " is not " + g.others.front()->name;
        break;
      case GuardKind::ClassLookups:
        r.described = guards::ClassLookups::describe(g);
        break;
      case GuardKind::DictContains:
      case GuardKind::DictNotContains:
        r.object = weak_key(g.object);
        break;
      case GuardKind::DictKeyOrder:
      case GuardKind::SetOrder:
        r.object = guards::DictKeyOrder::weak_keys(g.object.get());
        break;
      default:
        r.object = g.object;
    }
    if (g.kind == GuardKind::TypeMatch) r.described = class_name(reinterpret_cast<PyTypeObject*>(g.object.get()));
  }

  int place(const UserFrame& f) {
    if (f.file.empty()) return -1;
    auto& places = compiled_->places;
    const auto same = [&](const UserFrame& o) {
      return o.line == f.line && o.file == f.file && o.function == f.function;
    };
    // Guards of one line come in runs.
    for (std::size_t back = 1; back <= std::min<std::size_t>(places.size(), 8); ++back) {
      if (same(places[places.size() - back])) return static_cast<int>(places.size() - back);
    }
    places.push_back(f);
    return static_cast<int>(places.size()) - 1;
  }

  // A node lives in the register of its depth while its subtree is checked; what a later operation still needs gets a
  // register of its own.
  // Locals always have one.
  void give_registers() {
    int deepest = 0;
    for (const Build& b : build_) deepest = std::max(deepest, b.depth);
    int next = deepest + 1;
    for (const Build& b : build_) {
      const auto id = static_cast<std::size_t>(b.source->id);
      builder_.registers_of[id] = static_cast<std::uint16_t>(pinned_[id] || is_plain_local(b) ? next++ : b.depth);
    }
    if (next > 0xFFFF) throw InternalError("guards: too many related sources");
    compiled_->registers = next;
  }

  void emit_node(int root) {
    std::vector<int> open{root};
    while (!open.empty()) {
      const int index = open.back();
      open.pop_back();
      const Build& b = build_[static_cast<std::size_t>(index)];
      emit_load(b, index);
      for (std::size_t g : b.guards) emit_guard(g);
      open.insert(open.end(), b.children.rbegin(), b.children.rend());
    }
  }

  static bool is_plain_local(const Build& b) { return b.source->kind == SourceKind::Local && !b.optional; }

  void emit_load(const Build& b, int index) {
    if (is_plain_local(b)) {
      compiled_->locals.push_back({static_cast<std::uint16_t>(b.source->index), builder_.register_of(b.source),
                                   static_cast<std::uint32_t>(index)});
      return;
    }
    GuardOp op{};
    op.reg = builder_.register_of(b.source);
    op.record = static_cast<std::uint32_t>(index);
    op.kind = kLoad;
    op.load = load_fact(b);
    compiled_->ops.push_back(op);
  }

  const LoadFact* load_fact(const Build& b) {
    const Source& s = *b.source;
    auto fact = std::make_unique<LoadFact>();
    fact->access = access_of(s);
    if (s.key) builder_.hold_key(s.key);
    if (s.object) fact->access.object = builder_.refer(s.object.get());
    fact->base = s.base ? builder_.register_of(s.base) : 0;
    fact->optional = b.optional;
    fact->needs_base = s.base != nullptr;
    compiled_->loads.push_back(std::move(fact));
    return compiled_->loads.back().get();
  }

  void emit_guard(std::size_t index) {
    const Guard& g = *guards_[index];
    GuardOp op{};
    op.kind = static_cast<std::uint8_t>(g.kind);
    op.reg = g.source ? builder_.register_of(g.source) : 0;
    op.record = static_cast<std::uint32_t>(index);
    const bool needed = with_kind(g.kind, [&]<class K>() {
      if constexpr (requires { K::unchecked; }) {
        return false;
      } else {
        if (MD_MUTATED("guard", kGuardNames[static_cast<std::size_t>(g.kind)])) return false;
        K::prepare(g, builder_, op);
        return true;
      }
    });
    if (needed) compiled_->ops.push_back(op);
  }

  std::vector<const Guard*> guards_;
  const std::vector<SourceRef>&wanted_, &present_;
  std::shared_ptr<CompiledGuards> compiled_;
  GuardBuilder builder_;
  std::vector<Build> build_;
  std::vector<int> roots_;
  std::vector<int> node_of_;  // by source id
  std::vector<bool> pinned_;  // by source id
};

bool is_constant(PyObject* o) {
  return o == Py_None || o == Py_Ellipsis || PyBool_Check(o) || PyLong_CheckExact(o) || PyUnicode_CheckExact(o);
}

}  // namespace

static PyRef weak_reference(PyObject* o) {
  if (is_constant(o) || !PyType_SUPPORTS_WEAKREFS(Py_TYPE(o))) return {};
  PyRef w = PyRef::steal(PyWeakref_NewRef(o, nullptr));
  if (!w) PyErr_Clear();
  return w;
}

PyRef weak_key(const PyRef& key) {
  if (!key || Py_TYPE(key.get())->tp_richcompare != PyBaseObject_Type.tp_richcompare) return key;
  PyRef w = weak_reference(key.get());
  return w ? w : key;
}

ObjectSlot GuardBuilder::refer(PyObject* o) {
  if (PyRef w = weak_reference(o)) {
    const ObjectSlot slot = &reinterpret_cast<PyWeakReference*>(w.get())->wr_object;
    compiled.weak.push_back(std::move(w));
    return slot;
  }
  compiled.slots.push_back(std::make_unique<PyObject*>(hold(PyRef::borrow(o))));
  return compiled.slots.back().get();
}

PyObject* GuardBuilder::hold(PyRef o) {
  compiled.held.push_back(std::move(o));
  return compiled.held.back().get();
}

PyObject* GuardBuilder::hold_key(const PyRef& key) {
  PyRef w = weak_key(key);
  if (w.get() == key.get()) return hold(key);
  compiled.weak_keys.push_back(w.get());
  compiled.weak.push_back(std::move(w));
  return key.get();
}

const NameFact* GuardBuilder::name(const Guard& g) { return name(g.object.get()); }

NameFact* GuardBuilder::name(PyObject* name) {
  if (!name || !PyUnicode_CheckExact(name)) throw InternalError("guards: an attribute name must be a str");
  Py_INCREF(name);
  PyUnicode_InternInPlace(&name);
  compiled.names.push_back(std::make_unique<NameFact>(NameFact{hold(PyRef::steal(name)), {}}));
  return compiled.names.back().get();
}

const KeyFact* GuardBuilder::key(const Guard& g) {
  if (!g.object || !is_plain(g.object.get())) throw InternalError("guards: a key whose comparison runs user code");
  const Py_hash_t hash = PyObject_Hash(g.object.get());
  if (hash == -1) throw PythonError{};
  compiled.keys.push_back(std::make_unique<KeyFact>(KeyFact{hold_key(g.object), hash, 0}));
  return compiled.keys.back().get();
}

void GuardSet::add(Guard g) {
  if (g.kind == GuardKind::GlobalState || g.kind == GuardKind::DefaultDevice) g.value = ambient_state();
  const std::size_t h = hash_of(g);
  auto [first, last] = index_.equal_range(h);
  for (; first != last; ++first) {
    if (same_guard(guards_[first->second], g)) return;
  }
  index_.emplace(h, guards_.size());
  guards_.push_back(std::move(g));
}

std::shared_ptr<const CompiledGuards> compile_guards(const GuardSet& guards, const SourceTable& sources,
                                                     const std::vector<SourceRef>& wanted,
                                                     const std::vector<SourceRef>& present) {
  return Compiler(guards, sources, wanted, present).run();
}

}  // namespace md
