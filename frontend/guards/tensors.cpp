// Compares metadata and storages of tensors: by loops for few, by a table on the stack for many.
#include "frontend/guards/tensors.h"

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "frontend/tensors/array_view.h"
#include "ir/tensor/shared_memory.h"

namespace md::guards {
namespace {

std::int64_t extent_of(Size s) { return s.is_const() ? s.value() : kAnyExtent; }

std::string extents_text(const SizeVec& v) {
  std::string out;
  for (std::size_t i = 0; i < v.size(); ++i) {
    out += (i ? ", " : "") + (v[i].is_const() ? std::to_string(v[i].value()) : std::string("None"));
  }
  return "[" + out + "]";
}

std::string mismatch(const char* what, std::size_t index, std::int64_t expected, std::int64_t actual) {
  return std::string(what) + " mismatch at index " + std::to_string(index) + ". expected " + std::to_string(expected) +
         ", actual " + std::to_string(actual);
}

const Storage* storage_of(PyObject* o) {
  return is_tensor_exact(o) || is_tensor(o) ? tensor_impl(o)->storage.get() : nullptr;
}

}  // namespace

void TensorMatch::prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
  const TensorType& t = g.tensor;
  auto& extents = b.compiled.extents.emplace_back(new std::int64_t[2 * t.sizes.size() + 1]);
  std::int64_t* out = extents.get();
  auto fact = std::make_unique<TensorFact>();
  for (std::size_t d = 0; d < t.sizes.size(); ++d) {
    *out++ = extent_of(t.sizes[d]);
    *out++ = extent_of(t.strides[d]);
    fact->any_extent |= !t.sizes[d].is_const() || !t.strides[d].is_const();
  }
  fact->type = b.refer(g.object ? g.object.get() : reinterpret_cast<PyObject*>(tensor_type));
  fact->extents = extents.get();
  fact->dtype = t.dtype;
  fact->device = t.device;
  fact->requires_grad = t.requires_grad;
  fact->history = t.history;
  fact->wrapped_number = t.wrapped_number;
  op.flag = static_cast<std::uint8_t>(g.value);
  fact->dim = static_cast<std::uint8_t>(t.sizes.size());
  op.tensor = fact.get();
  b.compiled.tensors.push_back(std::move(fact));
}

std::string TensorMatch::text(const GuardRecord& r, const std::string& s) {
  const TensorType& t = r.tensor;
  return "check_tensor(" + s + ", " + r.described + ", torch." + std::string(info(t.dtype).name) +
         ", device=" + (t.device.is_cpu() ? "None" : to_string(t.device)) +
         ", requires_grad=" + (t.requires_grad ? "True" : "False") + ", size=" + extents_text(t.sizes) +
         ", stride=" + extents_text(t.strides) + ")";
}

static std::string history_text(GradHistory h) {
  switch (h) {
    case GradHistory::Leaf:
      return "leaf";
    case GradHistory::Computed:
      return "computed";
    case GradHistory::LeafView:
      return "view of a leaf";
    case GradHistory::UntrackedView:
      return "untracked view";
  }
  return {};
}

bool TensorMatch::explain_type(PyObject* o, Why& why) {
  why.text = "expected type of '" + why.source() + "' to be a tensor type, ' but found " + class_text(Py_TYPE(o));
  why.expected = "class " + why.record->described;
  why.actual = "class " + class_name(Py_TYPE(o));
  return false;
}

