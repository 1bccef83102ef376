// Reads keys of what stands at a place in a call, and finds the place and aspect that tell most of them apart.
#include "frontend/guards/discriminate.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "frontend/cpython/iterator_state.h"
#include "frontend/guards/kinds.h"
#include "frontend/tensors/tensor_object.h"

namespace md {
namespace {

using Key = Look::Key;

Key address_key(const void* p) { return reinterpret_cast<std::uintptr_t>(p) >> 4; }
Key mixed(Key a, Key b) { return (a * 0x9E3779B97F4A7C15ull) ^ (b + (a >> 31)); }

// Of two objects that EqualsMatch takes as equal the same.
Key value_key(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  const Key kind = address_key(type);
  if (type == &PyLong_Type) {
    int overflow = 0;
    const long long n = PyLong_AsLongLongAndOverflow(o, &overflow);
    return mixed(kind, overflow ? 0 : static_cast<Key>(n));
  }
  if (type == &PyUnicode_Type || type == &PyBytes_Type) return mixed(kind, static_cast<Key>(PyObject_Hash(o)));
  if (type == &PyFloat_Type) {
    Key bits;
    const double value = PyFloat_AS_DOUBLE(o);
    std::memcpy(&bits, &value, sizeof bits);
    return mixed(kind, bits);
  }
  const bool singular = o == Py_None || type == &PyBool_Type ||
                        ((type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) &&
                         type->tp_richcompare == PyBaseObject_Type.tp_richcompare && !has_comparable_state(o));
  return singular ? address_key(o) : kind;
}

Key form_key(DType dtype, std::size_t rank) { return static_cast<Key>(dtype) << 8 | static_cast<Key>(rank); }

SizePlace::Field extent_field(int index) { return index % 2 ? SizePlace::Field::Stride : SizePlace::Field::Size; }

// Calls f(aspect, index, key) for what a guard says of its own source.
template <class F>
void for_each_key(const GuardRecord& r, F&& f) {
  switch (r.kind) {
    case GuardKind::EqualsMatch:
      if (r.object) f(Aspect::Value, 0, value_key(r.object.get()));
      return;
    case GuardKind::NoneMatch:
      return f(Aspect::Value, 0, value_key(Py_None));
    case GuardKind::TrueMatch:
      return f(Aspect::Value, 0, value_key(Py_True));
    case GuardKind::FalseMatch:
      return f(Aspect::Value, 0, value_key(Py_False));
    case GuardKind::TypeMatch:
      return f(Aspect::Type, 0, address_key(r.id));
    case GuardKind::IdMatch:
      return f(Aspect::Identity, 0, address_key(r.id));
    case GuardKind::LengthCheck:
      return f(Aspect::Length, 0, static_cast<Key>(r.value));
    case GuardKind::TensorMatch:
      f(Aspect::Form, 0, form_key(r.tensor.dtype, r.tensor.sizes.size()));
      break;
    case GuardKind::ArrayMatch:
      break;
    default:
      return;
  }
  int index = 0;
  for (std::size_t d = 0; d < r.tensor.sizes.size(); ++d) {
    for (const Size& s : {r.tensor.sizes[d], r.tensor.strides[d]}) {
      if (s.is_const()) f(Aspect::Extent, index, static_cast<Key>(s.value()));
      ++index;
    }
  }
}

// Such keys are found and freed without running code of the program.
bool is_simple_key(PyObject* key) {
  return !key || key == Py_None || PyBool_Check(key) || PyUnicode_CheckExact(key) || PyLong_CheckExact(key) ||
         PyFloat_CheckExact(key) || PyBytes_CheckExact(key);
}

bool same_key(PyObject* a, PyObject* b) { return a == b || (a && b && plain_equal(a, b)); }

std::optional<Key> shown(PyObject* o, Aspect aspect, int index) {
  switch (aspect) {
    case Aspect::Value:
      return value_key(o);
    case Aspect::Type:
      return address_key(Py_TYPE(o));
    case Aspect::Identity:
      return address_key(o);
    case Aspect::Length:
      return static_cast<Key>(guards::LengthCheck::length(o));
    case Aspect::Form:
      if (!is_tensor(o)) return {};
      return form_key(tensor_impl(o)->dtype, tensor_impl(o)->sizes.size());
    case Aspect::Extent: {
      std::int64_t n = 0;
      if (!read_size(o, extent_field(index), index / 2, n)) return {};
      return static_cast<Key>(n);
    }
  }
  return {};
}

}  // namespace

std::optional<Key> Look::read(const FrameArgs& args) const {
  PyObject* o = nullptr;
  for (const Link& s : path_) {
    o = quick_access(s.access, o, args, s.memo);
    if (!o) return {};
  }
  return shown(o, aspect_, index_);
}

bool Look::is_at(const CompiledGuards& p, int node) const {
  for (auto s = path_.rbegin(); s != path_.rend(); ++s) {
    if (node < 0) return false;
    const GuardNode& n = p.nodes[static_cast<std::size_t>(node)];
    if (n.kind != s->access.kind || n.index != s->access.index || !same_key(s->key.get(), n.key.get())) return false;
    node = n.parent;
  }
  return node < 0;
}

std::optional<Key> Look::expected(const CompiledGuards& p) const {
  std::optional<Key> found;
  for (const GuardRecord& r : p.records) {
    if (r.node < 0) continue;
    for_each_key(r, [&](Aspect aspect, int index, Key key) {
      if (!found && aspect == aspect_ && index == index_ && is_at(p, r.node)) found = key;
    });
    if (found) break;
  }
  return found;
}

// Counts, for every place and aspect, how many compiled guards are left to try.
class LookFinder {
 public:
  void count(const CompiledGuards& p) {
    ++candidates_;
    places_.assign(p.nodes.size(), 0);
    for (std::size_t i = 0; i < p.nodes.size(); ++i) places_[i] = place_of(p, i);
    for (const GuardRecord& r : p.records) {
      if (r.node < 0 || !places_[static_cast<std::size_t>(r.node)]) continue;
      for_each_key(r, [&](Aspect aspect, int index, Key key) {
        const Key what = static_cast<Key>(index) << 8 | static_cast<Key>(aspect);
        Tally& t = tallies_[mixed(places_[static_cast<std::size_t>(r.node)], what)];
        if (t.last == candidates_) return;  // said twice
        if (!t.compiled) t = {&p, r.node, aspect, index, 0, 0, 0, {}};
        t.last = candidates_;
        ++t.candidates;
        // The sum of squares over all keys: those that are tried if each one is called for once.
        t.tries += 2 * t.sharing[key]++ + 1;
      });
    }
  }

