// Makes symbols for sizes and ints that have changed, and guards for what was assumed of them.
#include "frontend/trace/dynamic_sizes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "frontend/guards/attributes.h"
#include "frontend/report/events.h"
#include "frontend/tensors/respell_sizes.h"
#include "frontend/tensors/tensor_object.h"
#include "frontend/trace/tracer.h"
#include "ir/graph/op_ids.h"

namespace md {

ShapeEnv& Tracer::shapes() {
  if (!sizes.env) graphs.root().shapes = sizes.env = std::make_shared<ShapeEnv>();
  return *sizes.env;
}

std::vector<std::int64_t> numbers_of(const TensorImpl& tensor) {
  std::vector<std::int64_t> numbers(tensor.sizes.begin(), tensor.sizes.end());
  numbers.insert(numbers.end(), tensor.strides.begin(), tensor.strides.end());
  return numbers;
}

const std::vector<bool>& observe(ObservedInputs& inputs, const std::string& name, int rank,
                                 std::vector<std::int64_t> now) {
  const ObservedInput first{now, std::vector<bool>(now.size())};
  ObservedInput& known = inputs.try_emplace({name, rank}, first).first->second;
  for (std::size_t k = 0; k < now.size(); ++k)
    if (known.numbers[k] != now[k]) known.changes[k] = true;
  known.numbers = std::move(now);
  return known.changes;
}

namespace {

// The dims a mark_...() function has put on the tensor object; empty if there are none.
std::set<int> marked_dims(PyObject* tensor, const char* attribute) {
  std::set<int> dims;
  PyRef marks = PyRef::steal(PyObject_GetAttrString(tensor, attribute));
  PyRef it = marks ? PyRef::steal(PyObject_GetIter(marks.get())) : PyRef();
  while (PyRef x = it ? PyRef::steal(PyIter_Next(it.get())) : PyRef())
    dims.insert(static_cast<int>(PyLong_AsLong(x.get())));
  clear_answer();
  return dims;
}

// mark_dynamic(..., min=, max=)
SizeRange marked_range(PyObject* tensor, int dim) {
  SizeRange r;
  PyRef ranges = PyRef::steal(PyObject_GetAttrString(tensor, "_dynamo_dynamic_range"));
  PyRef key = checked(PyLong_FromLong(dim));
  PyObject* given = ranges && PyDict_Check(ranges.get()) ? PyDict_GetItemWithError(ranges.get(), key.get()) : nullptr;
  clear_answer();
  if (!given || !PyTuple_Check(given) || PyTuple_GET_SIZE(given) != 2) return r;
  PyObject *least = PyTuple_GET_ITEM(given, 0), *most = PyTuple_GET_ITEM(given, 1);
  if (PyLong_Check(least)) r.lo = PyLong_AsLongLong(least);
  if (PyLong_Check(most)) r.hi = PyLong_AsLongLong(most);
  clear_answer();
  return r;
}

bool learns(const Tracer& t) {
  const TraceConfig& c = t.config;
  return t.sizes.observed && c.dynamic == -1 && c.dynamic_shapes && c.automatic_dynamic_shapes &&
         c.assume_static_by_default;
}

bool all_dynamic(const Tracer& t) {
  const TraceConfig& c = t.config;
  return c.dynamic_shapes && (c.dynamic == 1 || (c.dynamic == -1 && !c.assume_static_by_default));
}

// Makes the types of one input tensor.
struct InputType {
  Tracer& t;
  SourceRef source;
  PyObject* object;
  const TensorImpl& impl;
  TensorType type;
  std::set<int> marked, weakly_marked, unbacked, fixed;
  std::vector<bool> changed;

  std::size_t rank() const { return impl.sizes.size(); }

  bool is_dynamic(std::size_t d) const {
    const int dim = static_cast<int>(d);
    if (!t.config.dynamic_shapes || fixed.contains(dim)) return false;
    if (marked.contains(dim) || weakly_marked.contains(dim)) return true;
    return all_dynamic(t) || (!changed.empty() && changed[d]);
  }

  Size noted(Size s, SizePlace place) {
    if (t.shapes().symbols().size() > t.sizes.places.size()) t.sizes.places.push_back(place);
    if (!s.is_const()) t.sizes.inputs.push_back({place, s, t.user_frame()});
    return s;
  }