void TensorMatch::explain_difference(const TensorFact& f, const TensorImpl& t, Pending pending, Why& why) {
  const auto set = [&](const std::string& what) { why.text = "tensor '" + why.source() + "' " + what; };
  const auto differs = [&](std::string part, std::string expected, std::string actual) {
    why.part = std::move(part), why.expected = std::move(expected), why.actual = std::move(actual);
  };
  const auto dim = static_cast<std::size_t>(f.dim);
  if (t.dtype != f.dtype) {
    differs("dtype", "torch." + std::string(info(f.dtype).name), "torch." + std::string(info(t.dtype).name));
    return set("dtype mismatch. expected " + std::string(info(f.dtype).guard_name) + ", actual " +
               std::string(info(t.dtype).guard_name));
  }
  if (!(t.device() == f.device)) {
    differs("device", to_string(f.device), to_string(t.device()));
    return set("device mismatch. expected device=" + to_string(f.device) + ", actual device=" + to_string(t.device()));
  }
  if (t.requires_grad != f.requires_grad) {
    differs("requires_grad", f.requires_grad ? "True" : "False", t.requires_grad ? "True" : "False");
    return set(std::string("requires_grad mismatch. expected requires_grad=") + (f.requires_grad ? "1" : "0"));
  }
  if (t.history != f.history) {
    const bool was = !f.requires_grad || f.history == GradHistory::Leaf;
    if (was != t.is_leaf())
      differs("is_leaf", was ? "True" : "False", was ? "False" : "True");
    else
      differs("grad_fn", history_text(f.history), history_text(t.history));
    return set("autograd history mismatch. expected " + history_text(f.history) + ", actual " +
               history_text(t.history));
  }
  if (t.sizes.size() != dim) {
    differs("dim()", std::to_string(dim), std::to_string(t.sizes.size()));
    return set("rank mismatch. expected " + std::to_string(dim) + ", actual " + std::to_string(t.sizes.size()));
  }
  const auto extent_differs = [&](const char* what, std::size_t d, std::int64_t expected, std::int64_t actual) {
    differs(std::string(what) + "(" + std::to_string(d) + ")", std::to_string(expected), std::to_string(actual));
    set(mismatch(what, d, expected, actual));
  };
  for (std::size_t d = 0; d < dim; ++d) {
    if (!fits(t.sizes[d], f.extents[2 * d])) return extent_differs("size", d, f.extents[2 * d], t.sizes[d]);
  }
  for (std::size_t d = 0; d < dim; ++d) {
    if (!fits(t.strides[d], f.extents[2 * d + 1]))
      return extent_differs("stride", d, f.extents[2 * d + 1], t.strides[d]);
  }
  if (const Pending p = pending_of(t); !(p == pending)) {
    const auto word = [](Pending of) {
      return of.conjugate ? of.negative ? "conjugate and negative" : "conjugate" : of.negative ? "negative" : "plain";
    };
    differs("is_conj(), is_neg()", word(pending), word(p));
    return set(std::string("dispatch key set mismatch. expected a ") + word(pending) + " view, actual a " + word(p) +
               " one");
  }
  set(std::string("wrapped number mismatch. expected ") + (f.wrapped_number ? "1" : "0"));
}

void NoAliasing::prepare(const Guard& g, GuardBuilder& b, GuardOp& op) {
  auto fact = std::make_unique<AliasFact>();
  fact->registers.push_back(b.register_of(g.source));
  for (SourceRef s : g.others) fact->registers.push_back(b.register_of(s));
  if (g.object) {
    for (std::size_t i = 0; i < fact->registers.size(); ++i) {
      PyObject* pair = PyTuple_GetItem(g.object.get(), static_cast<Py_ssize_t>(i));
      int group;
      long long offset;
      if (!pair || !PyArg_ParseTuple(pair, "iL", &group, &offset)) throw PythonError{};
      fact->groups.emplace_back(group, offset);
    }
  }
  op.alias = fact.get();
  b.compiled.aliases.push_back(std::move(fact));
}

namespace {

// Only memory that others own can be in two storages.
bool foreign_overlap(const AliasFact& f, PyObject* const* regs) {
  for (std::uint16_t r : f.registers) {
    const Storage* s = storage_of(regs[r]);
    if (!s->foreign) continue;
    for (std::uint16_t other : f.registers) {
      if (other != r && share_memory(*s, *storage_of(regs[other]))) return true;
    }
  }
  return false;
}

constexpr std::size_t kFewTensors = 12;

// Few tensors of the exact class, none over memory of others: nearly every call. False: look closer.
bool few_distinct(const AliasFact& f, PyObject* const* regs) {
  const Storage* seen[kFewTensors];
  const Storage** end = seen;
  for (std::uint16_t r : f.registers) {
    if (!is_tensor_exact(regs[r])) return false;
    const Storage* s = tensor_impl(regs[r])->storage.get();
    if (s->foreign) return false;
    for (const Storage** other = seen; other != end; ++other)
      if (*other == s) return false;
    *end++ = s;
  }
  return true;
}

// An open-addressed table on the stack: many tensors (a model's parameters) without allocating.
bool distinct_by_hash(const AliasFact& f, PyObject* const* regs) {
  std::size_t mask = 31;
  while (mask < 2 * f.registers.size()) mask = mask * 2 + 1;
  auto* table = static_cast<const Storage**>(__builtin_alloca((mask + 1) * sizeof(Storage*)));
  std::fill(table, table + mask + 1, nullptr);
  for (std::uint16_t r : f.registers) {
    const Storage* s = storage_of(regs[r]);
    std::size_t at = (reinterpret_cast<std::uintptr_t>(s) >> 4) * 0x9E3779B97F4A7C15ull >> 40 & mask;
    while (table[at] && table[at] != s) at = (at + 1) & mask;
    if (table[at]) return false;
    table[at] = s;
  }
  return true;
}

}  // namespace

namespace {

// Where a tensor or an array has its elements.
struct Memory {
  const Storage* storage;  // null: of an array
  const char *begin, *end, *data;
  bool foreign;