  std::optional<Look> best() const {
    const Tally* best = nullptr;
    std::size_t least = candidates_ * candidates_;
    for (const auto& [place, t] : tallies_) {
      const std::size_t others = candidates_ - t.candidates;
      const std::size_t tries = t.tries + others * candidates_;
      if (2 * tries > candidates_ * candidates_) continue;
      if (tries < least || (tries == least && best && cost(t) < cost(*best))) best = &t, least = tries;
    }
    if (!best) return {};
    return look_at(*best);
  }

 private:
  struct Tally {
    const CompiledGuards* compiled = nullptr;
    int node = -1;
    Aspect aspect{};
    int index = 0;
    std::size_t last = 0, candidates = 0, tries = 0;
    std::unordered_map<Key, std::size_t> sharing;
  };

  // Short paths first; the order decides nothing but speed.
  static std::pair<std::size_t, int> cost(const Tally& t) {
    return {t.compiled->nodes[static_cast<std::size_t>(t.node)].name.size(),
            static_cast<int>(t.aspect) * 256 + t.index};
  }

  // A name for the source that is the same in all of them; 0: not to be looked at.
  Key place_of(const CompiledGuards& p, std::size_t node) const {
    const GuardNode& n = p.nodes[node];
    if (n.kind == SourceKind::Constant || n.kind == SourceKind::ArrayTensor || !is_simple_key(n.key.get())) return 0;
    const Key base = n.parent < 0 ? 1 : places_[static_cast<std::size_t>(n.parent)];
    if (!base) return 0;
    const Key step = static_cast<Key>(n.kind) << 32 ^ static_cast<Key>(static_cast<unsigned>(n.index));
    return mixed(mixed(base, step), n.key ? value_key(n.key.get()) : 0) | 1;
  }

  static Look look_at(const Tally& t) {
    Look look;
    look.aspect_ = t.aspect;
    look.index_ = t.index;
    for (int node = t.node; node >= 0; node = t.compiled->nodes[static_cast<std::size_t>(node)].parent) {
      const GuardNode& n = t.compiled->nodes[static_cast<std::size_t>(node)];
      const Py_hash_t hash = n.key ? PyObject_Hash(n.key.get()) : 0;
      look.path_.push_back({{n.kind, n.index, n.key.get(), hash, nullptr}, n.key, {}});
    }
    std::ranges::reverse(look.path_);
    return look;
  }

  std::size_t candidates_ = 0;
  std::vector<Key> places_;  // by node, of those being counted
  std::unordered_map<Key, Tally> tallies_;
};

std::optional<Look> find_look(std::span<const CompiledGuards* const> candidates) {
  LookFinder finder;
  for (const CompiledGuards* p : candidates) finder.count(*p);
  return finder.best();
}

}  // namespace md