  void sizes() {
    for (std::size_t d = 0; d < rank(); ++d) {
      const std::int64_t n = impl.sizes[d];
      const SizePlace place{source, SizePlace::Field::Size, static_cast<int>(d)};
      const bool share = !marked.contains(static_cast<int>(d));
      if (t.config.dynamic_shapes && unbacked.contains(static_cast<int>(d))) {
        type.sizes.push_back(noted(t.shapes().unbacked({0, SizeRange::kMax}), place));
        continue;
      }
      type.sizes.push_back(is_dynamic(d) ? noted(t.shapes().backed(n, to_string(place), share), place) : Size(n));
      if (share || type.sizes[d].is_const()) continue;
      const SizeRange r = marked_range(object, static_cast<int>(d));
      if (r.lo <= n && n <= r.hi) t.shapes().assume_range(type.sizes[d], r);
    }
  }

  // A stride is the extent of a dimension inside it where that fits, so that it follows the sizes; what is left of the
  // strides that have changed is a symbol of its own.
  void strides() {
    std::vector<std::size_t> inner_first(rank());
    for (std::size_t d = 0; d < rank(); ++d) inner_first[d] = rank() - 1 - d;
    std::ranges::stable_sort(inner_first, {}, [&](std::size_t d) { return impl.strides[d]; });
    SizeVec found;
    found.resize(rank());
    std::vector<std::size_t> done;
    for (std::size_t d : inner_first) {
      found[d] = stride(d, found, done);
      done.push_back(d);
    }
    type.strides = found;
  }

  Size stride(std::size_t d, const SizeVec& found, const std::vector<std::size_t>& done) {
    const std::int64_t n = impl.strides[d];
    const SizePlace place{source, SizePlace::Field::Stride, static_cast<int>(d)};
    for (auto inner = done.rbegin(); inner != done.rend(); ++inner) {
      if (impl.sizes[*inner] * impl.strides[*inner] != n) continue;
      const Size extent = type.sizes[*inner] * found[*inner];
      return extent.is_const() ? extent : noted(extent, place);
    }
    const bool varies = !changed.empty() && changed[rank() + d] && n >= 2;
    return varies ? noted(t.shapes().backed(n, to_string(place)), place) : Size(n);
  }
};

}  // namespace

TensorType input_type(Tracer& t, PyObject* tensor, SourceRef source) {
  const TensorImpl& impl = *tensor_impl(tensor);
  InputType input{t, source, tensor, impl, {}, {}, {}, {}, {}, {}};
  input.type.dtype = impl.dtype;
  input.type.device = impl.device();
  input.type.offset = impl.offset;
  input.type.requires_grad = impl.requires_grad;
  input.type.history = impl.history;
  input.type.wrapped_number = impl.wrapped_number;
  input.marked = marked_dims(tensor, kDynamicMarks);
  input.weakly_marked = marked_dims(tensor, "_dynamo_weak_dynamic_indices");
  input.unbacked = marked_dims(tensor, "_dynamo_unbacked_indices");
  input.fixed = marked_dims(tensor, kStaticMarks);
  if (learns(t)) input.changed = observe(*t.sizes.observed, source->name, impl.dim(), numbers_of(impl));
  input.sizes();
  input.strides();
  return input.type;
}

std::optional<Size> int_symbol(Tracer& t, PyObject* value, SourceRef source) {
  if (place_of_number(*source) != NumberPlace::Argument) return {};
  int overflow = 0;
  const std::int64_t n = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow || t.config.specialize_int || !t.config.dynamic_shapes) return {};
  const bool dynamic = all_dynamic(t) || (learns(t) && observe(*t.sizes.observed, source->name, kObservedInt, {n})[0]);
  if (!dynamic) return {};
  const SizePlace place{source, SizePlace::Field::Value, 0};
  const Size s = t.shapes().integer(n, source->name);
  t.sizes.places.push_back(place);
  t.sizes.inputs.push_back({place, s, t.user_frame()});
  t.guard(GuardKind::TypeMatch, source, PyRef::borrow(reinterpret_cast<PyObject*>(&PyLong_Type)));
  return s;
}