  static bool of(PyObject* o, Memory& out) {
    if (is_tensor(o)) {
      const TensorImpl& t = *tensor_impl(o);
      if (!t.has_memory()) {  // places within nothing
        const std::int64_t at = t.offset * static_cast<std::int64_t>(item_size(t.dtype));
        out = {t.storage.get(), nullptr, nullptr, reinterpret_cast<const char*>(at), false};
        return true;
      }
      const auto* begin = static_cast<const char*>(t.storage->data());
      out = {t.storage.get(), begin, begin + t.storage->bytes(), static_cast<const char*>(t.data()),
             t.storage->foreign};
      return true;
    }
    const ArrayView a(o);
    if (!a.fits_tensor()) return false;
    out = {nullptr, a.data(), a.data() + a.bytes(), a.data(), true};
    return true;
  }
  bool shared_with(const Memory& o) const {
    if (storage && storage == o.storage) return true;
    return (foreign || o.foreign) && begin < o.end && o.begin < end;
  }
};

bool has_array(const AliasFact& f, PyObject* const* regs) {
  return std::any_of(f.registers.begin(), f.registers.end(), [&](std::uint16_t r) { return !is_tensor(regs[r]); });
}

bool memories_distinct(const AliasFact& f, PyObject* const* regs) {
  SmallVector<Memory, 16> all(f.registers.size(), Memory{});
  for (std::size_t i = 0; i < f.registers.size(); ++i) {
    if (!Memory::of(regs[f.registers[i]], all[i])) return false;
    for (std::size_t j = 0; j < i; ++j)
      if (all[i].shared_with(all[j])) return false;
  }
  return true;
}

}  // namespace

bool NoAliasing::all_distinct(const AliasFact& f, PyObject* const* regs) {
  if (f.registers.size() <= kFewTensors && few_distinct(f, regs)) [[likely]]
    return true;
  if (has_array(f, regs)) [[unlikely]]
    return memories_distinct(f, regs);
  bool foreign = false;
  for (std::uint16_t r : f.registers) {
    const Storage* s = storage_of(regs[r]);
    if (!s) return false;
    foreign |= s->foreign;
  }
  return distinct_by_hash(f, regs) && !(foreign && foreign_overlap(f, regs));
}

// Groups of tensors none of whose memory others own: each storage is that of one group.
static bool groups_by_storage(const AliasFact& f, std::span<const Memory> all) {
  std::unordered_set<const Storage*> seen(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto [group, apart] = f.groups[i];  // by its first member
    const Memory& first = all[static_cast<std::size_t>(group)];
    if (all[i].data - first.data != apart) return false;
    if (&first == &all[i] ? !seen.insert(first.storage).second : first.storage != all[i].storage) return false;
  }
  return true;
}

bool NoAliasing::as_recorded(const AliasFact& f, PyObject* const* regs) {
  SmallVector<Memory, 16> all(f.registers.size(), Memory{});
  bool foreign = false;
  for (std::size_t i = 0; i < f.registers.size(); ++i) {
    if (!Memory::of(regs[f.registers[i]], all[i])) return false;
    foreign |= all[i].foreign;
  }
  if (!foreign && all.size() > kFewTensors) return groups_by_storage(f, {all.data(), all.size()});
  for (std::size_t i = 0; i < f.registers.size(); ++i) {
    bool first = true;
    for (std::size_t j = 0; j < i; ++j) {
      const bool grouped = f.groups[i].first == f.groups[j].first;
      if (grouped != all[i].shared_with(all[j])) return false;
      // The first of the group with this number is what the distances count from.
      if (grouped && first && all[i].data - all[j].data != f.groups[i].second) return false;
      first &= !grouped;
    }
  }
  return true;
}

}  // namespace md::guards

namespace md {

Guard aliasing_guard(const std::vector<SourceRef>& sources, const FrameArgs& args) {
  std::vector<guards::Memory> all(sources.size());
  std::vector<PyRef> kept;
  for (std::size_t i = 0; i < sources.size(); ++i) {
    kept.push_back(load(sources[i], args));
    if (!kept.back() || !guards::Memory::of(kept.back().get(), all[i]))
      throw InternalError("guards: no tensor at " + sources[i]->name);
  }
  Guard g{GuardKind::NoAliasing, sources.front()};
  g.others.assign(sources.begin() + 1, sources.end());
  PyRef pairs = checked(PyTuple_New(static_cast<Py_ssize_t>(all.size())));
  const bool foreign = std::ranges::any_of(all, &guards::Memory::foreign);
  std::unordered_map<const Storage*, std::size_t> first_of;
  bool any = false;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::size_t group = 0;
    if (foreign)
      while (group < i && !all[group].shared_with(all[i])) ++group;
    else
      group = first_of.try_emplace(all[i].storage, i).first->second;
    any |= group != i;
    const auto apart = static_cast<long long>(all[i].data - all[group].data);
    PyRef pair = checked(Py_BuildValue("nL", static_cast<Py_ssize_t>(group), apart));
    PyTuple_SET_ITEM(pairs.get(), static_cast<Py_ssize_t>(i), pair.release());
  }
  if (any) g.object = std::move(pairs);
  return g;
}

}  // namespace md