namespace {

bool may_hold_numbers(SourceKind k) {
  switch (k) {
    case SourceKind::Local:
    case SourceKind::CellContents:
    case SourceKind::Global:
    case SourceKind::ModuleGlobal:
    case SourceKind::Attr:
    case SourceKind::InstanceDict:
    case SourceKind::ListItem:
    case SourceKind::DictItem:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool is_dynamic_float(Tracer& t, double value, SourceRef source) {
  if (t.config.specialize_float || !t.config.dynamic_shapes || !std::isfinite(value) || t.graphs.on_fakes) return false;
  if (!may_hold_numbers(source->kind)) return false;
  if (all_dynamic(t)) return true;
  return learns(t) && observe(*t.sizes.observed, source->name, kObservedFloat, {std::bit_cast<std::int64_t>(value)})[0];
}

void assume_number(Tracer& t, std::shared_ptr<const NumberTest> test) {
  for (const Guard& g : t.recorder.guards.guards())
    if (g.sizes && g.sizes->number && g.sizes->number->text == test->text) return;
  Guard g{GuardKind::SizeAssumption};
  g.others.assign(test->floats.begin(), test->floats.end());
  std::set<int> used;
  for (Size s : test->sizes) for_each_symbol(s, [&](int i) { used.insert(i); });
  SizeCondition c;
  for (int i : used) {
    c.symbols.emplace_back(i, t.sizes.places.at(static_cast<std::size_t>(i)));
    g.others.push_back(c.symbols.back().second.source);
  }
  c.form = SizeCondition::Form::Number;
  c.env = t.sizes.env;
  c.number = std::move(test);
  g.source = g.others.front();
  g.where = t.user_frame();
  g.sizes = std::make_shared<const SizeCondition>(std::move(c));
  t.recorder.guards.add(std::move(g));
}

// --- arguments of ops -------------------------------------------------------------------------------------------

namespace {

// Parameters that are computed with as sizes are, by op; `any`: no value of theirs is treated apart.
struct OpenParam {
  std::string_view op, param;
  bool any = false;
};
constexpr OpenParam kOpenParams[] = {{"kthvalue", "k"},
                                     {"repeat", "repeats"},
                                     {"repeat_interleave", "repeats"},
                                     {"roll", "shifts", true},
                                     {"select", "index"},
                                     {"tile", "dims"},
                                     {"topk", "k"},
                                     {"tril", "diagonal", true},
                                     {"triu", "diagonal", true}};

const OpenParam* open_param(const Op& op, const Param& p) {
  const auto* row =
      std::ranges::find_if(kOpenParams, [&](auto& o) { return op.public_name == o.op && p.name == o.param; });
  return row == std::end(kOpenParams) ? nullptr : row;
}

bool is_size_param(const Param& p) {
  for (const char* name : {"size", "sizes", "shape", "length", "start", "end", "n", "m"})
    if (p.name == name) return true;
  return false;
}

// A number that stays a symbol: 0 and 1 are constants of the trace, and so is the sign.
Size settle_number(Size s) {
  if (s.expr()->env->is_backed(s) && hint(s) < 0 && guard_lt(s, 0)) return s.expr()->env->simplify(s);
  return settle(s);
}

// Calls f on every symbolic size inside.
template <class F>
void for_each_size(Arg& a, F&& f) {
  if (auto* s = std::get_if<Size>(&a.v); s && !s->is_const()) f(*s);
  if (auto* l = std::get_if<ListArg>(&a.v))
    for (Arg& x : l->items) for_each_size(x, f);
  if (auto* s = std::get_if<SliceArg>(&a.v)) {
    auto parts = std::make_shared<std::vector<Arg>>(*s->parts);
    for (Arg& x : *parts) for_each_size(x, f);
    s->parts = std::move(parts);
  }
}

}  // namespace

bool settle_arguments(const Op& op, const BoundArgs& bound, std::vector<Arg>& args, KwArgs& kwargs) {
  std::map<const SizeExpr*, Size> known;
  for (std::size_t i = 0; i < bound.size() && i < op.schema.params.size(); ++i) {
    const Param& p = op.schema.params[i];
    if (p.type == ParamType::Operand || p.type == ParamType::OperandOpt) continue;
    const OpenParam* row = open_param(op, p);
    const bool stays = row || is_size_param(p) || p.type == ParamType::Index;
    Arg copy = bound[i];
    for_each_size(copy, [&](Size s) {
      const bool open = stays || !s.expr()->env->is_backed(s);
      known[s.expr()] = row && row->any ? s : open ? settle_number(s) : specialise(s);
    });
  }
  bool changed = false;
  const auto apply = [&](Size& s) {
    const auto at = known.find(s.expr());
    if (at == known.end() || at->second == s) return;
    s = at->second;
    changed = true;
  };
  for (Arg& a : args) for_each_size(a, apply);
  for (auto& [name, a] : kwargs) for_each_size(a, apply);
  return changed;
}

void respell_sizes(Tracer& t, Graph& g) {
  if (!t.sizes.env) return;
  const auto respell = [&](Size& s) {
    const Size simple = t.sizes.env->simplify(s);
    if (t.sizes.env->is_backed(simple)) s = simple;  // others may not have been found out yet
  };
  for (auto& n : g.nodes) {
    if (n->op == id::AssertSizes) continue;  // what made two symbols one is checked of both
    for (Arg& a : n->args) for_each_size(a, respell);
    for (auto& [name, a] : n->kwargs) for_each_size(a, respell);
    if (!n->unbacked.empty()) continue;                    // here symbols get their values
    const bool brings = n->kind == NodeKind::Placeholder;  // a call does, and those that only a run knows are read here
    for (TensorType& type : n->types) {
      for (Size& s : type.sizes)
        if (!brings || t.sizes.env->is_backed(s)) respell(s);
      for (Size& s : type.strides) respell(s);
      respell(type.offset);
    }
  }
}

// --- guards -----------------------------------------------------------------------------------------------------

namespace {

struct SizeGuards {
  Tracer& t;
  const ShapeEnv& env = *t.sizes.env;

  const std::shared_ptr<const std::vector<std::string>> names = [&] {
    std::vector<std::string> all;
    for (const SizePlace& p : t.sizes.places) all.push_back(p.source ? to_string(p) : "");  // unbacked
    return std::make_shared<const std::vector<std::string>>(std::move(all));
  }();

  void add(SizeCondition c, const UserFrame& where, const std::vector<Size>& sizes) {
    std::vector<int> used;
    for (Size s : sizes) for_each_symbol(s, [&](int i) { used.push_back(i); });
    std::ranges::sort(used);
    used.erase(std::ranges::unique(used).begin(), used.end());
    Guard g{GuardKind::SizeAssumption};
    if (c.actual.source) g.others.push_back(c.actual.source);
    for (int i : used) {
      c.symbols.emplace_back(i, t.sizes.places.at(static_cast<std::size_t>(i)));
      g.others.push_back(c.symbols.back().second.source);
    }
    c.env = t.sizes.env;
    c.names = names;
    g.source = g.others.front();
    g.where = where;
    g.sizes = std::make_shared<const SizeCondition>(std::move(c));
    t.recorder.guards.add(std::move(g));
  }

  void input(const InputSize& in) {
    SizeCondition c;
    c.value = in.size;
    const auto symbol = symbol_index(in.size);
    const bool defines = symbol && t.sizes.places[static_cast<std::size_t>(*symbol)].source == in.place.source &&
                         t.sizes.places[static_cast<std::size_t>(*symbol)].field == in.place.field &&
                         t.sizes.places[static_cast<std::size_t>(*symbol)].dim == in.place.dim;
    if (!defines) {
      c.form = SizeCondition::Form::Equals;
      c.actual = in.place;
      c.place = to_string(in.place);
      return add(std::move(c), in.where, {in.size});
    }
    c.form = SizeCondition::Form::Between;
    c.range = env.symbols()[static_cast<std::size_t>(*symbol)].range;
    add(std::move(c), in.where, {in.size});
  }

  void relation(const SizeGuard& g) {
    if (env.proven(g)) return;  // the ranges are guarded
    SizeCondition c;
    c.form = SizeCondition::Form::Holds;
    c.relation = g;
    add(std::move(c), {}, {g.lhs, g.rhs});
  }
};

// None: the settings let it pass.
void raise_reported(const PyRef& error) {
  if (error.get() == Py_None) return;
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(error.get())), error.get());
  throw PythonError{};
}

// The size is one of those that the mark allows.
void check_range(PyObject* tensor, int dim) {
  const SizeRange r = marked_range(tensor, dim);
  const std::int64_t now = tensor_impl(tensor)->sizes[static_cast<std::size_t>(dim)];
  if (r.lo <= now && now <= r.hi) return;
  const auto bound = [](std::int64_t n) { return checked(PyLong_FromLongLong(n)); };
  const PyRef most = r.hi == SizeRange::kMax ? PyRef::borrow(Py_None) : bound(r.hi);
  raise_reported(report("size_out_of_range", {bound(now), bound(std::max<std::int64_t>(r.lo, 0)), most}));
}

// Sizes the user marked as dynamic have to be so still.
void check_marks(Tracer& t) {
  PyRef broken = checked(PyList_New(0));
  std::vector<UserFrame> frames;
  for (const InputSize& in : t.sizes.inputs) {
    if (in.place.field != SizePlace::Field::Size) continue;
    PyRef tensor = load(in.place.source, t.args);
    if (!tensor || !marked_dims(tensor.get(), kDynamicMarks).contains(in.place.dim)) continue;
    if (is_tensor(tensor.get())) check_range(tensor.get(), in.place.dim);
    const Size now = t.sizes.env->simplify(in.size);
    const SizeRange r = t.sizes.env->range(now);
    if (r.lo != r.hi) continue;
    PyRef row = checked(Py_BuildValue("(sL)", to_string(in.place).c_str(), static_cast<long long>(r.lo)));
    checked(PyList_Append(broken.get(), row.get()));
    frames = {in.where};
  }
  if (PyList_GET_SIZE(broken.get()) == 0) return;
  raise_reported(report("constraint_violation", {broken, frames_list(frames)}));
}

}  // namespace

void add_size_guards(Tracer& t) {
  if (!t.sizes.env) return;
  check_marks(t);
  SizeGuards guards{t};
  for (const InputSize& in : t.sizes.inputs) guards.input(in);
  // Adding a guard may not make new ones: the list is complete once the kernel is compiled.
  for (const SizeGuard& g : std::vector<SizeGuard>(t.sizes.env->guards())) guards.relation(g);
}

// --- inputs of the graph ----------------------------------------------------------------------------------------

namespace {

void symbols_of(const Arg& a, std::vector<bool>& out) {
  const auto add = [&](int i) { out[static_cast<std::size_t>(i)] = true; };
  if (auto* s = a.get_if<Size>()) for_each_symbol(*s, add);
  if (auto* l = a.get_if<ListArg>())
    for (const Arg& x : l->items) symbols_of(x, out);
  if (auto* s = a.get_if<SliceArg>())
    for (const Arg& x : *s->parts) symbols_of(x, out);
}

}  // namespace

// Of the graph and its regions.
static void symbols_used(const Graph& g, std::vector<bool>& used) {
  const auto use = [&](int i) { used[static_cast<std::size_t>(i)] = true; };
  for (auto& n : g.nodes) {
    for (const Arg& a : n->args) symbols_of(a, used);
    for (auto& [name, a] : n->kwargs) symbols_of(a, used);
    for (const TensorType& type : n->types) {
      for (Size s : type.sizes) for_each_symbol(s, use);
      for (Size s : type.strides) for_each_symbol(s, use);
      for_each_symbol(type.offset, use);
    }
    for (auto& region : n->regions) symbols_used(*region, used);
  }
}

std::vector<SizePlace> add_size_inputs(Tracer& t, Graph& g) {
  if (!t.sizes.env) return {};
  const std::vector<SizeSymbol>& symbols = t.sizes.env->symbols();
  std::vector<bool> used(symbols.size()), given(symbols.size());
  symbols_used(g, used);
  for (auto& n : g.nodes) {
    for (const TensorType& type : n->types) {
      if (n->kind != NodeKind::Placeholder) continue;
      for (Size s : type.sizes)
        if (const auto symbol = symbol_index(s)) given[static_cast<std::size_t>(*symbol)] = true;
    }
  }
  std::vector<SizePlace> places;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (!used[i] || given[i] || !t.sizes.places.at(i).source) continue;  // or the graph finds it out
    Node n{NodeKind::Placeholder};
    n.is_size = true;
    n.target = n.name = symbols[i].name;
    TensorType type;
    type.dtype = DType::Int64;
    type.sizes.push_back(t.sizes.env->symbol(static_cast<int>(i)));
    type.strides.push_back(1);
    type.storage = t.graphs.next_storage++;
    n.types = {type};
    g.append(std::move(n));
    places.push_back(t.sizes.places.at(i));
  }
  std::rotate(g.nodes.begin(), g.nodes.end() - static_cast<std::ptrdiff_t>(places.size()), g.nodes.end());
  return places;
}

}  // namespace md
